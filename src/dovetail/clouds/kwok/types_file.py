"""A user's own instance types, in the format of the kwok provider's types file.

A list of types, each with its offerings, architecture, operating systems and resources. It is read as that provider
reads it (field names in any case, 110 pods where none are given), with two differences. `"Available": false` is
believed; the provider sets every offering available. And a reserved offering names its reservation, with the
requirement whose key ends in `reservation-id`, and `ReservationCapacity` is how many are left in it.

What cannot be read is a problem that names file, type and field; the other types load. Only a file that is no JSON
list at all is refused as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from dovetail.clouds.kwok import labels as kwok_labels
from dovetail.clouds.kwok.generic import REGION, RULES
from dovetail.core import labels, quantity, resources
from dovetail.core.catalog.hardware import Disk, Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering, sorted_offerings
from dovetail.core.catalog.prices import Price, Source, SourceKind, parse_amount
from dovetail.core.catalog.reservations import Reservation, pooled
from dovetail.core.errors import BadField, BadInput, BadValue
from dovetail.core.labels import Dialect
from dovetail.core.requirements import Operator, Requirement, Requirements, is_in, requirement
from dovetail.core.resources import Resources

RESERVATION_SUFFIX: Final = "reservation-id"
_TYPE_FIELDS: Final = ("name", "offerings", "architecture", "operatingSystems", "resources")
_OFFERING_FIELDS: Final = ("Price", "Available", "Requirements", "ReservationCapacity")
_REQUIREMENT_FIELDS: Final = ("key", "operator", "values")
_SHOWN: Final = 60
_MOST_INSTANCES: Final = 2**31


def parse_types_file(text: str | bytes, filename: str) -> Listing:
    """Read a types file; `BadInput` if it is not a list of types at all."""
    entries = _json(text, filename)
    if not isinstance(entries, list):
        raise BadValue(f"expected a list of types, got {_kind(entries)}").at(filename)
    reading = _Reading(filename)
    for number, entry in enumerate(entries, 1):
        reading.take(entry, number)
    return reading.listing()


def _json(text: str | bytes, filename: str) -> object:
    try:
        found: object = json.loads(text)
    except json.JSONDecodeError as problem:
        place = (f"line {problem.lineno}", f"column {problem.colno}")
        raise BadValue(f"is not JSON: {problem.msg}").at(filename, *place) from None
    except UnicodeDecodeError as problem:
        raise BadValue(f"is not UTF-8 text: byte {problem.start} is {problem.reason}").at(filename) from None
    except RecursionError:
        raise BadValue("is nested too deeply").at(filename) from None
    except ValueError as problem:  # a number of thousands of digits
        raise BadValue(f"is not JSON: {problem}").at(filename) from None
    return found


class _Reading:
    """The types of one file, as far as they could be read."""

    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._source = Source(SourceKind.IMPORTED, filename)
        self._hardware: dict[str, Hardware] = {}
        self._offerings: dict[str, tuple[Offering, ...]] = {}
        self._problems: list[BadField] = []
        self._keys: set[str] = set()

    def take(self, entry: object, number: int) -> None:
        name = _readable_name(entry) or f"entry {number}"
        try:
            fields = _fields(entry, _TYPE_FIELDS)
            name = _label_value(fields.get("name"), "name")
            if name in self._hardware:
                raise BadValue("is listed twice; the first stands").at("name")
            found = _hardware(name, fields, self._filename)
            rows = self._rows(name, fields.get("offerings"))
        except BadField as problem:
            self._problems.append(problem.within(self._filename, name))
            return
        except BadInput as problem:
            self._problems.append(BadValue(str(problem)).at(self._filename, name))
            return
        self._hardware[name], self._offerings[name] = found, rows
        self._keys.update(key for row in rows for key in row.requirements.keys())  # noqa: SIM118  (not a dict)

    def _rows(self, name: str, wire: object) -> tuple[Offering, ...]:
        if not isinstance(wire, list | None):
            raise BadValue(f"expected a list, got {_kind(wire)}").at("offerings")
        rows = []
        for number, entry in enumerate(wire or ()):
            try:
                rows.append(_offering(name, entry, self._source))
            except BadField as problem:
                raise problem.within(f"offerings[{number}]") from None
            except BadInput as problem:
                raise BadValue(str(problem)).at(f"offerings[{number}]") from None
        return sorted_offerings(_merged(rows))

    def listing(self) -> Listing:
        prices: dict[str, Price] = {}
        for name, rows in self._offerings.items():
            on_demand = [row.price for row in rows if row.capacity_type == labels.ON_DEMAND and row.price]
            if on_demand:
                prices[name] = min(on_demand, key=lambda price: price.nanodollars)
        return Listing(
            cloud="kwok",
            region=REGION,
            hardware=tuple(self._hardware.values()),
            offerings=self._offerings,
            list_prices=prices,
            rules=RULES,
            # A label the file tells rows apart by is one the market fills in, so pools need not define it.
            dialect=Dialect(well_known=kwok_labels.WELL_KNOWN | self._keys),
            problems=tuple(self._problems),
        )


def _hardware(name: str, fields: Mapping[str, object], filename: str) -> Hardware:
    wire = fields.get("resources")
    has = resources.parse(wire, "resources")
    systems = fields.get("operatingSystems")
    if not isinstance(systems, list) or not systems:
        raise BadValue("name at least one operating system, such as linux").at("operatingSystems")
    told = kwok_labels.of_type(
        name,
        _size_text(wire, has, resources.CPU),
        _size_text(wire, has, resources.MEMORY),
        _label_value(fields.get("architecture"), "architecture"),
        tuple(_label_value(one, "operatingSystems") for one in systems),
    )
    return Hardware(
        name=name,
        cpu_millis=has.cpu_millis,
        memory_bytes=has.memory_bytes,
        requirements=Requirements(
            is_in(key, *((value,) if isinstance(value, str) else value)) for key, value in told.items() if value
        ),
        devices=Resources({one: amount for one, amount in has.items() if one not in resources.CORE}),
        disk=Disk(has.of(resources.EPHEMERAL_STORAGE)),
        pods=has.get(resources.PODS),
        family=kwok_labels.family_of(name),
        source=filename,
    )


def _size_text(wire: object, has: Resources, name: str) -> str:
    """An amount as the node's label shows it: in the units of the file, in Kubernetes' spelling."""
    if not isinstance(wire, Mapping) or not has.of(name):
        raise BadValue("is missing or 0; a machine has some").at("resources", name)
    text = str(quantity.parse(wire[name]))
    labels.check_value(text)
    return text


@dataclass(frozen=True, slots=True)
class _Held:
    """What reserved rows must agree on to be one row (S3.4)."""

    rest: Requirements
    key: str
    price: Price | None
    available: bool


def _offering(name: str, entry: object, source: Source) -> Offering:
    fields = _fields(entry, _OFFERING_FIELDS)
    required = _requirements(fields.get("Requirements"))
    try:
        price = Price(parse_amount(fields.get("Price")), source)
    except BadValue as problem:
        raise problem.at("Price") from None
    available = fields.get("Available", True)
    if not isinstance(available, bool):
        raise BadValue(f"{str(available)[:_SHOWN]!r} is neither true nor false").at("Available")
    zone, capacity_type = required.value(labels.ZONE), required.value(labels.CAPACITY_TYPE)
    if capacity_type is not None and capacity_type not in labels.CAPACITY_TYPES:
        known = ", ".join(labels.CAPACITY_TYPES)
        wrong = BadValue(f"{capacity_type!r} is not a capacity type; use one of {known}")
        raise wrong.at("Requirements", labels.CAPACITY_TYPE)
    row = Offering(required, zone, capacity_type, price, available)
    if capacity_type != labels.RESERVED:
        return row
    key, left = _reservation_key(required), _count(fields.get("ReservationCapacity", 0))
    held = Reservation(required.value(key) or "", name, zone or "", left, left)
    return replace(row, count=left, reservations=(held,))


def _merged(rows: list[Offering]) -> list[Offering]:
    """Reservations that differ in nothing but their id are one row, with their counts added up."""
    merged = [row for row in rows if not row.reservations]
    groups: dict[_Held, list[Offering]] = {}
    for row in rows:
        if row.reservations:
            key = _reservation_key(row.requirements)
            groups.setdefault(_Held(row.requirements.without(key), key, row.price, row.available), []).append(row)
    for group, members in groups.items():
        (pool,) = pooled(one for row in members for one in row.reservations).values()
        ids = Requirements([is_in(group.key, *(one.id for one in pool.reservations))])
        merged.append(
            replace(
                members[0],
                requirements=group.rest & ids,
                count=pool.available,
                reservations=pool.reservations,
            )
        )
    return merged


def _reservation_key(required: Requirements) -> str:
    found = [one.key for one in required if one.key.endswith(RESERVATION_SUFFIX) and one.values]
    if len(found) != 1:
        many = "more than one" if found else "none"
        problem = f"a reserved offering names one reservation, by a key that ends in {RESERVATION_SUFFIX}; got {many}"
        raise BadValue(problem).at("Requirements")
    return found[0]


def _requirements(wire: object) -> Requirements:
    if not isinstance(wire, list | None):
        raise BadValue(f"expected a list, got {_kind(wire)}").at("Requirements")
    found: dict[str, Requirement] = {}
    for number, entry in enumerate(wire or ()):
        try:
            one = _requirement(entry)
        except BadField as problem:
            raise problem.within(f"Requirements[{number}]") from None
        except BadInput as problem:
            raise BadValue(str(problem)).at(f"Requirements[{number}]") from None
        if one.key in found:
            raise BadValue(f"{one.key} is given twice").at(f"Requirements[{number}]", "key")
        found[one.key] = one
    return Requirements(found.values())


def _requirement(entry: object) -> Requirement:
    fields = _fields(entry, _REQUIREMENT_FIELDS)
    key, values = fields.get("key"), fields.get("values", [])
    if not isinstance(key, str):
        raise BadValue(f"expected a label key, got {_kind(key)}").at("key")
    labels.check_key(key)
    if not isinstance(values, list):
        raise BadValue(f"expected a list, got {_kind(values)}").at(key, "values")
    texts = tuple(_label_value(value, "values") for value in values)
    operator = fields.get("operator", Operator.IN)
    if operator in (Operator.IN, Operator.NOT_IN) and len(texts) != 1:
        raise BadValue(f"an offering has one value for a key; got {len(texts)}").at(key, "values")
    try:
        return requirement(key, str(operator), texts)
    except BadValue as problem:
        raise problem.at(key, "operator") from None


def _fields(entry: object, known: tuple[str, ...]) -> dict[str, object]:
    """An object's fields under their own names, whatever case they are written in; null is the same as left out."""
    if not isinstance(entry, Mapping):
        raise BadValue(f"expected an object, got {_kind(entry)}")
    by_lower = {name.lower(): name for name in known}
    found: dict[str, object] = {}
    for raw, value in entry.items():
        name = by_lower.get(str(raw).lower())
        if name is None:
            raise BadValue(f"unknown field; use {', '.join(known)}").at(str(raw)[:_SHOWN])
        if name in found:
            raise BadValue("is given twice").at(name)
        if value is not None:
            found[name] = value
    return found


def _readable_name(entry: object) -> str | None:
    """A type's name, for sentences about a type that cannot be read."""
    if not isinstance(entry, Mapping):
        return None
    found = (value for raw, value in entry.items() if str(raw).lower() == "name")
    return next((value[:_SHOWN] for value in found if isinstance(value, str) and value), None)


def _label_value(value: object, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise BadValue("is empty" if value == "" else f"expected text, got {_kind(value)}").at(field)
    try:
        labels.check_value(value)
    except BadValue as problem:
        raise problem.at(field) from None
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_INSTANCES:
        raise BadValue(f"{str(value)[:_SHOWN]!r} is not a number of instances").at("ReservationCapacity")
    return value


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")
