"""`dovetail catalog diff A B`: two catalogues, and what changed between them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from dovetail.cli import flags, listings, opened, output, stored_prices
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.cli.flags import CLOUDS
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.pricebook import EMPTY_BOOK
from dovetail.core.nodepools import NodePool
from dovetail.views import difference
from dovetail.views.type_list import Listed

_WORD = "a cloud (aws), a cloud's region (aws:eu-west-1), or a catalogue file"
EXAMPLES: Final = (
    ("dovetail catalog diff aws:us-east-1 aws:eu-west-1", "two regions"),
    ("dovetail catalog diff before.json aws --exit-code", "a file and today; exits with 1 if they differ"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help=_WORD)
    parser.add_argument("after", metavar="B", help=_WORD)
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 if they differ")
    flags.add_output(parser, ("table", "json", "yaml", "csv"))


def run(found: Namespace, console: Console) -> int:
    with console.doing("reading both catalogues"):
        before, after = (listings.of_word(word, console) for word in (found.before, found.after))
        old, new = (_types(listing, word, console) for listing, word in ((before, found.before), (after, found.after)))
    same = (before.cloud, before.region) == (after.cloud, after.region)
    changes = difference.compare(old, new, same_place=same)
    match found.output:
        case "table":
            console.show(difference.text(changes, console.width, console.paint))
        case "csv":
            output.csv_table(difference.CSV_COLUMNS, difference.csv_rows(changes), console)
        case other:
            output.structured(difference.wire(changes), other, console)
    return Exit.FAILED if found.exit_code and not changes.is_empty else Exit.OK


def _types(listing: Listing, word: str, console: Console) -> dict[str, Listed]:
    """A cloud's catalogue has the user's prices on it; a file is as it stands."""
    book = stored_prices.load(console) if word.partition(":")[0] in CLOUDS else EMPTY_BOOK
    pool = NodePool("default", opened.NODE_CLASSES[listing.cloud])
    return opened.joined(listing, pool, book, console).everything
