"""Drift of pools that plan: what has drifted is replaced, as many nodes at a time as budgets allow.

The replacement comes first. Where none can be had because the node sits in a reservation that is full, and the gate is
on, the node may go first and its slot be filled again (`terminated_first`). Pods that may not be evicted go down with
the node when its grace period ends; they are planned for like the others, but their finding no place does not stop it.

A roll-out stops by itself when the pool's fresh machines do not come up, and may begin with a few (`canary`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dovetail.core import conditions, labels
from dovetail.core.disruption import choosing, consolidation, pricing
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.choosing import Search, Taking
from dovetail.core.disruption.commands import Command, Group, split
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.disruption.refusals import Code, Refusal, listed
from dovetail.core.disruption.scenes import Scene, credited
from dovetail.core.disruption.stages import Outcome, Stage
from dovetail.core.nodeclaims import DRIFTED, POOL_HASH

Judge = Callable[[Group, Sequence[Candidate]], Command | Refusal]
#: A roll-out is planned whole, however large.
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
    room = dict.fromkeys((one.pool for one in ranked), 0)
    for one in ranked:
        found = _held(one, reason) or _rollout(one, stage, room[one.pool]) or stage.over_budget(one, reason)
        if found is not None:
            refusals[one.name] = found
        else:
            room[one.pool] += 1
            going.append(one.name)
    commands, going, stage = _in_rounds(stage, going, reason)
    for name in going:
        if name not in stage.candidates:
            refusals[name] = Refusal(Code.NOT_CHOSEN, "it receives pods of nodes that go now; it goes after them")
            continue
        one = stage.candidates[name]
        first = terminated_first(one, stage, reason) if terminates_first else None
        over = stage.over_budget(one, reason)
        if first is not None and over is None:
            stage.ledger.take(one.pool)
            commands.append(first)
        else:
            refusals[name] = over or _stuck(stage, one, reason)
    return Outcome(tuple(commands), refusals)


def _in_rounds(stage: Stage, going: list[str], reason: Reason) -> tuple[list[Command], list[str], Stage]:
    """Take in what can be, each round beside what those before it took.

    Nobody is moved to a node that is to go as well, or its pods would be evicted twice; only where they find no other
    place is that room used after all.
    """
    commands: list[Command] = []
    closing = frozenset(going)
    for _ in range(_ROUNDS):
        search = Search(stage.scene(closing=closing), stage.candidates, judge_of(stage, reason), reason, stage.ledger)
        choosing.taken_in_turn(search, [name for name in going if name in stage.candidates], _NO_LIMIT, Taking.ANY)
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


def _held(one: Candidate, reason: Reason) -> Refusal | None:
    held = one.holds(reason)
    if not held:
        return None
    text = f"{listed(found.text for found in held)}; a terminationGracePeriod would let the node go all the same"
    return Refusal(held[0].code, text, tuple(key for found in held for key in found.pods))


def _rollout(one: Candidate, stage: Stage, started: int) -> Refusal | None:
    policy = one.policy
    if policy.healthy is False:
        text = f"the last machines of NodePool {policy.name} did not come up: replacing more of it waits"
        return Refusal(Code.UNHEALTHY_POOL, text)
    if not policy.canary or _fresh(stage, policy.name, policy.template_hash) >= policy.canary:
        return None
    under_way = sum(
        1 for command in stage.world.running if command.reason is Reason.DRIFTED and policy.name in command.pools
    )
    if started + under_way < policy.canary:
        return None
    return Refusal(Code.CANARY, f"NodePool {policy.name} replaces {policy.canary} first and waits until they are up")


def _fresh(stage: Stage, pool: str, template_hash: str) -> int:
    """How many nodes of a pool are up that were made from its template as it is now."""
    return sum(
        1
        for machine in stage.world.machines.values()
        if machine.claim is not None
        and machine.claim.pool == pool
        and machine.is_initialized
        and machine.claim.meta.annotations.get(POOL_HASH) == template_hash
    )


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
