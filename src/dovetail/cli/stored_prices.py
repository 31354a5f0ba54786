"""The user's price book, kept in the data directory between calls."""

from __future__ import annotations

import json
import os
from typing import Final

from dovetail.api import price_book
from dovetail.api.price_book import BookRead
from dovetail.cli import files
from dovetail.cli.console import Console
from dovetail.core.catalog.pricebook import EMPTY_BOOK, PriceBook
from dovetail.core.errors import BadField

#: What somebody negotiated is nobody else's business.
_PRIVATE: Final = 0o600


def path(console: Console) -> str:
    return os.path.join(console.settings.data_dir, "prices.json")


def load(console: Console) -> PriceBook:
    """What was imported; entries that can no longer be read are problems, and the others count."""
    return taken(stored(console), console)


def stored(console: Console) -> BookRead:
    name = path(console)
    return read(name, console) if os.path.exists(name) else BookRead(EMPTY_BOOK)


def read(name: str, console: Console) -> BookRead:
    try:
        text = files.read_text(name, console)
    except BadField as problem:
        return BookRead(EMPTY_BOOK, (problem,))
    return price_book.read(text, "stdin.csv" if name == files.STDIN else name, console.today)


def taken(found: BookRead, console: Console) -> PriceBook:
    console.problems(found.problems)
    return found.book


def save(book: PriceBook, console: Console) -> None:
    rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in price_book.rows_of(book))
    opening = f'{{"format": "{price_book.FORMAT}", "entries": [\n'
    files.write_whole(path(console), (opening, rows, "\n]}\n"), _PRIVATE)
