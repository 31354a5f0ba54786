"""When nodes may go: what a pool allows for a reason now, when that changes next, and the same drawn over days.

The loop wakes up at `next_wake`, since a window that opens is no event in the cluster; a preview draws `stretches`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail.core.disruption import budgets
from dovetail.core.disruption.budgets import Allowance, allowance
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import BUDGETED, Reason

#: How far ahead a change is looked for: every day of the week has come by then, and clocks were turned once at most.
HORIZON_SECONDS: Final = 8 * 86400.0


@dataclass(frozen=True, slots=True)
class Allowed:
    """How many nodes may be away at a moment, why, and when that may change (None: not within the horizon)."""

    allowance: Allowance
    changes: float | None

    @property
    def count(self) -> int:
        return self.allowance.count


@dataclass(frozen=True, slots=True)
class Stretch:
    """An allowance and how long it lasts: [since, until)."""

    since: float
    until: float
    allowance: Allowance

    @property
    def count(self) -> int:
        return self.allowance.count


def allowed(policy: PoolPolicy, reason: Reason, nodes: int, now: float) -> Allowed:
    """The one answer: how many of so many nodes may be away for this reason at this moment, and until when."""
    found = allowance(policy.budgets, reason, nodes, now, policy.windows)
    moment = changes(policy, reason, now, now + HORIZON_SECONDS)
    while moment is not None and _count(policy, reason, nodes, moment) == found.count:
        moment = changes(policy, reason, moment, now + HORIZON_SECONDS)
    return Allowed(found, moment)


def _count(policy: PoolPolicy, reason: Reason, nodes: int, now: float) -> int:
    return allowance(policy.budgets, reason, nodes, now, policy.windows).count


def changes(policy: PoolPolicy, reason: Reason, now: float, until: float) -> float | None:
    """The first moment after now, and not after `until`, at which a window or a budget opens or closes."""
    found = [policy.windows.next_change(reason, now, until)]
    found += [budgets.changes(one, now, until) for one in policy.budgets if one.concerns(reason)]
    return min((one for one in found if one is not None), default=None)


def stretches(policy: PoolPolicy, reason: Reason, nodes: int, since: float, until: float) -> tuple[Stretch, ...]:
    """What is allowed over a time, without a hole; neighbours differ in how many may go."""
    found: list[Stretch] = []
    now = since
    while now < until:
        ends = changes(policy, reason, now, until) or until
        here = allowance(policy.budgets, reason, nodes, now, policy.windows)
        if found and found[-1].count == here.count:
            found[-1] = Stretch(found[-1].since, ends, found[-1].allowance)
        else:
            found.append(Stretch(now, ends, here))
        now = ends
    return tuple(found)


def next_wake(world: World) -> float | None:
    """When a budget or a window of some pool opens or closes next; None if not within the horizon."""
    until = world.now + HORIZON_SECONDS
    found: float | None = None
    for _, policy in sorted(world.pools.items()):
        for reason in BUDGETED:
            changed = changes(policy, reason, world.now, until)
            if changed is not None:
                found = until = changed
    return found
