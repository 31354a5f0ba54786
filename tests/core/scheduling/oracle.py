"""A brute-force answer to "can all of these pods be placed?", for worlds of a handful of pods.

Nodes to be bought are tried one by one as what they would really become: one type, one row, one value for every label.
Pods are bound one after the other, in every order and on every node, by the rules of kube-scheduler; two ways that lead
to the same cluster are followed once. minValues are not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from tests.core.scheduling.worlds import TEAM, TEAMS

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.nodepools import NodePool
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod, PodState, PodTerm, Policy, Shape, Spread
from dovetail.core.requirements import EMPTY, Requirement, Requirements
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.scheduling.check_claims import reservation_room
from dovetail.core.scheduling.check_spots import demands, hard, to_be_planned, tolerates, usable
from dovetail.core.scheduling.check_topology import offered_domains
from dovetail.core.scheduling.problem import Problem
from dovetail.core.taints import Taint, Toleration, TolerationOperator

EVERYTHING_TOLERATED = (Toleration(operator=TolerationOperator.EXISTS),)


TAKING_ROOM = (PodState.BOUND, PodState.GOING)


def _felt(pod: Pod) -> Shape:
    """What others notice of a pod that is there: of one that is going, no more than what it has taken."""
    if pod.state is PodState.BOUND:
        return pod.shape
    return Shape(namespace="", requests=pod.shape.requests, ports=pod.shape.ports, volumes=pod.shape.volumes)


@dataclass(frozen=True, slots=True)
class Machine:
    """A node that is there, or one that could be bought; its name tells bought ones of one kind apart."""

    labelled: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]
    room: Resources
    name: str = ""
    pool: str = ""
    capacity: Resources = NOTHING
    volume_limits: tuple[tuple[str, int], ...] = ()
    daemons: tuple[Shape, ...] = ()
    reservation: str | None = None
    running: tuple[Shape, ...] = ()

    def value(self, key: str) -> str | None:
        return self.name if key == labels.HOSTNAME else dict(self.labelled).get(key)


#: Every machine with the shapes planned onto it so far.
State = tuple[tuple[Machine, tuple[Shape, ...]], ...]


class Oracle:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.well_known = problem.options.well_known
        self.kinds = tuple(self._buyable())
        self.shapes = Counter(pod.shape for pod in to_be_planned(problem))
        self._domains: dict[tuple[Shape, Spread], frozenset[str]] = {}
        self._seen: set[tuple[frozenset[object], frozenset[object]]] = set()

    def all_fit(self) -> bool:
        """Whether there is an order and a place for every pod."""
        if any(shape.problem for shape in self.shapes):
            return False
        return self._search(tuple((machine, ()) for machine in self._there()), self.shapes)

    def _search(self, state: State, waiting: Counter[Shape]) -> bool:
        if not waiting:
            return True
        here = Counter((_kind(machine), shapes) for machine, shapes in state)
        known = (frozenset(here.items()), frozenset(waiting.items()))
        if known in self._seen:
            return False
        self._seen.add(known)
        for shape in waiting:
            left = waiting - Counter([shape])
            for after in self._placements(state, shape):
                if self._search(after, left):
                    return True
        return False

    def _placements(self, state: State, shape: Shape) -> Iterator[State]:
        for place, (machine, shapes) in enumerate(state):
            if self._takes(state, machine, shapes, shape):
                yield (*state[:place], (machine, tuple(sorted((*shapes, shape), key=str))), *state[place + 1 :])
        for kind in self.kinds:
            machine = _named(kind, f"new-{len(state)}")
            wider = (*state, (machine, ()))
            if self._affordable(wider) and self._takes(wider, machine, (), shape):
                yield (*state, (machine, (shape,)))

    # ---- machines

    def _there(self) -> Iterator[Machine]:
        world = self.problem.snapshot
        for node in world.nodes:
            if node.leaving:
                continue
            staying = [pod for pod in world.pods if pod.state in TAKING_ROOM and pod.node == node.name]
            used = sum((pod.shape.requests for pod in staying), NOTHING)
            arrived = sum((pod.shape.requests for pod in staying if pod.owner == "DaemonSet"), NOTHING)
            expected = NOTHING
            for daemon in world.daemons:
                if tolerates(daemon.shape, node.effective_taints) and _suits(daemon.shape, node.labels):
                    expected += daemon.shape.requests
            missing = Resources({name: max(0, amount - arrived.of(name)) for name, amount in expected.items()})
            yield Machine(
                tuple(sorted(node.labels.items())),
                node.effective_taints,
                node.allocatable - used - missing,
                node.hostname,
                volume_limits=self._volume_limits(node),
                running=tuple(_felt(pod) for pod in staying),
            )

    def _volume_limits(self, node: Node) -> tuple[tuple[str, int], ...]:
        """The node's own, and its type's for drivers the node does not list."""
        types = self.problem.catalogs[node.pool].types if node.pool in self.problem.catalogs else {}
        kind = types.get(node.labels.get(labels.INSTANCE_TYPE, ""))
        stated = kind.spec.hardware.volume_limits if kind is not None else ()
        return tuple({**dict(stated), **dict(node.volume_limits)}.items())

    def _buyable(self) -> Iterator[Machine]:
        for pool in self.problem.snapshot.pools:
            if usable(self.problem, pool):
                for kind in self.problem.catalogs[pool.name].types.values():
                    for row in kind.offerings:
                        if row.launchable:
                            yield from self._launched(pool, kind, row)

    def _launched(self, pool: NodePool, kind: InstanceType, row: Offering) -> Iterator[Machine]:
        if row.capacity_type == labels.RESERVED and not self.problem.options.reserved_capacity:
            return
        both = pool.template & kind.requirements & row.requirements
        if both.is_contradictory or not pool.template.compatible(row.requirements, self.well_known):
            return
        daemons = tuple(
            daemon.shape
            for daemon in self.problem.snapshot.daemons
            if tolerates(daemon.shape, pool.taints)
            and any(
                pool.template.compatible(one, self.well_known) and one.intersects(kind.requirements)
                for one in demands(daemon.shape)
            )
        )
        room = kind.allocatable - sum((shape.requests for shape in daemons), NOTHING)
        choices = [[(one.key, value) for value in _choices(one)] for one in both]
        for pairs in product(*choices):
            found = tuple(sorted((key, value) for key, value in pairs if value is not None))
            ids = {one.id for one in row.reservations} & {value for _, value in found}
            yield Machine(
                found,
                pool.taints,
                room,
                pool=pool.name,
                capacity=kind.capacity,
                volume_limits=kind.spec.hardware.volume_limits,
                daemons=daemons,
                reservation=next(iter(ids), None),
            )

    def _affordable(self, state: State) -> bool:
        """Limits and reservations, for what the machines really are."""
        room = reservation_room(self.problem)
        held = Counter(machine.reservation for machine, _ in state if machine.reservation is not None)
        if any(often > room[one] for one, often in held.items()):
            return False
        for pool in self.problem.snapshot.pools:
            bought = [machine for machine, _ in state if machine.pool == pool.name]
            if pool.limits is None or not bought:
                continue
            nodes = [node for node in self.problem.snapshot.nodes if node.pool == pool.name and not node.leaving]
            for name, limit in pool.limits.items():
                used = sum(one.capacity.of(name) for one in (*bought, *nodes))
                if (len(bought) + len(nodes) if name == "nodes" else used) > limit:
                    return False
        return True

    # ---- one pod onto one machine

    def _takes(self, state: State, machine: Machine, shapes: tuple[Shape, ...], shape: Shape) -> bool:
        pairs = {**dict(machine.labelled), labels.HOSTNAME: machine.name}
        asked = sum((one.requests for one in shapes), shape.requests)
        if not tolerates(shape, machine.taints) or not _suits(shape, pairs) or not asked.fits_in(machine.room):
            return False
        places = shape.volumes.places
        if places and not any(_admits(one, pairs) for one in places):
            return False
        beside = (*machine.running, *shapes, *machine.daemons)
        if any(mine.clashes(theirs) for other in beside for mine in shape.ports for theirs in other.ports):
            return False
        attached = {one for other in (*machine.running, *shapes, shape) for one in other.volumes.attached}
        for driver, limit in machine.volume_limits:
            mine = any(one == driver for one, _ in shape.volumes.attached)
            if mine and sum(one == driver for one, _ in attached) > limit:
                return False
        return self._keeps_distance(state, machine, shape) and all(
            self._spread_ok(state, machine, shape, one) for one in shape.spread if one.hard
        )

    def _spread_ok(self, state: State, machine: Machine, shape: Shape, spread: Spread) -> bool:
        value = machine.value(spread.key)
        if value is None:
            return False
        counts: Counter[str] = Counter(dict.fromkeys(self._offered(shape, spread), 0))
        for other, shapes in state:
            where = other.value(spread.key)
            if where is None or not _passes(shape, spread, other):
                continue
            seen = sum(
                one.namespace == shape.namespace and spread.selector.matches(dict(one.labels))
                for one in (*other.running, *shapes)
            )
            if not other.pool or where in counts or spread.key == labels.HOSTNAME:
                counts[where] += seen
        few = spread.min_domains is not None and len(counts) < spread.min_domains
        floor = 0 if few or spread.key == labels.HOSTNAME else min(counts.values(), default=0)
        itself = spread.selector.matches(dict(shape.labels))
        return value in counts and counts[value] + itself - floor <= spread.max_skew

    def _offered(self, shape: Shape, spread: Spread) -> frozenset[str]:
        """All domains any reading of the policies could demand, so that the oracle never promises too much."""
        known = (shape, spread)
        if known not in self._domains:
            free = spread.node_affinity is Policy.IGNORE
            looser = Shape(
                selector=EMPTY if free else shape.selector,
                terms=() if free else shape.terms,
                tolerations=EVERYTHING_TOLERATED if spread.node_taints is Policy.IGNORE else shape.tolerations,
            )
            sold = (offered_domains(self.problem, one, spread.key) for one in (shape, looser))
            self._domains[known] = frozenset().union(*sold)
        return self._domains[known]

    def _keeps_distance(self, state: State, machine: Machine, shape: Shape) -> bool:
        everybody = [(other, one) for other, shapes in state for one in (*other.running, *shapes)]
        for other, one in everybody:
            for owner, target, terms in ((shape, one, shape.apart.required), (one, shape, one.apart.required)):
                for term in terms:
                    if self._selects(owner, term, target) and _together(machine, other, term.key):
                        return False
        for term in shape.near.required:
            if machine.value(term.key) is None:
                return False
            matching = [other for other, one in everybody if self._selects(shape, term, one) and other.value(term.key)]
            starts = not matching and self._selects(shape, term, shape)
            if not starts and not any(_together(machine, other, term.key) for other in matching):
                return False
        return True

    def _selects(self, owner: Shape, term: PodTerm, other: Shape) -> bool:
        if not term.selector.matches(dict(other.labels)):
            return False
        if not term.namespaces and term.namespace_selector is None:
            return other.namespace == owner.namespace
        if other.namespace in term.namespaces:
            return True
        described = self.problem.snapshot.namespaces.get(other.namespace, {})
        return term.namespace_selector is not None and term.namespace_selector.matches(described)


def _kind(machine: Machine) -> Machine:
    return _named(machine, "") if machine.pool else machine


def _named(machine: Machine, name: str) -> Machine:
    return replace(machine, name=name)


def _choices(one: Requirement) -> list[str | None]:
    """What a label may be given: what is listed; for an open one, a few values and, where it may be, none."""
    if not one.complement:
        return [*sorted(one.values)] or [None]
    found: list[str | None] = [None, one.any_value()] if one.absent else [one.any_value()]
    if one.key == TEAM:
        found += [team for team in TEAMS if one.admits(team)]
    return found


def _suits(shape: Shape, pairs: Mapping[str, str]) -> bool:
    return any(_admits(one, pairs) for one in demands(shape))


def _admits(wanted: Requirements, pairs: Mapping[str, str]) -> bool:
    return all(one.admits(pairs.get(one.key)) for one in wanted)


def _passes(shape: Shape, spread: Spread, machine: Machine) -> bool:
    if spread.node_taints is Policy.HONOR and not tolerates(shape, hard(machine.taints)):
        return False
    pairs = {**dict(machine.labelled), labels.HOSTNAME: machine.name}
    return spread.node_affinity is Policy.IGNORE or _suits(shape, pairs)


def _together(one: Machine, other: Machine, key: str) -> bool:
    value = one.value(key)
    return value is not None and value == other.value(key)


def can_place_all(problem: Problem) -> bool:
    return Oracle(problem).all_fit()
