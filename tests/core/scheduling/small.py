"""Small worlds for tests of plans: two types in two zones, one pool, and pods that are all called web."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tests.builders import hardware, node_class, price

from dovetail.core import labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, Offering, instance_type, offering, sorted_offerings
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.catalog.specs import Spec
from dovetail.core.nodepools import NodePool
from dovetail.core.nodes import Node
from dovetail.core.pods import Affinity, DaemonSet, Pod, PodState, PodTerm, Shape, Spread
from dovetail.core.requirements import Requirement, Requirements, is_in
from dovetail.core.resources import GIB, Resources
from dovetail.core.scheduling.check import check
from dovetail.core.scheduling.problem import Options, Plan, Problem
from dovetail.core.scheduling.solve import solve
from dovetail.core.selectors import Selector
from dovetail.core.snapshot import Snapshot
from dovetail.core.taints import Effect, Taint

DISK, RESERVATION = "disk.csi.example.com", "example.com/reservation-id"
WEB = Selector(Requirements([is_in("app", "web")]))
TAINT = Taint("example.com/dedicated", Effect.NO_SCHEDULE)
SMALL, LARGE = Resources({"cpu": 500, "memory": GIB, "pods": 1}), Resources({"cpu": 3000, "memory": GIB, "pods": 1})


# ---- worlds


def kind(name: str, cpus: int, dollars: float, zones: str = "z1 z2", volumes: int | None = None) -> InstanceType:
    pairs = {labels.INSTANCE_TYPE: name, labels.ARCH: "amd64", labels.OS: "linux"}
    capacity = Resources({"cpu": cpus * 1000, "memory": cpus * 4 * GIB, "pods": 20})
    machine = replace(hardware(name), volume_limits=() if volumes is None else ((DISK, volumes),))
    spec = Spec(name, Requirements.of_labels(pairs), capacity, capacity, machine)
    return instance_type(spec, sorted_offerings(row(zone, dollars) for zone in zones.split()))


def row(zone: str, dollars: float, capacity_type: str = labels.ON_DEMAND) -> Offering:
    return offering({labels.ZONE: zone, labels.CAPACITY_TYPE: capacity_type}, price(dollars))


def reserved(one: InstanceType, room: int, name: str = "cr-1", dollars: float = 0.001) -> InstanceType:
    behind = (Reservation(name, one.name, "z1", room, room),)
    pairs = {labels.ZONE: "z1", labels.CAPACITY_TYPE: labels.RESERVED, RESERVATION: name}
    more = offering(pairs, price(dollars), count=room, reservations=behind)
    return instance_type(one.spec, sorted_offerings((*one.offerings, more)))


def shape(requests: Resources = SMALL, **more: object) -> Shape:
    return replace(Shape(labels=(("app", "web"),), requests=requests), **more)  # type: ignore[arg-type]


def node(name: str, zone: str = "z1", cpus: int = 4, **more: object) -> Node:
    pairs = {labels.ZONE: zone, labels.HOSTNAME: name, labels.ARCH: "amd64", labels.NODEPOOL: "pool"}
    room = Resources({"cpu": cpus * 1000, "memory": cpus * 4 * GIB, "pods": 20})
    plain = Node(name, MappingProxyType(pairs), capacity=room, allocatable=room, pool="pool")
    return replace(plain, **more)  # type: ignore[arg-type]


def waiting(count: int, of: Shape, name: str = "pod") -> tuple[Pod, ...]:
    return tuple(Pod(f"{name}-{number}", of, f"{name}-{number}") for number in range(count))


def bound(to: str, of: Shape, name: str = "bound") -> Pod:
    return Pod(name, of, name, node=to, state=PodState.BOUND)


TYPES = (kind("m4", 4, 0.2), kind("m8", 8, 0.4))


def world(
    pods: tuple[Pod, ...],
    nodes: tuple[Node, ...] = (),
    types: tuple[InstanceType, ...] = TYPES,
    daemons: tuple[DaemonSet, ...] = (),
    pool: NodePool | None = None,
    **options: object,
) -> Problem:
    pool = pool or NodePool("pool", node_class())
    catalog = Catalog(MappingProxyType({one.name: one for one in types}))
    well_known = labels.WELL_KNOWN | {RESERVATION}
    chosen = Options(well_known=well_known, **options)  # type: ignore[arg-type]
    return Problem(Snapshot(nodes, pods, (pool,), daemons), {pool.name: catalog}, chosen)


def spread(key: str = labels.ZONE, skew: int = 1, **more: object) -> tuple[Spread, ...]:
    return (replace(Spread(key, skew, WEB), **more),)  # type: ignore[arg-type]


def near(key: str, selector: Selector = WEB) -> Affinity:
    return Affinity((PodTerm(key, selector),))


def planned(problem: Problem) -> Plan:
    """A plan that the checker finds nothing wrong with, and in which nobody is refused."""
    plan = solve(problem)
    assert check(problem, plan) == ()
    assert not plan.refused
    return plan


# ---- worlds with more than one pool, and what to read off a plan


def pool_of(name: str = "pool", *wanted: Requirement, **more: object) -> NodePool:
    return replace(NodePool(name, node_class(), Requirements(wanted)), **more)  # type: ignore[arg-type]


def market(
    pods: tuple[Pod, ...],
    *pools: NodePool,
    nodes: tuple[Node, ...] = (),
    types: tuple[InstanceType, ...] = TYPES,
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
    **options: object,
) -> Problem:
    """Several pools that are sold the same types."""
    plain = world(pods, nodes, types, **options)  # type: ignore[arg-type]
    snapshot = replace(plain.snapshot, pools=pools or plain.snapshot.pools, namespaces=namespaces or {})
    catalogs = {one.name: plain.catalogs["pool"] for one in snapshot.pools}
    return replace(plain, snapshot=snapshot, catalogs=catalogs)


def also_spot(one: InstanceType, dollars: float) -> InstanceType:
    """The same type, to be had as spot as well, in the zones it is sold in."""
    zones = sorted({each.zone for each in one.offerings if each.zone is not None})
    more = (row(zone, dollars, labels.SPOT) for zone in zones)
    return instance_type(one.spec, sorted_offerings((*one.offerings, *more)))


def having(one: InstanceType, amounts: Mapping[str, int]) -> InstanceType:
    """The same type with so much of these resources."""
    spec = one.spec
    more = replace(spec, capacity=spec.capacity.merged(amounts), allocatable=spec.allocatable.merged(amounts))
    return instance_type(more, one.offerings)


def labelled(one: Node, **pairs: str) -> Node:
    """The same node with further labels, `example.com/` before each."""
    more = {f"example.com/{key}": value for key, value in pairs.items()}
    return replace(one, labels=MappingProxyType({**one.labels, **more}))


def asks(cpu: int, gib: int = 1, **more: int) -> Resources:
    return Resources({"cpu": cpu, "memory": gib * GIB, "pods": 1, **more})


def only(key: str, *values: str) -> Requirements:
    return Requirements([is_in(key, *values)])


def app(name: str) -> Selector:
    return Selector(only("app", name))


def checked(problem: Problem) -> Plan:
    """A plan that the checker finds nothing wrong with, whoever is refused in it."""
    plan = solve(problem)
    assert check(problem, plan) == ()
    return plan


def where(plan: Plan) -> dict[str, str]:
    """By pod, the node or claim it goes to; who is refused is not in it."""
    found = {pod.name: one.node.name for one in plan.placed for pod in one.pods}
    return found | {pod.name: one.name for one in plan.claims for pod in one.pods}


def refused(plan: Plan) -> set[str]:
    return {pod.name for one in plan.refused for pod in one.pods}


def tally(plan: Plan, key: str = labels.ZONE) -> dict[str | None, int]:
    """How many pods the plan puts into each value of a label; None where that stays open."""
    found: Counter[str | None] = Counter()
    for one in plan.placed:
        found[one.node.labels.get(key)] += len(one.pods)
    for claim in plan.claims:
        found[claim.requirements.value(key)] += len(claim.pods)
    return dict(found)


def sizes(plan: Plan) -> list[int]:
    """How many pods go to each node and claim, the fullest first."""
    counts = [len(one.pods) for one in plan.placed] + [len(one.pods) for one in plan.claims]
    return sorted(counts, reverse=True)


def kinds_of(problem: Problem) -> list[list[str]]:
    """The types of each claim."""
    return [[one.name for one in claim.types] for claim in planned(problem).claims]
