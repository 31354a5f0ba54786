"""A listing as a kwok types file: what another kwok can be given, and what `parse_types_file` reads back.

The format has less room than a listing. A row without a price is left out, for the format would call it free; and a row
that stands for several values or reservations is written as one row for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from dovetail.clouds.kwok import labels as kwok_labels
from dovetail.core import labels, quantity, resources
from dovetail.core.catalog.density import KUBERNETES_DEFAULT
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.catalog.prices import NANO
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.errors import BadInput
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.requirements import Operator, Requirement
from dovetail.core.resources import Resources


def export_types(listed: Listing | Iterable[InstanceType]) -> list[dict[str, Any]]:
    """The types as JSON-ready objects, in the order they are listed."""
    if isinstance(listed, Listing):
        rules = SpecRules(KubeletSettings(), listed.rules)
        return [_type(one, rules.spec_of(one).capacity, listed.offerings.get(one.name, ())) for one in listed.hardware]
    return [_type(one.spec.hardware, one.capacity, one.offerings) for one in listed]


def _type(hardware: Hardware, capacity: Resources, rows: Iterable[Offering]) -> dict[str, Any]:
    systems = hardware.requirements.get(labels.OS)
    return {
        "name": hardware.name,
        "offerings": [wire for row in rows for wire in _offerings(row)],
        "architecture": hardware.requirements.value(labels.ARCH) or "",
        "operatingSystems": sorted(systems.values) if systems else [],
        "resources": _resources(hardware, capacity),
    }


def _resources(hardware: Hardware, capacity: Resources) -> dict[str, str]:
    """What a node of the type reports, pods included; the reader takes only its own flat bit off it."""
    amounts = dict(capacity)
    if hardware.pods is None and amounts.get(resources.PODS) == KUBERNETES_DEFAULT:
        del amounts[resources.PODS]  # what the reader assumes where nothing is said
    found = {name: str(resources.quantity_of(name, amount)) for name, amount in amounts.items()}
    for name, key in ((resources.CPU, kwok_labels.CPU), (resources.MEMORY, kwok_labels.MEMORY)):
        written = hardware.requirements.value(key)
        if written is not None and _is_amount(written, name, amounts[name]):
            found[name] = written  # `4G` stays `4G`: the label on the node is the text in the file
    return found


def _is_amount(written: str, name: str, amount: int) -> bool:
    try:
        return resources.amount_of(name, quantity.parse(written)) == amount
    except BadInput:
        return False


def _offerings(row: Offering) -> Iterator[dict[str, Any]]:
    if row.price is None:
        return
    ids = {one.id: one.available for one in row.reservations}
    for chosen in product(*(_choices(one) for one in sorted(row.requirements, key=lambda one: one.key))):
        wire: dict[str, Any] = {
            "Price": row.price.nanodollars / NANO,
            "Available": row.available,
            "Requirements": [one for group in chosen for one in group],
        }
        if row.capacity_type == labels.RESERVED:
            named = (value for one in wire["Requirements"] for value in one["values"] if value in ids)
            wire["ReservationCapacity"] = ids.get(next(named, ""), row.count or 0)
        yield wire


def _choices(one: Requirement) -> list[list[dict[str, Any]]]:
    """The ways to write one requirement: one for each value it admits, or a single one where it is no list."""
    if one.operator is Operator.IN and not one.complement and one.values and not one.absent:
        return [[_wire(one.key, Operator.IN, (value,))] for value in sorted(one.values)]
    return [[_wire(one.key, operator, values) for operator, values in one.expressions()]]


def _wire(key: str, operator: Operator, values: tuple[str, ...]) -> dict[str, Any]:
    return {"key": key, "operator": str(operator), "values": list(values)}
