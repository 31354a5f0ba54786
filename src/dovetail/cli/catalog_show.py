"""`dovetail catalog show TYPE`: everything about one type."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from dovetail.cli import flags, one_type, opened, output
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.views import type_list, type_page

EXAMPLES: Final = (
    ("dovetail catalog show m6i.4xlarge", "zones, prices, labels"),
    ("dovetail catalog show Standard_D4s_v5 --cloud azure -o json", "a size of Azure, for programs"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", help="such as m6i.4xlarge")
    flags.add_output(parser, ("table", "json", "yaml", "csv"))
    flags.add_place(parser)
    flags.add_manifests(parser)
    flags.add_kubelet(parser)


def run(found: Namespace, console: Console) -> int:
    page = one_type.page(opened.open_catalog(found, console), found.type)
    match found.output:
        case "table":
            console.show(type_page.text(page, console.today, console.width, console.paint))
        case "csv":
            output.csv_table(type_list.CSV_COLUMNS, type_list.csv_rows([page.listed]), console)
        case other:
            output.structured(type_page.page_wire(page), other, console)
    return Exit.OK
