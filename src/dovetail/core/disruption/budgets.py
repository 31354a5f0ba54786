"""Budgets: how many nodes of a pool may be away at once, and for which reason.

    allowed(reason)   the least of the budgets that speak of the reason and whose window is open
    consumed          nodes that are away already, for whatever reason: leaving, rebooting, or not ready
    remaining         allowed − consumed − what this pass has taken

A budget that cannot be read allows nothing for the reasons it names, since nobody knows what its author meant, and
says so; budgets for other reasons, and other pools, stay as they are. (The peer stops every disruption of the pool.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from dovetail.core.disruption import cron
from dovetail.core.disruption.reasons import Reason
from dovetail.core.errors import BadInput, BadValue, shown

#: What a budget allows whose window is closed.
UNLIMITED: Final = 2**31 - 1
_NODES: Final = re.compile(r"(?P<percent>100|[0-9]{1,2})%|(?P<count>[0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Budget:
    """One entry of `spec.disruption.budgets`, as it was written; `duration` is in seconds.

    `problem` is what its reader found wrong with it already.
    """

    nodes: str = "10%"
    reasons: frozenset[Reason] | None = None
    schedule: str | None = None
    duration: float | None = None
    problem: str = ""

    def concerns(self, reason: Reason) -> bool:
        return self.reasons is None or reason in self.reasons

    def __str__(self) -> str:
        text = f"nodes {self.nodes}"
        if self.reasons is not None:
            text += f" for {', '.join(sorted(self.reasons))}"
        return text + (f" at {shown(self.schedule)}" if self.schedule is not None else "")


DEFAULT: Final = (Budget(),)


@dataclass(frozen=True, slots=True)
class _Read:
    percent: int | None
    count: int
    schedule: cron.Schedule | None
    duration: float

    def allows(self, nodes: int, now: float) -> int:
        if self.schedule is not None and not self.schedule.is_open(now, self.duration):
            return UNLIMITED
        return self.count if self.percent is None else -(-self.percent * nodes // 100)


@lru_cache(maxsize=1024)
def _read(budget: Budget) -> _Read:
    if budget.problem:
        raise BadValue(budget.problem)
    found = _NODES.fullmatch(budget.nodes)
    if found is None:
        raise BadValue(f"nodes: {shown(budget.nodes)} is neither a number nor a percentage up to 100%")
    if (budget.schedule is None) != (budget.duration is None):
        raise BadValue("a schedule needs a duration, and a duration a schedule")
    schedule = None if budget.schedule is None else cron.parse(budget.schedule)
    percent = None if found["percent"] is None else int(found["percent"])
    return _Read(percent, int(found["count"] or 0), schedule, budget.duration or 0.0)


def problem_of(budget: Budget) -> str | None:
    """Why a budget cannot be read, None if it can."""
    try:
        _read(budget)
    except BadInput as bad:
        return str(bad)
    return None


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many nodes may be away for a reason, and which budget says so (None: none of them speaks of it now)."""

    count: int
    budget: Budget | None = None
    number: int = -1
    problem: str | None = None

    def __str__(self) -> str:
        if self.problem is not None:
            return f"budgets[{self.number}] allows nothing as it cannot be read: {self.problem}"
        if self.budget is None:
            return "no budget limits it now"
        return f"budgets[{self.number}] ({self.budget}) allows {self.count}"


def allowance(budgets: Iterable[Budget], reason: Reason, nodes: int, now: float) -> Allowance:
    """The tightest of a pool's budgets for one reason; of equal ones the first."""
    found = Allowance(UNLIMITED)
    for number, budget in enumerate(budgets):
        if not budget.concerns(reason):
            continue
        try:
            count, problem = _read(budget).allows(nodes, now), None
        except BadInput as bad:
            count, problem = 0, str(bad)
        if count < found.count:
            found = Allowance(count, budget, number, problem)
    return found


@dataclass(frozen=True, slots=True)
class Standing:
    """The nodes of one pool as its budgets count them."""

    nodes: int = 0
    #: Away for good or for a while: leaving, being disrupted, rebooting.
    away: int = 0
    #: Not ready, and not away: repair is not held up by what it is there to mend.
    not_ready: int = 0

    def consumed(self, reason: Reason) -> int:
        return self.away if reason is Reason.UNHEALTHY else self.away + self.not_ready


class Ledger:
    """What budgets still allow while a pass takes from them; a copy is cheap, so that a search may try things."""

    __slots__ = ("_allowances", "_budgets", "_now", "_standings", "_taken")

    def __init__(self, budgets: Mapping[str, tuple[Budget, ...]], standings: Mapping[str, Standing], now: float):
        self._budgets, self._standings, self._now = budgets, standings, now
        self._allowances: dict[tuple[str, Reason], Allowance] = {}
        self._taken: dict[str, int] = {}

    def copy(self) -> Ledger:
        found = Ledger(self._budgets, self._standings, self._now)
        found._allowances = self._allowances
        found._taken = dict(self._taken)
        return found

    def allowance(self, pool: str, reason: Reason) -> Allowance:
        found = self._allowances.get((pool, reason))
        if found is None:
            nodes = self._standings.get(pool, Standing()).nodes
            found = allowance(self._budgets.get(pool, DEFAULT), reason, nodes, self._now)
            self._allowances[pool, reason] = found
        return found

    def consumed(self, pool: str, reason: Reason) -> int:
        return self._standings.get(pool, Standing()).consumed(reason) + self._taken.get(pool, 0)

    def remaining(self, pool: str, reason: Reason) -> int:
        return max(0, self.allowance(pool, reason).count - self.consumed(pool, reason))

    def takes(self, wanted: Mapping[str, int], reason: Reason) -> bool:
        """Whether all of these (nodes by pool) may go at once."""
        return all(count <= self.remaining(pool, reason) for pool, count in wanted.items())

    def take(self, pool: str, count: int = 1) -> None:
        self._taken[pool] = self._taken.get(pool, 0) + count
