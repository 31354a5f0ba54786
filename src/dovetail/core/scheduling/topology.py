"""Which groups there are, whom they count, and how they stand before anything is planned.

All of it depends on the snapshot only. A what-if takes copies of the groups it needs, with the pods of the nodes that
leave taken out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from copy import copy

from dovetail.core.pods import NO_AFFINITY, Labels, PodTerm, Shape
from dovetail.core.scheduling.asks import Ask
from dovetail.core.scheduling.groups import Group, GroupKey, Kind, NodeFilter, spread_key, term_key
from dovetail.core.scheduling.nodetable import NodeTable
from dovetail.core.scheduling.states import State, States
from dovetail.core.taints import untolerated

_Pair = tuple[str, str] | None


class Face:
    """What selectors see of a pod: its namespace, and those of its labels that some selector asks about."""

    __slots__ = ("avoided", "labels", "met", "namespace", "selected", "selecting")

    def __init__(self, namespace: str, labels: Labels) -> None:
        self.namespace = namespace
        self.labels = labels
        #: By group, whether it counts pods with this face; filled as it is asked.
        self.selected: dict[GroupKey, bool] = {}
        #: The groups whose selector finds it, of the first so many that were met.
        self.selecting: tuple[GroupKey, ...] = ()
        self.met = -1
        #: The groups of pods that run already and keep it away, once somebody has asked.
        self.avoided: tuple[GroupKey, ...] | None = None


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
        self._faces: dict[tuple[str, Labels], Face] = {}
        #: By filter and label: the domains on sale, and those that only nodes are in, with the nodes.
        self._eligible: dict[tuple[NodeFilter, str], tuple[frozenset[str], list[tuple[str, int]]]] = {}
        self._bases: dict[GroupKey, Group] = {}
        #: How many pods a group counts on each node, where they are not counted by node anyway.
        self._tallies: dict[GroupKey, dict[int, int]] = {}
        #: Shapes that run by their labels, and their inverse groups by a label of those they keep away.
        self._bound_by_label: dict[_Pair, list[tuple[Shape, Face]]] = {None: []}
        self._owners: dict[GroupKey, list[Shape]] = {}
        self._inverse_by_label: dict[_Pair, list[GroupKey]] = {}
        #: The place of an inverse group in a stated order.
        self._ranks: dict[GroupKey, int] = {}
        self._look_up_bound()

    def _look_up_bound(self) -> None:
        for shape in self._table.bound:
            face = self.face(shape)
            for told in (None, *face.labels):
                self._bound_by_label.setdefault(told, []).append((shape, face))
            for key in self.inverse_keys(shape):
                self._owners.setdefault(key, []).append(shape)
        for rank, key in enumerate(sorted(self._owners, key=lambda one: one.order)):
            self._ranks[key] = rank
            for pair in key.selector.pairs:
                self._inverse_by_label.setdefault(pair, []).append(key)

    def changed(self, table: NodeTable, shapes: Iterable[Shape]) -> Topology:
        """The same groups over the same nodes, some of whose pods of these shapes came or went."""
        other = copy(self)
        other._table = table
        counted = {key for shape in shapes for key in self.counting(shape)}
        other._bases = {key: group for key, group in self._bases.items() if key not in counted}
        other._tallies = {key: tally for key, tally in self._tallies.items() if key not in counted}
        return other

    def counting(self, shape: Shape) -> frozenset[GroupKey]:
        """The groups met so far that count pods of this shape."""
        mine = self.inverse_keys(shape)
        others = (key for key in self.selecting(self.face(shape)) if key.kind is not Kind.INVERSE)
        return frozenset((*mine, *others))

    # ---- whom groups are about

    def face(self, shape: Shape) -> Face:
        """How a pod looks to selectors; names and indexes of single pods drop out here."""
        telling = self._telling
        seen = (shape.namespace, tuple([pair for pair in shape.labels if pair[0] in telling]) if telling else ())
        found = self._faces.get(seen)
        if found is None:
            found = self._faces[seen] = Face(*seen)
        return found

    def owned(self, ask: Ask) -> tuple[GroupKey, ...]:
        """The groups an ask must obey."""
        shape, namespaces = ask.shape, self._namespaces
        keys = [spread_key(shape, one) for one in ask.spread]
        keys += [term_key(shape, one, Kind.NEAR, namespaces) for one in ask.near]
        keys += [term_key(shape, one, Kind.APART, namespaces) for one in ask.apart]
        return self._met(keys)

    def inverse_keys(self, shape: Shape) -> tuple[GroupKey, ...]:
        """The groups that make others keep away from pods of this shape."""
        return self._met([term_key(shape, one, Kind.INVERSE, self._namespaces) for one in shape.apart.required])

    def _met(self, keys: Iterable[GroupKey]) -> tuple[GroupKey, ...]:
        return tuple([self._keys.setdefault(key, key) for key in keys])

    def avoided(self, face: Face) -> tuple[GroupKey, ...]:
        """The groups by which pods that run already keep this one away."""
        if face.avoided is None:
            near = {key for pair in (*face.labels, None) for key in self._inverse_by_label.get(pair, ())}
            face.avoided = tuple(key for key in near if selects(key, face))
        return face.avoided

    def in_order(self, avoided: Iterable[GroupKey]) -> list[GroupKey]:
        """Such groups in a stated order, so that it does not matter who was seen first."""
        return sorted(avoided, key=self._ranks.__getitem__)

    def selecting(self, face: Face) -> tuple[GroupKey, ...]:
        """The groups met so far whose selector finds this face, as they were met."""
        if face.met != len(self._keys):
            for key in itertools.islice(self._keys, self._sorted_in, None):
                for pair in key.selector.pairs:
                    self._by_label.setdefault(pair, []).append(key)
            self._sorted_in = face.met = len(self._keys)
            near = {id(key): key for pair in (*face.labels, None) for key in self._by_label.get(pair, ())}
            face.selecting = tuple(key for key in near.values() if selects(key, face))
        return face.selecting

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
        group = Group(key, {})
        tally: dict[int, int] = {}
        counted = self._bound_counted(key) if self._table.bound else ()
        passing = self._table.passing(key.node_filter) & self._table.open if counted else 0
        for shape in counted:
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

    def _bound_counted(self, key: GroupKey) -> Sequence[Shape]:
        """The shapes that run and that a group counts."""
        if key.kind is Kind.INVERSE:
            return self._owners.get(key, ())
        listed = (one for pair in key.selector.pairs for one in self._bound_by_label.get(pair, ()))
        near = {id(shape): (shape, face) for shape, face in listed}
        return [shape for shape, face in near.values() if selects(key, face)]

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


def selects(key: GroupKey, face: Face) -> bool:
    """Whether a group counts pods that look like this."""
    found = face.selected.get(key)
    if found is None:
        found = face.namespace in key.namespaces and key.selector.matches(dict(face.labels))
        face.selected[key] = found
    return found


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
