"""A problem made ready to be solved, many times over if need be.

Everything here is worked out once per snapshot and catalog and only read afterwards, so a what-if ("without this
node") costs what differs, not another compilation. The caches fill as they are asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dovetail.core import labels
from dovetail.core.pods import Labels, Pod, PodState, Shape
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
        self._ladders: dict[int, tuple[Shape, tuple[Terms, ...]]] = {}
        self._selected: dict[GroupKey, dict[tuple[str, Labels], bool]] = {}
        self._eligible: dict[tuple[NodeFilter, str], frozenset[str]] = {}
        self._base_counts: dict[GroupKey, Group] = {}
        self._levels: dict[str, Levels] = {}
        self._bound_inverse: dict[Shape, tuple[GroupKey, ...]] = {
            shape: self.inverse_keys(shape) for shape in self.table.bound if shape.apart.required
        }
        inverse = {key for keys in self._bound_inverse.values() for key in keys}
        self._ordered_inverse: tuple[GroupKey, ...] = tuple(sorted(inverse, key=lambda one: one.order))
        self.usage: dict[str, Resources] = self._pool_usage()

    # ---- pods

    def pending(self, without: Iterable[int]) -> list[Pod]:
        """The pods to plan: those that wait, and those of nodes that leave."""
        found = [pod for pod in self.problem.snapshot.pods if pod.state is PodState.PENDING]
        leaving = {number for number, node in enumerate(self.table.nodes) if node.leaving} | set(without)
        for number in sorted(leaving):
            found += self.table.moving.get(number, ())
        return found

    def rungs(self, shape: Shape) -> tuple[Terms, ...]:
        """What a shape asks, from all its wishes down to none."""
        found = self._ladders.get(id(shape))
        if found is None:
            asks = ladder(shape, self.options.preferences, self._soft_taints)
            found = self._ladders[id(shape)] = (shape, tuple(Terms(one, self._owned(one)) for one in asks))
        return found[1]

    def _owned(self, ask: Ask) -> tuple[GroupKey, ...]:
        shape, namespaces = ask.shape, self.problem.snapshot.namespaces
        keys = [spread_key(shape, one) for one in ask.spread]
        keys += [term_key(shape, one, Kind.NEAR, namespaces) for one in ask.near]
        keys += [term_key(shape, one, Kind.APART, namespaces) for one in ask.apart]
        return tuple(dict.fromkeys(keys))

    def inverse_keys(self, shape: Shape) -> tuple[GroupKey, ...]:
        """The groups that make others keep away from pods of this shape."""
        namespaces = self.problem.snapshot.namespaces
        return tuple(term_key(shape, one, Kind.INVERSE, namespaces) for one in shape.apart.required)

    def selects(self, key: GroupKey, shape: Shape) -> bool:
        """Whether a group counts pods with this shape's labels; many shapes have the same."""
        if shape.namespace not in key.namespaces:
            return False
        known = self._selected.setdefault(key, {})
        which = (shape.namespace, shape.labels)
        if which not in known:
            known[which] = key.selector.matches(dict(shape.labels))
        return known[which]

    # ---- topology

    def bound_inverse_keys(self) -> Iterable[GroupKey]:
        return self._ordered_inverse

    def group(self, key: GroupKey, without: int) -> Group:
        """A group as it stands before planning, pods of nodes that leave not counted."""
        base = self._base_counts.get(key)
        if base is None:
            base = self._base_counts[key] = self._counted(key, self.table.open)
        if not without:
            return base.copy()
        return self._counted(key, self.table.open & ~without)

    def _counted(self, key: GroupKey, nodes: int) -> Group:
        group = Group(key)
        passing = self.table.passing(key.node_filter) & nodes
        for shape, on_nodes in self.table.bound.items():
            inverse = key.kind is Kind.INVERSE
            if not (key in self._bound_inverse.get(shape, ()) if inverse else self.selects(key, shape)):
                continue
            for number, count in on_nodes.items():
                if not passing >> number & 1:
                    continue
                if group.is_host:
                    group.add_host(number, count, group.per_host)
                elif (domain := self.table.value(number, key.key)) is not None:
                    group.add(domain, count)
        return group

    def eligible(self, key: GroupKey) -> frozenset[str]:
        """The domains a spread looks at: those its owners could be in."""
        known = (key.node_filter, key.key)
        found = self._eligible.get(known)
        if found is None:
            found = self._eligible[known] = self._domains(key.node_filter, key.key)
        return found

    def _domains(self, chosen: NodeFilter, key: str) -> frozenset[str]:
        passing = self.table.passing(chosen) & self.table.open
        found = {value for value, nodes in self.table.domains(key).items() if nodes & passing}
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

    def levels(self, name: str) -> Levels:
        """The existing nodes by their room for a resource; a fresh copy to plan with."""
        base = self._levels.get(name)
        if base is None:
            amounts = {number: room.of(name) for number, room in enumerate(self.table.room)}
            largest = max((index.largest(name, index.all_types) for index in self.indexes), default=0)
            base = self._levels[name] = Levels(max(largest, *amounts.values(), 1) if amounts else max(largest, 1))
            base.fill(amounts)
        return base.copy()

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


HOSTNAME = labels.HOSTNAME
