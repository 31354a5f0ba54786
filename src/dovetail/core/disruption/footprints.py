"""What an answer rests on, and whether it still stands when something changed elsewhere.

A what-if takes the pods of some nodes and puts each on the first node that will have it. Another pod somewhere else
comes or goes: would the answer be another one? It would not, if every pod would still be refused by all the nodes that
refused it and taken by the one that took it. For a node whose room changed that comes down to arithmetic: of each shape
that came by, as many must fit as before, as far as they were asked for. A node that comes after all those a shape was
put on was never asked, so its room does not matter.

Pods also count each other. Where a group changed that bears on the pods of an answer by another label than the
hostname, or on a node that came into question, the answer is asked for again. So it is wherever the arithmetic does not
settle it: an answer that is kept is the one that would be given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.core import labels
from dovetail.core.pods import Pod
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.families import Known
from dovetail.core.scheduling.groups import GroupKey
from dovetail.core.scheduling.problem import Plan
from dovetail.core.scheduling.solve import Packing

#: What a node has left of everything.
Room = Mapping[str, int]


class Wanted(NamedTuple):
    """The pods of one shape in a plan: how many, where they went, and how far down the nodes they came."""

    known: Known
    pods: int
    #: So many on which node.
    placed: tuple[tuple[int, int], ...]
    #: The number of the last node any of them was put on; beyond all nodes where one was put on none, or it is not
    #: known when it came by: it had several wishes, or was refused.
    last: int
    lingers: bool


class Footprint:
    """What one plan rests on: nodes by their numbers in the table, and the groups that bear on its pods."""

    __slots__ = ("_plan", "_wanted", "groups", "last", "leaving", "targets")

    def __init__(self, compiled: Compiled, names: Iterable[str], plan: Plan) -> None:
        numbers = compiled.table.numbers
        self._plan = plan
        self._wanted: tuple[Wanted, ...] | None = None
        table = compiled.table
        #: The nodes whose pods it is about: those of the question, and those that leave anyway.
        self.leaving = mask(numbers[name] for name in names) | (table.everyone & ~table.open)
        self.targets = mask(numbers[placed.node.name] for placed in plan.placed)
        shapes = {id(pod.shape): pod.shape for placed in plan.placed for pod in placed.pods}
        shapes.update((id(pod.shape), pod.shape) for pod, _ in _elsewhere(plan))
        families = {id(one): one for shape in shapes.values() if (one := compiled.known(shape).family)}.values()
        self.groups = frozenset(key for one in families for key in (*one.obeyed, *one.avoided))
        #: No shape looks further down than this.
        ends = not plan.claims and not plan.refused and all(len(one.rungs) == 1 for one in families)
        self.last = self.targets.bit_length() - 1 if ends else len(compiled.table.nodes)

    def wanted(self, compiled: Compiled) -> tuple[Wanted, ...]:
        """Its shapes in the order they were planned; looked up when somebody asks, as few do."""
        if self._wanted is None:
            self._wanted = _wanted(compiled, self._plan)
        return self._wanted


def mask(numbers: Iterable[int]) -> int:
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def footprints(compiled: Compiled, names: Sequence[str], made: Iterable[Packing]) -> tuple[Footprint, ...] | None:
    """What every plan rests on that was compared; None where one came about in a way nobody could follow."""
    packings = tuple(made)
    if not all(one.straight for one in packings):
        return None
    return tuple(Footprint(compiled, names, one.plan) for one in packings)


class _Found:
    """What is found out about one shape while a plan is gone through."""

    __slots__ = ("count", "known", "lingers", "oldest", "placed", "stays")

    def __init__(self, known: Known, pod: Pod) -> None:
        self.known = known
        self.oldest = pod
        self.count = 0
        self.placed: dict[int, int] = {}
        self.stays = True
        self.lingers = len(known.family.rungs) > 1

    def add(self, pod: Pod) -> None:
        self.count += 1
        if pod is not self.oldest and _age(pod) < _age(self.oldest):
            self.oldest = pod

    @property
    def turn(self) -> tuple[object, ...]:
        return (self.known.turn, self.oldest.created, self.oldest.uid, self.oldest.key)


def _wanted(compiled: Compiled, plan: Plan) -> tuple[Wanted, ...]:
    numbers, beyond = compiled.table.numbers, len(compiled.table.nodes)
    found: dict[int, _Found] = {}
    for placed in plan.placed:
        number = numbers[placed.node.name]
        for pod in placed.pods:
            one = _of(found, compiled, pod)
            one.placed[number] = one.placed.get(number, 0) + 1
    for pod, refused in _elsewhere(plan):
        one = _of(found, compiled, pod)
        one.stays = False
        one.lingers = one.lingers or refused
    return tuple(
        Wanted(
            one.known,
            one.count,
            tuple(one.placed.items()),
            max(one.placed) if one.stays and not one.lingers else beyond,
            one.lingers,
        )
        for one in sorted(found.values(), key=lambda one: one.turn)
    )


def _of(found: dict[int, _Found], compiled: Compiled, pod: Pod) -> _Found:
    known = compiled.known(pod.shape)
    one = found.get(id(known))
    if one is None:
        one = found[id(known)] = _Found(known, pod)
    one.add(pod)
    return one


def _age(pod: Pod) -> tuple[float, str, str]:
    return (pod.created, pod.uid, pod.name)


def _elsewhere(plan: Plan) -> Iterable[tuple[Pod, bool]]:
    """The pods that were put on no node that is there, each with whether it was put nowhere at all."""
    for claim in plan.claims:
        for pod in claim.pods:
            yield pod, False
    for answer in plan.refused:
        for pod in answer.pods:
            yield pod, True


# ---- what is different


@dataclass(frozen=True, slots=True)
class Node:
    """One node that is not what it was: its room before and now, and what else bears on who may go there."""

    number: int
    before: Room
    now: Room
    #: It is another object, so whoever is put there has to be told so.
    renewed: bool
    #: Groups by hostname that count otherwise there.
    groups: frozenset[GroupKey]
    #: Ports or volumes were taken or given back.
    awkward: bool
    #: Whether so many of a shape find it otherwise than before, once somebody asked: many plans have the same shapes.
    _known: dict[tuple[int, int], bool] = field(default_factory=dict, compare=False)

    @property
    def only_lost(self) -> bool:
        if self.groups or self.awkward:
            return False
        return all(self.now.get(name, 0) <= had for name, had in self.before.items())

    def bears_on(self, one: Wanted) -> bool:
        """Whether anything but its room is otherwise for a shape."""
        family = one.known.family
        if self.groups and not (self.groups.isdisjoint(family.obeyed) and self.groups.isdisjoint(family.avoided)):
            return True
        return self.awkward and bool(one.known.shape.ports or one.known.shape.volumes.attached)

    def differs(self, one: Wanted) -> bool:
        """Whether a shape that takes nothing of it could find it otherwise than before."""
        key = (id(one.known), one.pods)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _admits(one, self.number) and (
                self.bears_on(one) or _Asked(self.before).cap(one) != _Asked(self.now).cap(one)
            )
        return found


@dataclass(frozen=True, slots=True)
class Change:
    nodes: tuple[Node, ...]
    #: Groups by other labels than the hostname that count otherwise.
    zonal: frozenset[GroupKey]
    mask: int


def change(before: Compiled, after: Compiled, pods: Sequence[Pod], renewed: Iterable[str] = ()) -> Change:
    """Between two compilations of nearly the same problem: these pods came or went, these nodes were renewed."""
    numbers = before.table.numbers
    replaced = {numbers[name] for name in renewed}
    touched: dict[int, set[GroupKey]] = {number: set() for number in replaced}
    zonal: set[GroupKey] = set()
    awkward: set[int] = set()
    for pod in pods:
        number = numbers.get(pod.node, -1) if pod.node is not None else -1
        if number < 0 or not pod.takes_room:
            continue
        hosts = touched.setdefault(number, set())
        if pod.shape.ports or pod.shape.volumes.attached:
            awkward.add(number)
        for key in (*before.topology.counting(pod.shape), *after.topology.counting(pod.shape)):
            (hosts if key.key == labels.HOSTNAME else zonal).add(key)
    nodes = tuple(
        Node(
            number,
            before.table.room(number),
            after.table.room(number),
            number in replaced,
            frozenset(keys),
            number in awkward,
        )
        for number, keys in sorted(touched.items())
    )
    return Change(nodes, frozenset(zonal), mask(touched))


# ---- whether an answer stands


def stands(found: Footprint, changed: Change, compiled: Compiled) -> bool:
    """Whether the plan would be made again."""
    if changed.mask & found.leaving or not changed.zonal.isdisjoint(found.groups):
        return False
    return all(_unmoved(found, node, compiled) for node in changed.nodes)


def _unmoved(found: Footprint, node: Node, compiled: Compiled) -> bool:
    """Whether one node would take of each shape what it took: as many fit as before, whenever it was asked."""
    number = node.number
    if not found.targets >> number & 1:
        if number > found.last or node.only_lost:
            return True
        return not any(one.last >= number and node.differs(one) for one in found.wanted(compiled))
    return not node.renewed and _takes_the_same(found, node, compiled)


def _takes_the_same(found: Footprint, node: Node, compiled: Compiled) -> bool:
    """The same of a node that took some: what it has left is followed through the plan."""
    number = node.number
    before, now = _Asked(node.before), _Asked(node.now)
    lingering = []
    for one in found.wanted(compiled):
        if one.last >= number and _admits(one, number):
            first, other = before.cap(one), now.cap(one)
            if first != other or node.bears_on(one):
                return False
            if one.lingers:
                lingering.append((one, first))
        taken = next((count for at, count in one.placed if at == number), 0)
        if taken:
            before.take(one, taken)
            now.take(one, taken)
    # Who came by more than once must have found the same at the first time and at the end, and so in between.
    return all(first == before.cap(one) == now.cap(one) for one, first in lingering)


def possible(found: Sequence[Footprint], changed: Change, compiled: Compiled) -> tuple[bool, ...]:
    """Of plans that are to be carried out side by side, which still can be; whether they would be made again aside."""
    kept = [not changed.mask & one.leaving and changed.zonal.isdisjoint(one.groups) for one in found]
    for node in changed.nodes:
        room = _Asked(node.now)
        for at, one in enumerate(found):
            if kept[at] and one.targets >> node.number & 1:
                kept[at] = _still_held(node, room, one, compiled)
    return tuple(kept)


def _still_held(node: Node, room: _Asked, found: Footprint, compiled: Compiled) -> bool:
    """Whether one node still has room for what a plan puts there; if so that much of it is taken."""
    if node.renewed or node.awkward or not node.groups.isdisjoint(found.groups):
        return False
    taken = [(one, count) for one in found.wanted(compiled) if (count := dict(one.placed).get(node.number, 0))]
    for at, (one, count) in enumerate(taken):
        if room.cap(one) < count:
            for before, many in taken[:at]:
                room.take(before, -many)
            return False
        room.take(one, count)
    return True


class _Asked:
    """A node's room while a plan is gone through."""

    __slots__ = ("_closed", "_room")

    def __init__(self, room: Room) -> None:
        self._room = dict(room)
        #: A node that holds more than it should takes nobody.
        self._closed = any(amount < 0 for amount in room.values())

    def cap(self, one: Wanted) -> int:
        """How many of a shape it has room for, up to how many there are."""
        most = one.pods
        if self._closed:
            return 0
        room = self._room
        for name, amount in one.known.shape.requests.items():
            if amount and room.get(name, 0) < amount * most:
                most = room.get(name, 0) // amount
        return most

    def take(self, one: Wanted, count: int) -> None:
        for name, amount in one.known.shape.requests.items():
            self._room[name] = self._room.get(name, 0) - amount * count


def _admits(one: Wanted, number: int) -> bool:
    """Whether labels and taints of a node suit a shape on any rung."""
    return any(rung.nodes >> number & 1 for rung in one.known.family.rungs)
