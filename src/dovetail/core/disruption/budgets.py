"""Budgets: how many nodes of a pool may be away at once, and for which reason.

    allowed(reason)   the least of the budgets that speak of the reason and whose window is open; nothing while the
                      pool has windows for the reason (`allow_windows`) and none of them is open
    consumed          nodes that are away already, for whatever reason: leaving, rebooting, or not ready
    remaining         allowed − consumed − what this pass has taken

A budget that cannot be read allows nothing for the reasons it names, since nobody knows what its author meant, and
says so; budgets for other reasons, and other pools, stay as they are. (The peer stops every disruption of the pool.)
The `Ledger` keeps what a pass has taken, and beside the pools' budgets those of the whole cluster: equal entries that
count the nodes of all pools together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, Final

from dovetail.core.disruption import allow_windows, cron
from dovetail.core.disruption.allow_windows import NO_WINDOWS, Windows
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.zones import UTC, Zone
from dovetail.core.errors import BadInput, BadValue, shown

#: What a budget allows whose window is closed.
UNLIMITED: Final = 2**31 - 1
#: How many times what may go at once is chosen ahead, so that it is known who stays.
AHEAD: Final = 10
_NODES: Final = re.compile(r"(?P<percent>100|[0-9]{1,2})%|(?P<count>[0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Budget:
    """One entry of `spec.disruption.budgets`, as it was written; `duration` is in seconds.

    `problem` is what its reader found wrong with it already, `zone` whose clocks its schedule is read off.
    """

    nodes: str = "10%"
    reasons: frozenset[Reason] | None = None
    schedule: str | None = None
    duration: float | None = None
    problem: str = ""
    zone: Zone = UTC

    def concerns(self, reason: Reason) -> bool:
        return self.reasons is None or reason in self.reasons

    def __str__(self) -> str:
        text = f"nodes {self.nodes}"
        if self.reasons is not None:
            text += f" for {', '.join(sorted(self.reasons))}"
        if self.schedule is None:
            return text
        return f"{text} at {shown(self.schedule)}" + ("" if self.zone == UTC else f" {self.zone.name}")


DEFAULT: Final = (Budget(),)


@dataclass(frozen=True, slots=True)
class _Read:
    percent: int | None
    count: int
    schedule: cron.Zoned | None
    duration: float

    def allows(self, nodes: int, now: float) -> int:
        if self.schedule is not None and not self.schedule.is_open(now, self.duration):
            return UNLIMITED
        return self.count if self.percent is None else -(-self.percent * nodes // 100)

    def next_change(self, now: float, until: float) -> float | None:
        """When its window opens or closes, up to `until`."""
        return None if self.schedule is None else self.schedule.next_change(now, self.duration, until)


@lru_cache(maxsize=1024)
def _read(budget: Budget) -> _Read:
    if budget.problem:
        raise BadValue(budget.problem)
    found = _NODES.fullmatch(budget.nodes)
    if found is None:
        raise BadValue(f"nodes: {shown(budget.nodes)} is neither a number nor a percentage up to 100%")
    if (budget.schedule is None) != (budget.duration is None):
        raise BadValue("a schedule needs a duration, and a duration a schedule")
    schedule = None if budget.schedule is None else cron.Zoned(cron.parse(budget.schedule), budget.zone)
    percent = None if found["percent"] is None else int(found["percent"])
    return _Read(percent, int(found["count"] or 0), schedule, budget.duration or 0.0)


def changes(budget: Budget, now: float, until: float) -> float | None:
    """When a budget begins or ceases to limit anything; None if not up to `until`."""
    return None if problem_of(budget) is not None else _read(budget).next_change(now, until)


def problem_of(budget: Budget) -> str | None:
    """Why a budget cannot be read, None if it can."""
    try:
        _read(budget)
    except BadInput as bad:
        return str(bad)
    return None


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many nodes may be away for a reason, and which budget says so (None: none of them speaks of it now).

    `closed` says that it is not the time for it: none of the pool's windows is open.
    """

    count: int
    budget: Budget | None = None
    number: int = -1
    problem: str | None = None
    closed: str = ""

    def __str__(self) -> str:
        if self.closed:
            return self.closed
        if self.problem is not None:
            return f"budgets[{self.number}] allows nothing as it cannot be read: {self.problem}"
        if self.budget is None:
            return "no budget limits it now"
        return f"budgets[{self.number}] ({self.budget}) allows {self.count}"


def allowance(
    budgets: Iterable[Budget], reason: Reason, nodes: int, now: float, windows: Windows = NO_WINDOWS
) -> Allowance:
    """The tightest of a pool's budgets for one reason; of equal ones the first."""
    if not windows.is_open(reason, now):
        return Allowance(0, closed=_closed(windows, reason))
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


def _closed(windows: Windows, reason: Reason) -> str:
    some = windows.concerning(reason)
    broken = [one.problem for one in some if one.problem]
    if len(broken) == len(some):
        return f"{allow_windows.ANNOTATION} never opens as it cannot be read: {broken[0]}"
    return f"{allow_windows.ANNOTATION} ({allow_windows.listed(some)}) is closed for {reason}"


# ---- counting


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


@dataclass(frozen=True, slots=True)
class Rules:
    """What limits everybody: budgets and windows by pool, and the budgets of the whole cluster."""

    budgets: Mapping[str, tuple[Budget, ...]] = field(default_factory=lambda: MappingProxyType({}))
    windows: Mapping[str, Windows] = field(default_factory=lambda: MappingProxyType({}))
    cluster: tuple[Budget, ...] = ()


class Ledger:
    """What budgets still allow while a pass takes from them; a copy is cheap, so that a search may try things."""

    __slots__ = ("_allowances", "_everybody", "_now", "_rules", "_standings", "_sum", "_taken")

    def __init__(
        self, rules: Rules | Mapping[str, tuple[Budget, ...]], standings: Mapping[str, Standing], now: float
    ) -> None:
        self._rules = rules if isinstance(rules, Rules) else Rules(rules)
        self._standings, self._now = standings, now
        self._everybody = summed(standings.values())
        self._allowances: dict[tuple[str | None, Reason], Allowance] = {}
        self._taken: dict[str, int] = {}
        self._sum = 0

    def copy(self) -> Ledger:
        found = type(self)(self._rules, self._standings, self._now)
        found._allowances = self._allowances
        found._taken, found._sum = dict(self._taken), self._sum
        return found

    def allowance(self, pool: str, reason: Reason) -> Allowance:
        """What the pool's own budgets and windows allow."""
        found = self._allowances.get((pool, reason))
        if found is None:
            nodes = self._standings.get(pool, Standing()).nodes
            windows = self._rules.windows.get(pool, NO_WINDOWS)
            found = allowance(self._rules.budgets.get(pool, DEFAULT), reason, nodes, self._now, windows)
            self._allowances[pool, reason] = found
        return found

    def cluster_allowance(self, reason: Reason) -> Allowance:
        """What the budgets of the whole cluster allow."""
        found = self._allowances.get((None, reason))
        if found is None:
            found = allowance(self._rules.cluster, reason, self._everybody.nodes, self._now)
            self._allowances[None, reason] = found
        return found

    def consumed(self, pool: str, reason: Reason) -> int:
        return self._standings.get(pool, Standing()).consumed(reason) + self._taken.get(pool, 0)

    def remaining(self, pool: str, reason: Reason) -> int:
        """How many more of a pool may go, by its own budgets and the cluster's."""
        return max(0, min(self._of_pool(pool, reason), self._of_cluster(reason)))

    def _of_pool(self, pool: str, reason: Reason) -> int:
        return self.allowance(pool, reason).count - self.consumed(pool, reason)

    def _of_cluster(self, reason: Reason) -> int:
        if not self._rules.cluster:
            return UNLIMITED
        return self.cluster_allowance(reason).count - self._everybody.consumed(reason) - self._sum

    def takes(self, wanted: Mapping[str, int], reason: Reason) -> bool:
        """Whether all of these (nodes by pool) may go at once."""
        if self._rules.cluster and any(wanted.values()) and sum(wanted.values()) > self._of_cluster(reason):
            return False
        return all(count <= self.remaining(pool, reason) for pool, count in wanted.items())

    def ever_takes(self, wanted: Mapping[str, int], reason: Reason) -> bool:
        """Whether all of these could go at once if nobody else were away."""
        if self._rules.cluster and sum(wanted.values()) > self.cluster_allowance(reason).count:
            return False
        return all(count <= self.allowance(pool, reason).count for pool, count in wanted.items())

    def full(self, pools: Iterable[str], chosen: Mapping[str, int], reason: Reason) -> set[str]:
        """The pools of which none could go beside those that are chosen (nodes by pool)."""
        spare = self._of_cluster(reason) - sum(chosen.values())
        return {pool for pool in pools if spare <= 0 or self._of_pool(pool, reason) <= chosen.get(pool, 0)}

    def take(self, pool: str, count: int = 1) -> None:
        self._taken[pool] = self._taken.get(pool, 0) + count
        self._sum += count

    def sentence(self, pool: str, reason: Reason) -> str:
        """Which budget is the tighter one for a pool, and how much of it is used up."""
        if self._of_cluster(reason) < self._of_pool(pool, reason):
            away = self._everybody.consumed(reason) + self._sum
            text = str(self.cluster_allowance(reason)).removeprefix("budgets")
            return f"the cluster lets no more nodes go now: disruption-budget{text}, {away} are away"
        away = self.consumed(pool, reason)
        return f"NodePool {pool} lets no more nodes go now: {self.allowance(pool, reason)}, {away} are away"


def summed(standings: Iterable[Standing]) -> Standing:
    """All pools as one."""
    every = tuple(standings)
    return Standing(
        sum(one.nodes for one in every), sum(one.away for one in every), sum(one.not_ready for one in every)
    )


_ENTRY: Final = re.compile(r"(?:(?P<reasons>[A-Za-z][A-Za-z, ]*):)?\s*(?P<nodes>\S+)", re.ASCII)


def of_cluster(text: str) -> tuple[Budget, ...]:
    """The cluster's own budgets from a setting: `10%`, or `10%; Drifted: 5; Empty, Underutilized: 20%`."""
    found = []
    for part in (one.strip() for one in text.split(";")):
        if not part:
            continue
        entry = _ENTRY.fullmatch(part)
        if entry is None:
            raise BadValue(f"{shown(part)} is no budget; write it as 10% or Drifted: 5")
        reasons = None if entry["reasons"] is None else allow_windows.reasons_of(entry["reasons"])
        budget = Budget(entry["nodes"], reasons)
        _read(budget)
        found.append(budget)
    return tuple(found)


class InTurn(Ledger):
    """What may be decided on that waits for its turn: as many as may go at once, counted with those that wait."""

    __slots__ = ()
    TIMES: ClassVar[int] = 1

    def _of_pool(self, pool: str, reason: Reason) -> int:
        return self.TIMES * self.allowance(pool, reason).count - self.consumed(pool, reason)

    def _of_cluster(self, reason: Reason) -> int:
        if not self._rules.cluster:
            return UNLIMITED
        return self.TIMES * self.cluster_allowance(reason).count - self._sum


class Ahead(InTurn):
    """The same, so many times over, and nothing where budgets allow nothing."""

    __slots__ = ()
    TIMES: ClassVar[int] = AHEAD
