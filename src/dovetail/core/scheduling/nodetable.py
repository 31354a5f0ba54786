"""The nodes that are there, as columns: bit i of a set is the i-th node.

Nodes stand in the order they are tried: those that are up first, then by name. Labels, taints and room are looked up
for all nodes at once, and what was worked out for one pod's demands serves every pod that demands the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dovetail.core import labels
from dovetail.core.nodes import Node
from dovetail.core.pods import DaemonSet, HostPort, Pod, PodState, Shape
from dovetail.core.requirements import Requirement, Requirements
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.scheduling.groups import NodeFilter
from dovetail.core.scheduling.index import bits
from dovetail.core.taints import PREFER_NO_SCHEDULE_TOLERATED, Taint, Toleration, untolerated

DAEMONSET = "DaemonSet"
#: Owned by the node itself: a static pod's mirror, which cannot go elsewhere.
MIRROR = "Node"


class NodeTable:
    """All nodes, and the pods bound to them."""

    __slots__ = (
        "_admitting",
        "_by_label",
        "_by_taints",
        "_with_key",
        "attached",
        "bound",
        "everyone",
        "moving",
        "nodes",
        "numbers",
        "on_node",
        "open",
        "overdrawn",
        "ports",
        "room",
    )

    def __init__(self, nodes: Sequence[Node], pods: Sequence[Pod], daemons: Sequence[DaemonSet]) -> None:
        self.nodes = tuple(sorted(nodes, key=lambda node: (not node.ready, node.name)))
        self.numbers: dict[str, int] = {node.name: number for number, node in enumerate(self.nodes)}
        self.everyone = (1 << len(self.nodes)) - 1
        self.open = self.everyone
        self._by_label: dict[str, dict[str, int]] = {}
        self._with_key: dict[str, int] = {}
        self._by_taints: dict[tuple[Taint, ...], int] = {}
        self._admitting: dict[Requirement, int] = {}
        self._enter()
        #: Nodes that hold more than they should; they take nobody.
        self.overdrawn = 0
        #: How many pods of a shape run on each node.
        self.bound: dict[Shape, dict[int, int]] = {}
        #: The same by node: which shapes run there, and how many of each.
        self.on_node: dict[int, dict[int, tuple[Shape, int]]] = {}
        #: Pods of nodes that are leaving, by node: they will have to go elsewhere.
        self.moving: dict[int, list[Pod]] = {}
        self.ports: dict[int, list[HostPort]] = {}
        self.attached: dict[int, dict[str, set[str]]] = {}
        self.room: list[Resources] = self._rooms(pods, daemons)
        for number, room in enumerate(self.room):
            if any(amount < 0 for amount in room.values()):
                self.overdrawn |= 1 << number

    def _enter(self) -> None:
        """Sets of nodes by label value and by taints; the hostname, of which each has its own, is not indexed."""
        by_label: dict[str, dict[str, list[int]]] = {}
        by_taints: dict[tuple[Taint, ...], list[int]] = {}
        for number, node in enumerate(self.nodes):
            for raw, value in node.labels.items():
                key = labels.canonical(raw)
                if key != labels.HOSTNAME:
                    by_label.setdefault(key, {}).setdefault(value, []).append(number)
            by_taints.setdefault(node.effective_taints, []).append(number)
            if node.leaving:
                self.open &= ~(1 << number)
        size = len(self.nodes)
        for key, values in by_label.items():
            masks = self._by_label[key] = {value: mask_of(numbers, size) for value, numbers in values.items()}
            for mask in masks.values():
                self._with_key[key] = self._with_key.get(key, 0) | mask
        self._by_taints = {taints: mask_of(numbers, size) for taints, numbers in by_taints.items()}

    def _rooms(self, pods: Sequence[Pod], daemons: Sequence[DaemonSet]) -> list[Resources]:
        used: list[Resources] = [NOTHING] * len(self.nodes)
        by_daemons: list[Resources] = [NOTHING] * len(self.nodes)
        distinct: dict[int, Shape] = {}
        known: dict[Shape, Shape] = {}
        for pod in pods:
            number = self.numbers.get(pod.node) if pod.node is not None else None
            if number is None or pod.state is not PodState.BOUND:
                continue
            shape = distinct.get(id(pod.shape))
            if shape is None:
                shape = known.setdefault(pod.shape, pod.shape)
                distinct[id(pod.shape)] = shape
            used[number] = used[number] + shape.requests
            if pod.owner == DAEMONSET:
                by_daemons[number] = by_daemons[number] + shape.requests
            here = self.on_node.setdefault(number, {})
            here[id(shape)] = (shape, here[id(shape)][1] + 1 if id(shape) in here else 1)
            if pod.owner not in (DAEMONSET, MIRROR):
                self.moving.setdefault(number, []).append(pod)
            if shape.ports:
                self.ports.setdefault(number, []).extend(shape.ports)
            for driver, claim in shape.volumes.attached:
                self.attached.setdefault(number, {}).setdefault(driver, set()).add(claim)
        for number, here in self.on_node.items():
            for shape, count in here.values():
                self.bound.setdefault(shape, {})[number] = count
        expected = self._expected(daemons)
        return [
            node.allocatable - used[number] - _still_to_come(expected[number], by_daemons[number])
            for number, node in enumerate(self.nodes)
        ]

    def _expected(self, daemons: Sequence[DaemonSet]) -> list[Resources]:
        """What the daemons that belong on each node ask for, whether or not they are there yet."""
        expected: list[Resources] = [NOTHING] * len(self.nodes)
        for one in daemons:
            shape = one.shape
            tolerations = (*shape.tolerations, PREFER_NO_SCHEDULE_TOLERATED)
            welcome = self.tolerated(tolerations)
            fitting = 0
            for term in shape.terms or (Requirements(),):
                fitting |= self.admitting(shape.selector & term)
            for number in bits(welcome & fitting):
                expected[number] = expected[number] + shape.requests
        return expected

    def admitting(self, wanted: Requirements) -> int:
        """The nodes whose labels suit, strictly: a label that is not there suits only who wants it absent."""
        mask = self.everyone
        for one in wanted:
            found = self._admitting.get(one)
            if found is None:
                found = self._admitting[one] = self._suiting(one)
            mask &= found
            if not mask:
                return 0
        return mask

    def _suiting(self, one: Requirement) -> int:
        if one.key == labels.HOSTNAME:
            return mask_of(
                (number for number, node in enumerate(self.nodes) if one.admits(node.hostname)), len(self.nodes)
            )
        found = self.everyone & ~self._with_key.get(one.key, 0) if one.absent else 0
        for value, nodes in self._by_label.get(one.key, {}).items():
            if one.admits(value):
                found |= nodes
        return found

    def tolerated(self, tolerations: tuple[Toleration, ...]) -> int:
        """The nodes none of whose taints keeps a pod with these tolerations away."""
        found = 0
        for taints, nodes in self._by_taints.items():
            if not taints or not untolerated(taints, tolerations):
                found |= nodes
        return found

    def passing(self, chosen: NodeFilter) -> int:
        """The nodes a spread with this filter counts."""
        found = self.everyone
        if chosen.alternatives is not None:
            found = 0
            for one in chosen.alternatives:
                found |= self.admitting(one)
        return found & self.tolerated(chosen.tolerations) if chosen.tolerations is not None else found

    def domains(self, key: str) -> Mapping[str, int]:
        """The nodes of every value of a label."""
        return self._by_label.get(key, {})

    def value(self, number: int, key: str) -> str | None:
        node = self.nodes[number]
        if key == labels.HOSTNAME:
            return node.hostname
        found = node.labels.get(key)
        if found is None:
            found = next((value for raw, value in node.labels.items() if labels.canonical(raw) == key), None)
        return found


def mask_of(numbers: Iterable[int], size: int) -> int:
    """The set of these bits, built in one go: adding them one by one would copy the set each time."""
    packed = bytearray(size // 8 + 1)
    for number in numbers:
        packed[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(packed, "little")


def _still_to_come(expected: Resources, present: Resources) -> Resources:
    return Resources({name: max(0, amount - present.of(name)) for name, amount in expected.items()})
