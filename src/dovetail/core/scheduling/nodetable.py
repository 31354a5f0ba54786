"""The nodes that are there, as columns: bit i of a set is the i-th node.

Nodes stand in the order they are tried: those that are up first, then by name. Labels, taints and room are looked up
for all nodes at once, and what was worked out for one pod's demands serves every pod that demands the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from dovetail.core import labels
from dovetail.core.nodes import Node
from dovetail.core.pods import DaemonSet, HostPort, Pod, PodState, Shape
from dovetail.core.requirements import Requirement, Requirements
from dovetail.core.resources import NOTHING, Resources, columns_of
from dovetail.core.scheduling.bitsets import bits, mask_of
from dovetail.core.scheduling.groups import NodeFilter
from dovetail.core.taints import PREFER_NO_SCHEDULE_TOLERATED, Taint, Toleration, untolerated

DAEMONSET = "DaemonSet"


class NodeTable:
    """All nodes, and the pods bound to them."""

    __slots__ = (
        "_admitting",
        "_by_label",
        "_by_taints",
        "_room",
        "_spellings",
        "attached",
        "bound",
        "everyone",
        "moving",
        "nodes",
        "numbers",
        "open",
        "overdrawn",
        "ports",
    )

    def __init__(self, nodes: Sequence[Node], pods: Sequence[Pod], daemons: Sequence[DaemonSet]) -> None:
        self.nodes = tuple(sorted(nodes, key=lambda node: (not node.ready, node.name)))
        self.numbers: dict[str, int] = {node.name: number for number, node in enumerate(self.nodes)}
        self.everyone = (1 << len(self.nodes)) - 1
        self.open = self.everyone
        #: How each key is written by some node or other; what it says of which node is looked up when somebody asks.
        self._spellings: dict[str, list[str]] = {}
        self._by_label: dict[str, dict[str, int]] = {}
        self._by_taints: dict[tuple[Taint, ...], int] = {}
        self._admitting: dict[Requirement, int] = {}
        self._enter()
        #: How many pods of a shape run on each node.
        self.bound: dict[Shape, dict[int, int]] = {}
        #: Pods of nodes that are leaving, by node: they will have to go elsewhere.
        self.moving: dict[int, list[Pod]] = {}
        self.ports: dict[int, list[HostPort]] = {}
        self.attached: dict[int, dict[str, set[str]]] = {}
        #: By resource, how much of it every node has left.
        self._room: dict[str, list[int]] = columns_of(node.allocatable for node in self.nodes)
        self._make_room(pods, daemons)
        #: Nodes that hold more than they should; they take nobody.
        self.overdrawn = 0
        for column in self._room.values():
            if min(column, default=0) < 0:
                self.overdrawn |= mask_of((one for one, left in enumerate(column) if left < 0), len(self.nodes))

    def changed(self, rooms: Mapping[int, Node], gone: Iterable[Pod], come: Iterable[Pod]) -> tuple[NodeTable, bool]:
        """The table with some pods less and some more, and some nodes that differ in what pods may have of them.

        Beside it stands whether the shapes that run are still the same. What is asked of labels and taints is shared.
        """
        other = self._twin()
        other._room = {name: column.copy() for name, column in self._room.items()}
        other.bound, other.moving, other.ports = self.bound.copy(), self.moving.copy(), self.ports.copy()
        other.attached = self.attached.copy()
        if rooms:
            other.nodes = tuple([rooms.get(number, node) for number, node in enumerate(self.nodes)])
        for number, node in rooms.items():
            for name in {*node.allocatable, *self.nodes[number].allocatable}:
                other._column(name)[number] += node.allocatable.of(name) - self.nodes[number].allocatable.of(name)
        same, numbers = True, set(rooms)
        for pods, sign in ((gone, -1), (come, 1)):
            for pod in pods:
                number = self.numbers.get(pod.node, -1) if pod.node is not None else -1
                if number >= 0 and pod.takes_room:
                    same &= other._recount(number, pod, sign)
                    numbers.add(number)
        for number in numbers:
            bit = 1 << number
            short = any(column[number] < 0 for column in other._room.values())
            other.overdrawn = other.overdrawn | bit if short else other.overdrawn & ~bit
        return other, same

    def _twin(self) -> NodeTable:
        """One that shares everything."""
        other = NodeTable((), (), ())
        other.nodes, other.numbers, other.everyone, other.open = self.nodes, self.numbers, self.everyone, self.open
        other._by_label, other._spellings, other._by_taints = self._by_label, self._spellings, self._by_taints
        other._admitting, other._room, other.overdrawn = self._admitting, self._room, self.overdrawn
        other.bound, other.moving, other.ports, other.attached = self.bound, self.moving, self.ports, self.attached
        return other

    def _recount(self, number: int, pod: Pod, sign: int) -> bool:
        """Add or take away one pod; whether that leaves the same shapes. A table of one's own is changed only."""
        same, shape = True, pod.shape
        for name, amount in shape.requests.items():
            self._column(name)[number] -= sign * amount
        if pod.state is PodState.BOUND:
            counts = self.bound.get(shape, {}).copy()
            left = counts[number] = counts.get(number, 0) + sign
            if not left:
                del counts[number]
            same = bool(counts) and shape in self.bound
            if counts:
                self.bound[shape] = counts
            else:
                self.bound.pop(shape, None)
        if pod.moves:
            before = self.moving.get(number, [])
            self.moving[number] = [*before, pod] if sign > 0 else [one for one in before if one is not pod]
        if shape.ports:
            held = [*self.ports.get(number, ()), *shape.ports] if sign > 0 else list(self.ports[number])
            for port in shape.ports if sign < 0 else ():
                held.remove(port)
            self.ports[number] = held
        for driver, claim in shape.volumes.attached:
            drivers = {name: claims.copy() for name, claims in self.attached.get(number, {}).items()}
            drivers.setdefault(driver, set()).add(claim)
            self.attached[number] = drivers
        return same

    def _enter(self) -> None:
        """Sets of nodes by taints, and which labels there are."""
        by_taints: dict[tuple[Taint, ...], list[int]] = {}
        spelled: set[str] = set()
        for number, node in enumerate(self.nodes):
            spelled.update(node.labels)
            by_taints.setdefault(node.effective_taints, []).append(number)
            if node.leaving:
                self.open &= ~(1 << number)
        for raw in sorted(spelled):
            self._spellings.setdefault(labels.canonical(raw), []).append(raw)
        size = len(self.nodes)
        self._by_taints = {taints: mask_of(numbers, size) for taints, numbers in by_taints.items()}

    def _make_room(self, pods: Sequence[Pod], daemons: Sequence[DaemonSet]) -> None:
        """Take off what pods on the nodes take and what daemons will take."""
        by_daemons: dict[int, Resources] = {}
        known: dict[int, _Resident] = {}
        distinct: dict[Shape, _Resident] = {}
        for pod in pods:
            number = self.numbers.get(pod.node, -1) if pod.node is not None else -1
            if number < 0 or not pod.takes_room:
                continue
            one = known.get(id(pod.shape))
            if one is None:
                one = distinct.get(pod.shape) or distinct.setdefault(pod.shape, self._resident(pod.shape))
                known[id(pod.shape)] = one
            for column, amount in one.takes:
                column[number] -= amount
            if pod.state is PodState.BOUND:
                one.counts[number] = one.counts.get(number, 0) + 1
            if pod.owner == DAEMONSET:
                by_daemons[number] = by_daemons.get(number, NOTHING) + one.shape.requests
            if pod.moves:
                self.moving.setdefault(number, []).append(pod)
            if not one.plain:
                self._settle(number, one.shape)
        self.bound = {shape: one.counts for shape, one in distinct.items() if one.counts}
        for number, expected in enumerate(self._expected(daemons)) if daemons else ():
            for name, amount in expected.items():
                still_to_come = amount - by_daemons.get(number, NOTHING).of(name)
                self._column(name)[number] -= max(0, still_to_come)

    def _column(self, name: str) -> list[int]:
        found = self._room.get(name)
        if found is None:
            found = self._room[name] = [0] * len(self.nodes)
        return found

    def column(self, name: str) -> list[int]:
        """How much room every node has for a resource; not to be changed."""
        return self._column(name)

    def room(self, number: int) -> dict[str, int]:
        """What one node has left of everything."""
        return {name: column[number] for name, column in self._room.items()}

    def _resident(self, shape: Shape) -> _Resident:
        return _Resident(shape, [(self._column(name), amount) for name, amount in shape.requests.items()])

    def _settle(self, number: int, shape: Shape) -> None:
        if shape.ports:
            self.ports.setdefault(number, []).extend(shape.ports)
        for driver, claim in shape.volumes.attached:
            self.attached.setdefault(number, {}).setdefault(driver, set()).add(claim)

    @property
    def taints(self) -> Iterable[Taint]:
        """Every taint that some node has."""
        return {taint for taints in self._by_taints for taint in taints}

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
        found = self._without(one.key) if one.absent else 0
        for value, nodes in self.domains(one.key).items():
            if one.admits(value):
                found |= nodes
        return found

    def _without(self, key: str) -> int:
        """The nodes that do not have a label."""
        spelled = self._spellings.get(key, ())
        have = (number for number, node in enumerate(self.nodes) if any(raw in node.labels for raw in spelled))
        return self.everyone & ~mask_of(have, len(self.nodes)) if spelled else self.everyone

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
        """The nodes of every value of a label; of the hostname, of which each has its own, none."""
        found = self._by_label.get(key)
        if found is None:
            numbers: defaultdict[str, list[int]] = defaultdict(list)
            for raw in self._spellings.get(key, ()) if key != labels.HOSTNAME else ():
                for number, node in enumerate(self.nodes):
                    value = node.labels.get(raw)
                    if value is not None:
                        numbers[value].append(number)
            size = len(self.nodes)
            found = self._by_label[key] = {value: mask_of(each, size) for value, each in numbers.items()}
        return found

    def value(self, number: int, key: str) -> str | None:
        node = self.nodes[number]
        if key == labels.HOSTNAME:
            return node.hostname
        found = node.labels.get(key)
        if found is None:
            found = next((value for raw, value in node.labels.items() if labels.canonical(raw) == key), None)
        return found


class _Resident:
    """A shape that runs somewhere: what it takes of which column, and how many of it run on each node."""

    __slots__ = ("counts", "plain", "shape", "takes")

    def __init__(self, shape: Shape, takes: list[tuple[list[int], int]]) -> None:
        self.shape = shape
        self.takes = takes
        self.counts: dict[int, int] = {}
        self.plain = not shape.ports and not shape.volumes.attached
