"""`dovetail version`."""

from __future__ import annotations

import platform
from argparse import ArgumentParser, Namespace
from typing import Final

from dovetail import __version__
from dovetail.cli import flags as shared
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit

EXAMPLES: Final = (
    ("dovetail version", "for people"),
    ("dovetail version --output json", "for programs"),
    ("dovetail version --short", "the number alone"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--short", action="store_true", help="the number alone")
    shared.add_output(parser, ("text", "json"))


def run(flags: Namespace, console: Console) -> int:
    if getattr(flags, "output", "text") == "json":  # `dovetail --version` has no such flag
        from dovetail.cli.output import structured

        structured({"version": __version__, "python": platform.python_version()}, "json", console)
        return Exit.OK
    short = getattr(flags, "short", False)
    console.write(__version__ if short else f"dovetail {__version__} (Python {platform.python_version()})")
    return Exit.OK
