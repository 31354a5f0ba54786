"""What is found out about one part of a node class: a condition in the making, with a sentence for a person.

A verdict that is only passing (AWS was busy, or did not answer) changes nothing that held before: what was found last
time is still the best there is to know. Everything else is said at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from dovetail.clouds.aws.errors import Refusal
from dovetail.clouds.port import CloudError, Throttled, Unavailable
from dovetail.core import conditions
from dovetail.core.conditions import Condition, Conditions, ConditionSet, Moment, Status

T = TypeVar("T")

IMAGES: Final = "AMIsReady"
SUBNETS: Final = "SubnetsReady"
GROUPS: Final = "SecurityGroupsReady"
PROFILE: Final = "InstanceProfileReady"
RESERVATIONS: Final = "CapacityReservationsReady"
PLACEMENT: Final = "PlacementGroupReady"
VALIDATED: Final = "ValidationSucceeded"
#: Said of every class, and no reason not to use it: old prices are better than none.
CATALOG: Final = "CatalogFresh"
CLASS_CONDITIONS: Final = ConditionSet("Ready", (IMAGES, RESERVATIONS, PLACEMENT, SUBNETS, GROUPS, PROFILE, VALIDATED))
#: How IAM spells the action it refuses, where it says more than the call's own name: iam:PassRole, ec2:CreateTags.
_ACTION: Final = re.compile(r"perform:?\s+(?P<action>[a-z0-9-]+:[A-Za-z]+)")
_DENIALS: Final = frozenset({"Unauthorized", "AMIAuthorizationFailure"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one condition is to say. A good one may have a message too: a term of several that selects nothing."""

    type: str
    status: Status
    reason: str = ""
    message: str = ""
    passing: bool = False

    @property
    def is_bad(self) -> bool:
        return self.status is Status.FALSE


@dataclass(frozen=True, slots=True)
class Look(Generic[T]):
    """One part of a class looked at. `value` is None where it is not known; `again` is when to look again."""

    verdict: Verdict
    value: T | None = None
    again: float = 300.0
    problem: CloudError | None = None

    @property
    def is_doubtful(self) -> bool:
        """Whether AWS could not say, or what it said before was taken."""
        return self.verdict.passing or (self.problem is not None and not self.verdict.is_bad)


def good(type_: str, message: str = "") -> Verdict:
    return Verdict(type_, Status.TRUE, type_, message)


def bad(type_: str, reason: str, message: str) -> Verdict:
    return Verdict(type_, Status.FALSE, reason, message)


def unsure(type_: str, reason: str, message: str) -> Verdict:
    return Verdict(type_, Status.UNKNOWN, reason, message)


def failed(type_: str, error: CloudError, reason: str = "") -> Verdict:
    """AWS would not say. `reason` stands where the error has none of its own."""
    if isinstance(error, Throttled | Unavailable):
        word = error.reason or type(error).__name__
        return Verdict(type_, Status.UNKNOWN, word, f"{error}; it is asked again", passing=True)
    return bad(type_, error.reason or reason or "LookupFailed", sentence(error))


def fresh(stale: Iterable[str], others: Iterable[str]) -> Verdict:
    """Whether what a class can buy, and for how much, is known from AWS lately."""
    old = "; ".join(stale)
    return bad(CATALOG, "CatalogStale", old) if old else good(CATALOG, "; ".join(others))


def is_denied(error: CloudError) -> bool:
    return error.reason in _DENIALS


def missing_action(error: CloudError) -> str:
    """The IAM action that was refused, as a policy spells it; "" where nothing was refused."""
    cause = error.__cause__
    if not isinstance(cause, Refusal):
        return ""
    told = _ACTION.search(cause.message)
    return told["action"] if told else f"{cause.service}:{cause.action}"


def sentence(error: CloudError) -> str:
    """What a person reads: for a denial the action that is missing, for the rest what the error says."""
    action = missing_action(error)
    if is_denied(error) and action:
        return f"this controller's role may not do {action}; add {action} to its IAM policy ({_words(error)})"
    return str(error)


def _words(error: CloudError) -> str:
    """Without the part nobody can read, which is another one each time."""
    cause = error.__cause__
    assert isinstance(cause, Refusal)
    return f"{cause.code}: {cause.message.partition('Encoded authorization')[0].strip().rstrip('.')}"


def judged(before: Conditions, verdicts: Iterable[Verdict], created: float, at: Moment) -> Conditions:
    """All conditions of a class after a look, in one stated order, the root last."""
    held = before
    for one in verdicts:
        old = conditions.found(held, one.type)
        if one.passing and old is not None and old.status is not Status.UNKNOWN and old.generation == at.generation:
            continue
        held = conditions.put(held, Condition(one.type, one.status, one.reason, one.message), at)
    return CLASS_CONDITIONS.complete(held, created, at)
