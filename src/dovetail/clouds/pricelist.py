"""Price rows, from the bundled files or a live answer, as prices with a source.

On-demand prices are a region's; spot prices are a zone's, or the region's where the zone is None. Where no spot price
is known it is modelled from the on-demand price, and its source says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import msgspec

from dovetail.core import labels
from dovetail.core.catalog.prices import Price, Source, SourceKind, parse_amount
from dovetail.core.catalog.spot_model import modelled_spot
from dovetail.core.errors import BadField, BadValue

SPOT_RULE: Final = "spot model over the on-demand price"


class PriceRow(msgspec.Struct, frozen=True, rename="camel"):
    """One line of a price file."""

    instance_type: str
    price: str
    capacity_type: str = labels.ON_DEMAND
    currency: str = "USD"
    source: SourceKind = SourceKind.BUNDLED
    as_of: str | None = None
    rule: str = ""
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class PriceList:
    """What a region charges. `spot_whole` says that spot prices are all there are: what has none is not sold so."""

    on_demand: Mapping[str, Price] = field(default_factory=dict)
    spot: Mapping[tuple[str, str | None], Price] = field(default_factory=dict)
    spot_whole: bool = False

    def spot_in(self, instance_type: str, zones: Sequence[str]) -> list[Price | None]:
        """The spot price in each zone: as listed for the zone or the region, or else modelled unless all are listed."""
        on_demand = self.on_demand.get(instance_type)
        listed = self.spot
        if self.spot_whole:
            return [listed.get((instance_type, zone)) or listed.get((instance_type, None)) for zone in zones]
        if not listed:
            return modelled(on_demand, instance_type, zones)
        guesses = modelled(on_demand, instance_type, zones)
        return [
            listed.get((instance_type, zone)) or listed.get((instance_type, None)) or guess
            for zone, guess in zip(zones, guesses, strict=True)
        ]


def modelled(on_demand: Price | None, instance_type: str, zones: Sequence[str]) -> list[Price | None]:
    """What the spot model says; nothing where there is no on-demand price to model from."""
    if on_demand is None or on_demand.nanodollars <= 1:
        return [None] * len(zones)
    source = _spot_source(on_demand.source.as_of, on_demand.source.currency)
    return [Price(modelled_spot(on_demand.nanodollars, instance_type, zone), source) for zone in zones]


@lru_cache(maxsize=256)
def _spot_source(as_of: str | None, currency: str) -> Source:
    """One source for all prices modelled from a list of one date."""
    return Source(SourceKind.MODELLED, SPOT_RULE, as_of, currency)


def price_list(rows: Iterable[PriceRow], path: str, detail: str) -> tuple[PriceList, tuple[BadField, ...]]:
    """Read price rows; `detail` says which list this is, for people who ask where a price came from."""
    on_demand: dict[str, Price] = {}
    spot: dict[tuple[str, str | None], Price] = {}
    sources: dict[tuple[SourceKind, str, str | None, str], Source] = {}
    problems: list[BadField] = []
    for row in rows:
        about = (row.source, row.rule or detail, row.as_of, row.currency)
        source = sources.get(about)
        if source is None:
            source = sources[about] = Source(*about)
        try:
            price = Price(parse_amount(row.price), source)
            if row.capacity_type == labels.ON_DEMAND:
                on_demand[row.instance_type] = price
            elif row.capacity_type == labels.SPOT:
                spot[row.instance_type, row.zone] = price
            else:
                problem = f"{row.capacity_type[:40]!r} has no list price; use on-demand or spot"
                problems.append(BadValue(problem).at(path, row.instance_type, "capacityType"))
        except BadValue as wrong:
            problems.append(wrong.at(path, row.instance_type, "price"))
    return PriceList(on_demand, spot), tuple(problems)
