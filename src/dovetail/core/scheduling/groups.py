"""Topology: pods that count each other by a label of their nodes.

Every spread constraint, affinity term and anti-affinity term is a *group*: which pods it counts, by which label, and
how many are in each of the label's values (its domains). Equal terms of different pods are one group. Required
anti-affinity works both ways, so each such term also has an inverse group that counts its *owners*: pods the term
selects keep away from those.

A domain is a value of the label, except for the hostname, where every node and every claim is a domain of its own
and is counted by its number on the board.

Spread looks at the least count over the domains a pod could be in. Those are the domains on offer to pods that pass the
same node filter, under any of their required terms, and those of existing nodes that pass it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from dovetail.core import labels
from dovetail.core.pods import PodTerm, Policy, Shape, Spread
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.selectors import Selector
from dovetail.core.taints import PREFER_NO_SCHEDULE_TOLERATED, Toleration


class Kind(Enum):
    SPREAD = "topology spread"
    NEAR = "pod affinity"
    APART = "pod anti-affinity"
    INVERSE = "another pod's anti-affinity"


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Which nodes a spread counts: those the owner could run on, as far as its policies look."""

    alternatives: tuple[Requirements, ...] | None  # None: affinity is ignored
    tolerations: tuple[Toleration, ...] | None  # None: taints are ignored

    @property
    def lets_all_through(self) -> bool:
        return self.tolerations is None and (self.alternatives is None or not all(map(len, self.alternatives)))


EVERY_NODE = NodeFilter(None, None)


@dataclass(frozen=True, slots=True)
class GroupKey:
    """What makes two terms one group; everything that bears on the counting is in it."""

    kind: Kind
    key: str
    namespaces: frozenset[str]
    selector: Selector
    max_skew: int = 0
    min_domains: int | None = None
    node_filter: NodeFilter = EVERY_NODE
    is_host: bool = field(init=False, compare=False, repr=False)
    #: How many pods that the group counts may share a node: the hostname's minimum is always zero.
    per_host: int | None = field(init=False, compare=False, repr=False)
    #: Whether its filter lets every node and claim through.
    everywhere: bool = field(init=False, compare=False, repr=False)
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        shared = None if self.kind is Kind.NEAR else self.max_skew if self.kind is Kind.SPREAD else 1
        object.__setattr__(self, "is_host", self.key == labels.HOSTNAME)
        object.__setattr__(self, "per_host", shared)
        object.__setattr__(self, "everywhere", self.node_filter.lets_all_through)
        # Looked up all the time, so hashed once; the filter is left to equality.
        parts = (self.kind.value, self.key, self.namespaces, self.selector, self.max_skew)
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        return self._hash

    @property
    def order(self) -> tuple[object, ...]:
        """A stated order for terms, so that it does not matter who was seen first."""
        wanted = sorted((one.key, sorted(one.values), str(one), one.absent) for one in self.selector.wanted)
        return (self.key, sorted(self.namespaces), self.selector.nothing, wanted)


class Group:
    """A group with its counts."""

    __slots__ = (
        "_crowded",
        "by_bin",
        "counts",
        "eligible",
        "everywhere",
        "is_host",
        "key",
        "number",
        "occupied",
        "passes",
        "per_host",
    )

    def __init__(self, key: GroupKey, passes: dict[object, int]) -> None:
        self.key = key
        #: Its place among the groups of a plan.
        self.number = 0
        self.is_host = key.is_host
        self.per_host = key.per_host
        self.everywhere = key.everywhere
        #: Pods per domain; for the hostname unused.
        self.counts: dict[str, int] = {}
        #: The domains a spread looks at.
        self.eligible: frozenset[str] = frozenset()
        #: Pods per bin, for the hostname only; `occupied` are the bins that have any.
        self.by_bin: dict[int, int] = {}
        self.occupied = 0
        #: Which label states, and which nodes, its filter was found to let through.
        self.passes = passes
        #: By a number of pods, the bins that hold more than that, once somebody has asked.
        self._crowded: dict[int, int] = {}

    def copy(self) -> Group:
        """A scratch copy for one what-if: it has counts of its own, and shares what does not change."""
        twin = Group(self.key, self.passes)
        twin.number, twin.eligible, twin.occupied = self.number, self.eligible, self.occupied
        if self.is_host:
            twin.by_bin, twin._crowded = self.by_bin.copy(), self._crowded.copy()
        else:
            twin.counts = self.counts.copy()
        return twin

    def crowded(self, limit: int) -> int:
        """The bins that hold more than so many."""
        found = self._crowded.get(limit)
        if found is None:
            found = 0
            for number, count in self.by_bin.items():
                if count > limit:
                    found |= 1 << number
            self._crowded[limit] = found
        return found

    def settle(self) -> None:
        """Answer beforehand what copies would each ask for themselves: which bins are full."""
        if self.is_host and self.per_host is not None:
            self.crowded(self.per_host - 1)

    def add_host(self, bin_number: int, count: int) -> None:
        """Count pods on one node."""
        now = self.by_bin[bin_number] = self.by_bin.get(bin_number, 0) + count
        bit = 1 << bin_number
        self.occupied |= bit
        for limit, found in self._crowded.items():
            if now > limit:
                self._crowded[limit] = found | bit

    def add_hosts(self, numbers: range, count: int) -> None:
        """Count so many pods on each of some nodes that had none."""
        self.by_bin.update(dict.fromkeys(numbers, count))
        bins = (1 << len(numbers)) - 1 << numbers.start
        self.occupied |= bins
        for limit, found in self._crowded.items():
            if count > limit:
                self._crowded[limit] = found | bins

    def forget_host(self, bin_number: int) -> None:
        """A node is leaving, and its pods with it."""
        if self.by_bin.pop(bin_number, None) is not None:
            keep = ~(1 << bin_number)
            self.occupied &= keep
            self._crowded = {limit: found & keep for limit, found in self._crowded.items()}

    def add(self, domain: str, count: int) -> None:
        """Count pods in a domain, or take some away; a domain without any is not in the counts."""
        now = self.counts.get(domain, 0) + count
        if now:
            self.counts[domain] = now
        else:
            self.counts.pop(domain, None)


def strict_alternatives(shape: Shape) -> tuple[Requirements, ...]:
    """What a pod demands of a node's labels, one entry per required term."""
    return tuple(shape.selector & term for term in shape.terms or (EMPTY,))


def spread_key(shape: Shape, one: Spread) -> GroupKey:
    honours_affinity = one.node_affinity is Policy.HONOR
    node_filter = NodeFilter(
        strict_alternatives(shape) if honours_affinity else None,
        # A taint that only prefers pods elsewhere takes no node out of the counting.
        (*shape.tolerations, PREFER_NO_SCHEDULE_TOLERATED) if one.node_taints is Policy.HONOR else None,
    )
    return GroupKey(
        Kind.SPREAD,
        one.key,
        frozenset((shape.namespace,)),
        one.selector,
        one.max_skew,
        one.min_domains,
        node_filter,
    )


def term_key(shape: Shape, term: PodTerm, kind: Kind, namespaces: Mapping[str, Mapping[str, str]]) -> GroupKey:
    return GroupKey(kind, term.key, resolved_namespaces(shape, term, namespaces), term.selector)


def resolved_namespaces(shape: Shape, term: PodTerm, namespaces: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    """The namespaces a term looks into: those named and those selected, or the pod's own if it says nothing."""
    if term.namespace_selector is None:
        return term.namespaces or frozenset((shape.namespace,))
    chosen = term.namespace_selector
    selected = (name for name, found in namespaces.items() if chosen.matches(found))
    # A pod's own namespace exists even where nobody listed the Namespace object.
    own = (shape.namespace,) if shape.namespace not in namespaces and chosen.matches({}) else ()
    return term.namespaces | frozenset(selected) | frozenset(own)


def least(group: Group) -> int:
    """The smallest count over the domains a spread looks at; zero while there are too few of them."""
    counts, eligible = group.counts, group.eligible
    minimum = group.key.min_domains
    if not eligible or len(counts) < len(eligible) or (minimum is not None and len(eligible) < minimum):
        return 0  # a domain without any is not in the counts
    return min([counts.get(domain, 0) for domain in eligible])
