"""`dovetail version`."""

from __future__ import annotations

import platform
from argparse import ArgumentParser, Namespace
from importlib.util import find_spec
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

        told = {"version": __version__, "python": platform.python_version(), "planner": planner()}
        structured(told, "json", console)
        return Exit.OK
    short = getattr(flags, "short", False)
    compiled = ", compiled" if planner() == "compiled" else ""
    console.write(__version__ if short else f"dovetail {__version__} (Python {platform.python_version()}{compiled})")
    return Exit.OK


def planner() -> str:
    """A wheel built with DOVETAIL_COMPILE=1 has it compiled. It is looked for and not loaded: this is to be quick."""
    found = find_spec("dovetail.core.scheduling.packer")
    return "interpreted" if found is None or not found.origin or found.origin.endswith(".py") else "compiled"
