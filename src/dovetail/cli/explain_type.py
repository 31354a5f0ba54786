"""`dovetail explain type NAME`: each term of allocatable with its rule and source (S2.14), and each price."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from dovetail.cli import flags, one_type, opened, output
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.views import reckoning

_CSV_COLUMNS = ("resource", "stage", "sign", "amount", "leaves", "rule", "source")
EXAMPLES: Final = (
    ("dovetail explain type m6i.4xlarge", "how its allocatable comes about, term by term"),
    ("dovetail explain type n2-standard-4 --cloud gcp --reserve-strategy gke --max-pods 110", "with other settings"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("type", metavar="NAME", help="such as m6i.4xlarge")
    flags.add_output(parser, ("table", "json", "yaml", "csv"))
    flags.add_kubelet(parser)
    flags.add_place(parser)
    flags.add_manifests(parser)


def run(found: Namespace, console: Console) -> int:
    shelf = opened.open_catalog(found, console)
    page = one_type.page(shelf, found.type)
    name = page.type.name
    sums = reckoning.sums(one_type.ledger(shelf, name), one_type.overlaid_terms(shelf, name))
    match found.output:
        case "table":
            console.show(reckoning.text(page, sums, console.today, console.width, console.paint))
        case "csv":
            terms = [reckoning.term_wire(one.resource, line) for one in sums for line in one.lines]
            output.csv_table(_CSV_COLUMNS, [[term[key] for key in _CSV_COLUMNS] for term in terms], console)
        case other:
            output.structured(reckoning.wire(page, sums), other, console)
    return Exit.OK
