"""What is remembered of the spot market: what it was short of lately, and when nodes were returned to it.

A market that was empty a moment ago is likely to be empty again soon. An offering that comes back is therefore not
trusted until it has been there for a while (`STEADY_SECONDS`); one that was never seen short is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import OfferingKey

#: An offering that was short is trusted when it has been there for so long.
STEADY_SECONDS: Final = 900.0


@dataclass(frozen=True, slots=True)
class Batch:
    """Nodes of a pool that were returned to spot in one go: since when, and how many."""

    since: float
    count: int


@dataclass(frozen=True, slots=True)
class Market:
    """`short` are spot offerings that cannot be had, `back` since when those are there again that were short before.

    `returned` is what was last returned to spot of each pool.
    """

    short: frozenset[OfferingKey] = frozenset()
    back: Mapping[OfferingKey, float] = field(default_factory=lambda: MappingProxyType({}))
    returned: Mapping[str, Batch] = field(default_factory=lambda: MappingProxyType({}))
    #: The catalogs that were looked at last: the same ones have nothing new to tell.
    seen: tuple[Catalog, ...] = field(default=(), compare=False, repr=False)

    def is_steady(self, key: OfferingKey, now: float) -> bool:
        since = self.back.get(key)
        return key not in self.short and (since is None or now - since >= STEADY_SECONDS)

    def next_steady(self, now: float) -> float | None:
        """When something is trusted again that is there already."""
        return min((one + STEADY_SECONDS for one in self.back.values() if one + STEADY_SECONDS > now), default=None)


NO_MARKET: Final = Market()


def watched(market: Market, catalogs: Mapping[str, Catalog], now: float) -> Market:
    """The memory after a look at what can be bought now; the very same where nothing changed."""
    seen = tuple(catalogs[name] for name in sorted(catalogs))
    kept = {key: since for key, since in market.back.items() if now - since < STEADY_SECONDS}
    if len(seen) == len(market.seen) and all(one is other for one, other in zip(seen, market.seen, strict=True)):
        return market if len(kept) == len(market.back) else replace(market, back=MappingProxyType(kept))
    short = frozenset(key for catalog in {id(one): one for one in seen}.values() for key in _short(catalog))
    back = {key: since for key, since in kept.items() if key not in short}
    back.update(dict.fromkeys(market.short - short, now))
    return Market(short, MappingProxyType(back), market.returned, seen)


def _short(catalog: Catalog) -> list[OfferingKey]:
    return [
        OfferingKey(kind.name, row.zone, labels.SPOT)
        for kind in catalog.types.values()
        for row in kind.offerings
        if row.capacity_type == labels.SPOT and not row.launchable
    ]
