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
from dovetail.core.disruption.choosing import Choice, Search, Taking
from dovetail.core.disruption.commands import Command, Group, split
from dovetail.core.disruption.consolidation import Setting
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.scenes import Scene

#: How many times all pods may be planned again for choosing.
_EFFORT: Final = 3
_LEAST_EFFORT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was chosen, and why every other candidate stays."""

    choice: Choice
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
    search = Search(scene, joining, judge, Reason.UNDERUTILIZED, ledger)
    _choose(search, alone, _joining(joining, alone))
    for name in alone:
        if name not in search.choice.names:
            refusals[name] = _left_out(candidates[name], alone[name], search)
    chosen = {name: refusal for name, refusal in refusals.items() if name not in search.choice.names}
    return Scanned(search.choice, chosen)


#: What a node alone may fail for, and several together need not.
_BETTER_TOGETHER: Final = frozenset({Code.NOT_CHEAPER, Code.PAYBACK, Code.LITTLE, Code.BALANCED, Code.SPOT_FEW})


def _may_join(one: Candidate, refusal: Refusal | None) -> bool:
    return refusal is not None and not one.held and refusal.code in _BETTER_TOGETHER


def _joining(joining: Mapping[str, Candidate], alone: Mapping[str, Command]) -> list[str]:
    return sorted(joining, key=lambda name: (-joining[name].ratio, name))


def _choose(search: Search, alone: Mapping[str, Command], ranked: Sequence[str]) -> None:
    pods = sum(len(one.pods) for one in search.candidates.values())
    limit = search.scene.effort + max(_LEAST_EFFORT, _EFFORT * pods)
    free = [name for name in ranked if name in alone and not alone[name].replacements]
    choosing.taken_in_turn(search, free, limit, Taking.FREE)
    choosing.best_groups(search, ranked, limit)
    single = sorted((name for name in alone if alone[name].replacements), key=lambda one: (-alone[one].value, one))
    choosing.taken_in_turn(search, single, limit, Taking.WORTH)
    choosing.improved(search, [name for name in ranked if name in alone], limit)


def _left_out(one: Candidate, command: Command, search: Search) -> Refusal:
    if not search.fits((*search.choice.names, one.name)):
        allowance = search.ledger.allowance(one.pool, Reason.UNDERUTILIZED)
        text = f"NodePool {one.pool} lets no more nodes go now: {allowance}"
        return Refusal(Code.BUDGET, text, nanodollars=command.saved)
    return Refusal(Code.NOT_CHOSEN, "others that go now were worth more", nanodollars=command.saved)


def stamped(commands: Sequence[Command], now: float) -> tuple[Command, ...]:
    """The most valuable first."""
    return tuple(replace(one, at=now) for one in sorted(commands, key=lambda one: (-one.value, one.names)))
