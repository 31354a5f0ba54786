"""`plan --cluster-api`: what each group of machines costs on demand and on spot, what that saves, what is forbidden."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.prices import Price
from dovetail.core.machines import pricing
from dovetail.core.machines.pricing import Bill, Standing, Totals
from dovetail.views import figures
from dovetail.views.paint import PLAIN, Paint, Style
from dovetail.views.table import Cell, Column, Row, printable, render

_SHOWN_ZONES: Final = 1
_TOLD: Final = {
    Standing.FORBIDDEN: "forbidden",
    Standing.WAITING: "never bought at this price",
    Standing.UNPRICED: "without a price",
}
_STYLES: Final = {
    Standing.SPOT: Style.GOOD,
    Standing.ON_DEMAND: Style.NOTABLE,
    Standing.FORBIDDEN: Style.BAD,
    Standing.WAITING: Style.BAD,
    Standing.UNPRICED: Style.DIM,
}


# ---- JSON


def wire(bills: Sequence[Bill]) -> dict[str, object]:
    """The documented JSON: docs/reference/plan-cluster-api.schema.json."""
    sums = pricing.totals(bills)
    return {
        "groups": [_bill_wire(one) for one in bills],
        "totals": {
            "groups": len(bills),
            "machines": sums.machines,
            "unpricedMachines": sums.unpriced,
            "forbiddenMachines": sums.forbidden,
            "waitingMachines": sums.waiting,
            "pricePerHour": figures.number(sums.now),
            "onDemandPerHour": figures.number(sums.on_demand),
            "spotPerHour": figures.number(sums.on_spot),
            "savedPerHour": figures.number(sums.saved),
            "couldSavePerHour": figures.number(sums.could_save),
        },
    }


def _bill_wire(one: Bill) -> dict[str, object]:
    group, wanted = one.group, one.group.wanted
    return {
        "kind": group.owner.kind,
        "namespace": group.owner.namespace,
        "name": group.owner.name,
        "cluster": group.cluster or None,
        "template": {"kind": group.template.kind, "name": group.template.name},
        "replicas": group.replicas,
        "controlPlane": group.control_plane,
        "cloud": None if wanted is None else wanted.cloud,
        "instanceType": None if wanted is None else wanted.instance_type,
        "region": group.region or None,
        "zones": list(group.zones),
        "capacityType": None if wanted is None else _capacity_type(one),
        "maxPrice": None if wanted is None else wanted.max_price or None,
        "standing": str(one.standing),
        "reason": one.reason or None,
        "prices": {"onDemand": _price_wire(one.rates.on_demand), "spot": _price_wire(one.rates.spot)},
        "pricePerHour": _number(one.now),
        "onDemandPerHour": _number(one.on_demand),
        "spotPerHour": _number(one.on_spot),
        "savedPerHour": figures.number(one.saved),
        "couldSavePerHour": figures.number(one.could_save),
    }


def _capacity_type(one: Bill) -> str:
    wanted = one.group.wanted
    return labels.SPOT if wanted is not None and wanted.market.is_interruptible else labels.ON_DEMAND


def _price_wire(price: Price | None) -> dict[str, object] | None:
    if price is None:
        return None
    source = price.source
    return {
        "each": figures.number(price.nanodollars),
        "source": str(source.kind),
        "detail": source.detail or None,
        "asOf": source.as_of,
    }


def _number(nanodollars: int | None) -> float | None:
    return None if nanodollars is None else figures.number(nanodollars)


# ---- for people


def text(bills: Sequence[Bill], today: date, width: int | None = None, paint: Paint = PLAIN) -> str:
    """The machines for people: what they cost, what is wrong with some, the sums, and whose prices these are."""
    if not bills:
        return "  no machines of Cluster API\n"
    parts = [_heading("machines", paint), _table(bills, width, paint)]
    for standing, title in _TOLD.items():
        found = [one for one in bills if one.standing is standing]
        if found:
            parts += [_heading(title, paint), *(_told(one, paint) for one in found)]
    parts += [_heading("in all", paint), *(f"  {line}\n" for line in summary(pricing.totals(bills)))]
    if sources := _sources(bills, today):
        parts += [_heading("prices", paint), *(f"  {line}\n" for line in sources)]
    return "".join(parts).lstrip("\n")


def _heading(title: str, paint: Paint) -> str:
    return f"\n{paint(Style.HEADING, title)}\n"


def _told(one: Bill, paint: Paint) -> str:
    return f"  {paint(Style.NAME, printable(str(one.group.owner)))}: {printable(one.reason)}\n"


def _table(bills: Iterable[Bill], width: int | None, paint: Paint) -> str:
    columns = [
        Column("  OF"),
        Column("COUNT", right=True),
        Column("TYPE", rank=1),
        Column("WHERE", rank=3),
        Column("BOUGHT", rank=1),
        Column("$/H EACH", right=True, rank=2),
        Column("$/H NOW", right=True),
        Column("ON-DEMAND", right=True, rank=1),
        Column("SPOT", right=True, rank=1),
        Column("SPOT SAVES"),
    ]
    return render(columns, (_row(one) for one in bills), width, paint)


def _row(one: Bill) -> Row:
    group, wanted = one.group, one.group.wanted
    return [
        f"  {group.owner}",
        str(group.replicas),
        figures.NOTHING if wanted is None else wanted.instance_type,
        _where(one),
        figures.NOTHING if wanted is None else _capacity_type(one),
        figures.NOTHING if one.each is None else figures.price(one.each),
        _money(one.now),
        _money(one.on_demand),
        figures.NOTHING if group.control_plane or one.rates.spot is None else _money(one.on_spot),
        Cell(_saving(one), _STYLES.get(one.standing)),
    ]


def _where(one: Bill) -> str:
    zones = one.group.zones
    return zones[0] if len(zones) == _SHOWN_ZONES else one.group.region or figures.NOTHING


def _money(nanodollars: int | None) -> str:
    return figures.UNPRICED if nanodollars is None else figures.money(nanodollars)


def _saving(one: Bill) -> str:
    match one.standing:
        case Standing.SPOT:
            return f"{figures.money(one.saved)} already"
        case Standing.ON_DEMAND if one.could_save:
            return f"{figures.money(one.could_save)} more"
        case Standing.ON_DEMAND:
            return f"nothing: {one.reason}" if one.reason else "nothing"
        case Standing.KEPT:
            return "nothing: control plane"
        case other:
            return str(other)


def summary(sums: Totals) -> tuple[str, ...]:
    """What the cluster costs, what it would cost, and what is left out of that."""
    now = f"{_counted(sums.machines)} at {figures.money(sums.now)} an hour, {figures.month(sums.now)} a month"
    lines = [
        now,
        f"all on demand {figures.money(sums.on_demand)} an hour; all that may be on spot {figures.money(sums.on_spot)}",
        f"spot saves {figures.money(sums.saved)} an hour already, and could save {figures.money(sums.could_save)} more,"
        f" {figures.month(sums.could_save)} a month",
    ]
    left = [
        f"{_counted(count)} {word}"
        for count, word in (
            (sums.forbidden, "forbidden"),
            (sums.waiting, "never bought"),
            (sums.unpriced, "without a price"),
        )
        if count
    ]
    return (*lines, *((f"not in what is paid: {', '.join(left)}",) if left else ()))


def _counted(count: int) -> str:
    return f"{count:,} machine{'' if count == 1 else 's'}"


def _sources(bills: Iterable[Bill], today: date) -> list[str]:
    """Each source once, with its age."""
    found: dict[str, None] = {}
    for one in bills:
        for word, price in (("on demand", one.rates.on_demand), ("spot", one.rates.spot)):
            if price is not None:
                detail = f": {price.source.detail}" if price.source.detail else ""
                found[f"{word}  {figures.told(price.source, today)}{detail}"] = None
    return sorted(found)
