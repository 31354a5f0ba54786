"""A price book on file: rows of CSV, JSON or YAML, one entry each.

kind          price (the default), discount, extra or commitment
name          what people call it; a commitment needs one
instanceType  a type or a pattern such as m5.*
capacityType, zone, region    what it is limited to; left out, it is for all
price         dollars an hour: the price itself, an extra, or a commitment's size
percent       how much a discount or a commitment takes off
count         a commitment's size in machines
currency, asOf, source        what the price is in, of which day, and from where
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Final

from dovetail.api import documents
from dovetail.api.fields import Fields, kind_of, near, shown
from dovetail.core import labels
from dovetail.core.catalog.pricebook import Commitment, Discount, Extra, ListedPrice, PriceBook, Scope
from dovetail.core.catalog.prices import Source, SourceKind, dollars, parse_amount
from dovetail.core.errors import BadField, BadInput, Place

KINDS: Final = ("price", "discount", "extra", "commitment")
COLUMNS: Final = (
    "kind",
    "name",
    "instanceType",
    "capacityType",
    "zone",
    "region",
    "price",
    "percent",
    "count",
    "currency",
    "asOf",
    "source",
)
FORMAT: Final = "dovetail.prices/v1"
_MAX_COUNT: Final = 10**9
_MAX_NAME: Final = 200

Entry = ListedPrice | Discount | Extra | Commitment


@dataclass(frozen=True, slots=True)
class BookRead:
    """What a file gave, and what in it could not be used."""

    book: PriceBook
    problems: tuple[BadField, ...] = ()


def read(text: str, filename: str, today: date) -> BookRead:
    """Read a file; rows without a date are of today. A bad row costs only itself."""
    entries: list[Entry] = []
    problems: list[BadField] = []
    seen: dict[tuple[str, Scope], Entry] = {}
    try:
        for place, row in _rows(text.removeprefix("\ufeff"), filename):
            try:
                entry = _entry(Fields(row), filename.rsplit("/", 1)[-1], today)
                _refuse_rival(entry, seen)
                entries.append(entry)
            except BadField as problem:
                problems.append(problem.within(filename, *place, *_name(row)))
            except BadInput as problem:
                problems.append(BadField(Place(filename, *place, *_name(row)), str(problem)))
    except BadField as problem:
        problems.append(problem)
    return BookRead(_book(entries), tuple(problems))


def _name(row: Mapping[str, object]) -> tuple[str, ...]:
    name = row.get("instanceType") or row.get("name")
    return (name[:80],) if isinstance(name, str) else ()


def _rows(text: str, filename: str) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    if filename.lower().endswith((".json", ".yaml", ".yml")):
        yield from _documents(text, filename)
    else:
        yield from _lines(text, filename)


def _lines(text: str, filename: str) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    reader = csv.reader(io.StringIO(text, newline=None), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_header(header, filename)
        for cells in reader:
            place = (f"line {reader.line_num}",)
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                # Kept as a row that cannot be read, so that the lines after it are.
                yield place, {"": f"has {len(cells)} cells; the header has {len(header)}"}
                continue
            yield place, {name: cell.strip() for name, cell in zip(header, cells, strict=True) if cell.strip()}
    except csv.Error as problem:
        raise BadField(Place(filename, f"line {reader.line_num}"), f"not CSV: {problem}") from None


def _check_header(header: list[str], filename: str) -> None:
    if not any(header):
        raise BadField(Place(filename), f"is empty; the first line names the columns: {','.join(COLUMNS)}")
    for name in header:
        if name not in COLUMNS:
            raise BadField(Place(filename, "line 1", name[:80]), f"unknown column; {near(name, COLUMNS)}")
        if header.count(name) > 1:
            raise BadField(Place(filename, "line 1", name), "the column is there twice")


def _documents(text: str, filename: str) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    value = documents.read_one(text, filename)
    path = ""
    if isinstance(value, Mapping):
        unknown = [str(key) for key in value if key not in ("format", "entries")]
        if unknown:
            raise BadField(Place(filename, unknown[0]), "unknown key; a price file is a list of entries")
        value, path = value.get("entries"), "entries"
    if not isinstance(value, list):
        raise BadField(Place(filename), f"expected a list of entries, got {kind_of(value)}")
    for at, row in enumerate(value):
        yield (f"{path}[{at}]",), row if isinstance(row, Mapping) else {"": f"expected a map, got {kind_of(row)}"}


def _entry(row: Fields, filename: str, today: date) -> Entry:
    if "" in row.wire:
        raise BadInput(str(row.wire[""]))
    row.only(COLUMNS)
    kind = row.text("kind") or "price"
    match kind:
        case "price":
            _unused(row, kind, "percent", "count")
            return ListedPrice(_scope(row, required=True), _amount(row), _source(row, filename, today))
        case "discount":
            _unused(row, kind, "price", "count")
            return Discount(_scope(row), _percent(row), _named(row) or "discount")
        case "extra":
            _unused(row, kind, "percent", "count")
            return Extra(_scope(row), _amount(row), _named(row) or "extra")
        case "commitment":
            return _commitment(row)
    raise row.bad("kind", f"{shown(kind)} is no kind of entry; {near(kind, KINDS)}")


def _commitment(row: Fields) -> Commitment:
    name = _named(row)
    if not name:
        raise row.bad("name", "is missing; a commitment needs one, so that what is left of it can be told")
    if row.has("count") == row.has("price"):
        raise row.bad("count", "give either a count of machines or a price in dollars an hour")
    count = _count(row) if row.has("count") else None
    amount = _amount(row) if row.has("price") else None
    return Commitment(name, _scope(row), _percent(row), count, amount)


def _unused(row: Fields, kind: str, *names: str) -> None:
    for name in names:
        if row.has(name):
            raise row.bad(name, f"means nothing in a {kind}; leave it out")


def _named(row: Fields) -> str:
    name = row.text("name") or ""
    if len(name) > _MAX_NAME or not name.isprintable():
        raise row.bad("name", f"is not a name; use at most {_MAX_NAME} printable characters")
    return name


def _scope(row: Fields, required: bool = False) -> Scope:
    pattern = row.text("instanceType")
    if required and not pattern:
        raise row.bad("instanceType", "is missing; name a type or a pattern such as m5.*")
    capacity_type = row.text("capacityType") or None
    if capacity_type is not None and capacity_type not in labels.CAPACITY_TYPES:
        known = ", ".join(labels.CAPACITY_TYPES)
        raise row.bad("capacityType", f"{shown(capacity_type)} is no capacity type; use one of {known}")
    return Scope(pattern or "*", capacity_type, row.text("zone") or None, row.text("region") or None)


def _amount(row: Fields) -> int:
    if not row.has("price"):
        raise row.bad("price", "is missing")
    try:
        return parse_amount(row.wire["price"])
    except BadInput as problem:
        raise row.bad("price", str(problem)) from None


def _percent(row: Fields) -> Fraction:
    value = row.wire.get("percent")
    text = value.removesuffix("%").strip() if isinstance(value, str) else value
    if text is None:
        raise row.bad("percent", "is missing")
    try:
        found = Fraction(parse_amount(text), 10**9)
    except BadInput:
        raise row.bad("percent", f"{shown(value)} is not a percentage; write a number from 0 to 100") from None
    if found > 100:
        raise row.bad("percent", f"{shown(value)} is more than 100; nothing gets cheaper than free")
    return found


def _count(row: Fields) -> int:
    value = row.wire["count"]
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12 else value
    if isinstance(number, bool) or not isinstance(number, int) or not 0 < number <= _MAX_COUNT:
        raise row.bad("count", f"{shown(value)} is not a count; write a whole number, 1 or more")
    return number


def _source(row: Fields, filename: str, today: date) -> Source:
    currency = row.text("currency") or "USD"
    if len(currency) != 3 or not currency.isascii() or not currency.isalpha() or not currency.isupper():
        raise row.bad("currency", f"{shown(currency)} is not a currency; write three letters, such as USD")
    as_of = row.text("asOf")
    if as_of:
        try:
            as_of = date.fromisoformat(as_of).isoformat()
        except ValueError:
            raise row.bad("asOf", f"{shown(as_of)} is not a date; write 2026-07-22") from None
    detail = row.text("source") or filename
    return Source(SourceKind.IMPORTED, detail[:_MAX_NAME], as_of or today.isoformat(), currency)


def _refuse_rival(entry: Entry, seen: dict[tuple[str, Scope], Entry]) -> None:
    """Two prices for one scope in one file, or two commitments of one name: nobody can tell which is meant."""
    if isinstance(entry, ListedPrice):
        before = seen.setdefault(("", entry.scope), entry)
        if isinstance(before, ListedPrice) and before.nanodollars != entry.nanodollars:
            raise BadField(Place("price"), f"the same rows are priced at {dollars(before.nanodollars)} above; keep one")
    elif isinstance(entry, Commitment) and seen.setdefault((entry.name, Scope()), entry) != entry:
        raise BadField(Place("name"), "another commitment above has this name; what is left is counted by name")


def _book(entries: Iterable[Entry]) -> PriceBook:
    found = list(entries)
    return PriceBook(
        tuple(dict.fromkeys(one for one in found if isinstance(one, ListedPrice))),
        tuple(dict.fromkeys(one for one in found if isinstance(one, Discount))),
        tuple(dict.fromkeys(one for one in found if isinstance(one, Extra))),
        tuple(dict.fromkeys(one for one in found if isinstance(one, Commitment))),
    )


def rows_of(book: PriceBook) -> list[dict[str, str]]:
    """A book as rows that `read` reads back."""
    found: list[dict[str, str]] = []
    for price in book.prices:
        about = price.source
        more = {"currency": about.currency, "asOf": about.as_of or "", "source": about.detail}
        found.append({"kind": "price", **_scope_row(price.scope), "price": dollars(price.nanodollars), **more})
    for discount in book.discounts:
        row = {"kind": "discount", "name": discount.name, **_scope_row(discount.scope)}
        found.append({**row, "percent": _plain(discount.percent)})
    for extra in book.extras:
        row = {"kind": "extra", "name": extra.name, **_scope_row(extra.scope)}
        found.append({**row, "price": dollars(extra.nanodollars)})
    for one in book.commitments:
        row = {"kind": "commitment", "name": one.name, **_scope_row(one.scope), "percent": _plain(one.percent)}
        size = {"count": str(one.instances)} if one.instances is not None else {"price": dollars(one.nanodollars or 0)}
        found.append({**row, **size})
    return [{key: value for key, value in row.items() if value} for row in found]


def _scope_row(scope: Scope) -> dict[str, str]:
    return {
        "instanceType": scope.instance_type,
        "capacityType": scope.capacity_type or "",
        "zone": scope.zone or "",
        "region": scope.region or "",
    }


def _plain(percent: Fraction) -> str:
    return dollars(round(percent * 10**9))
