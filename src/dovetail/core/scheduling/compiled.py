"""A problem made ready to be solved, many times over if need be.

Everything here is worked out once per snapshot and catalog and only read afterwards, so a what-if ("without this
node") costs what differs, not another compilation. The caches fill as they are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy

from dovetail.core import labels
from dovetail.core.nodes import Node
from dovetail.core.pods import Kinship, Pod, PodState, Shape
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.scheduling.asks import Ask, ladder
from dovetail.core.scheduling.bitsets import bits
from dovetail.core.scheduling.families import Family, Kin, Known, Size, Terms, Turn
from dovetail.core.scheduling.groups import GroupKey
from dovetail.core.scheduling.index import PoolIndex
from dovetail.core.scheduling.levels import Levels, plenty_for
from dovetail.core.scheduling.nodetable import DAEMONSET, NodeTable
from dovetail.core.scheduling.problem import Problem
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.states import State, States
from dovetail.core.scheduling.tickets import Demands
from dovetail.core.scheduling.topology import Face, Topology
from dovetail.core.taints import Effect, untolerated


class Compiled:
    """One problem, compiled."""

    def __init__(self, problem: Problem, shelf: Shelf | None = None) -> None:
        """`shelf` is kept by who plans again and again: what it knows of the pools is not looked up anew."""
        self.problem = problem
        self.options = problem.options
        snapshot = problem.snapshot
        shelf = shelf or Shelf()
        self.states: tuple[States, ...] = shelf.states(problem)
        self.stock = shelf.stock(self.states)
        self.indexes: tuple[PoolIndex, ...] = tuple(one.index for one in self.states)
        self.table = NodeTable(snapshot.nodes, snapshot.pods, snapshot.daemons)
        taints = (*(one for index in self.indexes for one in index.pool.taints), *self.table.taints)
        self._soft_taints = any(one.effect is Effect.PREFER_NO_SCHEDULE for one in taints)
        #: The pods that wait, a list for each shape.
        self._waiting = _by_shape(pod for pod in snapshot.pods if pod.state is PodState.PENDING)
        self._meet()
        self._leaving = tuple(number for number, node in enumerate(self.table.nodes) if node.leaving)
        self._levels: dict[tuple[str, int | None], Levels] = {}
        self._usage: dict[str, Resources] | None = None

    def _meet(self) -> None:
        """Begin to know the shapes."""
        self._kin: dict[Kinship, Kin] = {}
        for pods in self._waiting:
            self._kin_like(pods[0].shape)
        self._known: dict[Shape, Known] = {}
        self._families: dict[tuple[Kin, Face], Family] = {}
        self._sizes: dict[Resources, Size] = {}
        self._turns: dict[Turn, Turn] = {}
        self._demands: dict[tuple[str, ...], dict[Size, Demands]] = {}
        self._pools: dict[Ask, dict[int, State]] = {}
        alike = (kin.shape for kin in self._kin.values())
        self.topology = Topology(self.table, self.states, self.problem.snapshot.namespaces, alike)

    def limited(self, types: Mapping[str, int]) -> Compiled:
        """The same problem with only these types for sale, as bits by pool.

        What there is to spread over stays what it was: a zone does not go away because nothing in it is worth buying.
        """
        other = copy(self)
        chosen = ((one, types.get(one.index.pool.name)) for one in self.states)
        other.states = tuple(one if mask is None else States(one.index.limited(mask)) for one, mask in chosen)
        other.indexes = tuple(one.index for one in other.states)
        other._pools = {}
        return other

    def changed(
        self, problem: Problem, rooms: Mapping[int, Node], gone: Sequence[Pod], come: Sequence[Pod]
    ) -> Compiled | None:
        """The compilation of a problem that differs in a few pods, and in what pods may have of some nodes, by number.

        It costs what differs; None where all has to be looked at anew, which is for what few pods have.
        """
        if any(_bears_on_more(pod, problem) for pod in (*gone, *come)) or any(
            one.shape.volumes.attached for one in gone
        ):
            return None
        other = copy(self)
        other.problem = problem
        other.table, same = self.table.changed(rooms, gone, come)
        other._levels = {}
        if same:
            shapes = {id(pod.shape): pod.shape for pod in (*gone, *come)}
            other.topology = self.topology.changed(other.table, shapes.values())
        else:
            other._meet()
        return other

    # ---- pods

    def pending(self, without: Iterable[int]) -> list[list[Pod]]:
        """The pods to plan, those that wait and those of nodes that leave; a list for each shape, not to be changed."""
        leaving = sorted({*self._leaving, *without})
        moving = (pod for number in leaving for pod in self.table.moving.get(number, ()))
        return [*self._waiting, *_by_shape(moving)]

    def known(self, shape: Shape) -> Known:
        """A shape looked up."""
        found = self._known.get(shape)
        if found is None:
            size = self._sizes.get(shape.requests)
            if size is None:
                size = self._sizes[shape.requests] = Size(shape.requests)
            found = self._known[shape] = Known(shape, self._family(shape), size, self._turns)
        return found

    def rungs(self, shape: Shape) -> tuple[Terms, ...]:
        """What a shape asks, from all its wishes down to none."""
        return self.known(shape).family.rungs

    def _kin_like(self, shape: Shape) -> Kin:
        found = self._kin.get(shape.kinship)
        if found is None:
            found = self._kin[shape.kinship] = Kin(shape)
        return found

    def _family(self, shape: Shape) -> Family:
        kin, face = self._kin_like(shape), self.topology.face(shape)
        found = self._families.get((kin, face))
        if found is None:
            if not kin.rungs:
                self._look_up(kin)
            found = self._families[kin, face] = Family(shape, kin, face, self.topology.avoided(face))
        return found

    def _look_up(self, kin: Kin) -> None:
        topology = self.topology
        asks = ladder(kin.shape, self.options.preferences, self._soft_taints)
        kin.rungs = tuple([(ask, topology.owned(ask), self._nodes_for(ask)) for ask in asks])
        kin.inverse = topology.inverse_keys(kin.shape)
        kin.obeyed = dict.fromkeys((*(key for _, owned, _ in kin.rungs for key in owned), *kin.inverse))

    def _nodes_for(self, ask: Ask) -> int:
        """The nodes whose labels and taints suit, whether or not they are open just now."""
        table = self.table
        nodes = table.admitting(ask.labels) & table.tolerated(ask.tolerations)
        if ask.shape.volumes.places:
            places = 0
            for place in ask.shape.volumes.places:
                places |= table.admitting(place)
            nodes &= places
        return nodes

    def pools_for(self, ask: Ask) -> dict[int, State]:
        """The pools an ask could be met by, by number, each with the state a claim for it begins in."""
        found = self._pools.get(ask)
        if found is None:
            found = self._pools[ask] = {}
            for number, states in enumerate(self.states):
                start = states.start
                if start is None or untolerated(states.index.pool.taints, ask.tolerations):
                    continue
                state = start.asked(ask.labels)
                if state is not None:
                    found[number] = state
        return found

    def selecting(self, family: Family) -> tuple[GroupKey, ...]:
        """The groups met so far whose selector finds a family's labels, as they were met."""
        return self.topology.selecting(family.face)

    def demands(self, names: tuple[str, ...]) -> dict[Size, Demands]:
        """What sizes are as columns of these names; filled as it is asked."""
        return self._demands.setdefault(names, {})

    # ---- room

    def levels(self, name: str, asked: int | None = None) -> Levels:
        """The existing nodes by their room for a resource; a fresh copy to plan with. Nobody needs to know who has more
        than is `asked` for."""
        plenty = plenty_for(asked) if asked is not None else None
        base = self._levels.get((name, plenty))
        if base is None:
            amounts = self.table.column(name)
            largest = max((index.largest(name, index.all_types) for index in self.indexes), default=0)
            base = self._levels[name, plenty] = Levels.up_to(max(1, largest, *amounts), plenty)
            base.fill(amounts)
        return base.copy()

    def volume_limits(self, number: int) -> dict[str, int]:
        """How many volumes a node attaches, by driver; its type speaks for a driver that has not come up there yet."""
        node = self.table.nodes[number]
        catalog = self.problem.catalogs.get(node.pool) if node.pool is not None else None
        kind = catalog.types.get(node.labels.get(labels.INSTANCE_TYPE, "")) if catalog is not None else None
        return dict(node.volume_limits if kind is None else (*kind.spec.hardware.volume_limits, *node.volume_limits))

    def usage_without(self, without: int) -> dict[str, Resources]:
        """What the nodes of each pool have together if some leave."""
        if self._usage is None:
            self._usage = self._pool_usage()
        found = dict(self._usage)
        for number in bits(without & self.table.open):
            node = self.table.nodes[number]
            if node.pool is not None:
                found[node.pool] = found[node.pool] - node.capacity.merged({"nodes": 1})
        return found

    def _pool_usage(self) -> dict[str, Resources]:
        """What the nodes of each pool have together, a node among it; those that leave no longer count."""
        found: dict[str, Resources] = {}
        for number in bits(self.table.open):
            node = self.table.nodes[number]
            if node.pool is not None:
                one = node.capacity.merged({"nodes": 1})
                found[node.pool] = found.get(node.pool, NOTHING) + one
        return found


def _bears_on_more(pod: Pod, problem: Problem) -> bool:
    """Whether a pod matters for more than its own node: it waits, or is what its node was still waiting for."""
    return pod.state is PodState.PENDING or (pod.owner == DAEMONSET and bool(problem.snapshot.daemons))


def _by_shape(pods: Iterable[Pod]) -> list[list[Pod]]:
    """Pods of the same shape, together."""
    found: dict[Shape, list[Pod]] = {}
    for pod in pods:
        alike = found.get(pod.shape)
        if alike is None:
            found[pod.shape] = [pod]
        else:
            alike.append(pod)
    return list(found.values())
