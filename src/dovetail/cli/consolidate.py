"""`dovetail consolidate --plan -f FILES`: what would be given up now, what it saves, and why the rest stays."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from typing import Final

from dovetail.cli import disrupting, flags, output, planned
from dovetail.cli.console import Console
from dovetail.cli.disrupting import Deciding
from dovetail.cli.exits import Exit
from dovetail.core import timestamps
from dovetail.core.disruption import rollouts
from dovetail.core.errors import BadInput
from dovetail.views import consolidation, consolidation_text
from dovetail.views.consolidation import Compared, Page

EXAMPLES: Final = (
    ("dovetail consolidate --plan --context production", "what would be given up now, and why the rest stays"),
    ("dovetail consolidate --plan -f world.json --payback 0s,30m,2h", "compare payback times on a dump"),
    (
        "dovetail consolidate --plan -f world.json --now 2026-11-15T20:00:00Z -o json",
        "as if it were then, for programs",
    ),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--plan", action="store_true", help="print what would be done, and do nothing")
    planned.add_world(parser)
    planned.add_policies(parser)
    disrupting.add_flags(parser)
    parser.add_argument(
        "--payback",
        metavar="TIMES",
        type=durations,
        default=(),
        help="compare what these payback times would have done: 0s,30m,2h; 0s is without the rule",
    )
    flags.add_output(parser, ("table", "json", "yaml"))


def durations(text: str) -> tuple[float, ...]:
    """Times with commas between, each once and in the order they were given."""
    try:
        return tuple(dict.fromkeys(timestamps.duration(one.strip()) for one in text.split(",")))
    except BadInput as bad:
        raise argparse.ArgumentTypeError(str(bad)) from None


def run(found: Namespace, console: Console) -> int:
    if not found.plan:
        raise BadInput("the controller consolidates (dovetail run); to see what it would do now, add --plan")
    one = page(disrupting.decided(found, found.file, console), found.payback)
    match found.output:
        case "table":
            console.show(consolidation_text.text(one, console.width, console.paint))
        case other:
            output.structured(consolidation.wire(one), other, console)
    return Exit.OK


def page(done: Deciding, paybacks: tuple[float, ...] = ()) -> Page:
    compared = tuple(Compared(seconds, done.with_payback(seconds)) for seconds in paybacks)
    nodes = {one.name: one for one in done.world.problem.snapshot.nodes}
    return Page(done.world.now, done.decided, nodes, compared, tuple(rollouts.of_all(done.world).values()))
