"""Small clusters for tests of disruption: nodes that are up and settled, pods that may move, pools that allow all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tests.builders import hardware, node_class, price

from dovetail.core import conditions, labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, instance_type, offering, sorted_offerings
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.catalog.specs import Spec
from dovetail.core.conditions import Condition, Moment, Status
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import Machine, PodFacts, World
from dovetail.core.disruption.passes import Decided, decide
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.nodeclaims import (
    CLAIM_CONDITIONS,
    CONSOLIDATABLE,
    INITIALIZED,
    LAUNCHED,
    READY,
    REGISTERED,
    Meta,
    NodeClaim,
    NodeObject,
)
from dovetail.core.nodepools import NodePool
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod, PodState, Shape
from dovetail.core.requirements import Requirement, Requirements
from dovetail.core.resources import GIB, Resources
from dovetail.core.scheduling.problem import Options, Problem
from dovetail.core.snapshot import Snapshot

NOW = 1_800_000_000.0
HOUR = 3600.0
RESERVATION = "example.com/reservation-id"
ALL = (Budget("100%"),)
UP = (LAUNCHED, REGISTERED, INITIALIZED, CONSOLIDATABLE)


# ---- what can be bought


def kind(name: str, cpus: int, dollars: float, spot: float | None = None, zones: str = "z1 z2") -> InstanceType:
    """A type of so many cpus with 4 GiB for each, on demand and, if it has a price, as spot."""
    pairs = {labels.INSTANCE_TYPE: name, labels.ARCH: "amd64", labels.OS: "linux"}
    capacity = Resources({"cpu": cpus * 1000, "memory": cpus * 4 * GIB, "pods": 110})
    rows = [_row(zone, labels.ON_DEMAND, dollars) for zone in zones.split()]
    if spot is not None:
        rows += [_row(zone, labels.SPOT, spot) for zone in zones.split()]
    spec = Spec(name, Requirements.of_labels(pairs), capacity, capacity, hardware(name))
    return instance_type(spec, sorted_offerings(rows))


def _row(zone: str, capacity_type: str, dollars: float) -> Any:
    return offering({labels.ZONE: zone, labels.CAPACITY_TYPE: capacity_type}, price(dollars))


def reserved(one: InstanceType, room: int, name: str = "cr-1", dollars: float = 0.0002) -> InstanceType:
    """The same type with a reservation in zone z1 that has so much room."""
    pairs = {labels.ZONE: "z1", labels.CAPACITY_TYPE: labels.RESERVED, RESERVATION: name}
    behind = (Reservation(name, one.name, "z1", room, max(room, 1)),)
    more = offering(pairs, price(dollars), count=room, reservations=behind)
    return instance_type(one.spec, sorted_offerings((*one.offerings, more)))


TYPES = (kind("m2", 2, 0.1), kind("m4", 4, 0.2), kind("m8", 8, 0.4), kind("m16", 16, 0.8))


# ---- pools


def policy(name: str = "pool", *wanted: Requirement, pool: Mapping[str, Any] | None = None, **more: Any) -> PoolPolicy:
    made = replace(NodePool(name, node_class(), Requirements(wanted)), **(pool or {}))
    return PoolPolicy(made, **{"budgets": ALL, "template_hash": "1", "hash_version": "v3", **more})


# ---- nodes and pods


class Member:
    """One node with everything known of it."""

    def __init__(self, node: Node, machine: Machine, pods: tuple[Pod, ...], facts: Mapping[str, PodFacts]) -> None:
        self.node, self.machine, self.pods, self.facts = node, machine, pods, facts

    def but(self, **changes: Any) -> Member:
        """The same with another machine."""
        return Member(self.node, replace(self.machine, **changes), self.pods, self.facts)


def member(name: str, of: str = "m4", *, pods: Iterable[Pod] = (), facts: Any = None, **more: Any) -> Member:
    """A node of a type that has been up for a day. `true` are the conditions that hold, since `since`."""
    types, true, since = more.pop("types", TYPES), more.pop("true", UP), more.pop("since", NOW - 24 * HOUR)
    found = next((one for one in types if one.name == of), TYPES[1])
    pool, created = more.pop("pool", "pool"), more.pop("created", since)
    pairs = MappingProxyType(_labels(name, of, pool, more))
    claim = _claim(Meta(f"{name}-claim", f"{name}-uid", created=created, labels=pairs), true, since, more)
    ready = Status.TRUE if more.pop("ready", True) else Status.FALSE
    notes = MappingProxyType(more.pop("annotations", {}))
    machine = Machine(
        name,
        replace(claim, provider_id=f"sim://{name}", node_name=name, allocatable=found.allocatable),
        NodeObject(
            Meta(name, f"{name}-node", created=created, labels=pairs, annotations=notes),
            provider_id=f"sim://{name}",
            conditions=(Condition(READY, ready, "Kubelet", since=since), *more.pop("node_conditions", ())),
        ),
        **_taken(more, "nominated", "marked", "cloud_drift", "reboots"),
    )
    room = found.allocatable
    node = Node(name, pairs, capacity=found.capacity, allocatable=room, pool=pool, ready=INITIALIZED in true, **more)
    bound = tuple(replace(pod, node=name, state=PodState.BOUND) for pod in pods)
    told = facts if isinstance(facts, dict) else {pod.key: facts for pod in bound if facts}
    return Member(node, machine, bound, told)


def _labels(name: str, of: str, pool: str, more: dict[str, Any]) -> dict[str, str]:
    ref = node_class()
    return {
        labels.INSTANCE_TYPE: of,
        labels.ZONE: more.pop("zone", "z1"),
        labels.CAPACITY_TYPE: more.pop("capacity_type", labels.ON_DEMAND),
        labels.HOSTNAME: name,
        labels.ARCH: "amd64",
        labels.OS: "linux",
        labels.NODEPOOL: pool,
        ref.label_key: ref.name,
        **more.pop("labels", {}),
    }


def _claim(about: Meta, true: tuple[str, ...], since: float, more: dict[str, Any]) -> NodeClaim:
    held: conditions.Conditions = ()
    for type_ in true:
        held = conditions.put(held, conditions.true(type_), Moment(since, 1))
    held = (*CLAIM_CONDITIONS.complete(held, since, Moment(since, 1)), *more.pop("conditions", ()))
    notes = {"karpenter.sh/nodepool-hash": "1", "karpenter.sh/nodepool-hash-version": "v3"}
    notes |= more.pop("claim_annotations", {})
    given = _taken(more, "grace", "expire_after", "last_pod_event")
    return NodeClaim(replace(about, annotations=MappingProxyType(notes)), node_class(), conditions=held, **given)


def _taken(more: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: more.pop(key) for key in keys if key in more}


def pods(name: str, count: int = 1, cpu: int = 500, gib: float = 1, **more: Any) -> list[Pod]:
    owner = more.pop("owner", "ReplicaSet")
    requests = Resources({"cpu": cpu, "memory": int(gib * GIB), "pods": 1})
    shape = replace(Shape(labels=(("app", name),), requests=requests), **more)
    return [Pod(f"{name}-{number}", shape, f"{name}-{number}-uid", owner=owner) for number in range(count)]


# ---- the world


def world(
    *members: Member,
    pools: Iterable[PoolPolicy] | None = None,
    types: tuple[InstanceType, ...] = TYPES,
    waiting: Iterable[Pod] = (),
    **more: Any,
) -> World:
    policies = tuple(pools) if pools is not None else (policy(),)
    catalog = Catalog(MappingProxyType({one.name: one for one in sorted(types, key=lambda one: one.name)}))
    snapshot = Snapshot(
        nodes=tuple(one.node for one in members),
        pods=(*(pod for one in members for pod in one.pods), *waiting),
        pools=tuple(one.pool for one in policies),
    )
    options = Options(well_known=labels.WELL_KNOWN | {RESERVATION})
    problem = Problem(snapshot, {one.name: catalog for one in policies}, options)
    facts = {key: found for one in members for key, found in one.facts.items()} | dict(more.pop("facts", {}))
    machines = {one.machine.name: one.machine for one in members}
    return World(problem, machines, {one.name: one for one in policies}, **{"now": NOW, "pods": facts, **more})


def decided(*members: Member, **more: Any) -> Decided:
    return decide(world(*members, **more))


def said(found: Decided) -> list[str]:
    """The commands, short: `delete a`, `replace a b -> m2`."""
    lines = []
    for one in found.commands:
        new = " ".join(sorted(claim.types[0].name for claim in one.replacements))
        bought = f" -> {new}" if new else f" -> {one.templates} from the template" if one.templates else ""
        lines.append(f"{one.decision} {' '.join(one.names)}{bought}")
    return sorted(lines)
