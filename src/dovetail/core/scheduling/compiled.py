"""A problem made ready to be solved, many times over if need be.

Everything here is worked out once per snapshot and catalog and only read afterwards, so a what-if ("without this
node") costs what differs, not another compilation. The caches fill as they are asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dovetail.core.pods import Labels, Pod, PodState, PodTerm, Shape
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.scheduling.asks import Ask, ladder
from dovetail.core.scheduling.groups import Group, GroupKey, Kind, NodeFilter, spread_key, term_key
from dovetail.core.scheduling.index import PoolIndex, bits, index_pools
from dovetail.core.scheduling.levels import Levels
from dovetail.core.scheduling.nodetable import NodeTable
from dovetail.core.scheduling.problem import Problem
from dovetail.core.scheduling.states import State, States
from dovetail.core.taints import Effect, untolerated


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """An ask with its topology looked up: which groups it must obey, by key."""

    ask: Ask
    owned: tuple[GroupKey, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Where an ask could go, room and topology aside: which nodes, and which pools with the state a claim begins in."""

    nodes: int
    pools: dict[int, State]


class Compiled:
    """One problem, compiled."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.options = problem.options
        snapshot = problem.snapshot
        self.indexes: tuple[PoolIndex, ...] = index_pools(
            snapshot.pools, problem.catalogs, snapshot.daemons, self.options.well_known
        )
        self.states: tuple[States, ...] = tuple(States(one) for one in self.indexes)
        self.table = NodeTable(snapshot.nodes, snapshot.pods, snapshot.daemons)
        taints = [one for index in self.indexes for one in index.pool.taints]
        taints += [one for node in self.table.nodes for one in node.effective_taints]
        self._soft_taints = any(one.effect is Effect.PREFER_NO_SCHEDULE for one in taints)
        #: By identity, with the shape beside it so that the identity stays its own; hashing a shape is slow.
        self._kin: dict[int, tuple[Shape, Shape]] = {}
        self._families: dict[tuple[object, ...], Shape] = {}
        self._ladders: dict[int, tuple[Terms, ...]] = {}
        self._same: dict[int, tuple[Shape, Shape]] = {}
        self._distinct: dict[Shape, Shape] = {shape: shape for shape in self.table.bound}
        self._inverse: dict[int, tuple[Shape, tuple[GroupKey, ...]]] = {}
        self._reaches: dict[Terms, Reach] = {}
        #: One object for every group key, so that comparing two is comparing identities.
        self._keys: dict[GroupKey, GroupKey] = {}
        self._selected: dict[GroupKey, dict[tuple[str, Labels], bool]] = {}
        self._avoided: dict[tuple[str, Labels], tuple[GroupKey, ...]] = {}
        self._waiting = [pod for pod in snapshot.pods if pod.state is PodState.PENDING]
        shapes = {id(pod.shape): pod.shape for pod in self._waiting}
        self._telling = frozenset(key for one in (*shapes.values(), *self.table.bound) for key in _selected_keys(one))
        self._told: dict[int, tuple[Shape, Labels]] = {}
        self._leaving = tuple(number for number, node in enumerate(self.table.nodes) if node.leaving)
        self._eligible: dict[tuple[NodeFilter, str], frozenset[str]] = {}
        self._base_counts: dict[GroupKey, Group] = {}
        self._levels: dict[str, Levels] = {}
        self._columns: dict[str, list[int]] = {}
        inverse = {key for shape in self.table.bound for key in self.inverse_keys(shape)}
        self._ordered_inverse: tuple[GroupKey, ...] = tuple(sorted(inverse, key=lambda one: one.order))
        self.usage: dict[str, Resources] = self._pool_usage()

    # ---- pods

    def pending(self, without: Iterable[int]) -> list[Pod]:
        """The pods to plan: those that wait, and those of nodes that leave."""
        found = list(self._waiting)
        for number in sorted({*self._leaving, *without}):
            found += self.table.moving.get(number, ())
        return found

    def same(self, shape: Shape) -> Shape:
        """The one object that stands for all shapes equal to this one; a shape is hashed once."""
        found = self._same.get(id(shape))
        if found is None:
            found = self._same[id(shape)] = (shape, self._distinct.setdefault(shape, shape))
        return found[1]

    def reach(self, rung: Terms) -> Reach:
        """Where an ask could go; it does not depend on what is planned."""
        found = self._reaches.get(rung)
        if found is None:
            found = self._reaches[rung] = self._reached(rung.ask)
        return found

    def _reached(self, ask: Ask) -> Reach:
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
        return Reach(nodes, pools)

    def rungs(self, shape: Shape) -> tuple[Terms, ...]:
        """What a shape asks, from all its wishes down to none."""
        kin = self.family(shape)
        found = self._ladders.get(id(kin))
        if found is None:
            asks = ladder(kin, self.options.preferences, self._soft_taints)
            found = self._ladders[id(kin)] = tuple(Terms(one, self._owned(one)) for one in asks)
        return found

    def told(self, shape: Shape) -> Labels:
        """Those of a pod's labels that some selector asks about; names and indexes of single pods drop out here."""
        found = self._told.get(id(shape))
        if found is None:
            telling = self._telling
            found = self._told[id(shape)] = (shape, tuple(pair for pair in shape.labels if pair[0] in telling))
        return found[1]

    def family(self, shape: Shape) -> Shape:
        """One shape to stand for all that differ from it only in requests, priority, or labels nobody asks about.

        What a pod asks, where that could be and which groups it belongs to is the same for the whole family.
        """
        found = self._kin.get(id(shape))
        if found is None:
            key = (
                shape.namespace,
                self.told(shape),
                shape.selector,
                shape.terms,
                shape.preferred,
                shape.tolerations,
                shape.spread,
                shape.near,
                shape.apart,
                shape.ports,
                shape.volumes,
            )
            found = self._kin[id(shape)] = (shape, self._families.setdefault(key, shape))
        return found[1]

    def _owned(self, ask: Ask) -> tuple[GroupKey, ...]:
        shape, namespaces = ask.shape, self.problem.snapshot.namespaces
        keys = [spread_key(shape, one) for one in ask.spread]
        keys += [term_key(shape, one, Kind.NEAR, namespaces) for one in ask.near]
        keys += [term_key(shape, one, Kind.APART, namespaces) for one in ask.apart]
        return tuple(dict.fromkeys(self._keys.setdefault(key, key) for key in keys))

    def inverse_keys(self, shape: Shape) -> tuple[GroupKey, ...]:
        """The groups that make others keep away from pods of this shape."""
        if not shape.apart.required:
            return ()
        found = self._inverse.get(id(shape))
        if found is None:
            namespaces = self.problem.snapshot.namespaces
            keys = (term_key(shape, one, Kind.INVERSE, namespaces) for one in shape.apart.required)
            found = self._inverse[id(shape)] = (shape, tuple(self._keys.setdefault(key, key) for key in keys))
        return found[1]

    def avoided(self, shape: Shape) -> tuple[GroupKey, ...]:
        """The groups by which pods that run already keep this one away."""
        which = (shape.namespace, self.told(shape))
        found = self._avoided.get(which)
        if found is None:
            found = self._avoided[which] = tuple(key for key in self._ordered_inverse if self.selects(key, shape))
        return found

    def selects(self, key: GroupKey, shape: Shape) -> bool:
        """Whether a group counts pods with this shape's labels; many shapes have the same."""
        if shape.namespace not in key.namespaces:
            return False
        known = self._selected.setdefault(key, {})
        labels = self.told(shape)
        which = (shape.namespace, labels)
        if which not in known:
            known[which] = key.selector.matches(dict(labels))
        return known[which]

    # ---- topology

    def group(self, key: GroupKey, without: int) -> Group:
        """A group as it stands before planning, pods of nodes that leave not counted."""
        base = self._base_counts.get(key)
        if base is None:
            base = self._base_counts[key] = self._counted(key, self.table.open)
        group = base.copy()
        for number in bits(without & self.table.open):
            self._discount(group, number)
        if key.kind is Kind.SPREAD and not group.is_host:
            group.eligible = self.eligible(key, without)
        return group

    def _counted(self, key: GroupKey, nodes: int) -> Group:
        group = Group(key)
        passing = self.table.passing(key.node_filter) & nodes
        for shape, on_nodes in self.table.bound.items():
            if not self._counts(key, shape):
                continue
            for number, count in on_nodes.items():
                if not passing >> number & 1:
                    continue
                if group.is_host:
                    group.add_host(number, count, group.per_host)
                elif (domain := self.table.value(number, key.key)) is not None:
                    group.add(domain, count)
        return group

    def _counts(self, key: GroupKey, shape: Shape) -> bool:
        """Whether a group counts pods of a shape that run."""
        return key in self.inverse_keys(shape) if key.kind is Kind.INVERSE else self.selects(key, shape)

    def _discount(self, group: Group, number: int) -> None:
        """Take the pods of a node that leaves out of a group."""
        if group.is_host:
            group.forget_host(number)
            return
        domain = self.table.value(number, group.key.key)
        if domain is None or not self.table.passing(group.key.node_filter) >> number & 1:
            return
        for shape, count in self.table.on_node.get(number, {}).values():
            if self._counts(group.key, shape):
                group.add(domain, -count)

    def eligible(self, key: GroupKey, without: int) -> frozenset[str]:
        """The domains a spread looks at: those its owners could be in, on nodes that stay or on what is for sale."""
        known = (key.node_filter, key.key)
        sold = self._eligible.get(known)
        if sold is None:
            sold = self._eligible[known] = self._sold(key.node_filter, key.key)
        passing = self.table.passing(key.node_filter) & self.table.open & ~without
        return sold.union(value for value, nodes in self.table.domains(key.key).items() if nodes & passing)

    def _sold(self, chosen: NodeFilter, key: str) -> frozenset[str]:
        found: set[str] = set()
        for states in self.states:
            pool = states.index.pool
            if chosen.tolerations is not None and untolerated(pool.taints, chosen.tolerations):
                continue
            for state in _states_for(states, chosen):
                found.update(state.domains(key) or ())
        return frozenset(found)

    def state_passes(self, key: GroupKey, state: State) -> bool:
        """Whether a spread counts pods on a claim in this state: it does if the claim passes however it is launched."""
        chosen = key.node_filter
        taints = state.index.pool.taints
        if chosen.tolerations is not None and untolerated(taints, chosen.tolerations):
            return False
        return chosen.alternatives is None or any(state.implies(one) for one in chosen.alternatives)

    # ---- room

    def column(self, name: str) -> list[int]:
        """How much room every existing node has for a resource; not to be changed."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = [room.of(name) for room in self.table.room]
        return found

    def levels(self, name: str) -> Levels:
        """The existing nodes by their room for a resource; a fresh copy to plan with."""
        base = self._levels.get(name)
        if base is None:
            amounts = dict(enumerate(self.column(name)))
            largest = max((index.largest(name, index.all_types) for index in self.indexes), default=0)
            base = self._levels[name] = Levels(max(largest, *amounts.values(), 1) if amounts else max(largest, 1))
            base.fill(amounts)
        return base.copy()

    def usage_without(self, without: int) -> dict[str, Resources]:
        """What the nodes of each pool have together if some leave."""
        found = dict(self.usage)
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


def _states_for(states: States, chosen: NodeFilter) -> Iterable[State]:
    start = states.start
    if start is None:
        return
    for one in chosen.alternatives if chosen.alternatives is not None else (None,):
        state = start if one is None else start.asked(one)
        if state is not None:
            yield state


def _selected_keys(shape: Shape) -> Iterable[str]:
    """The labels of pods that a shape's own constraints ask about."""
    preferred = (*shape.near.preferred, *shape.apart.preferred)
    terms = (*shape.near.required, *shape.apart.required, *(one.term for one in preferred))
    selectors = (*(one.selector for one in shape.spread), *(one.selector for one in terms if isinstance(one, PodTerm)))
    return (one.key for selector in selectors for one in selector.wanted)
