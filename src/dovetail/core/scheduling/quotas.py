"""Quotas: the pods of a spread shared out over its domains beforehand, where each is sure to take its share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dovetail.core.scheduling.bonds import Allowed
from dovetail.core.scheduling.groups import Group


class Quotas:
    """How many pods each domain of one label is still to get."""

    __slots__ = ("key", "left", "open")

    def __init__(self, key: str, left: dict[str, int]) -> None:
        self.key = key
        self.left = left
        #: The domains that are to get any.
        self.open = {domain for domain, count in left.items() if count > 0}

    def of(self, domain: str | None) -> int:
        return self.left.get(domain, 0) if domain is not None else 0

    def take(self, domain: str, count: int) -> None:
        left = self.left[domain] = self.left[domain] - count
        if left <= 0:
            self.open.discard(domain)

    def where(self, weights: Mapping[str, tuple[Group, ...]]) -> Mapping[str, Allowed] | None:
        """The domains that still have some of their quota left; None where none has."""
        return {self.key: Allowed(self.open, frozenset(), True, weights.get(self.key, ()))} if self.open else None


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
