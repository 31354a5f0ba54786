"""A world of files as disruption sees it: what a live loop watches for weeks, told from one moment.

Files know less than a loop. Conditions that are worked out (`Consolidatable`, `Drifted`) are worked out anew for the
time that is asked about; of a cause of drift only the cloud knows, the condition in the file is believed. A Node with
the label of a pool and no claim counts as that pool's and as up; drift is told from claims, so it never drifts. Where
no time is given, what happened, happened long ago.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from dovetail.api import buffers, manifests, node_pools
from dovetail.api.disruption import machines, pools
from dovetail.api.disruption.gathered import Gathered
from dovetail.api.disruption.pods import PLACEHOLDER, PodReader
from dovetail.api.disruption.pools import PoolRead
from dovetail.api.fields import fields
from dovetail.api.world import World as Files
from dovetail.core import conditions, labels
from dovetail.core.disruption import drift_checks
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.drift_checks import POOL_DRIFTED, REQUIREMENTS_DRIFTED, TYPE_NOT_FOUND
from dovetail.core.disruption.facts import NO_FACTS, Gates, Machine, PodFacts, World
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.effects import SaveClaim
from dovetail.core.errors import BadField, BadInput
from dovetail.core.nodeclaims import DRIFTED, NodeClaim
from dovetail.core.nodepools import NodePool
from dovetail.core.scheduling.problem import Problem
from dovetail.core.snapshot import Snapshot

_WORKED_OUT: Final = frozenset({POOL_DRIFTED, REQUIREMENTS_DRIFTED, TYPE_NOT_FOUND})


@dataclass(frozen=True, slots=True)
class Told:
    """What disruption is told of files, and what of it could not be read."""

    world: World
    problems: tuple[BadField, ...] = ()


def world(
    read: Files, problem: Problem, now: float, gates: Gates | None = None, cluster: tuple[Budget, ...] = ()
) -> Told:
    """The files as disruption sees them; they were read `with_disruption`. `problem` has what their pools can buy.

    `cluster` are the budgets of all pools together, which stand in no object.
    """
    gathered = read.gathered or Gathered()
    problems: list[BadField] = []
    policies = {one.name: one for one in _policies(read, problem.snapshot, problems)}
    found = _machines(gathered, policies)
    judged = {name: _judged(one, policies, problem, now) for name, one in found.items()}
    made = World(
        problem=replace(problem, snapshot=_with_nodes_up(problem.snapshot, gathered, found)),
        machines=judged,
        pools=policies,
        now=now,
        pods=_facts(gathered, problem.snapshot),
        gates=gates or Gates(),
        cluster=cluster,
    )
    return Told(made, tuple(problems))


# ---- pools


def policies_of(read: Files, snapshot: Snapshot) -> tuple[dict[str, PoolPolicy], tuple[BadField, ...]]:
    """How every pool of some files wants to be treated, by name, and what of that cannot be read."""
    problems: list[BadField] = []
    return {one.name: one for one in _policies(read, snapshot, problems)}, tuple(problems)


def _policies(read: Files, snapshot: Snapshot, problems: list[BadField]) -> Iterator[PoolPolicy]:
    for pool in snapshot.pools:
        source = read.sources.get((node_pools.KIND, pool.name))
        if source is None:
            yield PoolPolicy(pool)
            continue
        found = _read(source.value, pool)
        problems += (manifests.placed(one, source) for one in found.problems)
        yield found.policy


def _read(value: object, pool: NodePool) -> PoolRead:
    try:
        return pools.read(fields(value), pool)
    except BadInput as bad:
        shut = PoolPolicy(pool, None, budgets=(Budget(problem=str(bad)),))
        return PoolRead(shut, (bad,) if isinstance(bad, BadField) else ())


# ---- machines


def _machines(gathered: Gathered, policies: Mapping[str, PoolPolicy]) -> dict[str, Machine]:
    nodes = [machines.with_readiness(one) for one in gathered.nodes.values()]
    classes = {name: one.pool.node_class for name, one in policies.items()}
    found = machines.machines(gathered.claims.values(), nodes)
    for name, one in found.items():
        if one.claim is None and one.node is not None and one.labels.get(labels.NODEPOOL):
            found[name] = machines.machine(machines.taken_up(one.node, classes), one.node)
    return found


def _judged(one: Machine, policies: Mapping[str, PoolPolicy], problem: Problem, now: float) -> Machine:
    """The machine with its claim's conditions as they are now."""
    policy = policies.get(one.labels.get(labels.NODEPOOL, ""))
    if one.claim is None or policy is None:
        return one
    cloud = _cloud_drift(one.claim)
    step = drift_checks.judged(one.claim, policy, problem.catalogs.get(policy.name), cloud, now)
    saved = [effect.after for effect in step.effects if isinstance(effect, SaveClaim)]
    return replace(one, claim=saved[0] if saved else one.claim, cloud_drift=cloud)


def _cloud_drift(claim: NodeClaim) -> str:
    held = conditions.found(claim.conditions, DRIFTED)
    told = held is not None and held.status is conditions.Status.TRUE and held.reason not in _WORKED_OUT
    return held.reason if held is not None and told else ""


def _with_nodes_up(snapshot: Snapshot, gathered: Gathered, found: Mapping[str, Machine]) -> Snapshot:
    """Nodes that came without a claim are up, whatever labels they lack."""
    alone = {
        name
        for name, one in found.items()
        if one.node is not None and one.claim is not None and one.claim.name not in gathered.claims
    }
    nodes = tuple(replace(one, ready=True) if one.name in alone else one for one in snapshot.nodes)
    return replace(snapshot, nodes=nodes)


# ---- pods


def _facts(gathered: Gathered, snapshot: Snapshot) -> dict[str, PodFacts]:
    """What pods say, by key; those that say nothing are left out."""
    wires = {f"{one.draft.namespace}/{one.name}": one for one in gathered.pods}
    reader = PodReader(gathered.budgets, gathered.pods)
    found: dict[str, PodFacts] = {}
    for pod in snapshot.pods:
        wire = wires.get(pod.key)
        said = NO_FACTS if wire is None else reader.facts(wire, pod.shape)
        if wire is None and pod.owner == buffers.KIND:
            said = PLACEHOLDER
        if said is not NO_FACTS:
            found[pod.key] = said
    return found
