"""How Hypothesis searches here: without deadlines, as no test may look at a clock, and with nothing kept on disk."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("api", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("api")
