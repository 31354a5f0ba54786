"""`dovetail demo`: the main job in one terminal, with the real controller on simulated machines."""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from dovetail.cli import extras
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit

EXAMPLES: Final = (
    ("dovetail demo", "half a minute; no cluster, cloud account or network is needed"),
    ("dovetail demo --svg demo.svg", "also draw its fullest moment"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--svg", metavar="FILE", type=Path, help="also draw its fullest moment there")


def run(flags: Namespace, console: Console) -> int:
    extras.need_server()
    from dovetail.demo import picture
    from dovetail.demo.screen import open_screen
    from dovetail.demo.telling import told

    screen = open_screen(console.out, os.environ)
    recorder = picture.Recorder(screen)
    try:
        came_out = asyncio.run(told(recorder if flags.svg else screen))
    except asyncio.CancelledError:  # SIGTERM
        return Exit.INTERRUPTED
    finally:
        screen.close()
    if flags.svg and came_out:
        flags.svg.write_text(picture.svg(recorder.lines), encoding="utf-8")
    return Exit.OK if came_out else Exit.FAILED
