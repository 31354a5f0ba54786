"""Where a pod may go, as far as topology is concerned: for one label, the values that would keep every tie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dovetail.core.scheduling.groups import Group, Kind, least
from dovetail.core.scheduling.tickets import Ticket, Tie


@dataclass(frozen=True, slots=True)
class Allowed:
    """Which domains of one label will do: only these (None: any), and never those. `strict`: there must be one."""

    only: frozenset[str] | None
    never: frozenset[str]
    strict: bool
    weights: tuple[Group, ...]
    #: How many pods each domain is to get at most, where that was shared out beforehand.
    quotas: dict[str, int] | None = None

    def sorted(self, values: Iterable[str]) -> list[str]:
        """Those of the values that will do, the emptiest first, then by name."""
        fitting = (one for one in values if (self.only is None or one in self.only) and one not in self.never)
        return sorted(fitting, key=lambda one: (sum(group.counts.get(one, 0) for group in self.weights), one))

    @property
    def impossible(self) -> bool:
        return self.only is not None and not (self.only - self.never)


def rationed(quotas: dict[str, int], weights: tuple[Group, ...]) -> Allowed:
    """The domains that still have some of their quota left."""
    return Allowed(frozenset(one for one, left in quotas.items() if left > 0), frozenset(), True, weights, quotas)


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
    only: frozenset[str] | None = None
    never: set[str] = set()
    strict = False
    for tie in ticket.ties[key]:
        match tie.rule:
            case Kind.SPREAD:
                chosen: frozenset[str] | None = _even(tie)
                strict = True
            case Kind.NEAR:
                chosen = _populated(ticket, tie, key)
                strict = True
            case Kind.APART | Kind.INVERSE:
                chosen = None
                never.update(one for one, count in tie.group.counts.items() if count)
            case None:
                continue
        if chosen is not None:
            only = chosen if only is None else only & chosen
    return Allowed(only, frozenset(never), strict, ticket.weights.get(key, ()))


def _even(tie: Tie) -> frozenset[str]:
    """The domains where one more stays within the skew."""
    group = tie.group
    limit = least(group, group.eligible) + group.key.max_skew - tie.itself
    return frozenset(one for one in group.eligible if group.counts.get(one, 0) <= limit)


def _populated(ticket: Ticket, tie: Tie, key: str) -> frozenset[str] | None:
    """The domains with company; anywhere, where nobody has any and the pod may start it.

    Company out of its reach still counts: kube-scheduler lets a pod begin only where nothing it asks for exists.
    """
    wanted = ticket.ask.labels.get(key)
    found = frozenset(
        one for one, count in tie.group.counts.items() if count and (wanted is None or wanted.admits(one))
    )
    return None if tie.itself and not any(tie.group.counts.values()) else found
