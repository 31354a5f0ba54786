"""Spot prices, from EC2's history of them, asked for this moment only (`spec/aws` §4).

A peer looks every 12 hours. Prices of a pool move about three and a half times a day, so it is wrong more often than
right; we look every quarter of an hour (`discovery.SPOT_SECONDS`), which costs a handful of calls, and rebuild the rows
of those types whose price did move.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any, Final

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.port import Unavailable
from dovetail.core.catalog.prices import Price, Source, SourceKind, parse_amount
from dovetail.core.errors import BadField, BadValue, Place

DETAIL: Final = "EC2 spot price history"
PRODUCTS: Final = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
_LONG_AGO: Final = dt.datetime.min.replace(tzinfo=dt.UTC)

SpotPrices = dict[tuple[str, str | None], Price]


async def ask(aws: Aws, now: float) -> tuple[Mapping[str, Any], ...]:
    """The price in force of every pool."""
    moment = dt.datetime.fromtimestamp(now, dt.UTC)
    found = await aws.all(calls.DESCRIBE_SPOT_PRICES, StartTime=moment, ProductDescriptions=list(PRODUCTS))
    if not found:
        raise Unavailable("EC2 answered with no spot prices")
    return found


def prices_of(records: Iterable[Mapping[str, Any]], date: str) -> tuple[SpotPrices, tuple[BadField, ...]]:
    """The newest price of each type and zone, as of a date."""
    source = Source(SourceKind.LIVE, DETAIL, date)
    found: SpotPrices = {}
    newest: dict[tuple[str, str | None], dt.datetime] = {}
    problems: list[BadField] = []
    for number, one in enumerate(records, 1):
        name, zone, since = one.get("InstanceType", ""), one.get("AvailabilityZone", ""), one.get("Timestamp")
        if not name or not zone:
            problems.append(BadField(Place(DETAIL, f"record {number}"), "names no type or no zone"))
            continue
        at = since if isinstance(since, dt.datetime) else _LONG_AGO
        if at < newest.get((name, zone), _LONG_AGO):
            continue
        try:
            found[name, zone] = Price(parse_amount(one.get("SpotPrice")), source)
            newest[name, zone] = at
        except BadValue as problem:
            problems.append(problem.at(DETAIL, name, zone))
    return found, tuple(problems)
