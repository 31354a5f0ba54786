"""Writing our own catalogue file; `catalog_file` says what is in it and reads it back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from dovetail.api import catalog_rules
from dovetail.api.catalog_file import FORMAT, OPENING
from dovetail.core import labels, quantity
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering
from dovetail.core.catalog.prices import Price, dollars
from dovetail.core.requirements import Requirement, Requirements
from dovetail.core.resources import Resources, quantity_of


def write(listing: Listing, room: Mapping[str, tuple[Resources, Resources]]) -> Iterator[str]:
    """The lines of the file; `room` is the capacity and the allocatable of each type, for other readers."""
    header = {
        "format": FORMAT,
        "cloud": listing.cloud,
        "region": listing.region,
        "wellKnownLabels": sorted(listing.dialect.well_known - labels.WELL_KNOWN),
        "labelValues": {key: dict(values) for key, values in listing.dialect.values.items()},
        "rules": catalog_rules.wire_of(listing.rules),
    }
    yield f"{json.dumps(header, ensure_ascii=False)[:-1]}, {OPENING}\n"
    for at, one in enumerate(listing.hardware):
        wire = _type(one, listing)
        for name, amounts in zip(("capacity", "allocatable"), room.get(one.name, ()), strict=False):
            wire[name] = amounts.quantities()
        comma = "," if at + 1 < len(listing.hardware) else ""
        yield f"{json.dumps(wire, ensure_ascii=False)}{comma}\n"
    yield "]}\n"


def _type(one: Hardware, listing: Listing) -> dict[str, object]:
    wire: dict[str, object] = {
        "name": one.name,
        "family": one.family,
        "cpu": str(quantity.of_millis(one.cpu_millis)),
        "memory": str(quantity.of_bytes(one.memory_bytes)),
        "firmware": str(quantity.of_bytes(one.firmware_bytes)),
        "disk": {"size": str(quantity.of_bytes(one.disk.size_bytes)), "localDisks": one.disk.local_disks},
        "devices": {name: str(quantity_of(name, amount)) for name, amount in one.devices.items()},
        "volumeLimits": dict(one.volume_limits),
        "sharedCore": one.shared_core,
        "source": one.source,
        "labels": _labels(one.requirements),
        "listPrice": _price(listing.list_prices.get(one.name)),
        "offerings": [_offering(row) for row in listing.offerings.get(one.name, ())],
    }
    if one.interfaces is not None:
        wire["interfaces"] = {"count": one.interfaces.count, "addressesEach": one.interfaces.addresses_each}
    if one.pods is not None:
        wire["pods"] = one.pods
    return {key: value for key, value in wire.items() if value not in ({}, "", False, "0")}


def _labels(found: Requirements) -> dict[str, object]:
    return {one.key: _values(one) for one in sorted(found, key=lambda one: one.key)}


def _values(one: Requirement) -> object:
    """A value, several, null where the label is never there, or operators where nothing shorter will do."""
    if one.complement or (one.absent and one.values):
        return {str(operator): list(values) for operator, values in one.expressions()}
    return next(iter(one.values)) if len(one.values) == 1 else (sorted(one.values) or None)


def _price(one: Price | None) -> dict[str, str] | None:
    if one is None:
        return None
    about = one.source
    wire = {"price": dollars(one.nanodollars), "currency": about.currency, "source": str(about.kind)}
    more = {"detail": about.detail, "asOf": about.as_of or ""}
    return {**wire, **{key: value for key, value in more.items() if value}}


def _offering(row: Offering) -> dict[str, object]:
    wire: dict[str, object] = {"labels": _labels(row.requirements), "price": _price(row.price)}
    if not row.available:
        wire["available"] = False
    if row.count is not None:
        wire["count"] = row.count
    if row.reservations:
        wire["reservations"] = [
            {"id": one.id, "zone": one.zone, "available": one.available, "total": one.total, "kind": one.kind}
            for one in row.reservations
        ]
    return wire
