"""The scan: every candidate judged by a what-if of its own, every pass; then the best set of moves among them.

No candidate is left out for want of time, and none is hidden by another: what the scan says of a node is what `explain`
says of it, whether or not it is chosen in this pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dovetail.core.disruption import choosing, consolidation
from dovetail.core.disruption.blocking import explained
from dovetail.core.disruption.budgets import Ledger
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.choosing import Choice, Judge, Search, Taking
from dovetail.core.disruption.commands import Command, Group, split
from dovetail.core.disruption.consolidation import Setting
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.scenes import Scene

#: Pods that may be planned again for choosing in a round, whatever the size of the cluster; otherwise each once.
_LEAST_EFFORT: Final = 10_000
_ROUNDS: Final = 6


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was chosen, and why every other candidate stays."""

    commands: tuple[Command, ...]
    refusals: Mapping[str, Refusal]


def scan(scene: Scene, candidates: Mapping[str, Candidate], setting: Setting, ledger: Ledger) -> Scanned:
    """Judge every candidate, and choose."""

    def judge(group: Group, some: Sequence[Candidate]) -> Command | Refusal:
        return consolidation.judged(group, some, setting)

    refusals: dict[str, Refusal] = {}
    alone: dict[str, Command] = {}
    for name, one in candidates.items():
        refusal = consolidation.eligible(one)
        if refusal is not None:
            refusals[name] = refusal
            continue
        if one.is_empty:
            continue
        (group,) = split(scene.what_if((name,)), (name,))
        found = consolidation.judged(group, (one,), setting)
        if one.held or isinstance(found, Refusal):
            refusals[name] = explained(one, group, found)
        else:
            alone[name] = found
    joining = {name: one for name, one in candidates.items() if name in alone or _may_join(one, refusals.get(name))}
    chosen = _chosen(scene, joining, judge, ledger, alone)
    names = frozenset(name for one in chosen for name in one.names)
    for name in alone:
        if name not in names:
            refusals[name] = _left_out(candidates[name], alone[name], ledger)
    return Scanned(chosen, {name: one for name, one in refusals.items() if name not in names})


#: What a node alone may fail for, and several together need not.
_BETTER_TOGETHER: Final = frozenset({Code.NOT_CHEAPER, Code.PAYBACK, Code.LITTLE, Code.BALANCED, Code.SPOT_FEW})


def _may_join(one: Candidate, refusal: Refusal | None) -> bool:
    return refusal is not None and not one.held and refusal.code in _BETTER_TOGETHER


def _chosen(
    scene: Scene, joining: Mapping[str, Candidate], judge: Judge, ledger: Ledger, alone: Mapping[str, Command]
) -> tuple[Command, ...]:
    """Rounds of choosing, each beside what those before it chose, until nothing is left or enough was tried."""
    ranked = sorted(joining, key=lambda name: (-joining[name].ratio, name))
    left = max(_LEAST_EFFORT, sum(len(one.pods) for one in joining.values()))
    chosen: list[Command] = []
    for number in range(_ROUNDS):
        search = Search(scene, joining, judge, Reason.UNDERUTILIZED, ledger)
        before = scene.effort
        if number == 0:
            _free(search, [name for name in ranked if name in alone and not alone[name].replacements], left)
        free = search.choice
        search.choice = Choice()
        _bought(search, ranked, left)
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


def _free(search: Search, names: Sequence[str], effort: int) -> None:
    """Nodes that can go without anything being bought."""
    limit = search.scene.effort + effort
    choosing.taken_in_turn(search, names, limit, Taking.FREE)
    choosing.improved(search, names, limit)


def _bought(search: Search, names: Sequence[str], effort: int) -> None:
    """Nodes that can go if others are bought, several for one or each by itself."""
    limit = search.scene.effort + effort
    choosing.best_groups(search, names, limit)
    choosing.taken_in_turn(search, names, limit, Taking.WORTH)
    choosing.improved(search, names, limit)


def _left_out(one: Candidate, command: Command, ledger: Ledger) -> Refusal:
    if not ledger.remaining(one.pool, Reason.UNDERUTILIZED):
        allowance = ledger.allowance(one.pool, Reason.UNDERUTILIZED)
        text = f"NodePool {one.pool} lets no more nodes go now: {allowance}"
        return Refusal(Code.BUDGET, text, nanodollars=command.saved)
    return Refusal(Code.NOT_CHOSEN, "others that go now were worth more", nanodollars=command.saved)


def stamped(commands: Sequence[Command], now: float) -> tuple[Command, ...]:
    """The most valuable first."""
    return tuple(replace(one, at=now) for one in sorted(commands, key=lambda one: (-one.value, one.names)))
