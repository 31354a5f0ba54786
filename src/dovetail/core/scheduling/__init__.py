"""The scheduler: `solve(Problem) → Plan`, a function of a snapshot and a catalog."""

from dovetail.core.scheduling.problem import (
    Claim,
    Options,
    Placed,
    Plan,
    PreferencePolicy,
    Problem,
    Refused,
)

__all__ = ["Claim", "Options", "Placed", "Plan", "PreferencePolicy", "Problem", "Refused"]
