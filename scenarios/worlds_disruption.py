"""Fleets to disrupt: worlds of any size in the middle of their lives, from seeded dice.

A fleet runs on the 144 types that kwok comes with, at its price formula, in four zones. Three pools buy: `general` on
demand, `spot`, and `batch`, which is tainted and takes a few deployments by itself. Pods are replicas of deployments of
sixteen sizes, some spread over zones or hosts, some apart on hosts; part of them are covered by disruption budgets, of
which some have nothing left; a few ask not to be disturbed. Nodes are of six sizes and from a fifth to nearly full, so
a pass finds nodes that can go, nodes that could be smaller, and nodes that somebody holds.

    world = fleet(Size(1_000, 30_000))
    other = with_pod_gone(world, 7)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle
from math import inf
from random import Random
from types import MappingProxyType
from typing import Final

from dovetail.clouds.kwok import generic
from dovetail.clouds.listed import ListedMarket
from dovetail.core import conditions, labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.conditions import Condition, Moment, Status
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import Machine, PodBudget, PodFacts, World
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.nodeclaims import (
    CLAIM_CONDITIONS,
    CONSOLIDATABLE,
    INITIALIZED,
    LAUNCHED,
    POOL_HASH,
    POOL_HASH_VERSION,
    READY,
    REGISTERED,
    Meta,
    NodeClaim,
    NodeObject,
)
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.nodes import Node
from dovetail.core.pods import Affinity, Pod, PodState, PodTerm, Shape, Spread
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.resources import CPU, MEMORY, MIB, PODS, Resources
from dovetail.core.scheduling.problem import Options, Problem
from dovetail.core.selectors import Selector
from dovetail.core.snapshot import Snapshot
from dovetail.core.taints import Effect, Taint, Toleration

NOW: Final = 1_800_000_000.0
HOUR: Final = 3600.0
NODE_CLASS: Final = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")
BATCH: Final = Taint("example.com/batch", Effect.NO_SCHEDULE, "true")
_TYPES: Final = ("s-8x", "m-8x", "c-16x", "s-16x", "m-16x", "s-32x")
_REPLICAS: Final = (5, 20, 60, 100, 200)
_CPU_MILLIS: Final = (50, 100, 250, 500)
_MEMORY_MIB: Final = (128, 256, 512, 1024)
_TRUE: Final = (LAUNCHED, REGISTERED, INITIALIZED, CONSOLIDATABLE)
_HASHES: Final = MappingProxyType({POOL_HASH: "1", POOL_HASH_VERSION: "v3"})


@dataclass(frozen=True, slots=True)
class Size:
    """How large a fleet is. `budget` is what every pool lets go at once; nodes are `emptiest` to `fullest` full."""

    nodes: int
    pods: int
    seed: int = 42
    budget: str = "10%"
    emptiest: float = 0.2
    fullest: float = 0.95
    #: How much of that the pods ask for, about: with more of it some find no place, and others are made for them.
    load: float = 0.8


@cache
def catalogs() -> dict[str, Catalog]:
    """What each pool can buy; one object for all fleets, as a cache would hold it."""
    shop = CatalogCache(ListedMarket(generic.listing()))
    return {one.name: shop.catalog(one, 0.0) for one in _pools()}


def _pools() -> tuple[NodePool, ...]:
    plain = Requirements([is_in(labels.OS, "linux"), is_in(labels.ARCH, "amd64")])
    spot = plain & Requirements([is_in(labels.CAPACITY_TYPE, labels.SPOT)])
    owned = plain & Requirements([is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)])
    return (
        NodePool("batch", NODE_CLASS, owned, taints=(BATCH,)),
        NodePool("general", NODE_CLASS, owned, weight=10),
        NodePool("spot", NODE_CLASS, spot),
    )


def fleet(size: Size) -> World:
    """A world in which nobody waits."""
    dice = Random(size.seed)  # noqa: S311  (a fleet, not a secret)
    sold = catalogs()
    policies = {
        one.name: PoolPolicy(
            one, 30.0, budgets=(Budget(size.budget),), template_hash="1", hash_version="v3", healthy=True
        )
        for one in _pools()
    }
    slots = [_Slot(dice, number, sold, size) for number in range(size.nodes)]
    pods, facts = _settled(dice, slots, size)
    snapshot = Snapshot(tuple(one.node for one in slots), tuple(pods), tuple(one.pool for one in policies.values()))
    options = Options(well_known=generic.listing().dialect.well_known)
    machines = {one.node.name: one.machine for one in slots}
    return World(Problem(snapshot, sold, options), machines, policies, NOW, MappingProxyType(facts))


# ---- nodes


class _Slot:
    """A node that is being filled: `left` is the room pods may still take of it."""

    def __init__(self, dice: Random, number: int, sold: dict[str, Catalog], size: Size) -> None:
        self.pool = "batch" if number % 20 == 7 else "spot" if number % 4 == 2 else "general"
        types = sold[self.pool].types
        kind = types[f"{dice.choice(_TYPES)}-amd64-linux"]
        self.zone = generic.ZONES[number % len(generic.ZONES)]
        self.node = _node(f"node-{number:05d}", kind, self.zone, self.pool)
        self.machine = _machine(self.node, kind)
        share = dice.uniform(size.emptiest, size.fullest)
        self.left = {name: int(amount * share) for name, amount in kind.allocatable.items()}
        self.apps: set[str] = set()

    def takes(self, requests: Resources) -> bool:
        return all(self.left.get(name, 0) >= amount for name, amount in requests.items())

    def take(self, requests: Resources, app: str) -> None:
        for name, amount in requests.items():
            self.left[name] -= amount
        self.apps.add(app)


def _node(name: str, kind: InstanceType, zone: str, pool: str) -> Node:
    pairs = {
        labels.INSTANCE_TYPE: kind.name,
        labels.ZONE: zone,
        labels.CAPACITY_TYPE: labels.SPOT if pool == "spot" else labels.ON_DEMAND,
        labels.HOSTNAME: name,
        labels.ARCH: "amd64",
        labels.OS: "linux",
        labels.NODEPOOL: pool,
        NODE_CLASS.label_key: NODE_CLASS.name,
    }
    taints = (BATCH,) if pool == "batch" else ()
    return Node(name, MappingProxyType(pairs), taints, capacity=kind.capacity, allocatable=kind.allocatable, pool=pool)


def _machine(node: Node, kind: InstanceType) -> Machine:
    since = NOW - 24 * HOUR
    held: conditions.Conditions = ()
    for type_ in _TRUE:
        held = conditions.put(held, conditions.true(type_), Moment(since, 1))
    about = Meta(f"{node.name}-claim", f"{node.name}-uid", created=since, labels=node.labels, annotations=_HASHES)
    claim = NodeClaim(
        about,
        NODE_CLASS,
        conditions=CLAIM_CONDITIONS.complete(held, since, Moment(since, 1)),
        provider_id=f"kwok://{node.name}",
        node_name=node.name,
        capacity=kind.capacity,
        allocatable=kind.allocatable,
        last_pod_event=NOW - HOUR,
    )
    ready = Condition(READY, Status.TRUE, "KubeletReady", since=since)
    own = Meta(node.name, f"{node.name}-node", created=since, labels=node.labels)
    return Machine(node.name, claim, NodeObject(own, claim.provider_id, conditions=(ready,)))


# ---- pods


@dataclass(frozen=True, slots=True)
class _App:
    """A deployment: its shape and what its pods say about being moved."""

    name: str
    shape: Shape
    facts: PodFacts
    alone: bool
    zonal: bool
    batch: bool


def _app(dice: Random, number: int, share: float) -> _App:
    """A deployment whose pods are about so large that as many fit as there are to be."""
    name = f"app-{number:04d}"
    mine = Selector(Requirements([is_in("app", name)]))
    cpu = max(10, int(dice.choice(_CPU_MILLIS) * share))
    memory = max(16, int(dice.choice(_MEMORY_MIB) * share)) * MIB
    shape = Shape(f"team-{number % 12}", (("app", name),), Resources({CPU: cpu, MEMORY: memory, PODS: 1}))
    draw, batch = dice.random(), number % 20 == 7
    alone = 0.35 <= draw < 0.45
    zonal = draw < 0.2
    if batch:
        alone, zonal = False, False
        tolerations = (Toleration(BATCH.key, value=BATCH.value),)
        pinned = Requirements([is_in(labels.NODEPOOL, "batch")])
        shape = replace(shape, tolerations=tolerations, selector=pinned)
    elif zonal:
        shape = replace(shape, spread=(Spread(labels.ZONE, 1, mine),))
    elif draw < 0.35:
        shape = replace(shape, spread=(Spread(labels.HOSTNAME, 3, mine, hard=draw < 0.3),))
    elif alone:
        shape = replace(shape, apart=Affinity((PodTerm(labels.HOSTNAME, mine),)))
    return _App(name, shape, _facts(dice, name), alone, zonal, batch)


def _facts(dice: Random, name: str) -> PodFacts:
    plain = PodFacts(owner=f"ReplicaSet/{name}-5d")
    draw = dice.random()
    if draw < 0.002:
        return replace(plain, held_until=inf)
    if draw < 0.01:
        return replace(plain, budgets=(PodBudget(name, 0),))
    if draw < 0.4:
        return replace(plain, budgets=(PodBudget(name, dice.randint(1, 5)),))
    if draw < 0.45:
        return replace(plain, disruption_cost=str(dice.randint(0, 2**28)))
    return plain


def _settled(dice: Random, slots: list[_Slot], size: Size) -> tuple[list[Pod], dict[str, PodFacts]]:
    """So many pods on these nodes, each deployment where its constraints allow."""
    room = sum(one.left[CPU] for one in slots)
    share = room / size.pods / (sum(_CPU_MILLIS) / len(_CPU_MILLIS)) * size.load
    pods: list[Pod] = []
    facts: dict[str, PodFacts] = {}
    number = 0
    while len(pods) < size.pods:
        app = _app(dice, number, share)
        number += 1
        wanted = min(dice.choice(_REPLICAS), size.pods - len(pods))
        open_to = [one for one in slots if (one.pool == "batch") == app.batch]
        for replica, slot in enumerate(_places(dice, app, open_to, wanted)):
            slot.take(app.shape.requests, app.name)
            name = f"{app.name}-5d-{replica:05d}"
            pod = Pod(name, app.shape, f"uid-{len(pods)}", NOW - HOUR, slot.node.name, PodState.BOUND, "ReplicaSet")
            pods.append(pod)
            facts[pod.key] = app.facts
        if number > size.pods:
            raise ValueError(f"{size} is too full: {len(pods)} pods found a place")
    return pods, facts


def _places(dice: Random, app: _App, slots: list[_Slot], wanted: int) -> Iterator[_Slot]:
    """A slot for each replica, as long as one is found; zones in turn where they are spread."""
    zones = cycle(generic.ZONES)
    for _ in range(wanted):
        zone = next(zones) if app.zonal else None
        found = next((one for one in _tried(dice, slots) if _suits(one, app, zone)), None)
        if found is None:
            return
        yield found


def _tried(dice: Random, slots: list[_Slot]) -> Iterator[_Slot]:
    return (slots[dice.randrange(len(slots))] for _ in range(40))


def _suits(slot: _Slot, app: _App, zone: str | None) -> bool:
    if zone is not None and slot.zone != zone:
        return False
    if app.shape.apart.required or app.shape.spread:
        crowded = app.name in slot.apps and not app.zonal
        if crowded:
            return False
    return slot.takes(app.shape.requests)


# ---- small changes


def with_pod_gone(world: World, number: int) -> World:
    """The same moment with one pod less; everything else is the same objects, as a store keeps them."""
    snapshot = world.problem.snapshot
    pods = (*snapshot.pods[:number], *snapshot.pods[number + 1 :])
    return replace(world, problem=replace(world.problem, snapshot=replace(snapshot, pods=pods)))


def with_pod_moved(world: World, number: int, node: str) -> World:
    """The same moment with one pod on another node, whether or not it would fit there."""
    snapshot = world.problem.snapshot
    moved = replace(snapshot.pods[number], node=node)
    pods = (*snapshot.pods[:number], moved, *snapshot.pods[number + 1 :])
    return replace(world, problem=replace(world.problem, snapshot=replace(snapshot, pods=pods)))
