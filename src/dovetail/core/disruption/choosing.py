"""Choosing: which nodes go together in one pass.

Whether two nodes can both go cannot be told from what each would do alone: both may count on the same free room. So a
choice is always asked about as a whole (`Scene.what_if` over all its nodes) and falls apart into commands by itself
(`commands.split`); every command of a choice is therefore possible beside all the others.

A choice grows as long as that makes it worth more. Nodes that need no replacement come first, by dollars for each unit
of disturbance, in steps that double while they succeed; then groups of the rest, beginning at the same end; then single
nodes. At the end some are taken out again, to see whether the place they took was worth more to others. What is spent
on searching is bounded by the number of pods that are planned, not by a clock, so the same cluster is decided the same
way on any machine. What was chosen is then carried out in thought, and the next round begins beside it: otherwise the
pods of everybody who goes would mix in the machines to be bought, and nothing would be independent of anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from dovetail.core.disruption.budgets import Ledger
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.commands import Command, Group, parts
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.scenes import Scene
from dovetail.core.scheduling.problem import Plan

Judge = Callable[[Group, Sequence[Candidate]], Command | Refusal]
#: For how many seconds a saving is counted on when choices are compared.
_HOUR: Final = 3600
HORIZON: Final = 8 * _HOUR
#: Sizes of groups that are tried beside each other.
_SIZES: Final = (2, 3, 5, 8, 13, 21, 34, 55, 100)
_SWAPS, _TRIALS = 8, 16
#: So many failures in a row end a row of trials: those that come after are worth less.
_PATIENCE: Final = 16
#: Nodes that share machines to be bought, in one command: it is undone as a whole if one of those never comes up.
MOST_TOGETHER: Final = 12


def worth(command: Command) -> int:
    """What a command brings in the time a saving is counted on, less what the move costs."""
    return command.saved * int(min(command.horizon, HORIZON)) // _HOUR - command.cost


@dataclass(frozen=True, slots=True)
class Choice:
    """Nodes that may all go, and the commands they make."""

    names: frozenset[str] = frozenset()
    commands: tuple[Command, ...] = ()

    @property
    def worth(self) -> int:
        return sum(worth(one) for one in self.commands)

    @property
    def plan(self) -> Plan:
        """Where everything goes."""
        groups = [one.group for one in self.commands]
        return Plan(
            tuple(claim for one in groups for claim in one.claims),
            tuple(placed for one in groups for placed in one.placed),
        )

    @property
    def evictions(self) -> int:
        return sum(len(one.evicted) for one in self.commands)

    @property
    def bought(self) -> int:
        return sum(len(one.replacements) for one in self.commands)


class Taking(Enum):
    """When more nodes are taken into a choice: always, if it is worth more, or if moreover nothing is bought."""

    ANY = "any"
    WORTH = "worth"
    FREE = "free"


class Search:
    """One search over one scene. `limit` is how many pods may be planned for it beside those of the scan."""

    def __init__(
        self, scene: Scene, candidates: Mapping[str, Candidate], judge: Judge, reason: Reason, ledger: Ledger
    ) -> None:
        self.scene = scene
        self.candidates = candidates
        self.judge = judge
        self.reason = reason
        self.ledger = ledger
        self.choice = Choice()
        self._deletes: dict[tuple[str, ...], Command | Refusal] = {}
        self._paid: set[str] = set()

    def fits(self, names: Iterable[str]) -> bool:
        """Whether budgets allow all of these to go at once."""
        counts = Counter(self.candidates[name].pool for name in names if name not in self._paid)
        return self.ledger.takes(counts, self.reason)

    def affordable(self, names: Iterable[str]) -> list[str]:
        """Those not chosen yet of which budgets would let one more go."""
        chosen = Counter(self.candidates[name].pool for name in self.choice.names if name not in self._paid)
        pools = {one.pool for one in self.candidates.values()}
        full = self.ledger.full(pools, chosen, self.reason)
        taken = self.choice.names
        return [name for name in names if name not in taken and self.candidates[name].pool not in full]

    def pay(self) -> None:
        """Take what was chosen so far from the budgets; what was taken before is not taken again."""
        for name in sorted(self.choice.names - self._paid):
            self.ledger.take(self.candidates[name].pool)
            self._paid.add(name)

    def tried(self, names: frozenset[str]) -> Choice | None:
        """The choice of exactly these nodes; None where budgets or some command of it will not have it."""
        if not names or not self.fits(names):
            return None
        commands: list[Command] = []
        for group in parts(self.scene, names):
            found = self.judged(group)
            if isinstance(found, Refusal):
                return None
            commands.append(found)
        return Choice(names, tuple(commands))

    def retried(self, names: frozenset[str]) -> Choice | None:
        """The same, of nodes that budgets were charged for before."""
        self._paid |= names
        return self.tried(names)

    def judged(self, group: Group) -> Command | Refusal:
        if group.claims and len(group.names) > MOST_TOGETHER:
            return Refusal(Code.TOO_MANY, f"{len(group.names)} nodes would have to go together")
        if group.claims or group.refused:
            return self.judge(group, [self.candidates[name] for name in group.names])
        known = self._deletes.get(group.names)
        if known is None:
            known = self.judge(group, [self.candidates[name] for name in group.names])
            self._deletes[group.names] = known
        return known if isinstance(known, Refusal) else _with_group(known, group)

    def extend(self, more: Iterable[str], taking: Taking) -> bool:
        """Take these in as well if that is possible and what was asked for."""
        found = self.tried(self.choice.names | frozenset(more))
        if found is None or (taking is not Taking.ANY and found.worth <= self.choice.worth):
            return False
        if taking is Taking.FREE and found.bought > self.choice.bought:
            return False
        self.choice = found
        return True


def _with_group(command: Command, group: Group) -> Command:
    return replace(command, group=group)


def taken_in_turn(search: Search, names: Sequence[str], limit: int, taking: Taking) -> None:
    """Take in as many as possible in this order, in steps that double while they succeed."""
    at, size, failed = 0, 1, 0
    names = search.affordable(names)
    while at < len(names) and search.scene.effort < limit and failed < _PATIENCE:
        size = _affordable(search, names[at : at + size])
        if size == 0:
            names, at, size = search.affordable(names[at:]), 0, 1
        elif search.extend(names[at : at + size], taking):
            at, size, failed = at + size, size * 2, 0
        elif size == 1:
            at, failed = at + 1, failed + (taking is not Taking.ANY)
        else:
            size //= 2


def _affordable(search: Search, names: Sequence[str]) -> int:
    """How many of these, from the first, budgets still allow."""
    size = len(names)
    while size and not search.fits((*search.choice.names, *names[:size])):
        size //= 2
    return size


def best_groups(search: Search, names: Sequence[str], limit: int) -> None:
    """Again and again take in the group of the first few that is worth most, until none is worth anything."""
    rest, failed = search.affordable(names), 0
    while len(rest) > 1 and search.scene.effort < limit and failed < _PATIENCE:
        best: Choice | None = None
        for size in _SIZES:
            if size > len(rest) or search.scene.effort >= limit:
                break
            found = search.tried(search.choice.names | frozenset(rest[:size]))
            if found is not None and found.worth > (best or search.choice).worth:
                best = found
        if best is None:
            rest, failed = rest[1:], failed + 1
        else:
            search.choice = best
            rest = search.affordable(rest)


def improved(search: Search, names: Sequence[str], limit: int) -> None:
    """Take the least valuable out, one at a time, and see whether others then make more of it."""
    doubtful = sorted(search.choice.commands, key=lambda one: (one.value, one.names))
    for command in doubtful[:_SWAPS]:
        if search.scene.effort >= limit:
            return
        before = search.choice
        without = search.tried(before.names - frozenset(command.names))
        if without is None and len(before.names) > len(command.names):
            continue
        search.choice = without or Choice()
        others = search.affordable(one for one in names if one not in before.names)[:_TRIALS]
        while others and search.scene.effort < limit:
            search.extend(others[:1], Taking.WORTH)
            others = search.affordable(others[1:])
        if search.choice.worth <= before.worth:
            search.choice = before
