"""What a person sees beside the result."""

from __future__ import annotations

import io
import threading
from datetime import date

import pytest

from dovetail.cli import console as console_module
from dovetail.cli.console import Console, Streams
from dovetail.core.errors import BadInput
from dovetail.settings import Settings


class Terminal(io.StringIO):
    """A stream somebody watches, which says when it was flushed."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed = threading.Event()

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.flushed.set()


def console(out: io.StringIO, err: io.StringIO, **settings: object) -> Console:
    return Console(Streams(io.StringIO(), out, err), Settings("/nowhere", **settings), date(2026, 7, 22))


def test_colour_is_for_terminals_that_did_not_refuse_it():
    assert console(Terminal(), Terminal()).paint.on
    assert not console(io.StringIO(), Terminal()).paint.on
    assert not console(Terminal(), Terminal(), no_color=True).paint.on


def test_a_table_is_as_wide_as_it_likes_where_nobody_watches():
    assert console(io.StringIO(), io.StringIO()).width is None
    assert console(io.StringIO(), io.StringIO(), columns=70).width == 70


def test_a_problem_is_told_once_and_coloured_on_a_terminal_only():
    for err, start in ((Terminal(), "\x1b[31merror:\x1b[0m "), (io.StringIO(), "error: ")):
        one = console(io.StringIO(), err)
        one.problems([BadInput("a"), BadInput("a")])
        assert one.tell_problems()
        assert err.getvalue() == f"{start}a\n"
    assert not console(io.StringIO(), io.StringIO()).tell_problems()


def test_long_work_says_what_it_is_and_wipes_that_afterwards(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console_module, "_PATIENCE_SECONDS", 0.0)
    err = Terminal()
    with console(io.StringIO(), err).doing("reading"):
        assert err.flushed.wait(30)
    assert err.getvalue() == "reading …\r         \r"


def test_nobody_is_told_of_long_work_in_a_pipe(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console_module, "_PATIENCE_SECONDS", 0.0)
    err = io.StringIO()
    with console(io.StringIO(), err).doing("reading"):
        pass
    assert err.getvalue() == ""
