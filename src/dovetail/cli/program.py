"""One command, from its words to its exit code. No traceback reaches a user who did not ask for it."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, date, datetime

from dovetail import settings
from dovetail.cli import verbs
from dovetail.cli.console import Console, Streams
from dovetail.cli.exits import Exit
from dovetail.core.errors import BadInput

__all__ = ["Streams", "run"]


def run(arguments: Sequence[str], streams: Streams, today: date | None = None) -> int:
    """Run a command; `today` is what ages are counted from."""
    debug = "--debug" in arguments
    try:
        code = _left(arguments, streams, today or datetime.now(UTC).date())
        streams.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read our output has read enough. The interpreter must not try to flush the rest at exit.
        if streams.stdout is sys.__stdout__:
            os.dup2(os.open(os.devnull, os.O_WRONLY), streams.stdout.fileno())
        return Exit.OK
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BadInput as problem:
        streams.stderr.write(f"error: {problem}\n")
        return Exit.BAD_INPUT
    except Exception as problem:  # noqa: BLE001  (the last door before the user)
        if debug:
            traceback.print_exc(file=streams.stderr)
        told = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
        hint = "" if debug else "; run again with --debug to see where"
        streams.stderr.write(f"error: this is a fault of dovetail, not yours: {told}{hint}\n")
        return Exit.FAILED


def _left(arguments: Sequence[str], streams: Streams, today: date) -> int:
    """argparse leaves by raising, for --help and for words it does not know."""
    try:
        return _run(arguments, streams, today)
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else Exit.BAD_INPUT


def _run(arguments: Sequence[str], streams: Streams, today: date) -> int:
    verb = verbs.chosen(arguments)
    parser = verbs.parser_for(verb)
    flags = parser.parse_args(list(arguments))
    if getattr(flags, "version", False):
        verb = next(one for one in verbs.VERBS if one.words == ("version",))
    if verb is None:
        getattr(flags, "group", parser).print_help(streams.stdout)
        return Exit.OK if not arguments else Exit.BAD_INPUT
    console = Console(streams, settings.read(flags), today)
    try:
        code = verbs.module_of(verb).run(flags, console)
    except BadInput as problem:
        console.problems([problem])
        code = Exit.BAD_INPUT
    streams.stdout.flush()
    return Exit.BAD_INPUT if console.tell_problems() else code
