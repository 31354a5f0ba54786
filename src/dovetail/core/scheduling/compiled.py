"""A problem made ready to be solved, many times over if need be.

Everything here is worked out once per snapshot and catalog and only read afterwards, so a what-if ("without this
node") costs what differs, not another compilation. The caches fill as they are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy

from dovetail.core.pods import Pod, PodState, Shape
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.scheduling.asks import Ask, ladder
from dovetail.core.scheduling.families import Family, Known, Terms, family_key
from dovetail.core.scheduling.groups import GroupKey
from dovetail.core.scheduling.index import PoolIndex, bits
from dovetail.core.scheduling.levels import Levels
from dovetail.core.scheduling.nodetable import NodeTable
from dovetail.core.scheduling.problem import Problem
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.states import State, States
from dovetail.core.scheduling.tickets import Demand
from dovetail.core.scheduling.topology import Topology
from dovetail.core.taints import Effect, untolerated


class Compiled:
    """One problem, compiled."""

    def __init__(self, problem: Problem, shelf: Shelf | None = None) -> None:
        """`shelf` is kept by who plans again and again: what it knows of the pools is not looked up anew."""
        self.problem = problem
        self.options = problem.options
        snapshot = problem.snapshot
        self.states: tuple[States, ...] = (shelf or Shelf()).states(problem)
        self.indexes: tuple[PoolIndex, ...] = tuple(one.index for one in self.states)
        self.table = NodeTable(snapshot.nodes, snapshot.pods, snapshot.daemons)
        taints = (*(one for index in self.indexes for one in index.pool.taints), *self.table.taints)
        self._soft_taints = any(one.effect is Effect.PREFER_NO_SCHEDULE for one in taints)
        self._waiting = [pod for pod in snapshot.pods if pod.state is PodState.PENDING]
        shapes = {id(pod.shape): pod.shape for pod in self._waiting}
        self.topology = Topology(self.table, self.states, snapshot.namespaces, shapes.values())
        #: By identity, as hashing a shape is slow; shapes are kept, so that an identity stays its own.
        self._known: dict[int, Known] = {}
        self._kept: list[Shape] = []
        self._families: dict[tuple[object, ...], Family] = {}
        self._leaving = tuple(number for number, node in enumerate(self.table.nodes) if node.leaving)
        self._demands: dict[tuple[str, ...], dict[int, tuple[Demand, ...]]] = {}
        self._levels: dict[str, Levels] = {}
        self._usage: dict[str, Resources] | None = None

    def limited(self, types: Mapping[str, int]) -> Compiled:
        """The same problem with only these types for sale, as bits by pool.

        What there is to spread over stays what it was: a zone does not go away because nothing in it is worth buying.
        """
        other = copy(self)
        chosen = ((one, types.get(one.index.pool.name)) for one in self.states)
        other.states = tuple(one if mask is None else States(one.index.limited(mask)) for one, mask in chosen)
        other.indexes = tuple(one.index for one in other.states)
        other._known, other._kept, other._families, other._demands = {}, [], {}, {}
        return other

    # ---- pods

    def pending(self, without: Iterable[int]) -> list[Pod]:
        """The pods to plan: those that wait, and those of nodes that leave."""
        found = list(self._waiting)
        for number in sorted({*self._leaving, *without}):
            found += self.table.moving.get(number, ())
        return found

    def known(self, shape: Shape) -> Known:
        """A shape looked up."""
        found = self._known.get(id(shape))
        if found is None:
            key = family_key(shape, self.topology.told(shape))
            family = self._families.get(key)
            if family is None:
                family = self._families[key] = self._family(shape)
            member = (shape.labels, shape.requests, shape.priority, shape.problem)
            found = family.members.get(member)
            if found is None:
                found = family.members[member] = Known(shape, family)
            else:
                self._kept.append(shape)
            self._known[id(shape)] = found
        return found

    def rungs(self, shape: Shape) -> tuple[Terms, ...]:
        """What a shape asks, from all its wishes down to none."""
        return self.known(shape).family.rungs

    def _family(self, shape: Shape) -> Family:
        topology = self.topology
        family = Family(shape)
        asks = ladder(shape, self.options.preferences, self._soft_taints)
        family.rungs = tuple(self._looked_up(one) for one in asks)
        family.avoided = topology.avoided(shape)
        family.inverse = topology.inverse_keys(shape)
        family.obeyed = dict.fromkeys((*(key for rung in family.rungs for key in rung.owned), *family.inverse))
        return family

    def selecting(self, family: Family) -> Sequence[GroupKey]:
        """The groups met so far whose selector finds a family's labels, as they were met."""
        if family.met != self.topology.size:
            family.selecting = self.topology.selecting(family.shape)
            family.met = self.topology.size
        return family.selecting

    def _looked_up(self, ask: Ask) -> Terms:
        table = self.table
        nodes = table.admitting(ask.labels) & table.tolerated(ask.tolerations) & table.open & ~table.overdrawn
        if ask.shape.volumes.places:
            places = 0
            for place in ask.shape.volumes.places:
                places |= table.admitting(place)
            nodes &= places
        pools: dict[int, State] = {}
        for number, states in enumerate(self.states):
            start = states.start
            if start is None or untolerated(states.index.pool.taints, ask.tolerations):
                continue
            state = start.asked(ask.labels)
            if state is not None:
                pools[number] = state
        return Terms(ask, self.topology.owned(ask), nodes, pools)

    def demands(self, names: tuple[str, ...]) -> dict[int, tuple[Demand, ...]]:
        """What shapes ask for as columns of these names, by the identity of a known shape; filled as it is asked."""
        return self._demands.setdefault(names, {})

    # ---- room

    def levels(self, name: str) -> Levels:
        """The existing nodes by their room for a resource; a fresh copy to plan with."""
        base = self._levels.get(name)
        if base is None:
            amounts = self.table.column(name)
            largest = max((index.largest(name, index.all_types) for index in self.indexes), default=0)
            base = self._levels[name] = Levels(max(1, largest, *amounts))
            base.fill(amounts)
        return base.copy()

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
