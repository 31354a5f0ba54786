"""`dovetail version`."""

from __future__ import annotations

import platform
from argparse import ArgumentParser, Namespace

from dovetail import __version__
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--short", action="store_true", help="the number alone")


def run(flags: Namespace, console: Console) -> int:
    short = getattr(flags, "short", False)
    console.write(__version__ if short else f"dovetail {__version__} (Python {platform.python_version()})")
    return Exit.OK
