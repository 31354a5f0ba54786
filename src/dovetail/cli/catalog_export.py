"""`dovetail catalog export`: a catalogue as a file, for us, for kwok, or for a spreadsheet."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from dovetail.api import catalog_export, price_book
from dovetail.cli import files, flags, listings, opened, output
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.cli.opened import Opened
from dovetail.core import labels
from dovetail.core.catalog.prices import Price, dollars
from dovetail.core.nodepools import NodePool

EXAMPLES: Final = (
    ("dovetail catalog export --cloud aws --to aws.json", "everything, read back with --catalog aws.json"),
    ("dovetail catalog export --cloud aws --output csv --to prices.csv", "prices, in the columns of catalog import"),
    ("dovetail catalog export --cloud kwok --output kwok", "instance types as the kwok provider reads them"),
)


def configure(parser: ArgumentParser) -> None:
    flags.add_output(parser, tuple(_FORMATS))
    flags.add_destination(parser)
    flags.add_place(parser)


def run(found: Namespace, console: Console) -> int:
    with console.doing("reading the catalogue"):
        listing = listings.named(found, console)
        pool = NodePool("default", opened.NODE_CLASSES[listing.cloud])
        shelf = opened.joined(listing, pool, opened.book_for(found, console), console)
    parts = _FORMATS[found.output](shelf)
    if found.to in (None, files.STDIN):
        for part in parts:
            console.write(part)
        return Exit.OK
    files.write_whole(found.to, parts)
    console.note(f"wrote {len(shelf.catalog)} types to {found.to}")
    return Exit.OK


def _ours(shelf: Opened) -> Iterator[str]:
    types = shelf.catalog.types
    room = {name: (one.capacity, one.allocatable) for name, one in types.items()}
    priced = replace(shelf.listing, offerings={name: one.offerings for name, one in types.items()})
    return catalog_export.write(priced, room)


def _kwok(shelf: Opened) -> Iterator[str]:
    from dovetail.clouds.kwok.export import export_types

    entries = export_types(shelf.catalog.types[one.name] for one in shelf.listing.hardware)
    yield "[\n"
    for at, entry in enumerate(entries):
        yield f"{json.dumps(entry, ensure_ascii=False)}{',' if at + 1 < len(entries) else ''}\n"
    yield "]\n"


def _csv(shelf: Opened) -> Iterator[str]:
    """Prices in the columns that `catalog import` reads."""
    yield output.csv_text(price_book.COLUMNS, _price_rows(shelf))


def _price_rows(shelf: Opened) -> Iterator[list[str]]:
    """A row for each price. One price in all zones is one row without a zone: that is how people edit it."""
    region = shelf.listing.region
    for name, one in shelf.catalog.types.items():
        for capacity_type in sorted({row.capacity_type or "" for row in one.offerings}):
            rows = [row for row in one.offerings if (row.capacity_type or "") == capacity_type]
            prices = {row.price for row in rows}
            alike = len(prices) == 1
            for row in rows[:1] if alike else rows:
                if row.price is not None:
                    zone = "" if alike else row.zone or ""
                    yield ["price", "", name, capacity_type, zone, region, *_priced(row.price)]
        listed = shelf.listing.list_prices.get(name)
        if not one.offerings and listed is not None:
            yield ["price", "", name, labels.ON_DEMAND, "", region, *_priced(listed)]


def _priced(price: Price) -> list[str]:
    about = price.source
    said = f"{about.kind}: {about.detail}" if about.detail else str(about.kind)
    return [dollars(price.nanodollars), "", "", about.currency, about.as_of or "", said]


#: json: everything, read back with --catalog; kwok: that provider's instance types; csv: prices.
_FORMATS = {"json": _ours, "kwok": _kwok, "csv": _csv}
