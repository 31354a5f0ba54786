"""A machine template as a catalogue: one type, bought one way, in the zones its machines may stand in.

A NodePool whose node class is a template of machines buys exactly what the template says (R3, R4, R7): there is nothing
to choose inside the pool, so the choice by price is between pools. A row at which the template's highest price buys
nothing is there and cannot be had (R38).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from dovetail.core import labels
from dovetail.core.catalog.hardware import Disk, Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering, unavailable
from dovetail.core.errors import BadValue
from dovetail.core.machines import prices, pricing
from dovetail.core.machines.infra_objects import Wanted


@dataclass(frozen=True, slots=True)
class Template:
    """What machines made from a template are, and where they stand. No zones are any of the region's; `disk` is how
    many bytes the root disk has, None where that is left to the cloud."""

    wanted: Wanted
    region: str = ""
    zones: tuple[str, ...] = ()
    disk: int | None = None


def narrowed(listing: Listing, template: Template) -> Listing:
    """What of a region's listing is the template's. Raises BadInput, in a sentence, where that is nothing."""
    wanted = template.wanted
    found = next((one for one in listing.hardware if one.name == wanted.instance_type), None)
    if found is None:
        raise BadValue(f"{listing.cloud} {listing.region} sells no type {wanted.instance_type[:60]!r}")
    how = labels.SPOT if wanted.market.is_interruptible else labels.ON_DEMAND
    most = prices.max_price(wanted)
    rows = []
    for row in listing.offerings.get(found.name, ()):
        if row.capacity_type != how or not _is_in(row, template.zones):
            continue
        too_dear = most is not None and row.price is not None and most < pricing.amount(row.price)
        rows.append(unavailable(row) if too_dear else row)
    if not rows:
        where = ", ".join(template.zones) or listing.region
        raise BadValue(f"{wanted.instance_type} is not sold {how} in {where}")
    listed = {name: price for name, price in listing.list_prices.items() if name == found.name}
    return replace(
        listing,
        hardware=(_with_disk(found, template.disk),),
        offerings={found.name: tuple(rows)},
        list_prices=listed,
        problems=(),
    )


def _is_in(row: Offering, zones: Collection[str]) -> bool:
    return not zones or row.zone is None or row.zone in zones


def _with_disk(hardware: Hardware, size: int | None) -> Hardware:
    return hardware if size is None else replace(hardware, disk=Disk(size))
