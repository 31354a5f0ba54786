"""`dovetail catalog import FILE...`: keep one's own prices, discounts, extras and commitments."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from dovetail.api.price_book import BookRead
from dovetail.cli import flags, output, stored_prices
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.core.catalog.pricebook import EMPTY_BOOK, PriceBook
from dovetail.core.errors import BadInput

EXAMPLES: Final = (
    ("dovetail catalog import prices.csv --dry-run", "check a price list"),
    ("dovetail catalog import prices.csv", "keep it: every command reckons with it from now on"),
    ("dovetail catalog import --clear", "forget all of it"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="*", help="CSV, JSON or YAML; - is CSV on stdin")
    parser.add_argument("--dry-run", action="store_true", help="check and count, but change nothing")
    parser.add_argument("--keep-going", action="store_true", help="keep the good rows of a file that has bad ones")
    parser.add_argument("--clear", action="store_true", help="forget everything imported before")
    flags.add_output(parser, ("table", "json", "yaml"))


def run(found: Namespace, console: Console) -> int:
    if not found.files and not found.clear:
        raise BadInput("name at least one file, or --clear to forget what was imported")
    # A stored book that is damaged is not written over unasked: what can be saved of it may be worth a lot.
    kept = BookRead(EMPTY_BOOK) if found.clear else stored_prices.stored(console)
    read = [stored_prices.read(name, console) for name in found.files]
    problems = [problem for one in (kept, *read) for problem in one.problems]
    console.problems(problems)
    refused = bool(problems) and not found.keep_going
    before = book = kept.book
    for one in read:
        book = book.merged(one.book)
    if not refused and not found.dry_run:
        stored_prices.save(book, console)
    _tell(found, read_books=[one.book for one in read], after=before if refused else book, refused=refused, to=console)
    return Exit.BAD_INPUT if problems else Exit.OK


def _tell(found: Namespace, read_books: list[PriceBook], after: PriceBook, refused: bool, to: Console) -> None:
    told = _counts(read_books)
    if found.output != "table":
        value = {
            "read": told,
            "stored": _counts([after]),
            "path": stored_prices.path(to),
            "written": not (refused or found.dry_run),
        }
        output.structured(value, found.output, to)
        return
    if found.files:
        to.show(f"read {_phrase(told)}")
    if refused:
        to.show("kept nothing, because some rows are wrong; mend them, or add --keep-going to keep the others")
    elif found.dry_run:
        to.show(f"a dry run: the book would hold {_phrase(_counts([after]))}")
    else:
        to.show(f"the book holds {_phrase(_counts([after]))}: {stored_prices.path(to)}")


def _counts(books: list[PriceBook]) -> dict[str, int]:
    return {
        "prices": sum(len(one.prices) for one in books),
        "discounts": sum(len(one.discounts) for one in books),
        "extras": sum(len(one.extras) for one in books),
        "commitments": sum(len(one.commitments) for one in books),
    }


def _phrase(counts: dict[str, int]) -> str:
    found = [f"{count} {name if count != 1 else name[:-1]}" for name, count in counts.items() if count]
    return ", ".join(found) or "nothing"
