"""What binds a pod to others: the groups that bear on it, and where they let it go just now.

A *tie* is one group with the rule by which it decides; a group that only counts the pod has none. The ties by one
label together leave some of its values, its domains, open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from dovetail.core.requirements import Requirement, Requirements
from dovetail.core.scheduling.groups import Group, Kind, least

_NONE: Final[frozenset[str]] = frozenset()


class Tie:
    """How one group bears on a pod: by which rule (None: it is only counted), and whether the group counts itself.

    `limit` is, for the hostname, how many counted pods may be on a node before one of these comes.
    """

    __slots__ = ("group", "itself", "limit", "rule")

    def __init__(self, group: Group, rule: Kind | None, itself: bool) -> None:
        self.group = group
        self.rule = rule
        self.itself = itself
        self.limit = 0
        if group.key.kind is Kind.SPREAD:
            self.limit = group.key.max_skew - itself


class Allowed:
    """Which domains of one label will do: only these (None: any), and never those. `strict`: there must be one."""

    __slots__ = ("never", "only", "strict", "weights")

    def __init__(
        self, only: AbstractSet[str] | None, never: AbstractSet[str], strict: bool, weights: tuple[Group, ...]
    ) -> None:
        self.only = only
        self.never = never
        self.strict = strict
        self.weights = weights

    def admits(self, value: str) -> bool:
        return (self.only is None or value in self.only) and value not in self.never

    def sorted(self, values: Iterable[str]) -> list[str]:
        """Those of these values, given by name, that will do: the emptiest first, then by name."""
        only, never = self.only, self.never
        fitting = [one for one in values if (only is None or one in only) and one not in never]
        if len(fitting) > 1:
            if len(self.weights) == 1:
                counts = self.weights[0].counts
                fitting.sort(key=lambda one: counts.get(one, 0))
            elif self.weights:
                fitting.sort(key=lambda one: sum([group.counts.get(one, 0) for group in self.weights]))
        return fitting

    def among(self, bins: Mapping[str, int]) -> int:
        """Of the bins by domain, those in a domain that will do."""
        only, never = self.only, self.never
        found = 0
        for value, mask in bins.items():
            if (only is None or value in only) and value not in never:
                found |= mask
        return found

    @property
    def impossible(self) -> bool:
        return self.only is not None and not (self.only - self.never if self.never else self.only)


class Bonds:
    """All groups that bear on the pods of a family, on one rung."""

    __slots__ = (
        "_anywhere",
        "_leading",
        "counted_by_label",
        "counted_on_host",
        "flocks",
        "hosts",
        "near_hosts",
        "ties",
        "unruled",
        "weights",
    )

    def __init__(self) -> None:
        #: Ties by hostname that limit how many may share a node, and those that demand company.
        self.hosts: tuple[Tie, ...] = ()
        self.near_hosts: tuple[Tie, ...] = ()
        #: Ties by any other label.
        self.ties: dict[str, tuple[Tie, ...]] = {}
        #: By label, the groups by whose counts the emptiest domain is found.
        self.weights: dict[str, tuple[Group, ...]] = {}
        #: Whether no rule decides where it goes by any of those labels; at most it is counted there.
        self.unruled = True
        #: Whether any number may go to one bin at once as far as labels are concerned: they seek company, or none.
        self.flocks = True
        #: Groups that count such a pod wherever it goes: by node, and by any other label.
        self.counted_on_host: tuple[Group, ...] = ()
        self.counted_by_label: dict[str, tuple[Group, ...]] = {}
        #: What `where` answers while no rule decides, and what `leading` does, once somebody has asked.
        self._anywhere: dict[str, Allowed] | None = None
        self._leading: tuple[Group | None] | None = None

    def tie(self, group: Group, rule: Kind | None, itself: bool) -> None:
        one = Tie(group, rule, itself)
        if not group.is_host:
            self.flocks &= rule is Kind.NEAR
            self.unruled &= rule is None
            key = group.key.key
            self.ties[key] = (*self.ties.get(key, ()), one)
            if group.key.kind is not Kind.INVERSE:
                self.weights[key] = (*self.weights.get(key, ()), group)
        elif rule is Kind.NEAR:
            self.near_hosts += (one,)
        elif rule is not None:
            self.hosts += (one,)

    def count_by(self, group: Group) -> None:
        if group.is_host:
            self.counted_on_host += (group,)
        else:
            key = group.key.key
            self.counted_by_label[key] = (*self.counted_by_label.get(key, ()), group)

    @property
    def only_tighten(self) -> bool:
        """Whether what stands against a pod now will still do so later: no spread can even out, no company arrive."""
        rules = (tie.rule for ties in self.ties.values() for tie in ties)
        return not self.near_hosts and not any(rule in (Kind.SPREAD, Kind.NEAR) for rule in rules)

    @property
    def leading(self) -> Group | None:
        """The group over whose domains several pods may be shared out at once; None where they must go one by one.

        One label has to tie them, by groups that count them, of which at most one is a spread.
        """
        if self._leading is None:
            self._leading = (self._found_leading(),)
        return self._leading[0]

    def _found_leading(self) -> Group | None:
        if len(self.ties) != 1 or self.near_hosts:
            return None
        (ties,) = self.ties.values()
        spreads = [tie for tie in ties if tie.rule is Kind.SPREAD]
        if len(spreads) > 1 or any(tie.rule not in (Kind.SPREAD, None) or not tie.itself for tie in ties):
            return None
        found = (spreads or ties)[0].group
        minimum = found.key.min_domains
        return found if found.eligible and (minimum is None or len(found.eligible) >= minimum) else None

    # ---- where they let a pod go

    def where(self, wanted: Requirements) -> Mapping[str, Allowed] | None:
        """By label, the domains that are open just now to who wants these; None where there is none."""
        if self.unruled:
            if self._anywhere is None:
                self._anywhere = {key: self.allowed(key, wanted) for key in self.ties}
            return self._anywhere
        found: dict[str, Allowed] = {}
        for key in self.ties:
            found[key] = one = self.allowed(key, wanted)
            if one.impossible:
                return None
        return found

    def allowed(self, key: str, wanted: Requirements) -> Allowed:
        """What the ties by one label leave open just now."""
        only: frozenset[str] | None = None
        never: set[str] | frozenset[str] = _NONE
        strict = False
        for tie in self.ties[key]:
            rule = tie.rule
            if rule is None:
                continue
            if rule is Kind.SPREAD:
                chosen: frozenset[str] | None = _even(tie)
                strict = True
            elif rule is Kind.NEAR:
                chosen = _populated(tie, wanted.get(key))
                strict = True
            else:
                never = never.union(tie.group.counts)
                continue
            if chosen is not None:
                only = chosen if only is None else only & chosen
        return Allowed(only, never, strict, self.weights.get(key, ()))


#: Those of a pod that has none; not to be added to.
UNBOUND: Final = Bonds()


def _even(tie: Tie) -> frozenset[str]:
    """The domains where one more stays within the skew."""
    group = tie.group
    counts, eligible = group.counts, group.eligible
    limit = least(group) + group.key.max_skew - tie.itself
    crowded = [one for one, count in counts.items() if count > limit]
    return eligible.difference(crowded) if crowded else eligible


def _populated(tie: Tie, wanted: Requirement | None) -> frozenset[str] | None:
    """The domains with company; anywhere, where nobody has any and the pod may start it.

    Company out of its reach still counts: kube-scheduler lets a pod begin only where nothing it asks for exists.
    """
    counts = tie.group.counts
    if tie.itself and not counts:
        return None
    return frozenset(counts if wanted is None else filter(wanted.admits, counts))
