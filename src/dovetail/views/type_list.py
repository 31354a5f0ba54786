"""`catalog list`: types as a table, as JSON, and as rows of CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.catalog.prices import Price
from dovetail.core.resources import CPU, MEMORY, PODS
from dovetail.views import figures
from dovetail.views.paint import PLAIN, Paint, Style
from dovetail.views.table import Cell, Column, Row, render

CSV_COLUMNS: Final = (
    "name",
    "architecture",
    "cpu",
    "memory",
    "pods",
    "allocatableCpu",
    "allocatableMemory",
    "zone",
    "capacityType",
    "price",
    "currency",
    "source",
    "asOf",
    "available",
    "count",
)
_NOT_SOLD: Final = "not for sale"


@dataclass(frozen=True, slots=True)
class Listed:
    """A type and what its cloud lists it at, whether or not a zone sells it now."""

    type: InstanceType
    list_price: Price | None = None

    @property
    def name(self) -> str:
        return self.type.name


def cheapest(rows: Iterable[Offering], capacity_type: str) -> Offering | None:
    """The cheapest row of a kind that could be bought now."""
    fitting = (
        row for row in rows if row.capacity_type in (capacity_type, None) and row.launchable and row.price is not None
    )
    return min(fitting, key=lambda row: row.order, default=None)


def table(entries: Sequence[Listed], today: date, width: int | None = None, paint: Paint = PLAIN) -> str:
    reserved = any(row.capacity_type == labels.RESERVED for one in entries for row in one.type.offerings)
    columns = [
        Column("TYPE"),
        Column("ARCH", rank=4),
        Column("VCPU", right=True),
        Column("MEMORY", right=True),
        Column("PODS", right=True, rank=6),
        Column("ALLOC CPU", right=True, rank=3),
        Column("ALLOC MEM", right=True, rank=3),
        Column("ON-DEMAND", right=True),
        Column("SPOT", right=True, rank=1),
        Column("SPOT ZONE", rank=5),
        *([Column("RESERVED", right=True, rank=2)] if reserved else []),
        Column("SOURCE", rank=2),
        Column("AGE", rank=2),
    ]
    return render(columns, (_row(one, today, reserved) for one in entries), width, paint)


def _row(one: Listed, today: date, with_reserved: bool) -> Row:
    kind = one.type
    on_demand = _on_demand(one)
    spot = cheapest(kind.offerings, labels.SPOT)
    prices = [price for price in (on_demand, spot.price if spot else None) if price is not None]
    dates = sorted(price.source.as_of for price in prices if price.source.as_of)
    sold = any(row.launchable for row in kind.offerings)
    held = sum(row.count or 0 for row in kind.offerings if row.capacity_type == labels.RESERVED and row.available)
    return [
        Cell(kind.name, Style.NAME),
        kind.requirements.value(labels.ARCH) or "",
        figures.amount(CPU, kind.spec.hardware.cpu_millis),
        figures.size(kind.spec.hardware.memory_bytes),
        figures.amount(PODS, kind.capacity.of(PODS)),
        figures.amount(CPU, kind.allocatable.of(CPU)),
        figures.size(kind.allocatable.of(MEMORY)),
        _priced(one, on_demand, labels.ON_DEMAND),
        _priced(one, spot.price if spot else None, labels.SPOT),
        (spot.zone or "any") if spot else "",
        *([str(held) if held else ""] if with_reserved else []),
        "/".join(dict.fromkeys(str(price.source.kind) for price in prices)) + ("" if sold else f" {_NOT_SOLD}"),
        figures.age(dates[0], today) if dates else "",
    ]


def _on_demand(one: Listed) -> Price | None:
    """What an hour costs on demand: the cheapest row, or the list price where no row can be bought."""
    row = cheapest(one.type.offerings, labels.ON_DEMAND)
    if row is not None:
        return row.price
    return None if any(row.launchable for row in one.type.offerings) else one.list_price


def _priced(one: Listed, price: Price | None, capacity_type: str) -> Cell:
    """A price, `unpriced`, or a dash where the type is not sold this way at all."""
    rows = one.type.offerings
    if price is not None:
        return Cell(figures.price(price), None if any(row.launchable for row in rows) else Style.DIM)
    offered = any(row.capacity_type in (capacity_type, None) for row in rows)
    nowhere = not rows and capacity_type == labels.ON_DEMAND
    return Cell(figures.UNPRICED if offered or nowhere else figures.NOTHING, Style.DIM)


def price_wire(price: Price | None) -> dict[str, object] | None:
    if price is None:
        return None
    return {
        "price": figures.number(price.nanodollars),
        "currency": price.source.currency,
        "source": str(price.source.kind),
        "asOf": price.source.as_of,
        "detail": price.source.detail,
    }


def offering_wire(row: Offering) -> dict[str, object]:
    """One row; `price` and its companions are null where the row is unpriced."""
    unpriced = {"price": None, "currency": None, "source": None, "asOf": None, "detail": None}
    return {
        "zone": row.zone,
        "capacityType": row.capacity_type,
        **(price_wire(row.price) or unpriced),
        "available": row.available,
        "count": row.count,
    }


def wire(one: Listed) -> dict[str, object]:
    """The documented JSON of one type."""
    return {
        "name": one.name,
        "architecture": one.type.requirements.value(labels.ARCH),
        "capacity": one.type.capacity.quantities(),
        "allocatable": one.type.allocatable.quantities(),
        "listPrice": price_wire(one.list_price),
        "offerings": [offering_wire(row) for row in one.type.offerings],
    }


def csv_rows(entries: Iterable[Listed]) -> Iterable[Sequence[object]]:
    """One row for each offering; a type nobody sells has one row without a zone, at its list price."""
    for one in entries:
        kind = one.type
        about = [
            kind.name,
            kind.requirements.value(labels.ARCH) or "",
            *(kind.capacity.quantities().get(name, "") for name in (CPU, MEMORY, PODS)),
            *(kind.allocatable.quantities().get(name, "") for name in (CPU, MEMORY)),
        ]
        for row in kind.offerings:
            count = "" if row.count is None else row.count
            yield [*about, row.zone or "", row.capacity_type or "", *_csv_price(row.price), row.available, count]
        if not kind.offerings:
            yield [*about, "", labels.ON_DEMAND, *_csv_price(one.list_price), False, ""]


def _csv_price(price: Price | None) -> list[object]:
    if price is None:
        return ["", "", figures.UNPRICED, ""]
    return [str(price), price.source.currency, str(price.source.kind), price.source.as_of or ""]
