"""Objects in which users declare something for others to use: overlays, instance types. What they say of themselves is
whether it can be used (§1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Conditions, ConditionSet, Moment, Status
from dovetail.core.nodeclaims import Meta

T = TypeVar("T")

VALIDATED: Final = "ValidationSucceeded"
INVALID: Final = "RuntimeValidation"
CONFLICT: Final = "Conflict"
CONDITIONS: Final = ConditionSet("Ready", (VALIDATED,))


@dataclass(frozen=True, slots=True)
class Declared(Generic[T]):
    """What was declared, or, where it cannot be read, why."""

    meta: Meta
    conditions: Conditions
    value: T | None
    problem: str = ""


def judged(one: Declared[T], conflict: str, now: float) -> Conditions:
    """What is to be said of it: it is in force, it cannot be read, or it contradicts another."""
    at = Moment(now, one.meta.generation)
    if one.problem:
        new = Condition(VALIDATED, Status.FALSE, INVALID, one.problem)
    elif conflict:
        new = Condition(VALIDATED, Status.FALSE, CONFLICT, conflict)
    else:
        new = conditions.true(VALIDATED)
    return CONDITIONS.complete(conditions.put(one.conditions, new, at), one.meta.created, at)
