"""The scheduler: which node each pending pod goes to, and why none will do."""
