"""`dovetail catalog list`: what can be bought, with room and prices."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from dovetail.cli import filters, flags, opened, output
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.views import type_list

EXAMPLES: Final = (
    ("dovetail catalog list --cloud aws --region eu-west-1 --sort price --limit 5", "the cheapest five there"),
    (
        "dovetail catalog list -l 'kubernetes.io/arch=arm64' --capacity-type spot --max-price 0.05",
        "what may be had for so little",
    ),
    ("dovetail catalog list -f nodepools.yaml --nodepool web -o csv", "what one NodePool may buy, for a spreadsheet"),
)


def configure(parser: ArgumentParser) -> None:
    flags.add_output(parser, ("table", "json", "yaml", "csv", "name"))
    filters.add_flags(parser)
    flags.add_place(parser)
    flags.add_manifests(parser)
    flags.add_kubelet(parser)


def run(found: Namespace, console: Console) -> int:
    shelf = opened.open_catalog(found, console)
    asked = filters.of_flags(found, shelf.pool.requirements)
    entries = filters.chosen(shelf.everything.values(), asked, found.sort, found.limit)
    match found.output:
        case "table" if not entries:
            console.note(f"none of the {len(shelf.catalog)} types fits")
        case "table":
            console.show(type_list.table(entries, console.today, console.width, console.paint))
        case "name":
            console.write("".join(f"{one.name}\n" for one in entries))
        case "csv":
            output.csv_table(type_list.CSV_COLUMNS, type_list.csv_rows(entries), console)
        case other:
            output.structured([type_list.wire(one) for one in entries], other, console)
    return Exit.OK
