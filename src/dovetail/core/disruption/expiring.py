"""Expiry inside budgets, for those who ask for it.

The peer deletes a claim the moment it is too old: no budget, no replacement first. A fleet bought in one hour then goes
in one hour. With `Gates.staggered_expiry`, claims that are too old are replaced like drifted ones, oldest first, as
many at a time as budgets without reasons allow; one that has waited a tenth of its life beyond its end goes anyway.
"""

from __future__ import annotations

from typing import Final

from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.commands import Command, Group
from dovetail.core.disruption.drifting import replaced
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.disruption.stages import Outcome, Stage
from dovetail.core.lifecycle.upkeep import goes_at
from dovetail.core.nodeclaims import NodeClaim

#: How much longer than its life a claim may wait for its turn.
PATIENCE: Final = 0.1


def expires(claim: NodeClaim) -> float | None:
    """When a claim is too old, None for never."""
    return goes_at(claim)


def overdue(claim: NodeClaim) -> float | None:
    """When it goes whatever budgets say."""
    return goes_at(claim, PATIENCE)


def expire(stage: Stage) -> Outcome:
    """Commands for claims that are too old; none unless expiry is to be staggered."""
    now = stage.world.now
    due = [one for one in stage.candidates.values() if _is_past(expires(one.claim), now)]
    if not due or not stage.world.gates.staggered_expiry:
        return Outcome()
    ranked = sorted(due, key=lambda one: (expires(one.claim) or 0.0, one.name))
    late = [one for one in ranked if _is_past(overdue(one.claim), now)]
    commands = tuple(_gone(one, stage) for one in late)
    rest = stage.after(commands)
    gone = {one.name for one in late}
    found = replaced(rest, [one for one in ranked if one.name not in gone], Reason.EXPIRED, terminates_first=False)
    return Outcome((*commands, *found.commands), found.refusals)


def _is_past(moment: float | None, now: float) -> bool:
    return moment is not None and moment <= now


def _gone(one: Candidate, stage: Stage) -> Command:
    stage.ledger.take(one.pool)
    group = Group((one.name,), needs=((),))
    return Command(Reason.EXPIRED, Decision.DELETE, (one,), group, why="overdue", at=stage.world.now)
