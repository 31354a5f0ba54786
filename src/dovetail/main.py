"""The composition root: the one place that knows the process it runs in."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TextIO

from dovetail.cli.exits import Exit


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and say how it went; `dovetail.cli.exits` lists the codes."""
    if argv is None:
        try:
            return _ran(sys.argv[1:])
        finally:
            gc.freeze()  # the process ends now: nobody need look through all of its memory for circles once more
    return _ran(argv)


def _ran(arguments: Sequence[str]) -> int:
    try:
        from dovetail.cli import program  # takes a moment, in which somebody may press Ctrl-C

        return program.run(arguments, program.Streams(*(_usable(one) for one in (sys.stdin, sys.stdout, sys.stderr))))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _usable(stream: TextIO | None) -> TextIO:
    """A stream that was closed before we began is empty; one that cannot say a character says `?`."""
    if stream is None:
        return open(os.devnull, "r+", encoding="utf-8")
    if isinstance(stream, TextIOWrapper) and stream.errors != "backslashreplace" and stream.writable():
        stream.reconfigure(errors="replace")
    return stream


if __name__ == "__main__":
    sys.exit(main())
