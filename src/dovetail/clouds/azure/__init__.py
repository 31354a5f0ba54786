"""Azure virtual machines: what it sells and how its answers are read."""
