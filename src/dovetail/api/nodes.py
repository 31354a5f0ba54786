"""Nodes: what a Node, its NodeClaim and its CSINode say, put together as one machine (§3.3, §3.7).

Until a node of ours is registered its claim speaks for it; until it is initialized the claim fills in what the kubelet
has not reported yet, and taints that will go are looked through. A claim without a node is a machine on its way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dovetail.api.fields import Fields
from dovetail.api.pod_wire import labels_of, named
from dovetail.api.taints import read_taints
from dovetail.core import labels, resources
from dovetail.core.nodepools import NodePool
from dovetail.core.nodes import Node
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.taints import Effect, Taint

REGISTERED: Final = "karpenter.sh/registered"
INITIALIZED: Final = "karpenter.sh/initialized"
#: As many volumes as anybody can name.
UNLIMITED: Final = 2**31 - 1
_DISRUPTED: Final = Taint("karpenter.sh/disrupted", Effect.NO_SCHEDULE)
_CORDONED: Final = Taint("node.kubernetes.io/unschedulable", Effect.NO_SCHEDULE)


@dataclass(frozen=True, slots=True)
class Machine:
    """What a Node or a NodeClaim says by itself."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    capacity: Resources = NOTHING
    allocatable: Resources = NOTHING
    provider_id: str = ""
    #: Of a claim: the Node it became.
    node: str = ""
    leaving: bool = False


@dataclass(slots=True)
class Machines:
    """All that the files say about machines."""

    nodes: dict[str, Machine] = field(default_factory=dict)
    claims: dict[str, Machine] = field(default_factory=dict)
    volume_limits: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)


def read_node(wire: Fields) -> Machine:
    about, spec, status = wire.map("metadata"), wire.map("spec"), wire.map("status")
    taints = read_taints(spec, "taints")
    if spec.flag("unschedulable") and not any(one.matches(_CORDONED) for one in taints):
        taints = (*taints, _CORDONED)
    capacity = _amounts(status, "capacity")
    return Machine(
        named(about),
        _labels(about),
        taints,
        capacity=capacity,
        allocatable=_amounts(status, "allocatable") if status.has("allocatable") else capacity,
        provider_id=spec.text("providerID") or "",
        leaving=about.has("deletionTimestamp"),
    )


def read_claim(wire: Fields) -> Machine:
    about, spec, status = wire.map("metadata"), wire.map("spec"), wire.map("status")
    terminating = any(
        one.wire.get("type") == "InstanceTerminating" and one.wire.get("status") == "True"
        for one in status.items("conditions")
    )
    return Machine(
        named(about),
        _labels(about),
        read_taints(spec, "taints"),
        read_taints(spec, "startupTaints"),
        _amounts(status, "capacity"),
        _amounts(status, "allocatable"),
        status.text("providerID") or "",
        status.text("nodeName") or "",
        about.has("deletionTimestamp") or terminating,
    )


def _labels(about: Fields) -> Mapping[str, str]:
    found, problems = labels_of(about)
    if problems:
        raise about.bad("labels", problems[0].partition(": ")[2])
    return MappingProxyType(found)


def _amounts(status: Fields, name: str) -> Resources:
    return resources.parse(status.wire.get(name), *status.path, name)


def read_csi_node(wire: Fields) -> tuple[tuple[str, int], ...]:
    """How many volumes each driver can attach; a driver without a count is not limited."""
    found = []
    for one in wire.map("spec").items("drivers"):
        count = one.map("allocatable").whole("count", 0, UNLIMITED)
        found.append((one.required("name"), UNLIMITED if count is None else count))
    return tuple(found)


# ---- putting together


#: What a Node in planning is made of: Node, claim, what can be attached to it, and its pool.
_Parts = tuple[Machine, Machine | None, tuple[tuple[str, int], ...], NodePool | None]


def merged(machines: Machines, pools: Mapping[str, NodePool]) -> Iterator[Node]:
    """Every machine once, Node and NodeClaim seen as one."""
    return Merger().merged(machines, pools)


class Merger:
    """Puts machines together again and again; what came of a Node stays the same object while its parts do."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[_Parts, Node]] = {}

    def merged(self, machines: Machines, pools: Mapping[str, NodePool]) -> Iterator[Node]:
        by_node = {one.node: one for one in machines.claims.values() if one.node}
        by_provider = {one.provider_id: one for one in machines.claims.values() if one.provider_id}
        before, self._held = self._held, {}
        taken: set[str] = set()
        for node in machines.nodes.values():
            claim = by_node.get(node.name) or (by_provider.get(node.provider_id) if node.provider_id else None)
            if claim is not None:
                taken.add(claim.name)
            pool = _pool(node, claim)
            limits = machines.volume_limits.get(node.name, ())
            parts = (node, claim, limits, pools.get(pool) if pool is not None else None)
            known = before.get(node.name)
            if known is None or not _are_same(known[0], parts):
                known = (parts, _one(parts, pool))
            self._held[node.name] = known
            yield known[1]
        for claim in machines.claims.values():
            if claim.name not in taken:
                yield _on_its_way(claim)


def _are_same(one: _Parts, other: _Parts) -> bool:
    return one[0] is other[0] and one[1] is other[1] and one[2] is other[2] and one[3] is other[3]


def _pool(node: Machine, claim: Machine | None) -> str | None:
    return node.labels.get(labels.NODEPOOL) or (claim.labels.get(labels.NODEPOOL) if claim else None)


def _one(parts: _Parts, pool: str | None) -> Node:
    node, claim, limits, known = parts
    ours = pool is not None or claim is not None
    ready = not ours or node.labels.get(INITIALIZED) == "true"
    speaks = claim is not None and not ready and node.labels.get(REGISTERED) != "true"
    startup = claim.startup_taints if claim else known.startup_taints if known else ()
    capacity, allocatable = node.capacity, node.allocatable
    if claim is not None and not ready:
        capacity, allocatable = _filled(capacity, claim.capacity), _filled(allocatable, claim.allocatable)
    return Node(
        name=node.name,
        labels=MappingProxyType({**node.labels, **claim.labels}) if speaks and claim else node.labels,
        taints=claim.taints if speaks and claim else node.taints,
        startup_taints=startup,
        capacity=capacity,
        allocatable=allocatable,
        pool=pool,
        ready=ready,
        leaving=node.leaving or (claim is not None and claim.leaving) or _is_disrupted(node),
        volume_limits=limits,
    )


def _on_its_way(claim: Machine) -> Node:
    return Node(
        name=claim.name,
        labels=claim.labels,
        taints=claim.taints,
        startup_taints=claim.startup_taints,
        capacity=claim.capacity,
        allocatable=claim.allocatable or claim.capacity,
        pool=claim.labels.get(labels.NODEPOOL),
        ready=False,
        leaving=claim.leaving,
    )


def _is_disrupted(node: Machine) -> bool:
    return any(one.matches(_DISRUPTED) for one in node.taints)


def _filled(reported: Resources, promised: Resources) -> Resources:
    """What a node reports, with what is zero or missing taken from its claim."""
    return reported.merged({name: amount for name, amount in promised.items() if not reported.of(name)})
