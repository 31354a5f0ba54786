"""On-demand Linux prices of every AWS region, each row saying whether it was published or modelled.

us-east-1, GovCloud and cn-north-1 come from tables generated from the price list. The other regions come from
an older table in which 0 means unknown. cn-northwest-1 is left unpriced: nothing at hand says how its prices
stand to cn-north-1's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from . import aws_region_model, go_text
from .aws_price_model import Elsewhere, UsEast1
from .output import Catalogue, Provenance, money
from .sources import Archive, Sources

EAST = "us-east-1"
GO = "pkg/providers/pricing/zz_generated.pricing_aws{}.go"
LIBCLOUD = "libcloud/data/pricing.json"
# A Los Angeles local zone under an invented region name; and regions whose own generated table is better.
NOT_FROM_LIBCLOUD = {"us-west-2-lax-1", EAST, "us-gov-east-1", "us-gov-west-1"}
NEAREST = ("us-east-2", "us-west-2")  # regions that charge what us-east-1 does are asked first
MICRODOLLAR = Decimal("0.000001")

Prices = dict[str, Decimal]


def write(
    catalogue: Catalogue, sources: Sources, types: Mapping[str, Mapping[str, Any]], sold: Mapping[str, set[str]]
) -> None:
    module, libcloud = sources.karpenter_aws, sources.libcloud
    texts = {part: module.text(GO.format(part)) for part in ("", "_us_gov", "_cn")}
    tables = {part: go_text.price_tables(text, go_text.AWS_REGION) for part, text in texts.items()}
    dates = {part: go_text.generated_on(text) for part, text in texts.items()}
    older, older_date = _libcloud_tables(libcloud)

    published = tables[""][EAST]
    elsewhere = _elsewhere(older, older_date, tables["_us_gov"], dates["_us_gov"], published)
    east_model = UsEast1(types, published, dates[""], elsewhere)
    modelled = {name: east_model.model(name) for name in sorted(types.keys() - published.keys())}

    east_rows = [_row(name, price, dates[""]) for name, price in published.items()]
    east_rows += [_row(name, one.price, one.date, rule=one.rule) for name, one in modelled.items()]
    _write(catalogue, EAST, east_rows, _of_go(module, "", dates[""]))

    for part, currency in (("_us_gov", "USD"), ("_cn", "CNY")):
        for region, prices in tables[part].items():
            rows = [_row(name, price, dates[part], currency) for name, price in prices.items()]
            _write(catalogue, region, rows, _of_go(module, part, dates[part]))

    east = {**published, **{name: one.price for name, one in modelled.items()}}
    for region in sorted(older.keys() - NOT_FROM_LIBCLOUD):
        found = aws_region_model.rows(sold.get(region, set()), older[region], older[EAST], east)
        rows = [_row(name, row.price, older_date, rule=row.rule) for name, row in found.items()]
        note = "Published rows are of this date; modelled rows scale the us-east-1 list, and say how."
        _write(catalogue, region, rows, Provenance(libcloud.cite(LIBCLOUD), older_date, libcloud.license, note))


def _libcloud_tables(libcloud: Archive) -> tuple[dict[str, Prices], str]:
    """Region → type → price, without the zeros that mean unknown; and the day it was scraped."""
    content = json.loads(libcloud.read(LIBCLOUD), parse_float=Decimal)
    tables: dict[str, Prices] = {}
    for name, by_region in content["compute"]["ec2_linux"].items():
        for region, price in by_region.items():
            if price > 0:
                tables.setdefault(region, {})[name] = Decimal(price)
    return tables, datetime.fromtimestamp(content["updated"], UTC).date().isoformat()


def _elsewhere(
    older: Mapping[str, Prices], older_date: str, gov: Mapping[str, Prices], gov_date: str, east: Prices
) -> tuple[Elsewhere, ...]:
    """Other regions in the order they are asked: those that charge the same, newer tables, then by name."""
    places = [(region, older[region], older_date) for region in NEAREST]
    places += [(region, gov[region], gov_date) for region in sorted(gov)]
    places += [(region, older[region], older_date) for region in sorted(older.keys() - {*NEAREST, *NOT_FROM_LIBCLOUD})]
    return tuple(
        Elsewhere(region, prices, aws_region_model.ratios(prices, east).median, date) for region, prices, date in places
    )


def _row(name: str, price: Decimal, date: str, currency: str = "USD", rule: str | None = None) -> dict[str, str]:
    amount = price if rule is None else price.quantize(MICRODOLLAR, ROUND_HALF_EVEN)
    row = {
        "instanceType": name,
        "capacityType": "on-demand",
        "price": money(amount),
        "currency": currency,
        "source": "modelled" if rule else "bundled",
        "asOf": date,
    }
    return {**row, "rule": rule} if rule else row


def _of_go(module: Archive, part: str, date: str) -> Provenance:
    return Provenance(module.cite(GO.format(part)), date, module.license, "On-demand Linux, shared tenancy.")


def _write(catalogue: Catalogue, region: str, rows: Iterable[dict[str, str]], provenance: Provenance) -> None:
    ordered = sorted(rows, key=lambda row: row["instanceType"])
    modelled = sum(row["source"] == "modelled" for row in ordered)
    note = f"{provenance.note} {len(ordered) - modelled} published, {modelled} modelled."
    cited = Provenance(provenance.source, provenance.date, provenance.license, note)
    catalogue.write(f"aws/prices/{region}.jsonl.gz", ordered, cited)
