"""`catalog diff`: what changed between two catalogues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.core.catalog.offerings import Offering
from dovetail.core.catalog.prices import Price
from dovetail.core.resources import Resources, quantity_of
from dovetail.views import figures
from dovetail.views.paint import PLAIN, Paint, Style
from dovetail.views.table import Cell, Column, Row, render
from dovetail.views.type_list import Listed, price_wire


@dataclass(frozen=True, slots=True)
class PriceChange:
    """One price that moved; None is unpriced, or not offered at all. `zone` None is the list price of the type."""

    name: str
    capacity_type: str
    zone: str | None
    before: Price | None
    after: Price | None

    @property
    def by(self) -> int | None:
        """By how many nanodollars, where that can be said."""
        if self.before is None or self.after is None or self.before.source.currency != self.after.source.currency:
            return None
        return self.after.nanodollars - self.before.nanodollars

    @property
    def percent(self) -> float | None:
        if self.by is None or self.before is None or not self.before.nanodollars:
            return None
        return 100 * self.by / self.before.nanodollars


@dataclass(frozen=True, slots=True)
class RoomChange:
    """One amount of capacity or allocatable that differs."""

    name: str
    what: str
    resource: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Difference:
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    prices: tuple[PriceChange, ...] = ()
    room: tuple[RoomChange, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed or self.prices or self.room)


LIST_PRICE: Final = "list price"
CSV_COLUMNS: Final = ("change", "name", "what", "zone", "before", "after")


def compare(before: Mapping[str, Listed], after: Mapping[str, Listed], *, same_place: bool) -> Difference:
    """What it takes to get from one to the other.

    Zones are compared only where both catalogues are of one region; zones of two regions have nothing in common.
    """
    both = sorted(before.keys() & after.keys())
    prices: list[PriceChange] = []
    room: list[RoomChange] = []
    for name in both:
        prices += _prices(name, before[name], after[name], same_place)
        for what, old, new in (
            ("capacity", before[name].type.capacity, after[name].type.capacity),
            ("allocatable", before[name].type.allocatable, after[name].type.allocatable),
        ):
            room += _room(name, what, old, new)
    return Difference(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(prices),
        tuple(room),
    )


def _prices(name: str, before: Listed, after: Listed, same_place: bool) -> list[PriceChange]:
    found = [PriceChange(name, LIST_PRICE, None, before.list_price, after.list_price)]
    if same_place:
        old, new = _by_place(before.type.offerings), _by_place(after.type.offerings)
        places = sorted(old.keys() | new.keys())
        found += [PriceChange(name, *place, old.get(place), new.get(place)) for place in places]
    return [one for one in found if _amount(one.before) != _amount(one.after)]


def _by_place(rows: tuple[Offering, ...]) -> dict[tuple[str, str], Price | None]:
    """Prices by where and how; of rows that differ in other labels only, the cheapest."""
    found: dict[tuple[str, str], Price | None] = {}
    for row in sorted(rows, key=lambda row: row.order):
        found.setdefault((row.capacity_type or "any", row.zone or "any"), row.price)
    return found


def _amount(price: Price | None) -> tuple[int, str] | None:
    return None if price is None else (price.nanodollars, price.source.currency)


def _room(name: str, what: str, before: Resources, after: Resources) -> list[RoomChange]:
    names = sorted(before.keys() | after.keys())
    changes = (RoomChange(name, what, one, before.get(one), after.get(one)) for one in names)
    return [one for one in changes if one.before != one.after]


def text(found: Difference, width: int | None = None, paint: Paint = PLAIN) -> str:
    """The differences for people; a line says so where there are none."""
    if found.is_empty:
        return "no differences\n"
    parts = []
    for title, names, style in (("added", found.added, Style.GOOD), ("removed", found.removed, Style.BAD)):
        if names:
            mark = "+" if style is Style.GOOD else "-"
            parts.append(paint(Style.HEADING, f"{len(names)} types {title}") + "\n")
            parts += [paint(style, f"  {mark} {name}") + "\n" for name in names]
    if found.prices:
        parts += [paint(Style.HEADING, f"{len(found.prices)} prices changed") + "\n", _price_table(found, width, paint)]
    if found.room:
        parts += [paint(Style.HEADING, f"{len(found.room)} amounts changed") + "\n", _room_table(found, width, paint)]
    return "".join(parts)


def _price_table(found: Difference, width: int | None, paint: Paint) -> str:
    columns = [
        Column("  TYPE"),
        Column("CAPACITY TYPE", rank=2),
        Column("ZONE", rank=2),
        Column("BEFORE", right=True),
        Column("AFTER", right=True),
        Column("BY", right=True, rank=1),
        Column("%", right=True),
    ]
    # What moved alike in all zones of a type is one line to a person; JSON and CSV have each zone.
    alike: dict[tuple[str, str, object, object], list[PriceChange]] = {}
    for one in found.prices:
        alike.setdefault((one.name, one.capacity_type, _amount(one.before), _amount(one.after)), []).append(one)
    return render(columns, (_price_row(group[0], len(group)) for group in alike.values()), width, paint)


def _price_row(one: PriceChange, zones: int) -> Row:
    by, share = one.by, one.percent
    style = None if by is None else Style.BAD if by > 0 else Style.GOOD
    currency = one.before.source.currency if one.before else "USD"
    return [
        f"  {one.name}",
        one.capacity_type,
        f"{zones} zones" if zones > 1 else one.zone or "",
        figures.price(one.before),
        figures.price(one.after),
        Cell("" if by is None else ("+" if by > 0 else "") + figures.money(by, currency), style),
        Cell("" if share is None else figures.percent(share), style),
    ]


def _room_table(found: Difference, width: int | None, paint: Paint) -> str:
    columns = [
        Column("  TYPE"),
        Column("OF", rank=1),
        Column("RESOURCE"),
        Column("BEFORE", right=True),
        Column("AFTER", right=True),
    ]
    rows = ([f"  {one.name}", one.what, one.resource, *_amounts(one)] for one in found.room)
    return render(columns, rows, width, paint)


def _amounts(one: RoomChange) -> list[str]:
    return [
        figures.NOTHING if amount is None else str(quantity_of(one.resource, amount))
        for amount in (one.before, one.after)
    ]


def wire(found: Difference) -> dict[str, object]:
    """The documented JSON."""
    return {
        "added": list(found.added),
        "removed": list(found.removed),
        "prices": [
            {
                "name": one.name,
                "capacityType": None if one.zone is None else one.capacity_type,
                "zone": one.zone,
                "before": price_wire(one.before),
                "after": price_wire(one.after),
                "by": None if one.by is None else figures.number(one.by),
                "percent": None if one.percent is None else round(one.percent, 4),
            }
            for one in found.prices
        ],
        "room": [
            {"name": one.name, "of": one.what, "resource": one.resource, "before": before, "after": after}
            for one in found.room
            for before, after in [_wire_amounts(one)]
        ],
    }


def _wire_amounts(one: RoomChange) -> tuple[str | None, str | None]:
    before, after = (
        None if amount is None else str(quantity_of(one.resource, amount)) for amount in (one.before, one.after)
    )
    return before, after


def csv_rows(found: Difference) -> Iterator[Sequence[object]]:
    """One row for each thing that differs."""
    yield from (["added", name, "", "", "", ""] for name in found.added)
    yield from (["removed", name, "", "", "", ""] for name in found.removed)
    for one in found.prices:
        before, after = ("" if price is None else str(price) for price in (one.before, one.after))
        yield ["price", one.name, one.capacity_type, one.zone or "", before, after]
    for change in found.room:
        old, new = _wire_amounts(change)
        yield [change.what, change.name, change.resource, "", old or "", new or ""]
