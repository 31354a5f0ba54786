"""Where a pod may go, as far as topology is concerned: for one label, the values that would keep every tie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from dovetail.core.scheduling.groups import Group, Kind, least
from dovetail.core.scheduling.tickets import Quotas, Ticket, Tie

_NONE: frozenset[str] = frozenset()


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


def rationed(quotas: Quotas, weights: tuple[Group, ...]) -> Allowed:
    """The domains that still have some of their quota left."""
    return Allowed(quotas.open, _NONE, True, weights)


def shared_out(counts: dict[str, int], domains: Iterable[str], pods: int) -> dict[str, int]:
    """So many pods over these domains, as evenly as what is there allows: always the emptiest first, then by name.

    Filled level by level, so the work depends on the domains and not on the pods.
    """
    order = sorted(domains, key=lambda one: (counts.get(one, 0), one))
    quotas = dict.fromkeys(order, 0)
    for filled, _ in enumerate(order, start=1):
        level = counts.get(order[filled - 1], 0)
        above = counts.get(order[filled], 0) if filled < len(order) else None
        each = pods // filled if above is None else min(pods // filled, above - level)
        for one in order[:filled]:
            quotas[one] += each
        pods -= each * filled
        if above is None or each < above - level:
            for one in sorted(order[:filled])[:pods]:
                quotas[one] += 1
            break
    return quotas


def allowed(ticket: Ticket, key: str) -> Allowed:
    """What the ties of a ticket by one label leave open just now."""
    if ticket.unruled:
        return Allowed(None, _NONE, False, ticket.weights.get(key, ()))
    only: frozenset[str] | None = None
    never: set[str] | frozenset[str] = _NONE
    strict = False
    for tie in ticket.ties[key]:
        rule = tie.rule
        if rule is None:
            continue
        if rule is Kind.SPREAD:
            chosen: frozenset[str] | None = _even(tie)
            strict = True
        elif rule is Kind.NEAR:
            chosen = _populated(ticket, tie, key)
            strict = True
        else:
            never = never.union(tie.group.counts)
            continue
        if chosen is not None:
            only = chosen if only is None else only & chosen
    return Allowed(only, never, strict, ticket.weights.get(key, ()))


def _even(tie: Tie) -> frozenset[str]:
    """The domains where one more stays within the skew."""
    group = tie.group
    counts, eligible = group.counts, group.eligible
    limit = least(group) + group.key.max_skew - tie.itself
    crowded = [one for one, count in counts.items() if count > limit]
    return eligible.difference(crowded) if crowded else eligible


def _populated(ticket: Ticket, tie: Tie, key: str) -> frozenset[str] | None:
    """The domains with company; anywhere, where nobody has any and the pod may start it.

    Company out of its reach still counts: kube-scheduler lets a pod begin only where nothing it asks for exists.
    """
    counts = tie.group.counts
    if tie.itself and not counts:
        return None
    wanted = ticket.ask.labels.get(key)
    return frozenset(counts if wanted is None else filter(wanted.admits, counts))
