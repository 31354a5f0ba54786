"""The scan: every candidate judged by a what-if of its own, every pass; then the best set of moves among them.

No candidate is left out for want of time, and none is hidden by another: what the scan says of a node is what `explain`
says of it, whether or not it is chosen in this pass.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from dovetail.core import labels
from dovetail.core.disruption import choosing, consolidation
from dovetail.core.disruption.balanced import Totals
from dovetail.core.disruption.blocking import explained
from dovetail.core.disruption.budgets import Ledger
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.choosing import Choice, Search, Taking
from dovetail.core.disruption.commands import Command, Group, parts
from dovetail.core.disruption.consolidation import Setting
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.scenes import Answer, Scene

#: Pods that may be planned again for choosing in a round, whatever the size of the cluster; otherwise each once.
_LEAST_EFFORT: Final = 10_000
_ROUNDS: Final = 6
#: Where less than this share of what a search chose is left, it is made again.
_ENOUGH: Final = 0.75


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was chosen, and why every other candidate stays."""

    commands: tuple[Command, ...]
    refusals: Mapping[str, Refusal]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was concluded of one candidate alone: a command, the reason why not, or nothing, as it is empty.

    It holds for as long as what it was concluded from is the same.
    """

    candidate: Candidate
    answer: Answer | None
    found: Command | Refusal | None
    #: The nodes that prove that nothing has to be bought, where that could be seen without an answer.
    witnesses: int = 0
    #: What its pool costs altogether, where that was asked.
    totals: Totals | None = None
    #: Whether it was said with an eye on the spot market, of which other things may be said in a moment.
    fleeting: bool = False

    def holds(self, one: Candidate, scene: Scene, setting: Setting, doubted: Container[str]) -> bool:
        """`doubted` are those of which an older answer is good enough for now."""
        if self.candidate is not one or self.fleeting or self.totals != setting.totals_for(one):
            return False
        if self.answer is None or one.name in doubted:
            return True
        return self.answer is scene.answers.get(frozenset((one.name,)))


def judgement(one: Candidate, scene: Scene, setting: Setting) -> Judgement:
    refusal = consolidation.eligible(one)
    if refusal is not None or one.is_empty:
        return Judgement(one, None, refusal)
    witnesses = scene.ample.witnesses(one.name)
    (group,) = (Group((one.name,), needs=((),)),) if witnesses else parts(scene, (one.name,))
    found = consolidation.judged(group, (one,), setting)
    if one.held or isinstance(found, Refusal):
        found = explained(one, group, found)
    answer = None if witnesses else scene.answer((one.name,))
    market = setting.world.market
    fleeting = bool(group.claims) and one.capacity_type == labels.ON_DEMAND and bool(market.returned or market.back)
    return Judgement(one, answer, found, witnesses, setting.totals_for(one), fleeting)


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search for nodes that go together came to, and on what terms."""

    commands: tuple[Command, ...]
    #: How many there were when it was made.
    count: int
    #: Who could go alone then, and how many of each pool might.
    alone: frozenset[str]
    allowed: Mapping[str, int]


@dataclass(slots=True)
class Memory:
    """What a scan knows of the one before: what was concluded of each candidate, and the search if it still counts."""

    judgements: dict[str, Judgement] = field(default_factory=dict)
    searched: Searched | None = None
    #: Candidates whose answers may be other ones by now, and since when; they are asked again in their turn.
    doubted: dict[str, float] = field(default_factory=dict)


def scan(
    scene: Scene,
    candidates: Mapping[str, Candidate],
    setting: Setting,
    ledger: Ledger,
    memory: Memory | None = None,
) -> Scanned:
    """Judge every candidate, and choose. The memory is used as far as it holds, and brought up to date."""
    memory = Memory() if memory is None else memory
    refusals: dict[str, Refusal] = {}
    alone: dict[str, Command] = {}
    known = memory.judgements
    for name, one in candidates.items():
        before = known.get(name)
        if before is None or not before.holds(one, scene, setting, memory.doubted):
            before = known[name] = judgement(one, scene, setting)
        if isinstance(before.found, Refusal):
            refusals[name] = before.found
        elif before.found is not None:
            alone[name] = before.found
    joining = {name: one for name, one in candidates.items() if name in alone or _may_join(one, refusals.get(name))}
    chosen = _searched(_Question(scene, joining, alone, setting, ledger), memory)
    names = frozenset(name for one in chosen for name in one.names)
    for name in alone:
        if name not in names:
            refusals[name] = _left_out(candidates[name], alone[name], ledger)
    return Scanned(chosen, {name: one for name, one in refusals.items() if name not in names})


#: What a node alone may fail for, and several together need not.
_BETTER_TOGETHER: Final = frozenset({Code.NOT_CHEAPER, Code.PAYBACK, Code.LITTLE, Code.BALANCED, Code.SPOT_FEW})


def _may_join(one: Candidate, refusal: Refusal | None) -> bool:
    return refusal is not None and not one.held and refusal.code in _BETTER_TOGETHER


@dataclass(frozen=True, slots=True)
class _Question:
    """Which of these nodes are to go; those in `alone` could go by themselves."""

    scene: Scene
    joining: Mapping[str, Candidate]
    alone: Mapping[str, Command]
    setting: Setting
    ledger: Ledger

    def judge(self, group: Group, some: Sequence[Candidate]) -> Command | Refusal:
        return consolidation.judged(group, some, self.setting)

    def search(self, scene: Scene | None = None) -> Search:
        return Search(scene or self.scene, self.joining, self.judge, Reason.UNDERUTILIZED, self.ledger)

    @property
    def ranked(self) -> list[str]:
        return sorted(self.joining, key=lambda name: (-self.joining[name].ratio, name))

    @property
    def effort(self) -> int:
        return max(_LEAST_EFFORT, sum(len(one.pods) for one in self.joining.values()))

    @property
    def allowed(self) -> dict[str, int]:
        pools = sorted({one.pool for one in self.joining.values()})
        return {pool: self.ledger.remaining(pool, Reason.UNDERUTILIZED) for pool in pools}


def _searched(question: _Question, memory: Memory) -> tuple[Command, ...]:
    """What the last search chose, where that still counts and can be had, and who can go since; else a new search."""
    last, allowed = memory.searched, question.allowed
    found = None
    if last is not None and last.allowed == allowed:
        found = _taken_again(question, last)
    if found is None:
        found = _chosen(question)
        memory.searched = Searched(found, len(found), frozenset(question.alone), allowed)
    return found


def _taken_again(question: _Question, last: Searched) -> tuple[Command, ...] | None:
    """What was chosen before, as far as it still pays, and who could not go alone then; None where little is left."""
    search = question.search()
    commands = tuple(one for each in last.commands if (one := _judged_again(each, question)) is not None)
    if len(commands) < last.count * _ENOUGH:
        return None
    names = frozenset(name for one in commands for name in one.names)
    # Where one stays that was to go, the others were planned without it, and have to be planned anew.
    found = Choice(names, commands) if len(commands) == len(last.commands) else search.tried(names)
    if found is None:
        return None
    search.choice = found
    fresh = question.alone.keys() - last.alone
    if fresh:
        limit = question.scene.effort + question.effort
        choosing.taken_in_turn(search, [name for name in question.ranked if name in fresh], limit, Taking.WORTH)
    search.pay()
    return search.choice.commands


def _judged_again(command: Command, question: _Question) -> Command | None:
    some = [question.joining.get(name) for name in command.names]
    present = [one for one in some if one is not None]
    found = question.judge(command.group, present) if len(present) == len(some) else None
    return found if isinstance(found, Command) else None


def _chosen(question: _Question) -> tuple[Command, ...]:
    """Rounds of choosing, each beside what those before it chose, until nothing is left or enough was tried."""
    scene, alone = question.scene, question.alone
    ranked, left = question.ranked, question.effort
    chosen: list[Command] = []
    for number in range(_ROUNDS):
        search = question.search(scene)
        before = scene.effort
        limit = before + left
        if number == 0:
            _free(search, [name for name in ranked if name in alone and not alone[name].replacements], limit)
        free = search.choice
        search.choice = Choice()
        _bought(search, ranked, limit)
        search.choice = max(free, search.choice, key=lambda one: (one.worth, -one.evictions))
        if not search.choice.names:
            break
        search.pay()
        chosen += search.choice.commands
        left -= scene.effort - before
        # Who receives pods stays for now, or they would be evicted twice.
        receiving = {placed.node.name for placed in search.choice.plan.placed}
        ranked = [name for name in search.affordable(ranked) if name not in receiving]
        if not ranked or left <= 0:
            break
        scene = scene.after(search.choice.plan, search.choice.names)
    return tuple(chosen)


def _free(search: Search, names: Sequence[str], limit: int) -> None:
    """Nodes that can go without anything being bought."""
    choosing.taken_in_turn(search, names, limit, Taking.FREE)
    choosing.improved(search, names, limit)


def _bought(search: Search, names: Sequence[str], limit: int) -> None:
    """Nodes that can go if others are bought, several for one or each by itself."""
    choosing.best_groups(search, names, limit)
    choosing.taken_in_turn(search, names, limit, Taking.WORTH)
    choosing.improved(search, names, limit)


def _left_out(one: Candidate, command: Command, ledger: Ledger) -> Refusal:
    if not ledger.remaining(one.pool, Reason.UNDERUTILIZED):
        return Refusal(Code.BUDGET, ledger.sentence(one.pool, Reason.UNDERUTILIZED), nanodollars=command.saved)
    return Refusal(Code.NOT_CHOSEN, "others that go now were worth more", nanodollars=command.saved)


def without_others(
    scene: Scene, candidates: Mapping[str, Candidate], setting: Setting, ledger: Ledger, commands: Sequence[Command]
) -> tuple[Command, ...]:
    """The commands about the nodes of these, planned anew where others that were chosen with them stay; none if those
    nodes cannot go without them."""
    names = frozenset(name for one in commands for name in one.names)
    chosen = {name: candidates[name] for name in names}
    found = _Question(scene, chosen, {}, setting, ledger).search().retried(names)
    return () if found is None else found.commands


def stamped(commands: Sequence[Command], now: float) -> tuple[Command, ...]:
    """The most valuable first."""
    return tuple(replace(one, at=now) for one in sorted(commands, key=lambda one: (-one.value, one.names)))
