"""One region, read: the listing, and the answers it was made of, since node classes ask the answers more.

A `Region` is frozen. Another look at EC2 makes another one, which keeps every object of the one before that says the
same, so that what hangs on it is made again only where something changed (S0.2). Making one takes a fifth of a second
and touches nothing shared: it is done beside the event loop, and only handing it over is done on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import msgspec

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws import load
from dovetail.clouds.aws.parse import Answers, listing_of, refusal
from dovetail.clouds.aws.wire import NetworkRow, TypeAnswer, ZoneRow
from dovetail.clouds.listed import kept_hardware, kept_rows
from dovetail.clouds.options import DEFAULTS, LoadOptions
from dovetail.clouds.pricelist import PriceList
from dovetail.core import labels
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering, sorted_offerings
from dovetail.core.catalog.prices import Price, Source, SourceKind
from dovetail.core.requirements import Requirements

#: Where no price of a region is known, these are better than none (`spec/aws` §4).
_FALLBACK: Final = load.DEFAULT_REGION
Named = TypeVar("Named")


@dataclass(frozen=True, slots=True)
class Region:
    """What a region sells, and the answers that say so."""

    listing: Listing
    types: Mapping[str, TypeAnswer]
    zones: tuple[ZoneRow, ...]
    prices: PriceList
    network: Mapping[str, NetworkRow]

    @property
    def name(self) -> str:
        return self.listing.region


def bundled(region: str, options: LoadOptions = DEFAULTS) -> Region:
    """The region as the files have it. One they have not got has no types, and other regions' prices to begin with."""
    known = region in load.regions(options)
    answers = load.answers_of(region if known else _FALLBACK, options)
    if not known:
        answers = replace(answers, region=region, types=(), zones=(), prices=_borrowed(answers.prices, region))
    return read(answers)


def of_any_account(region: Region) -> Region:
    """The region without the ids of its zones: which zone has which id is another thing in every account, and the
    files have them from some account."""
    seen: dict[Requirements, Requirements] = {}

    def bare(row: Offering) -> Offering:
        wanted = seen.get(row.requirements)
        if wanted is None:
            wanted = seen[row.requirements] = row.requirements.without(aws_labels.ZONE_ID)
        return replace(row, requirements=wanted)

    rows = {name: tuple(map(bare, held)) for name, held in region.listing.offerings.items()}
    zones = tuple(msgspec.structs.replace(zone, zone_id="") for zone in region.zones)
    return replace(region, listing=replace(region.listing, offerings=rows), zones=zones)


def read(answers: Answers, before: Region | None = None) -> Region:
    """Make a region of its answers, of the objects that were there `before` as far as they are the same."""
    types = tuple(answers.types)
    listing = listing_of(replace(answers, types=types))
    found = {one.instance_type: one for one in types}
    if before is not None:
        old = before.listing
        listing = replace(
            listing,
            hardware=kept_hardware(old.hardware, listing.hardware),
            offerings=kept_rows(old.offerings, listing.offerings),
            list_prices=old.list_prices if old.list_prices == listing.list_prices else listing.list_prices,
        )
    return Region(
        listing=listing,
        types=before.types if before is not None and before.types == found else found,
        zones=tuple(answers.zones),
        prices=answers.prices,
        network=answers.network,
    )


def repriced(region: Region, prices: PriceList) -> Region:
    """The region at other prices: types whose prices are the same keep their very rows."""
    old = region.listing
    offerings = {name: _at(prices, region.types[name], rows) for name, rows in old.offerings.items()}
    same = all(rows is old.offerings[name] for name, rows in offerings.items())
    listed = old.list_prices if old.list_prices == prices.on_demand else dict(prices.on_demand)
    listing = replace(old, offerings=old.offerings if same else offerings, list_prices=listed)
    return replace(region, listing=listing, prices=prices)


def _at(prices: PriceList, one: TypeAnswer, rows: tuple[Offering, ...]) -> tuple[Offering, ...]:
    name, on_demand = one.instance_type, prices.on_demand.get(one.instance_type)
    spot_zones = [row.zone for row in rows if row.capacity_type == labels.SPOT and row.zone is not None]
    spot = dict(zip(spot_zones, prices.spot_in(name, spot_zones), strict=True)) if spot_zones else {}
    can_be_node = not spot_zones or refusal(one) is None
    found, changed = [], False
    for row in rows:
        is_spot = row.capacity_type == labels.SPOT
        price = spot.get(row.zone or "") if is_spot else on_demand
        sold = row.available
        if is_spot:
            sold = (price is not None or not prices.spot_whole) and can_be_node
        if price != row.price or sold != row.available:
            row, changed = row.priced(price, sold), True
        found.append(row)
    return sorted_offerings(found) if changed else rows


def merged(old: Mapping[Named, Price], new: Mapping[Named, Price]) -> Mapping[Named, Price]:
    """Prices laid over older ones: what is not named keeps its price, and what is named as before its object."""
    return {**old, **{key: old[key] if old.get(key) == price else price for key, price in new.items()}}


def _borrowed(prices: PriceList, region: str) -> PriceList:
    detail = f"{_FALLBACK}'s price, as none is known for {region}"
    return PriceList({name: _modelled(one, detail) for name, one in prices.on_demand.items()})


def _modelled(price: Price, detail: str) -> Price:
    return Price(price.nanodollars, Source(SourceKind.MODELLED, detail, price.source.as_of, price.source.currency))
