"""Which groups there are, whom they count, and how they stand before anything is planned.

All of it depends on the snapshot only. A what-if takes copies of the groups it needs, with the pods of the nodes that
leave taken out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from dovetail.core.pods import NO_AFFINITY, Labels, PodTerm, Shape
from dovetail.core.scheduling.asks import Ask
from dovetail.core.scheduling.groups import Group, GroupKey, Kind, NodeFilter, spread_key, term_key
from dovetail.core.scheduling.nodetable import NodeTable
from dovetail.core.scheduling.states import State, States
from dovetail.core.taints import untolerated

_Pair = tuple[str, str] | None


class Topology:
    """The groups of one snapshot."""

    def __init__(
        self,
        table: NodeTable,
        states: Sequence[States],
        namespaces: Mapping[str, Mapping[str, str]],
        waiting: Iterable[Shape],
    ) -> None:
        self._table = table
        self._states = states
        self._namespaces = namespaces
        self._telling = frozenset(key for one in (*waiting, *table.bound) for key in _selected_keys(one))
        #: One object for every group key, so that comparing two is comparing identities.
        self._keys: dict[GroupKey, GroupKey] = {}
        #: The keys by a label to look under, as far as they were sorted in.
        self._by_label: dict[_Pair, list[GroupKey]] = {}
        self._sorted_in = 0
        self._selected: dict[GroupKey, dict[tuple[str, Labels], bool]] = {}
        self._inverse: dict[int, tuple[Shape, tuple[GroupKey, ...]]] = {}
        #: By filter and label: the domains on sale, and those that only nodes are in, with the nodes.
        self._eligible: dict[tuple[NodeFilter, str], tuple[frozenset[str], list[tuple[str, int]]]] = {}
        self._bases: dict[GroupKey, Group] = {}
        #: How many pods a group counts on each node, where they are not counted by node anyway.
        self._tallies: dict[GroupKey, dict[int, int]] = {}
        #: Shapes that run by their labels, and their inverse groups by a label of those they keep away.
        self._bound_by_label: dict[_Pair, list[Shape]] = {None: list(table.bound)}
        self._owners: dict[GroupKey, list[Shape]] = {}
        self._inverse_by_label: dict[_Pair, list[GroupKey]] = {}
        #: The place of an inverse group in a stated order.
        self._ranks: dict[GroupKey, int] = {}
        self._look_up_bound()

    def _look_up_bound(self) -> None:
        for shape in self._table.bound:
            for told in self.told(shape):
                self._bound_by_label.setdefault(told, []).append(shape)
            for key in self.inverse_keys(shape):
                self._owners.setdefault(key, []).append(shape)
        for rank, key in enumerate(sorted(self._owners, key=lambda one: one.order)):
            self._ranks[key] = rank
            for pair in key.selector.pairs:
                self._inverse_by_label.setdefault(pair, []).append(key)

    # ---- whom groups are about

    def told(self, shape: Shape) -> Labels:
        """Those of a pod's labels that some selector asks about; names and indexes of single pods drop out here."""
        telling = self._telling
        return tuple([pair for pair in shape.labels if pair[0] in telling])

    def owned(self, ask: Ask) -> dict[GroupKey, bool]:
        """The groups an ask must obey, each with whether it counts the asker itself."""
        shape, namespaces = ask.shape, self._namespaces
        keys = [spread_key(shape, one) for one in ask.spread]
        keys += [term_key(shape, one, Kind.NEAR, namespaces) for one in ask.near]
        keys += [term_key(shape, one, Kind.APART, namespaces) for one in ask.apart]
        return {one: self.selects(one, shape) for one in (self._keys.setdefault(key, key) for key in keys)}

    def inverse_keys(self, shape: Shape) -> tuple[GroupKey, ...]:
        """The groups that make others keep away from pods of this shape."""
        if not shape.apart.required:
            return ()
        found = self._inverse.get(id(shape))
        if found is None:
            keys = (term_key(shape, one, Kind.INVERSE, self._namespaces) for one in shape.apart.required)
            found = self._inverse[id(shape)] = (shape, tuple(self._keys.setdefault(key, key) for key in keys))
        return found[1]

    def avoided(self, shape: Shape) -> tuple[GroupKey, ...]:
        """The groups by which pods that run already keep this one away."""
        near = {key for pair in (*self.told(shape), None) for key in self._inverse_by_label.get(pair, ())}
        return tuple(key for key in near if self.selects(key, shape))

    def in_order(self, avoided: Iterable[GroupKey]) -> list[GroupKey]:
        """Such groups in a stated order, so that it does not matter who was seen first."""
        return sorted(avoided, key=self._ranks.__getitem__)

    @property
    def size(self) -> int:
        """How many groups were met so far; an answer of `selecting` stands while there are no more."""
        return len(self._keys)

    def selecting(self, shape: Shape) -> tuple[GroupKey, ...]:
        """The groups met so far whose selector finds this shape's labels, as they were met."""
        for key in itertools.islice(self._keys, self._sorted_in, None):
            for pair in key.selector.pairs:
                self._by_label.setdefault(pair, []).append(key)
        self._sorted_in = len(self._keys)
        near = {id(key): key for pair in (*self.told(shape), None) for key in self._by_label.get(pair, ())}
        return tuple(key for key in near.values() if self.selects(key, shape))

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

    # ---- how they stand

    def group(self, key: GroupKey, gone: Sequence[int]) -> Group:
        """A group as it stands before planning, pods of nodes that leave not counted."""
        base = self._bases.get(key)
        if base is None:
            base = self._bases[key] = self._counted(key)
        group = base.copy()
        if gone:
            if group.is_host:
                for number in gone:
                    group.forget_host(number)
            else:
                self._discount(group, gone)
        return group

    def _counted(self, key: GroupKey) -> Group:
        group = Group(key)
        tally: dict[int, int] = {}
        passing = self._table.passing(key.node_filter) & self._table.open
        for shape in self._bound_counted(key):
            for number, count in self._table.bound[shape].items():
                if passing >> number & 1:
                    tally[number] = tally.get(number, 0) + count
        for number, count in tally.items():
            if group.is_host:
                group.add_host(number, count)
            elif (domain := self._table.value(number, key.key)) is not None:
                group.add(domain, count)
        if not group.is_host:
            self._tallies[key] = tally
            group.eligible = self.eligible(key, ())
        group.settle()
        return group

    def _bound_counted(self, key: GroupKey) -> Iterable[Shape]:
        """The shapes that run and that a group counts."""
        if key.kind is Kind.INVERSE:
            return self._owners.get(key, ())
        near = {id(shape): shape for pair in key.selector.pairs for shape in self._bound_by_label.get(pair, ())}
        return [shape for shape in near.values() if self.selects(key, shape)]

    def _discount(self, group: Group, gone: Sequence[int]) -> None:
        """Take the pods of nodes that leave out of a group, and the domains that leave with them."""
        tally = self._tallies[group.key]
        for number in gone:
            count = tally.get(number)
            if count and (domain := self._table.value(number, group.key.key)) is not None:
                group.add(domain, -count)
        group.eligible = self.eligible(group.key, gone)

    def eligible(self, key: GroupKey, gone: Sequence[int]) -> frozenset[str]:
        """The domains a spread looks at: those its owners could be in, on nodes that stay or on what is for sale."""
        known = (key.node_filter, key.key)
        found = self._eligible.get(known)
        if found is None:
            sold = self._sold(key.node_filter, key.key)
            passing = self._table.passing(key.node_filter) & self._table.open
            there = {value: nodes & passing for value, nodes in self._table.domains(key.key).items()}
            found = self._eligible[known] = (sold, [one for one in there.items() if one[0] not in sold and one[1]])
        sold, not_sold = found
        if not not_sold:
            return sold
        without = sum(1 << number for number in gone)
        return sold.union(value for value, nodes in not_sold if nodes & ~without)

    def _sold(self, chosen: NodeFilter, key: str) -> frozenset[str]:
        found: set[str] = set()
        for states in self._states:
            pool = states.index.pool
            if chosen.tolerations is not None and untolerated(pool.taints, chosen.tolerations):
                continue
            for state in _states_for(states, chosen):
                found.update(state.domains(key) or ())
        return frozenset(found)


def state_passes(key: GroupKey, state: State) -> bool:
    """Whether a spread counts pods on a claim in this state: it does if the claim passes however it is launched."""
    chosen = key.node_filter
    taints = state.index.pool.taints
    if chosen.tolerations is not None and untolerated(taints, chosen.tolerations):
        return False
    return chosen.alternatives is None or any(state.implies(one) for one in chosen.alternatives)


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
    if shape.near is NO_AFFINITY and shape.apart is NO_AFFINITY and not shape.spread:
        return ()
    preferred = (*shape.near.preferred, *shape.apart.preferred)
    terms = (*shape.near.required, *shape.apart.required, *(one.term for one in preferred))
    selectors = (*(one.selector for one in shape.spread), *(one.selector for one in terms if isinstance(one, PodTerm)))
    return (one.key for selector in selectors for one in selector.wanted)
