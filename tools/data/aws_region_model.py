"""Prices for one region other than us-east-1, from an old and partly wrong table.

Within a family a region's price is one fixed multiple of the us-east-1 price, whatever the size. That single
fact does three things here. It finds wrong rows: the table sometimes holds the dedicated-tenancy rate, 6 or
10 % above the family's other rows. It fills missing rows: any known size prices the whole family. And, from one
generation to the next, it carries over to families newer than the table.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal

from .aws_families import family_of, predecessors
from .output import money

Prices = Mapping[str, Decimal]
DEDICATED_AT_LEAST = Decimal("1.03")  # dedicated tenancy adds 6 % or 10 %; rounding of small prices adds 1 %
REPRICED = (Decimal("0.88"), Decimal("1.12"))  # outside this, us-east-1 itself was repriced since the table


@dataclass(frozen=True, slots=True)
class Row:
    price: Decimal
    rule: str | None  # None: the source's own price


@dataclass(frozen=True, slots=True)
class Ratios:
    """How a region's prices stand to us-east-1: by family where the table has one, else the median."""

    by_family: Mapping[str, Decimal]
    median: Decimal

    def of(self, name: str) -> tuple[Decimal, str]:
        family = family_of(name)
        if family.name in self.by_family:
            return self.by_family[family.name], f"the ratio of {family.name} here"
        for older in predecessors(family, self.by_family):
            return self.by_family[older.name], f"the ratio of {older.name}, the previous generation, here"
        return self.median, "this region's median ratio"


def ratios(prices: Prices, east: Prices) -> Ratios:
    """The lower quartile within each family: dedicated rates only ever add, and are fewer than three in four."""
    shared: dict[str, list[Decimal]] = defaultdict(list)
    every = []
    for name, price in prices.items():
        if name in east:
            every.append(price / east[name])
            if "metal" not in name:
                shared[name.split(".")[0]].append(price / east[name])
    quartiles = {family: round(sorted(seen)[len(seen) // 4], 4) for family, seen in shared.items()}
    return Ratios(quartiles, round(statistics.median(every), 4))


def rows(sold: Collection[str], table: Prices, table_east: Prices, east: Prices) -> dict[str, Row]:
    """A row for every type sold, and for every type the table has a believable price for.

    `table` is the region's own rows and `table_east` the us-east-1 rows of the same table; `east` is today's
    complete us-east-1 list.
    """
    repriced = {name for name in table if name in table_east and name in east and _moved(table_east[name], east[name])}
    steady = {name: price for name, price in table.items() if name not in repriced}
    known = ratios(steady, east)
    result: dict[str, Row] = {}
    for name in sorted({*sold, *table} & east.keys()):
        if name in repriced:
            ratio = round(table[name] / table_east[name], 4)
            result[name] = Row(east[name] * ratio, _rule(ratio, "its ratio before us-east-1 was repriced"))
            continue
        ratio, why = known.of(name)
        found = steady.get(name)
        if found is not None and found / east[name] <= ratio * DEDICATED_AT_LEAST:
            result[name] = Row(found, None)
        elif found is not None:
            why = f"{why}; the source's {money(found)} is a dedicated rate"
            result[name] = Row(east[name] * ratio, _rule(ratio, why))
        else:
            result[name] = Row(east[name] * ratio, _rule(ratio, why))
    return result


def _moved(before: Decimal, now: Decimal) -> bool:
    return not REPRICED[0] <= before / now <= REPRICED[1]


def _rule(ratio: Decimal, why: str) -> str:
    return f"The us-east-1 price times {money(ratio)}, {why}."
