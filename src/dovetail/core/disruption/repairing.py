"""Repair: nodes that say they are broken are rebooted or replaced, within budgets, the most urgent first.

It is the only method that looks at nodes which never came up, and that passes node-level do-not-disrupt. Two things
stop it: a breaker, when so many nodes of a pool are broken at once that something else must be wrong, and the owner, by
`karpenter.sh/do-not-repair`. The breaker counts a fifth of the pool but never fewer than two nodes, or small pools
would never be mended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dovetail.core import labels
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.choosing import Search, Taking
from dovetail.core.disruption.commands import Command, Group, split
from dovetail.core.disruption.drifting import judge_of, terminated_first
from dovetail.core.disruption.facts import Machine, World
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.disruption.refusals import Code, Refusal, counted, listed
from dovetail.core.disruption.repair_policies import Action, Diagnosis, diagnosis
from dovetail.core.disruption.stages import Outcome, Stage, share_of, static_counts
from dovetail.core.disruption.static_drift import going_first, refills, replacing, staging_room

DO_NOT_REPAIR: Final = "karpenter.sh/do-not-repair"
BREAKER_PERCENT: Final = 20
#: Broken nodes a pool may have before anybody thinks of something else, however small it is.
BREAKER_FLOOR: Final = 2
#: So many reboots within so long; then the node is replaced.
MOST_REBOOTS, REBOOT_SECONDS = 2, 86400.0


@dataclass(frozen=True, slots=True)
class Patient:
    candidate: Candidate
    diagnosis: Diagnosis


def diagnosed(machine: Machine, world: World) -> Diagnosis | None:
    """What is to be done with a machine, None for one that is well, or not yet ill for long enough."""
    node = machine.node
    if node is None:
        return None
    since = max(node.meta.created, machine.rebooted or 0.0)
    found = diagnosis(world.repairs, node.conditions, since, world.now)
    if found is not None and found.action is Action.REBOOT:
        recent = [at for at in machine.reboots if world.now - at < REBOOT_SECONDS]
        if len(recent) >= MOST_REBOOTS:
            return replace(found, action=Action.REPLACE)
    return found


def repair(stage: Stage) -> Outcome:
    """Commands for broken nodes, and why others have to wait."""
    patients = [
        Patient(one, found)
        for one in stage.candidates.values()
        if (found := diagnosed(one.machine, stage.world)) is not None
    ]
    patients.sort(key=lambda one: (-one.diagnosis.score, one.candidate.cost, one.candidate.name))
    if not patients:
        return Outcome()
    broken = tripped(stage.world)
    # Nobody is moved from one broken node to another.
    scene = stage.scene(closing=frozenset(one.candidate.name for one in patients))
    search = Search(scene, stage.candidates, judge_of(stage, Reason.UNHEALTHY), Reason.UNHEALTHY, stage.ledger)
    commands: list[Command] = []
    refusals: dict[str, Refusal] = {}
    pending: list[Patient] = []
    for one in patients:
        answer = _refused(one, broken, stage) or _handled(one, search, stage)
        if isinstance(answer, Refusal):
            refusals[one.candidate.name] = answer
        elif isinstance(answer, Command):
            commands.append(answer)
        else:
            pending.append(one)
    bounds = {one.candidate.name: bound(one) for one in pending}
    commands += [replace(one, grace=_least(bounds[name] for name in one.names)) for one in search.choice.commands]
    return Outcome(tuple(commands), refusals)


def _least(bounds: Iterable[float | None]) -> float | None:
    return min((one for one in bounds if one is not None), default=None)


def bound(one: Patient) -> float | None:
    """How long the drain may take: what the policy says, but no longer than the claim allows."""
    policy, claim = one.diagnosis.grace, one.candidate.claim.grace
    if policy is None:
        return None
    return policy if claim is None else min(policy, claim)


def tripped(world: World) -> Mapping[str, Refusal]:
    """By pool, why nothing of it is repaired: too much of it is broken at once."""
    total: dict[str, int] = {}
    ill: dict[str, int] = {}
    for machine in world.machines.values():
        pool = machine.labels.get(labels.NODEPOOL)
        if machine.node is None or pool is None:
            continue
        total[pool] = total.get(pool, 0) + 1
        ill[pool] = ill.get(pool, 0) + world.repairs.is_unhealthy(machine.node.conditions)
    found = {}
    for pool, count in ill.items():
        most = max(share_of(BREAKER_PERCENT, total[pool]), BREAKER_FLOOR)
        if count > most:
            text = f"{counted(count, 'node')} of {total[pool]} in NodePool {pool} are unhealthy, more than {most}: "
            found[pool] = Refusal(Code.BREAKER, text + "nothing is repaired until a person has looked")
    return found


def _refused(one: Patient, broken: Mapping[str, Refusal], stage: Stage) -> Refusal | None:
    candidate = one.candidate
    if candidate.machine.annotations.get(DO_NOT_REPAIR) == "true":
        said = f'repair is blocked through the "{DO_NOT_REPAIR}" annotation'
        text = f"repair is blocked through the {DO_NOT_REPAIR} annotation on the node"
        return Refusal(Code.DO_NOT_REPAIR, text, said=said)
    if candidate.held and one.diagnosis.grace is None and candidate.claim.grace is None:
        said = "repair requires a termination grace period to bypass blocking pods"
        pods = tuple(key for held in candidate.held for key in held.pods)
        return Refusal(Code.NO_GRACE, f"{said}: {_texts(candidate.held)}", pods, said=said)
    if candidate.pool in broken:
        return broken[candidate.pool]
    # A node that never came up is in nobody's count, so it takes nothing from a budget.
    return stage.over_budget(candidate, Reason.UNHEALTHY) if candidate.machine.is_initialized else None


def _texts(held: Sequence[Refusal]) -> str:
    return listed(one.text for one in held)


def _handled(one: Patient, search: Search, stage: Stage) -> Command | Refusal | None:
    """A command, a refusal, or None for a node that was taken into the search."""
    candidate = one.candidate
    if one.diagnosis.action is Action.REBOOT:
        _pay(candidate, stage)
        group = Group((candidate.name,), needs=((),))
        why = f"{one.diagnosis.condition}/{one.diagnosis.reason}"
        grace = bound(one) if one.diagnosis.grace is not None else candidate.claim.grace
        return Command(Reason.UNHEALTHY, Decision.REBOOT, (candidate,), group, grace=grace, why=why, at=stage.world.now)
    if candidate.policy.is_static:
        return _static(one, stage)
    if not candidate.machine.is_initialized:
        return _alone(one, search, stage)
    if search.extend((candidate.name,), Taking.ANY):
        search.pay()
        return None
    first = terminated_first(candidate, stage, Reason.UNHEALTHY) if stage.world.gates.terminate_first_repair else None
    if first is None:
        return _reason(candidate, search)
    stage.ledger.take(candidate.pool)
    return replace(first, grace=bound(one))


def _pay(candidate: Candidate, stage: Stage) -> None:
    if candidate.machine.is_initialized:
        stage.ledger.take(candidate.pool)


def _alone(one: Patient, search: Search, stage: Stage) -> Command | Refusal:
    """A node that never came up has hardly a pod; it is judged by itself and outside of budgets."""
    name = one.candidate.name
    (group,) = split(search.scene.what_if((name,)), (name,))
    found = search.judge(group, (one.candidate,))
    return found if isinstance(found, Refusal) else replace(found, grace=bound(one))


def _static(one: Patient, stage: Stage) -> Command | Refusal:
    candidate, policy = one.candidate, one.candidate.policy
    counts = static_counts(stage.world, policy.name)
    if counts.active + counts.pending > (policy.pool.replicas or 0):
        return Refusal(Code.TRIM_FIRST, f"NodePool {policy.name} has more nodes than its replicas")
    if staging_room(stage, policy) > 0:
        _pay(candidate, stage)
        stage.staged[policy.name] = stage.staged.get(policy.name, 0) + 1
        return replace(replacing(candidate, stage, Reason.UNHEALTHY), grace=bound(one))
    if stage.world.gates.terminate_first_repair and refills(policy):
        _pay(candidate, stage)
        return replace(going_first(candidate, stage, "static-at-limit", Reason.UNHEALTHY), grace=bound(one))
    text = "static NodePool is at its node limit and cannot stage a replacement"
    return Refusal(Code.STATIC_LIMIT, text, said=text)


def _reason(candidate: Candidate, search: Search) -> Refusal:
    (group,) = split(search.scene.what_if((candidate.name,)), (candidate.name,))
    found = search.judge(group, (candidate,))
    if isinstance(found, Refusal):
        return found
    return Refusal(Code.NOT_CHOSEN, "the nodes that are repaired now leave no room for its pods; it follows them")
