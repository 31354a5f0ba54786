"""Repair policies: which condition of a Node means that it is broken, for how long that is borne, and what is done.

A set of policies is checked once, as a whole. Then, per Node: every policy of a condition's type and status whose
expression matches the reason is a match, and where none matches the one fallback is. Matches whose time has come are
merged into one `Diagnosis`: the harshest action, the shortest drain, and a score that grows while nothing is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from dovetail.core.conditions import Condition, Status
from dovetail.core.errors import BadValue, shown

_MOST_PRIORITY: Final = 100
#: A rank is worth this many minutes of waiting.
_MINUTES_A_RANK: Final = 30


class Action(StrEnum):
    REBOOT = "RebootNode"
    REPLACE = "ReplaceNode"


@dataclass(frozen=True, slots=True)
class RepairPolicy:
    """One policy. `grace` bounds the drain: None as the claim says, 0 at once. An empty `reason` is the fallback."""

    condition: str
    status: Status
    toleration: float
    reason: str = ""
    grace: float | None = None
    priority: int = 0
    action: Action = Action.REPLACE

    def matches(self, condition: Condition) -> bool:
        pair = (condition.type, condition.status)
        return bool(self.reason) and pair == (self.condition, self.status) and _finds(self.reason, condition.reason)


@lru_cache(maxsize=4096)
def _finds(expression: str, text: str) -> bool:
    return re.search(expression, text) is not None


@dataclass(frozen=True, slots=True)
class RepairPolicies:
    """The policies of one cloud. Build with `checked`."""

    policies: tuple[RepairPolicy, ...] = ()

    @property
    def fallback(self) -> RepairPolicy | None:
        return next((one for one in self.policies if not one.reason), None)

    def rank(self, policy: RepairPolicy) -> int:
        """Only the order of priorities matters: they count 0, 1, 2 …"""
        return sorted({one.priority for one in self.policies}).index(policy.priority)

    def supports(self, condition: Condition) -> bool:
        return any((one.condition, one.status) == (condition.type, condition.status) for one in self.policies)

    def is_unhealthy(self, conditions: Iterable[Condition]) -> bool:
        """Whether any condition is one that is repaired, whatever its reason and however long it has lasted."""
        return any(self.supports(one) for one in conditions)

    def matching(self, condition: Condition) -> tuple[RepairPolicy, ...]:
        """Those that match the reason; only where none does, the fallback with its own settings."""
        if not self.supports(condition):
            return ()
        found = tuple(one for one in self.policies if one.matches(condition))
        if found or self.fallback is None:
            return found
        return (self.fallback,)


NO_REPAIRS: Final = RepairPolicies()


def checked(policies: Iterable[RepairPolicy]) -> RepairPolicies:
    """The set, if it makes sense; otherwise a `BadValue` with everything that is wrong with it."""
    found = tuple(policies)
    problems = [problem for one in found for problem in _problems(one)]
    fallbacks = [one for one in found if not one.reason]
    if len(fallbacks) != 1:
        problems.append(f"exactly one repair policy has no reason expression, not {len(fallbacks)}")
    problems += ["the policy without a reason expression replaces" for one in fallbacks if one.action != Action.REPLACE]
    if problems:
        raise BadValue("repair policies: " + "; ".join(problems))
    return RepairPolicies(found)


def _problems(policy: RepairPolicy) -> Iterable[str]:
    about = policy.condition or "a policy"
    if not policy.condition:
        yield "a policy names no condition"
    if policy.toleration < 0:
        yield f"{about}: the toleration is negative"
    if policy.grace is not None and policy.grace < 0:
        yield f"{about}: the termination grace period is negative"
    if not 0 <= policy.priority <= _MOST_PRIORITY:
        yield f"{about}: the priority {policy.priority} is not within 0 and {_MOST_PRIORITY}"
    try:
        re.compile(policy.reason)
    except re.error:
        yield f"{about}: {shown(policy.reason)} is no regular expression"


@dataclass(frozen=True, slots=True)
class _Match:
    policy: RepairPolicy
    condition: Condition
    eligible: float


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is to be done with a Node, why, and how urgent it is. `grace` bounds the drain, None leaves it."""

    action: Action
    condition: str
    reason: str
    grace: float | None
    score: float


def diagnosis(policies: RepairPolicies, conditions: Iterable[Condition], since: float, now: float) -> Diagnosis | None:
    """Merge what matches and is due. `since` is when the Node was made or last rebooted: nothing counts before."""
    due = [one for one in _matches(policies, conditions, since) if one.eligible <= now]
    if not due:
        return None
    action = Action.REPLACE if any(one.policy.action is Action.REPLACE for one in due) else Action.REBOOT
    driving = min(
        (one for one in due if one.policy.action is action),
        key=lambda one: (-one.policy.priority, one.eligible, one.condition.type),
    )
    bounds = [one.policy.grace for one in due if one.policy.grace is not None]
    score = max(policies.rank(one.policy) + (now - one.eligible) / 60 / _MINUTES_A_RANK for one in due)
    return Diagnosis(action, driving.condition.type, driving.condition.reason, min(bounds, default=None), score)


def _matches(policies: RepairPolicies, conditions: Iterable[Condition], since: float) -> Iterable[_Match]:
    for condition in conditions:
        for policy in policies.matching(condition):
            yield _Match(policy, condition, max(condition.since, since) + policy.toleration)


def next_due(policies: RepairPolicies, conditions: Iterable[Condition], since: float, now: float) -> float | None:
    """Seconds until another match falls due; None where none will."""
    waits = (one.eligible - now for one in _matches(policies, conditions, since))
    return min((wait for wait in waits if wait > 0), default=None)
