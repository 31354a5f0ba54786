"""`catalog show`: everything about one type, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.catalog.pricebook import Commitment
from dovetail.core.catalog.prices import Price, dollars
from dovetail.core.requirements import Operator, Requirement
from dovetail.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from dovetail.views import figures
from dovetail.views.paint import PLAIN, Paint, Style
from dovetail.views.table import Cell, Column, facts, render
from dovetail.views.type_list import Listed, offering_wire, wire

_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)


@dataclass(frozen=True, slots=True)
class Page:
    """A type, where it is sold, and everything of the user's that touched it."""

    listed: Listed
    cloud: str
    region: str
    touched_by: tuple[str, ...] = ()
    commitments: tuple[Commitment, ...] = ()

    @property
    def type(self) -> InstanceType:
        return self.listed.type


def text(page: Page, today: date, width: int | None = None, paint: Paint = PLAIN) -> str:
    """The page for people."""
    parts = [
        paint(Style.NAME, page.type.name) + paint(Style.DIM, f"  {page.cloud} {page.region}") + "\n",
        facts(_about(page, today), paint, "  "),
        heading("room", paint),
        _room(page.type, width, paint),
        heading("offerings", paint),
        offerings(page.type.offerings, today, width, paint),
        heading("labels", paint),
        facts(((one.key, told(one)) for one in sorted(page.type.spec.requirements, key=_by_key)), paint, "  "),
    ]
    return "".join(parts)


def heading(title: str, paint: Paint) -> str:
    return f"\n{paint(Style.HEADING, title)}\n"


def _by_key(one: Requirement) -> str:
    return one.key


def told(one: Requirement) -> str:
    """What a label may be, in a few words."""
    if one.operator is Operator.IN:
        return ", ".join(sorted(one.values))
    if one.operator is Operator.DOES_NOT_EXIST:
        return figures.NOTHING
    return str(one).removeprefix(f"{one.key} ")


def _about(page: Page, today: date) -> list[tuple[str, str]]:
    hardware = page.type.spec.hardware
    found = [("described by", hardware.source or "unknown"), ("list price", _listed(page.listed.list_price, today))]
    if hardware.interfaces is not None:
        shape = hardware.interfaces
        found.append(("network interfaces", f"{shape.count} with {shape.addresses_each} addresses each"))
    if hardware.disk.local_disks:
        found.append(("local disks", str(hardware.disk.local_disks)))
    found += [(f"volumes of {driver}", f"at most {limit}") for driver, limit in hardware.volume_limits]
    found += [("touched by", one) for one in page.touched_by]
    found += [("commitment", commitment(one)) for one in page.commitments]
    return found


def commitment(one: Commitment) -> str:
    size = f"{one.instances} machines" if one.instances is not None else f"${dollars(one.nanodollars or 0)} an hour"
    return f"{one.name}: {float(one.percent):g}% off for {size}, then the price below"


def _listed(price: Price | None, today: date) -> str:
    if price is None:
        return figures.UNPRICED
    about = price.source
    parts = [f"{figures.price(price)} an hour, {figures.monthly(price)} a month", figures.told(about, today)]
    return "; ".join([*parts, *([about.detail] if about.detail else [])])


def _room(kind: InstanceType, width: int | None, paint: Paint) -> str:
    names = [name for name in _FIRST if name in kind.capacity]
    names += sorted(name for name in kind.capacity if name not in _FIRST)
    columns = [Column("  RESOURCE"), Column("CAPACITY", right=True), Column("ALLOCATABLE", right=True)]
    rows = [
        [f"  {name}", figures.amount(name, kind.capacity[name]), figures.amount(name, kind.allocatable.of(name))]
        for name in names
    ]
    return render(columns, rows, width, paint)


def offerings(rows: Sequence[Offering], today: date, width: int | None = None, paint: Paint = PLAIN) -> str:
    """Rows by zone and capacity type, with what made each price."""
    if not rows:
        return "  none: no zone here sells it\n"
    columns = [
        Column("  ZONE"),
        Column("CAPACITY TYPE"),
        Column("PRICE", right=True),
        Column("STATE", rank=1),
        Column("SOURCE", rank=2),
        Column("AGE", rank=3),
        Column("MADE BY", rank=4, prose=True),
    ]
    ordered = sorted(rows, key=lambda row: (row.zone or "", row.capacity_type or ""))
    return render(columns, ([*_offering(row, today)] for row in ordered), width, paint)


def _offering(row: Offering, today: date) -> list[str | Cell]:
    about = row.price.source if row.price is not None else None
    return [
        f"  {row.zone or 'any'}",
        row.capacity_type or "any",
        Cell(figures.price(row.price), Style.DIM if row.price is None else None),
        state(row),
        str(about.kind) if about else "",
        figures.age(about.as_of, today) if about else "",
        about.detail if about else "",
    ]


def state(row: Offering) -> Cell:
    """Whether one could be bought, and how many."""
    if not row.available:
        return Cell("sold out", Style.BAD)
    if row.count is None:
        return Cell("available", Style.GOOD)
    return Cell(f"{row.count} left", Style.GOOD if row.count else Style.BAD)


def page_wire(page: Page) -> dict[str, object]:
    """The documented JSON: that of `catalog list`, and more."""
    hardware = page.type.spec.hardware
    return {
        **wire(page.listed),
        "offerings": [
            {**offering_wire(row), "labels": {one.key: told(one) for one in sorted(row.requirements, key=_by_key)}}
            for row in page.type.offerings
        ],
        "cloud": page.cloud,
        "region": page.region,
        "labels": {
            one.key: sorted(one.values) for one in sorted(page.type.spec.requirements, key=_by_key) if one.values
        },
        "describedBy": hardware.source,
        "volumeLimits": dict(hardware.volume_limits),
        "touchedBy": list(page.touched_by),
        "commitments": [commitment(one) for one in page.commitments],
    }
