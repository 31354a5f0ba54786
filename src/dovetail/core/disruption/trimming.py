"""Static pools that have more nodes than they ask for: which go first (§3.12).

Claims that never became a machine, then empty nodes, then those that disturb least; pods that ask not to be disrupted
are spared as long as there are others.
"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.core import labels
from dovetail.core.disruption import costs
from dovetail.core.disruption.facts import Machine, World
from dovetail.core.disruption.stages import is_away
from dovetail.core.pods import Pod, PodState


def excess(world: World, pool: str) -> tuple[Machine, ...]:
    """The machines of a static pool that are too many, in the order they go. Budgets are not asked."""
    policy = world.pools[pool]
    if policy.pool.replicas is None:
        return ()
    members = [
        one
        for one in world.machines.values()
        if one.claim is not None and one.claim.meta.labels.get(labels.NODEPOOL) == pool and not is_away(one, world)
    ]
    on_nodes: dict[str, list[Pod]] = {}
    for pod in world.problem.snapshot.pods:
        if pod.node is not None and pod.state is PodState.BOUND:
            on_nodes.setdefault(pod.node, []).append(pod)
    ranked = sorted(members, key=lambda one: _rank(one, on_nodes.get(one.name, ()), world))
    return tuple(ranked[: max(0, len(members) - policy.pool.replicas)])


def _rank(machine: Machine, pods: Iterable[Pod], world: World) -> tuple[int, bool, float, str]:
    claim = machine.claim
    assert claim is not None
    found = tuple(pods)
    held = any(_is_held(pod, world) for pod in found)
    empty = not held and all(pod.owner == "DaemonSet" for pod in found)
    stage = 0 if not claim.provider_id else 1 if empty else 2
    gate = world.gates.writes_deletion_cost
    trouble = sum(costs.eviction_cost(pod, world.facts(pod.key), gate) for pod in found)
    left = costs.lifetime_left(claim.meta.created, claim.expire_after, world.now)
    return (stage, held, trouble * left, machine.name)


def _is_held(pod: Pod, world: World) -> bool:
    until = world.facts(pod.key).held_until
    return until is not None and until > world.now
