"""Small changes to a cluster, from seeded dice: what one moment of a live cluster differs in from the last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from random import Random

from tests.core.disruption.clusters import UP, member
from tests.core.disruption.random_clusters import TYPES

from dovetail.core.catalog.layers import Catalog
from dovetail.core.disruption.facts import PodBudget, PodFacts, World
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod, PodState


def with_pods(world: World, pods: tuple[Pod, ...]) -> World:
    return replace(world, problem=replace(world.problem, snapshot=replace(world.problem.snapshot, pods=pods)))


def with_nodes(world: World, nodes: tuple[Node, ...]) -> World:
    return replace(world, problem=replace(world.problem, snapshot=replace(world.problem.snapshot, nodes=nodes)))


def _pod_goes(world: World, dice: Random) -> World:
    pods = list(world.problem.snapshot.pods)
    if pods:
        pods.pop(dice.randrange(len(pods)))
    return with_pods(world, tuple(pods))


def _pod_comes(world: World, dice: Random) -> World:
    """One more of a shape that is there, or of one that was not."""
    snapshot = world.problem.snapshot
    if not snapshot.pods:
        return world
    shape = dice.choice(snapshot.pods).shape
    if dice.random() < 0.3:
        shape = replace(shape, requests=shape.requests.merged({"cpu": dice.choice((100, 700, 1100))}))
    node = dice.choice(snapshot.nodes).name
    state = dice.choice((PodState.BOUND, PodState.BOUND, PodState.BOUND, PodState.GOING))
    name = f"late-{dice.randrange(10**9)}"
    owner = dice.choice(("ReplicaSet", "ReplicaSet", "DaemonSet", "StatefulSet"))
    made = Pod(name, shape, f"{name}-uid", created=dice.random(), node=node, state=state, owner=owner)
    return with_pods(world, (*snapshot.pods, made))


def _pod_waits(world: World, dice: Random) -> World:
    grown = _pod_comes(world, dice)
    if len(grown.problem.snapshot.pods) < 2:
        return world
    *others, last = grown.problem.snapshot.pods
    return with_pods(grown, (*others, replace(last, node=None, state=PodState.PENDING, owner="ReplicaSet")))


def _pod_moves(world: World, dice: Random) -> World:
    pods = list(world.problem.snapshot.pods)
    if pods:
        at = dice.randrange(len(pods))
        pods[at] = replace(pods[at], node=dice.choice(world.problem.snapshot.nodes).name, state=PodState.BOUND)
    return with_pods(world, tuple(pods))


def _pod_speaks(world: World, dice: Random) -> World:
    if not world.problem.snapshot.pods:
        return world
    pod = dice.choice(world.problem.snapshot.pods)
    facts = dict(world.pods)
    said = dice.choice(
        (
            None,
            PodFacts(held_until=dice.choice((inf, world.now + 100))),
            PodFacts(budgets=(PodBudget("pdb", dice.choice((0, 3))),)),
            PodFacts(deletion_cost="100000000", ready_seconds=300.0),
        )
    )
    if said is None:
        facts.pop(pod.key, None)
    else:
        facts[pod.key] = said
    return replace(world, pods=facts)


def _time_passes(world: World, dice: Random) -> World:
    return replace(world, now=world.now + dice.choice((1.0, 60.0, 700.0)))


def _node_stirs(world: World, dice: Random) -> World:
    """Pods came or went there, as its claim tells: it is inside its pool's consolidateAfter again."""
    machines = dict(world.machines)
    name = dice.choice(sorted(machines))
    claim = machines[name].claim
    if claim is not None:
        machines[name] = replace(machines[name], claim=replace(claim, last_pod_event=world.now))
    return replace(world, machines=machines)


def _node_changes(world: World, dice: Random) -> World:
    snapshot = world.problem.snapshot
    at = dice.randrange(len(snapshot.nodes))
    node = snapshot.nodes[at]
    other = dice.choice(
        (
            replace(node, ready=not node.ready),
            replace(node, leaving=True),
            replace(node, allocatable=node.allocatable.merged({"cpu": node.allocatable.of("cpu") // 2})),
        )
    )
    return with_nodes(world, (*snapshot.nodes[:at], other, *snapshot.nodes[at + 1 :]))


def _node_comes(world: World, dice: Random) -> World:
    name = f"late-{dice.randrange(10**9)}"
    made = member(name, "m8", pool=dice.choice(sorted(world.pools)), types=TYPES, true=UP)
    grown = with_nodes(world, (*world.problem.snapshot.nodes, made.node))
    return replace(grown, machines={**grown.machines, name: made.machine})


def _node_goes(world: World, dice: Random) -> World:
    nodes = world.problem.snapshot.nodes
    if len(nodes) < 3:
        return world
    gone = dice.choice(nodes).name
    machines = {name: one for name, one in world.machines.items() if name != gone}
    left = with_nodes(world, tuple(node for node in nodes if node.name != gone))
    left = with_pods(left, tuple(pod for pod in left.problem.snapshot.pods if pod.node != gone))
    return replace(left, machines=machines)


def _prices_change(world: World, dice: Random) -> World:
    """Something is sold out: what is for sale is another catalog."""
    name = dice.choice(sorted(world.problem.catalogs))
    types = dict(world.problem.catalogs[name].types)
    if len(types) > 2:
        types.pop(dice.choice(sorted(types)))
    catalogs = dict.fromkeys(world.problem.catalogs, Catalog(types))
    return replace(world, problem=replace(world.problem, catalogs=catalogs))


def _pool_changes(world: World, dice: Random) -> World:
    pools = dict(world.pools)
    name = dice.choice(sorted(pools))
    pools[name] = replace(pools[name], consolidate_after=dice.choice((0.0, 300.0, None)))
    return replace(world, pools=pools)


_OFTEN: tuple[Callable[[World, Random], World], ...] = (_pod_goes, _pod_comes, _pod_moves, _pod_speaks, _time_passes)
_SELDOM = (_pod_waits, _node_stirs, _node_changes, _node_comes, _node_goes, _prices_change, _pool_changes)


def changed(world: World, dice: Random) -> World:
    """The cluster a moment later: one thing is different, or a few."""
    for _ in range(dice.choice((0, 1, 1, 1, 2, 5))):
        world = dice.choice(_OFTEN if dice.random() < 0.85 else _SELDOM)(world, dice)
    return world
