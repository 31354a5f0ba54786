"""`dovetail lint -f FILES`: what in these files will not do what somebody meant."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime, time
from typing import Final

from dovetail import __version__
from dovetail.api import documents, dumps
from dovetail.api.documents import Document
from dovetail.api.world import read_world
from dovetail.cli import files, flags, lint_disruption, lint_documents, lint_machines, lint_rules, markets, output
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.cli.machine_prices import PriceLists
from dovetail.core.errors import BadField, BadInput
from dovetail.core.machines import pricing
from dovetail.core.machines.pricing import Group, Rates
from dovetail.views import findings
from dovetail.views.findings import Finding, Level

EXAMPLES: Final = (
    ("dovetail lint -f manifests", "what in a directory will not do what you meant"),
    ("dovetail lint -f nodepools.yaml -o sarif", "for a code host, which shows findings beside the lines"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-f",
        "--file",
        metavar="PATH",
        action="extend",
        nargs="+",
        help="manifests or a dump: files, directories or - (repeatable)",
    )
    flags.add_place(parser)
    flags.add_output(parser, ("table", "json", "yaml", "sarif"))


def run(found: Namespace, console: Console) -> int:
    if not found.file:
        raise BadInput("name at least one file or directory with -f, or - for stdin")
    with console.doing("reading the files"):
        told = sorted(_found(found, console), key=lambda one: one.order)
    match found.output:
        case "table":
            console.show(findings.text(told, console.paint))
        case "sarif":
            output.structured(findings.sarif(told, lint_rules.RULES, __version__), "json", console)
        case other:
            output.structured(findings.wire(told), other, console)
    return Exit.FAILED if any(one.level is not Level.NOTE for one in told) else Exit.OK


def _priced(flags: Namespace, console: Console) -> lint_machines.Priced:
    """What machines of Cluster API cost; of those nobody has a price for, nothing is known."""
    lists = PriceLists(flags, console)

    def rates(group: Group) -> tuple[str, Rates]:
        placed = lists.placed(group)
        try:
            return placed.region, lists.rates(placed)
        except BadInput:
            return placed.region, pricing.UNKNOWN

    return rates


def _found(flags: Namespace, console: Console) -> set[Finding]:
    held = list(files.world(flags.file, console))
    world = read_world(held, with_disruption=True, formulas=console.settings.formulas)
    found = set(lint_documents.unreadable(world)) | set(lint_disruption.pod_budgets(world))
    midnight = datetime.combine(console.today, time(), UTC).timestamp()
    written: list[Document] = []
    for filename, one in held:
        for document in documents.read(one, filename) if isinstance(one, str) else dumps.read(one, filename):
            if not isinstance(document, BadField):
                found.update(lint_documents.deprecated(document))
                found.update(lint_disruption.pool(document, midnight))
                written.append(document)
    found.update(lint_machines.machines(written, _priced(flags, console)))
    world, shelves = markets.open_markets(world, flags, console)
    found.update(lint_rules.lint(world, shelves))
    return found
