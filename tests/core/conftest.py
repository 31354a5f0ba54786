"""How Hypothesis searches here: no deadlines, as no test may look at a clock, and nothing kept on disk."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "core", deadline=None, database=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("core")
