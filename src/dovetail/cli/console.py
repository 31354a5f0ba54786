"""What a verb talks to: what it prints, what it notes beside that, and the problems it collects on the way.

Results go to stdout. Notes and problems go to stderr, the problems last and one a line, so that they are what a
person sees first and a pipe never sees at all.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from typing import Final, NamedTuple, TextIO

from dovetail.core.errors import BadInput
from dovetail.settings import Settings
from dovetail.views.paint import Paint, Style

#: Work that takes longer than this says what it is doing.
_PATIENCE_SECONDS: Final = 1.0


class Streams(NamedTuple):
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO


class Console:
    """One command's mouth and ears."""

    def __init__(self, streams: Streams, settings: Settings, today: date) -> None:
        self._streams = streams
        self.settings = settings
        self.today = today
        self.paint = Paint(not settings.no_color and streams.stdout.isatty())
        self._aside = Paint(not settings.no_color and streams.stderr.isatty())
        self._problems: dict[str, None] = {}

    @property
    def width(self) -> int | None:
        """How wide a table may be; None where nobody looks and nothing should be dropped."""
        if self.settings.columns is not None:
            return self.settings.columns
        if not self._streams.stdout.isatty():
            return None
        import shutil  # with all it knows of archives

        return shutil.get_terminal_size().columns

    def read_stdin(self) -> str:
        return self._streams.stdin.read()

    def write(self, text: str) -> None:
        self._streams.stdout.write(text if text.endswith("\n") or not text else text + "\n")

    def show(self, text: str) -> None:
        """What people read: fitted to the terminal, where there is one."""
        from dovetail.views.lines import fitted  # who never shows anything need not load it

        self.write(fitted(text, self.width))

    @property
    def out(self) -> TextIO:
        """Where results go, for a verb that draws on a terminal itself."""
        return self._streams.stdout

    def flush(self) -> None:
        """Let out what was written; for a verb that goes on after it has spoken."""
        self._streams.stdout.flush()

    def write_part(self, text: str) -> None:
        """A piece of something long; nothing is added to it."""
        self._streams.stdout.write(text)

    def note(self, text: str) -> None:
        self._streams.stderr.write(f"{self._aside(Style.DIM, 'note:')} {_one_line(text)}\n")

    def problems(self, found: Iterable[BadInput]) -> None:
        """Remember what could not be used; it is told once, at the end."""
        for one in found:
            self._problems[str(one)] = None

    def tell_problems(self) -> bool:
        """Print what was remembered; whether there was anything."""
        for text in self._problems:
            self._streams.stderr.write(f"{self._aside(Style.BAD, 'error:')} {_one_line(text)}\n")
        return bool(self._problems)

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Say what takes so long, if it does and a person is watching; the line is wiped afterwards."""
        if not self._streams.stderr.isatty():
            yield
            return
        said = threading.Event()
        doing = f"{what} …"

        def say() -> None:
            said.set()
            self._streams.stderr.write(doing)
            self._streams.stderr.flush()

        timer = threading.Timer(_PATIENCE_SECONDS, say)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            if said.is_set():
                # Spaces, since not every terminal knows how to wipe a line.
                self._streams.stderr.write(f"\r{' ' * len(doing)}\r")


def _one_line(text: str) -> str:
    """Text from a user's file must not be able to write more lines than its own, or move the cursor."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
