"""EC2's listing of one region from the bundled files."""

from __future__ import annotations

from typing import Final

from dovetail.clouds import bundled
from dovetail.clouds.aws.parse import Answers, listing_of
from dovetail.clouds.aws.wire import NetworkRow, TypeAnswer, ZoneRow
from dovetail.clouds.options import LoadOptions
from dovetail.clouds.pricelist import PriceRow, price_list
from dovetail.core.catalog.listing import Listing
from dovetail.core.errors import BadField

DEFAULT_REGION: Final = "us-east-1"
_TYPES: Final = "aws/types.jsonl.gz"
_NETWORK: Final = "aws/network.jsonl.gz"


def regions(options: LoadOptions) -> tuple[str, ...]:
    """Where the zones are known, or at least the prices: GovCloud's and China's zones are in no public list."""
    known = {*bundled.names_in("aws/zones", options.root), *bundled.names_in("aws/prices", options.root)}
    return tuple(sorted(known))


def load(region: str, options: LoadOptions) -> Listing:
    return listing_of(answers_of(region, options), options)


def answers_of(region: str, options: LoadOptions) -> Answers:
    """A type is listed if some zone of the region sells it, or the region's price list names it.

    Where no zone of a region is known, what it prices is sold on demand, in whichever zone there is.
    """
    root, prices_path, zones_path = options.root, f"aws/prices/{region}.jsonl.gz", f"aws/zones/{region}.jsonl.gz"
    types, bad_types = bundled.read_rows(_TYPES, TypeAnswer, root)
    zones: list[ZoneRow] = []
    bad_zones: tuple[BadField, ...] = ()
    if region in bundled.names_in("aws/zones", root):
        zones, bad_zones = bundled.read_rows(zones_path, ZoneRow, root)
    rows, bad_rows = bundled.read_rows(prices_path, PriceRow, root)
    network, bad_network = bundled.read_rows(_NETWORK, NetworkRow, root)
    prices, bad_prices = price_list(rows, prices_path, f"EC2 price list, {region}")
    here = {name for zone in zones for name in zone.instance_types} | prices.on_demand.keys()
    origin = bundled.manifest(root).get(_TYPES)
    return Answers(
        region=region,
        types=[one for one in types if one.instance_type in here],
        zones=zones,
        prices=prices,
        network={one.instance_type: one for one in network},
        source=f"EC2 DescribeInstanceTypes, bundled{' ' + origin.source_date if origin else ''}",
        problems=(*bad_types, *bad_zones, *bad_rows, *bad_prices, *bad_network),
    )
