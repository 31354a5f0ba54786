"""Our own catalogue file: one JSON object, written with a line for each type.

It holds everything a listing knows, so that what is read back plans exactly as what was written. The lines are for
people, for `diff`, and for a file that was cut short: the types before the cut are read, and the rest is one error.
`capacity` and `allocatable` are there to be read by others; we work them out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from dovetail.api import catalog_rules, documents
from dovetail.api.fields import Fields, dotted, fields, kind_of, shown
from dovetail.core import labels, resources
from dovetail.core.catalog.hardware import Disk, Hardware, Interfaces
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering, sorted_offerings
from dovetail.core.catalog.prices import Price, Source, SourceKind, parse_amount
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.errors import BadField, BadInput, Place
from dovetail.core.requirements import Requirement, Requirements, does_not_exist, is_in, requirement

FORMAT: Final = "dovetail.catalog/v1"
OPENING: Final = '"types": ['
_TYPE_FIELDS: Final = (
    "name",
    "family",
    "cpu",
    "memory",
    "firmware",
    "disk",
    "devices",
    "volumeLimits",
    "sharedCore",
    "source",
    "labels",
    "listPrice",
    "offerings",
    "interfaces",
    "pods",
    "capacity",
    "allocatable",
)
_MOST: Final = 2**53


def is_one(text: str) -> bool:
    """Whether a file looks like ours, even if the end of it is missing."""
    return text.lstrip()[:1] == "{" and FORMAT in text[:200]


def read(text: str, filename: str) -> Listing:
    """Read a file; types that are wrong, or cut off, are in the listing's `problems`."""
    header, entries, problems = _parts(text, filename)
    try:
        known = header.only(("format", "cloud", "region", "wellKnownLabels", "labelValues", "rules", "types"))
        cloud, region = known.required("cloud"), known.text("region") or ""
        if not region.isprintable():
            raise known.bad("region", f"{shown(region)} is not a name")
        node_rules = catalog_rules.read(known.map("rules"))
        dialect = _dialect(known)
    except BadField as problem:
        raise dotted(problem, filename) from None
    reading = _Reading(filename)
    for at, entry in enumerate(entries):
        reading.take(entry, at)
    return Listing(
        cloud=cloud,
        region=region,
        hardware=tuple(reading.hardware.values()),
        offerings=reading.offerings,
        list_prices=reading.list_prices,
        rules=node_rules,
        dialect=dialect,
        problems=(*problems, *reading.problems),
    )


def _parts(text: str, filename: str) -> tuple[Fields, list[object], list[BadField]]:
    """The header and the types; of a damaged file, the types before the damage."""
    try:
        whole = fields(documents.parse_json(text), filename)
        entries = whole.wire.get("types")
        if not isinstance(entries, list):
            raise BadField(Place(filename, "types"), f"expected a list, got {kind_of(entries)}")
        return Fields(whole.wire), entries, []
    except BadField:
        raise
    except BadInput as problem:
        head, opening, rest = text.partition(OPENING)
        if not opening:
            raise BadField(Place(filename), str(problem)) from None
        entries = documents.salvage(rest)
        lost = f"{problem}; the {len(entries)} types before that were read"
        header = fields(documents.parse_json(f"{head}{OPENING}]}}"), filename)
        return Fields(header.wire), entries, [BadField(Place(filename), lost)]


def _dialect(header: Fields) -> labels.Dialect:
    known = header.wire.get("wellKnownLabels") or []
    if not isinstance(known, list) or not all(isinstance(one, str) for one in known):
        raise header.bad("wellKnownLabels", "expected a list of label keys")
    values = header.map("labelValues")
    return labels.Dialect(labels.WELL_KNOWN | frozenset(known), {str(key): values.labels(key) for key in values.wire})


class _Reading:
    """The types of one file. What rows share is made once."""

    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._requirements: dict[str, Requirements] = {}
        self._sources: dict[Source, Source] = {}
        self.hardware: dict[str, Hardware] = {}
        self.offerings: dict[str, tuple[Offering, ...]] = {}
        self.list_prices: dict[str, Price] = {}
        self.problems: list[BadField] = []

    def take(self, entry: object, at: int) -> None:
        name = documents.name_of(entry) or f"types[{at}]"
        try:
            documents.check(entry, ())
            wire = fields(entry).only(_TYPE_FIELDS)
            one = self._hardware(wire)
            if one.name in self.hardware:
                raise wire.bad("name", "another type has this name")
            rows = sorted_offerings(self._offering(row, one.name) for row in wire.items("offerings"))
            listed = self._price(wire, "listPrice")
        except BadField as problem:
            self.problems.append(dotted(problem, self._filename, name))
            return
        except BadInput as problem:
            self.problems.append(BadField(Place(self._filename, name), str(problem)))
            return
        self.hardware[one.name], self.offerings[one.name] = one, rows
        if listed is not None:
            self.list_prices[one.name] = listed

    def _hardware(self, wire: Fields) -> Hardware:
        name = wire.required("name")
        labels.check_value(name)
        disk = wire.map("disk").only(("size", "localDisks"))
        interfaces = wire.map("interfaces").only(("count", "addressesEach"))
        limits = wire.map("volumeLimits")
        return Hardware(
            name=name,
            cpu_millis=_amount(wire, "cpu", resources.CPU),
            memory_bytes=_amount(wire, "memory", resources.MEMORY),
            firmware_bytes=_amount(wire, "firmware", resources.MEMORY) if wire.has("firmware") else 0,
            requirements=self._labels(wire),
            devices=resources.parse(wire.wire.get("devices"), "devices"),
            interfaces=Interfaces(_count(interfaces, "count"), _count(interfaces, "addressesEach"))
            if interfaces.wire
            else None,
            disk=Disk(_amount(disk, "size", resources.MEMORY), _count(disk, "localDisks")),
            pods=wire.whole("pods", 0, _MOST),
            shared_core=wire.flag("sharedCore"),
            family=wire.text("family") or "",
            volume_limits=tuple((str(driver), _count(limits, driver)) for driver in limits.wire),
            source=wire.text("source") or "",
        )

    def _offering(self, wire: Fields, name: str) -> Offering:
        wire.only(("labels", "price", "available", "count", "reservations"))
        found = self._labels(wire)
        held = tuple(_reservation(one, name) for one in wire.items("reservations"))
        return Offering(
            requirements=found,
            zone=found.value(labels.ZONE),
            capacity_type=found.value(labels.CAPACITY_TYPE),
            price=self._price(wire, "price"),
            available=wire.flag("available") if wire.has("available") else True,
            count=wire.whole("count", 0, _MOST),
            reservations=held,
        )

    def _labels(self, parent: Fields) -> Requirements:
        wire = parent.map("labels")
        pairs = repr(wire.wire)
        known = self._requirements.get(pairs)
        if known is None:
            known = Requirements(one for key in wire.wire for one in _label(wire, key))
            self._requirements[pairs] = known
        return known

    def _price(self, parent: Fields, name: str) -> Price | None:
        if not parent.has(name):
            return None
        wire = parent.map(name).only(("price", "currency", "source", "detail", "asOf"))
        kind = wire.required("source")
        if kind not in set(SourceKind):
            raise wire.bad("source", f"{shown(kind)} is no source; use one of {', '.join(SourceKind)}")
        about = Source(SourceKind(kind), wire.text("detail") or "", wire.text("asOf"), wire.text("currency") or "USD")
        try:
            amount = parse_amount(wire.wire.get("price"))
        except BadInput as problem:
            raise wire.bad("price", str(problem)) from None
        return Price(amount, self._sources.setdefault(about, about))


def _label(wire: Fields, key: str) -> Iterator[Requirement]:
    """A value, several, null for a label that is never there, or a map from operators to values."""
    labels.check_key(key)
    value = wire.wire[key]
    if isinstance(value, Mapping):
        inner = wire.map(key)
        for operator in value:
            yield requirement(key, operator, _texts(inner, operator))
        return
    values = _texts(wire, key)
    yield is_in(key, *values) if values else does_not_exist(key)


def _texts(wire: Fields, key: str) -> tuple[str, ...]:
    value = wire.wire[key]
    several: Iterable[object] = value if isinstance(value, list) else () if value is None else (value,)
    found = []
    for one in several:
        if not isinstance(one, str):
            raise wire.bad(key, f"expected text, got {kind_of(one)}")
        labels.check_value(one)
        found.append(one)
    return tuple(found)


def _amount(wire: Fields, name: str, unit: str) -> int:
    found = resources.parse({unit: wire.wire.get(name, 0)}, *wire.path)
    return found[unit]


def _count(wire: Fields, name: str) -> int:
    return wire.whole(name, 0, _MOST) or 0


def _reservation(wire: Fields, name: str) -> Reservation:
    wire.only(("id", "zone", "available", "total", "kind"))
    return Reservation(
        id=wire.required("id"),
        instance_type=name,
        zone=wire.text("zone") or "",
        available=_count(wire, "available"),
        total=_count(wire, "total"),
        kind=wire.text("kind") or "targeted",
    )
