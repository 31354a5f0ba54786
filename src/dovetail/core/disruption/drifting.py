"""Drift of pools that plan: what has drifted is replaced, as many nodes at a time as budgets allow.

The replacement comes first. Where none can be had because the node sits in a reservation that is full, and the gate is
on, the node may go first and its slot be filled again (`terminated_first`). Pods that may not be evicted go down with
the node when its grace period ends; they are planned for like the others, but their finding no place does not stop it.

A roll-out stops by itself when the pool's fresh machines do not come up, and may go in waves (`rollouts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dovetail.core import conditions, labels
from dovetail.core.disruption import choosing, consolidation, pricing, rollouts
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.choosing import Search, Taking
from dovetail.core.disruption.commands import Command, Group, split
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.disruption.refusals import Code, Refusal, listed
from dovetail.core.disruption.renewals import free_alone, one_by_one
from dovetail.core.disruption.rollouts import Gate
from dovetail.core.disruption.scenes import Scene, credited
from dovetail.core.disruption.stages import Outcome, Stage
from dovetail.core.nodeclaims import DRIFTED

Judge = Callable[[Group, Sequence[Candidate]], Command | Refusal]
#: Whatever it takes: a roll-out is planned whole, however large.
_NO_LIMIT = 2**62
#: Rounds of one pass; who is left then goes in the next, which follows at once.
_ROUNDS = 24


def drift(stage: Stage) -> Outcome:
    """Commands for drifted nodes of dynamic pools: those without pods first, then the longest drifted."""
    drifted = [one for one in stage.candidates.values() if one.is_drifted and not one.policy.is_static]
    if not drifted:
        return Outcome()
    ranked = sorted(drifted, key=lambda one: (bool(one.pods), _since(one), one.name))
    return replaced(stage, ranked, Reason.DRIFTED, stage.world.gates.terminate_first_drift)


def _since(one: Candidate) -> float:
    found = conditions.found(one.claim.conditions, DRIFTED)
    return 0.0 if found is None else found.since


def replaced(stage: Stage, ranked: Sequence[Candidate], reason: Reason, terminates_first: bool) -> Outcome:
    """Replace these nodes in this order, as far as budgets and the cluster allow."""
    refusals: dict[str, Refusal] = {}
    going: list[str] = []
    policies = {one.pool: one.policy for one in ranked}
    gates = {pool: rollouts.gate(stage.world, policy) for pool, policy in policies.items()}
    started = dict.fromkeys(gates, 0)
    for one in ranked:
        waits = _waits(one, gates[one.pool], started[one.pool], reason)
        found = held_by_pods(one, reason) or waits or stage.over_budget(one, reason)
        if found is not None:
            refusals[one.name] = found
        else:
            started[one.pool] += bool(one.pods)
            going.append(one.name)
    before = stage
    commands, going, stage = _taken(stage, going, reason)
    for name in going:
        if name not in stage.candidates:
            refusals[name] = Refusal(Code.NOT_CHOSEN, "it receives pods of nodes that go now; it goes after them")
            continue
        one = stage.candidates[name]
        over = stage.over_budget(one, reason)
        first = terminated_first(one, stage, reason) if terminates_first and over is None else None
        if first is not None:
            stage.ledger.take(one.pool)
            commands.append(first)
        else:
            refusals[name] = over or _stuck(before, one, reason)
    return Outcome(tuple(commands), refusals)


def _taken(stage: Stage, going: list[str], reason: Reason) -> tuple[list[Command], list[str], Stage]:
    """Take what can be: first who needs nothing bought, then each by itself, then the rest as it goes together."""
    commands: list[Command] = []

    def take(found: Iterable[Command]) -> None:
        nonlocal stage, going
        more = tuple(found)
        gone = {name for one in more for name in one.names}
        commands.extend(more)
        going = [name for name in going if name not in gone]
        stage = stage.after(more)

    closing = frozenset(going)
    search = Search(stage.scene(closing=closing), stage.candidates, judge_of(stage, reason), reason, stage.ledger)
    choosing.taken_in_turn(
        search, free_alone(stage, _affordable(stage, going, reason), closing), _NO_LIMIT, Taking.FREE
    )
    search.pay()
    take(search.choice.commands)
    while found := one_by_one(stage, going, reason, judge_of(stage, reason)):
        for name in (name for one in found for name in one.names):
            stage.ledger.take(stage.candidates[name].pool)
        take(found)
    more, going, stage = _in_rounds(stage, going, reason)
    return commands + more, going, stage


def _affordable(stage: Stage, names: Iterable[str], reason: Reason) -> list[str]:
    """The first of these, as many as budgets let go."""
    book = stage.ledger.copy()
    found = []
    for name in names:
        pool = stage.candidates[name].pool
        if book.remaining(pool, reason) > 0:
            book.take(pool)
            found.append(name)
    return found


def _in_rounds(stage: Stage, going: list[str], reason: Reason) -> tuple[list[Command], list[str], Stage]:
    """Take in what can be, each round beside what those before it took.

    Nobody is moved to a node that is to go as well, or its pods would be evicted twice; only where they find no other
    place is that room used after all.
    """
    commands: list[Command] = []
    closing = frozenset(going)
    for _ in range(_ROUNDS):
        left = [name for name in going if name in stage.candidates]
        if not any(stage.ledger.remaining(stage.candidates[name].pool, reason) for name in left):
            break
        search = Search(stage.scene(closing=closing), stage.candidates, judge_of(stage, reason), reason, stage.ledger)
        choosing.taken_in_turn(search, left, _NO_LIMIT, Taking.ANY)
        search.pay()
        if search.choice.names:
            commands += search.choice.commands
            going = [name for name in going if name not in search.choice.names]
            stage = stage.after(search.choice.commands)
        elif closing:
            closing = frozenset()
        else:
            break
        if not going:
            break
    return commands, going, stage


def held_by_pods(one: Candidate, reason: Reason) -> Refusal | None:
    """Which pods keep a method from a node, None if none does."""
    held = one.holds(reason)
    if not held:
        return None
    text = f"{listed(found.text for found in held)}; a terminationGracePeriod would let the node go all the same"
    return Refusal(held[0].code, text, tuple(key for found in held for key in found.pods), said=held[0].said)


def _waits(one: Candidate, gate: Gate, started: int, reason: Reason) -> Refusal | None:
    """Why a node's turn has not come. One without pods needs no replacement that could fail, so no wave counts it."""
    if gate.refusal.code is Code.UNHEALTHY_POOL:
        return gate.refusal
    if reason is not Reason.DRIFTED or not one.pods or started < gate.room:
        return None
    return gate.refusal


def judge_of(stage: Stage, reason: Reason) -> Judge:
    """A replacement is in order if everybody finds a place; drift does not ask who would go down with the node."""
    forgiving = reason is not Reason.UNHEALTHY

    def judge(group: Group, some: Sequence[Candidate]) -> Command | Refusal:
        held = {key for one in some for found in one.held for key in found.pods} if forgiving else set()
        lost = tuple(sorted(pod.key for pod in group.refused if pod.key not in held))
        if lost:
            return Refusal(Code.UNSCHEDULABLE, f"not all pods would schedule: {listed(lost)} would find no place", lost)
        new = sum(pricing.price_of(claim) for claim in group.claims)
        saved = sum(one.nanodollars for one in some) - new
        if len(some) > 1 and saved < 0:
            return Refusal(Code.NOT_CHEAPER, "replaced together they would cost more than one by one")
        return Command(
            reason,
            Decision.REPLACE if group.claims else Decision.DELETE,
            tuple(some),
            group,
            group.claims,
            saved=saved,
            cost=consolidation.move_cost(some, new, stage.world),
            at=stage.world.now,
        )

    return judge


def _stuck(stage: Stage, one: Candidate, reason: Reason) -> Refusal:
    """Why a node was not taken: it could not go if nobody else went either, or others took its room."""
    (group,) = split(stage.scene().what_if((one.name,)), (one.name,))
    found = judge_of(stage, reason)(group, (one,))
    if isinstance(found, Refusal):
        return found
    return Refusal(Code.NOT_CHOSEN, "the nodes that go now leave no room for its pods; it goes after them")


# ---- terminate first


def reservation_of(one: Candidate) -> str | None:
    """The reservation a node sits in: the label whose value is one of those behind its type's rows."""
    if one.capacity_type != labels.RESERVED or one.instance_type is None:
        return None
    known = {each.id for row in one.instance_type.offerings for each in row.reservations}
    return next((value for _, value in sorted(one.node.labels.items()) if value in known), None)


def terminated_first(one: Candidate, stage: Stage, reason: Reason) -> Command | None:
    """Give a node up before its replacement, if its pods fit once the slot of its reservation is free again."""
    reservation = reservation_of(one)
    if reservation is None:
        return None
    freed: Scene = stage.scene().changed(
        lambda problem: replace(problem, catalogs=credited(problem.catalogs, reservation, 1))
    )
    (group,) = split(freed.what_if((one.name,)), (one.name,))
    found = judge_of(stage, reason)(group, (one,))
    if isinstance(found, Refusal):
        return None
    bare = replace(group, claims=(), needs=((),))
    return replace(found, decision=Decision.TERMINATE_FIRST, group=bare, replacements=(), why="no-reserved-capacity")
