"""Drift of static pools: nothing is planned, each node that goes is replaced by one from the pool's template.

A pool that has more nodes than it asks for is trimmed before anything is replaced. `limits.nodes` bounds how many more
there may be meanwhile; at the limit, or where all that could be bought are full reservations, a node may go before its
replacement if the gate allows it, and the pool fills itself up again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dovetail.core import conditions, labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.disruption import rollouts
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.commands import Command, Group
from dovetail.core.disruption.drifting import held_by_pods, reservation_of
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.stages import Outcome, Stage, static_counts
from dovetail.core.nodeclaims import DRIFTED

NODES: Final = "nodes"
_UNLIMITED: Final = 2**31 - 1


def static_drift(stage: Stage) -> Outcome:
    """One command for each drifted node of a static pool that may go now."""
    by_pool: dict[str, list[Candidate]] = {}
    for one in stage.candidates.values():
        if one.is_drifted and one.policy.is_static:
            by_pool.setdefault(one.pool, []).append(one)
    commands: list[Command] = []
    refusals: dict[str, Refusal] = {}
    for _, some in sorted(by_pool.items()):
        ranked = sorted(some, key=lambda one: (_since(one), one.name))
        found = _of_pool(stage, ranked)
        commands += found.commands
        refusals.update(found.refusals)
    return Outcome(tuple(commands), refusals)


def _since(one: Candidate) -> float:
    found = conditions.found(one.claim.conditions, DRIFTED)
    return 0.0 if found is None else found.since


def _of_pool(stage: Stage, ranked: Sequence[Candidate]) -> Outcome:
    policy = ranked[0].policy
    refusals: dict[str, Refusal] = {}
    free = []
    for one in ranked:
        held = held_by_pods(one, Reason.DRIFTED)
        if held is not None:
            refusals[one.name] = held
        else:
            free.append(one)
    counts = static_counts(stage.world, policy.name)
    if counts.active + counts.pending > (policy.pool.replicas or 0):
        text = f"NodePool {policy.name} has more nodes than its replicas; it is scaled down first"
        return Outcome((), refusals | {one.name: Refusal(Code.TRIM_FIRST, text) for one in free})
    gate = rollouts.gate(stage.world, policy)
    refusals |= {one.name: gate.refusal for one in free[gate.room :]}
    free = free[: gate.room]
    if stage.world.gates.terminate_first_drift and is_full(policy, stage.world.problem.catalogs):
        return _through_reservations(stage, free, refusals)
    room = staging_room(stage, policy)
    return _staged(stage, free, refusals, room)


def staging_room(stage: Stage, policy: PoolPolicy) -> int:
    """How many nodes more than now `limits.nodes` allows."""
    limits = policy.pool.limits
    if limits is None or NODES not in limits:
        return _UNLIMITED
    counts = static_counts(stage.world, policy.name)
    used = counts.active + counts.pending + counts.deleting + stage.staged.get(policy.name, 0)
    return max(0, limits.of(NODES) - used)


def _staged(stage: Stage, free: Sequence[Candidate], refusals: dict[str, Refusal], room: int) -> Outcome:
    """Replacements first while there is room for them; all at the limit, the nodes first if that is allowed."""
    commands: list[Command] = []
    at_limit = room == 0
    for one in free:
        over = stage.over_budget(one, Reason.DRIFTED)
        if over is not None:
            refusals[one.name] = over
        elif room > 0:
            room -= 1
            stage.ledger.take(one.pool)
            commands.append(replacing(one, stage))
        elif at_limit and stage.world.gates.terminate_first_drift and refills(one.policy):
            stage.ledger.take(one.pool)
            commands.append(going_first(one, stage, "static-at-limit"))
        else:
            text = "static NodePool is at its node limit and cannot stage a replacement"
            refusals[one.name] = Refusal(Code.STATIC_LIMIT, text, said=text)
    return Outcome(tuple(commands), refusals)


def _through_reservations(stage: Stage, free: Sequence[Candidate], refusals: dict[str, Refusal]) -> Outcome:
    """Only who holds a slot of a reservation that can be bought again may go, as its slot is all there will be."""
    commands: list[Command] = []
    for one in free:
        over = stage.over_budget(one, Reason.DRIFTED)
        if over is not None:
            refusals[one.name] = over
        elif refills(one.policy) and _holds_slot(one):
            stage.ledger.take(one.pool)
            commands.append(going_first(one, stage, "no-reserved-capacity"))
        else:
            text = "static NodePool's capacity reservations are full and cannot stage a replacement"
            refusals[one.name] = Refusal(Code.RESERVATIONS_FULL, text, said=text)
    return Outcome(tuple(commands), refusals)


def refills(policy: PoolPolicy) -> bool:
    """Whether the pool will buy by itself what it lacks."""
    return policy.pool.ready and not policy.deleting


def _holds_slot(one: Candidate) -> bool:
    reservation = reservation_of(one)
    rows = () if one.instance_type is None else one.instance_type.offerings
    return any(row.available and any(each.id == reservation for each in row.reservations) for row in rows)


def is_full(policy: PoolPolicy, catalogs: Mapping[str, Catalog]) -> bool:
    """Whether everything the template could be bought as is reserved, and taken."""
    template = policy.pool.template
    rows = [
        row
        for kind in catalogs[policy.name].types.values()
        if kind.requirements.intersects(template)
        for row in kind.offerings
        if row.requirements.intersects(template)
    ]
    return bool(rows) and all(row.capacity_type == labels.RESERVED and not row.count for row in rows)


def replacing(one: Candidate, stage: Stage, reason: Reason = Reason.DRIFTED) -> Command:
    group = Group((one.name,), needs=((),))
    return Command(reason, Decision.REPLACE, (one,), group, templates=1, at=stage.world.now)


def going_first(one: Candidate, stage: Stage, why: str, reason: Reason = Reason.DRIFTED) -> Command:
    group = Group((one.name,), needs=((),))
    return Command(reason, Decision.TERMINATE_FIRST, (one,), group, why=why, at=stage.world.now)
