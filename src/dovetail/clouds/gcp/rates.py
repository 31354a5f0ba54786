"""What a machine type costs, put together from the hourly rates of its vCPUs and its memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from dovetail.clouds.gcp.wire import MachineType, RateRow
from dovetail.clouds.pricelist import PriceList
from dovetail.core import labels
from dovetail.core.catalog.prices import Price, Source, SourceKind, parse_amount
from dovetail.core.errors import BadField, BadValue

#: Sold as one piece: their `cpu` rate is the price of the whole machine.
_WHOLE_MACHINES: Final = frozenset({"f1", "g1"})


@dataclass(frozen=True, slots=True)
class Rate:
    nanodollars: int
    source: Source


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of one region, by family, resource and capacity type."""

    by_part: Mapping[tuple[str, str, str], Rate] = field(default_factory=dict)

    def price(self, one: MachineType, capacity_type: str) -> Price | None:
        """None where a part has no rate: half a price would make the type look cheap."""
        cpu = self.by_part.get((one.family, "cpu", capacity_type))
        ram = self.by_part.get((one.family, "ram", capacity_type))
        if cpu is None or one.accelerators:
            return None
        if one.family in _WHOLE_MACHINES:
            return Price(cpu.nanodollars, cpu.source)
        if ram is None:
            return None
        billed = Fraction(one.guest_cpus if one.billed_cpus is None else one.billed_cpus)
        return Price(round(billed * cpu.nanodollars + Fraction(one.memory_mb, 1024) * ram.nanodollars), cpu.source)

    def price_list(self, types: Iterable[MachineType]) -> PriceList:
        on_demand: dict[str, Price] = {}
        spot: dict[tuple[str, str | None], Price] = {}
        for one in types:
            price = self.price(one, labels.ON_DEMAND)
            if price is not None:
                on_demand[one.name] = price
            price = self.price(one, labels.SPOT)
            if price is not None:
                spot[one.name, None] = price
        return PriceList(on_demand, spot)


def rates_of(rows: Iterable[RateRow], region: str, path: str) -> tuple[Rates, tuple[BadField, ...]]:
    found: dict[tuple[str, str, str], Rate] = {}
    sources: dict[tuple[SourceKind, str | None], Source] = {}
    problems: list[BadField] = []
    for row in rows:
        if row.region != region:
            continue
        about = (row.source, row.as_of)
        source = sources.setdefault(about, Source(row.source, f"vCPU and GiB rates, {region}", row.as_of))
        try:
            found[row.family, row.resource, row.capacity_type] = Rate(parse_amount(row.price), source)
        except BadValue as problem:
            problems.append(problem.at(path, f"{row.family} {row.resource} {row.capacity_type} {region}", "price"))
    return Rates(found), tuple(problems)
