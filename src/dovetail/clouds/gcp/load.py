"""Compute Engine's listing of one region from the bundled files."""

from __future__ import annotations

from typing import Final

from dovetail.clouds import bundled
from dovetail.clouds.gcp.parse import Answers, listing_of
from dovetail.clouds.gcp.rates import rates_of
from dovetail.clouds.gcp.wire import MachineType, RateRow, ZonesRow
from dovetail.clouds.options import LoadOptions
from dovetail.core.catalog.listing import Listing

DEFAULT_REGION: Final = "us-central1"
_TYPES: Final = "gcp/types.jsonl.gz"
_RATES: Final = "gcp/rates.jsonl.gz"
_ZONES: Final = "gcp/zones.jsonl.gz"


def regions(options: LoadOptions) -> tuple[str, ...]:
    rows, problems = bundled.read_rows(_ZONES, ZonesRow, options.root)
    if problems and not rows:
        raise problems[0]
    return tuple(sorted(row.region for row in rows))


def load(region: str, options: LoadOptions) -> Listing:
    root = options.root
    types, bad_types = bundled.read_rows(_TYPES, MachineType, root)
    zones, bad_zones = bundled.read_rows(_ZONES, ZonesRow, root)
    rows, bad_rows = bundled.read_rows(_RATES, RateRow, root)
    rates, bad_rates = rates_of(rows, region, _RATES)
    origin = bundled.manifest(root).get(_TYPES)
    answers = Answers(
        region=region,
        types=types,
        zones=[zone for row in zones if row.region == region for zone in row.zones],
        prices=rates.price_list(types),
        source=f"written by naming rule, not recorded{'; ' + origin.source_date if origin else ''}",
        problems=(*bad_types, *bad_zones, *bad_rows, *bad_rates),
    )
    return listing_of(answers, options)
