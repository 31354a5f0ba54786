"""Status conditions: what an object says about itself, and when each part of it last changed.

An object of ours has some conditions it is judged by (its *dependents*) and one *root* that sums them up: True when all
of them are, False when one is False, Unknown while one is still being worked on. Dependents are there from the start,
Unknown since the object was created, which is what time-outs are measured from. Everything here returns a new tuple;
nothing is written when nothing changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

Conditions = tuple["Condition", ...]

AWAITING: Final = "AwaitingReconciliation"
UNHEALTHY: Final = "UnhealthyDependents"
RECONCILING: Final = "ReconcilingDependents"


class Status(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition. `since` is when its status last changed; `generation` the version of the spec it speaks of."""

    type: str
    status: Status
    reason: str = ""
    message: str = ""
    since: float = 0.0
    generation: int = 0


def found(conditions: Iterable[Condition], type_: str) -> Condition | None:
    for one in conditions:
        if one.type == type_:
            return one
    return None


def is_true(conditions: Iterable[Condition], type_: str) -> bool:
    for one in conditions:
        if one.type == type_:
            return one.status is Status.TRUE
    return False


def without(conditions: Conditions, type_: str) -> Conditions:
    return tuple(one for one in conditions if one.type != type_)


@dataclass(frozen=True, slots=True)
class Moment:
    """When a condition is set, and for which generation of its object."""

    now: float
    generation: int = 0


def put(conditions: Conditions, new: Condition, at: Moment) -> Conditions:
    """Set one condition. Its time moves only when its status does, never for another reason or message."""
    old = found(conditions, new.type)
    since = old.since if old is not None and old.status is new.status else at.now
    stamped = replace(new, since=since, generation=at.generation)
    if old is None:
        return (*conditions, stamped)
    return tuple(stamped if one.type == new.type else one for one in conditions)


def true(type_: str) -> Condition:
    """A condition that holds gives itself as its reason."""
    return Condition(type_, Status.TRUE, type_)


@dataclass(frozen=True, slots=True)
class ConditionSet:
    """The conditions one kind of object is judged by."""

    root: str
    dependents: tuple[str, ...]

    def complete(self, conditions: Conditions, created: float, at: Moment) -> Conditions:
        """Add the dependents nobody has set yet, and sum everything up; the root stands last."""
        held = without(conditions, self.root)
        for type_ in self.dependents:
            if found(held, type_) is None:
                held = (*held, Condition(type_, Status.UNKNOWN, AWAITING, "object is awaiting reconciliation", created))
        summed = self._root(held, at.generation)
        old = found(conditions, self.root)
        since = created if old is None else old.since if old.status is summed.status else at.now
        return (*held, replace(summed, since=since, generation=at.generation))

    def _root(self, conditions: Sequence[Condition], generation: int) -> Condition:
        current = [found(conditions, type_) for type_ in self.dependents]
        held = [one for one in current if one is not None]
        if all(one.status is Status.TRUE and one.generation == generation for one in held):
            return true(self.root)
        bad = [one for one in held if one.status is Status.FALSE and one.generation == generation]
        if bad:
            return Condition(self.root, Status.FALSE, UNHEALTHY, _listed(bad))
        waiting = [one for one in held if one.status is not Status.TRUE or one.generation != generation]
        return Condition(self.root, Status.UNKNOWN, RECONCILING, _listed(waiting))


def _listed(conditions: Iterable[Condition]) -> str:
    return ", ".join(f"{one.type}={one.status}" for one in conditions)


def raised(conditions: Conditions, generation: int) -> Conditions:
    """The same conditions, said of this generation: what a deleting object does with all of its own."""
    if all(one.generation == generation for one in conditions):
        return conditions
    return tuple(replace(one, generation=generation) for one in conditions)
