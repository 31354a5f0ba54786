"""What the demo shows: sentences that stay, and on a terminal a table below them that is drawn anew all the time.

A pipe gets the sentences alone, one a line. On a terminal the table is wiped, what is to be said goes where it stood,
and the table follows below; so what was said scrolls away like any text, and nothing else on the screen is touched.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Mapping
from typing import Protocol, TextIO

from dovetail.demo.seen import BOOTING, LEAVING, ORDERED, READY, Machine, Seen
from dovetail.views import figures
from dovetail.views.paint import Paint, Style
from dovetail.views.table import Cell, Column, display_width, render

_UP, _WIPE, _HIDE, _SHOW = "\x1b[{}F", "\x1b[J", "\x1b[?25l", "\x1b[?25h"
_COLUMNS = (
    Column("POOL", rank=6),
    Column("TYPE"),
    Column("ZONE", rank=2),
    Column("BOUGHT", rank=3),
    Column("NODES", right=True),
    Column("PODS", right=True, rank=1),
    Column("$/H EACH", right=True, rank=4),
    Column("STATE", rank=5),
)
_STATES = {ORDERED: Style.DIM, BOOTING: Style.NOTABLE, READY: Style.GOOD, LEAVING: Style.BAD}
#: An empty line, the total, the table's head, what it leaves out of itself, and a row.
_LEAST_LINES = 5
#: A command somebody types, to be told from what is decided.
COMMAND = "$ "


class Screen(Protocol):
    #: Whether somebody looks who needs time to read.
    watched: bool

    def say(self, seconds: float, text: str) -> None: ...
    def show(self, seconds: float, seen: Seen) -> None: ...
    def close(self) -> None: ...


def open_screen(out: TextIO, environment: Mapping[str, str]) -> Screen:
    if not out.isatty() or environment.get("TERM") == "dumb":
        return Lines(out)
    return Terminal(out, Paint(not environment.get("NO_COLOR")))


class Lines:
    """For pipes and files."""

    watched = False

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def say(self, seconds: float, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()

    def show(self, seconds: float, seen: Seen) -> None:
        return

    def close(self) -> None:
        self._out.flush()


class Terminal:
    """For people."""

    watched = True

    def __init__(self, out: TextIO, paint: Paint) -> None:
        self._out, self._paint = out, paint
        self._frame: list[str] = []
        self._drawn = 0
        self._out.write(_HIDE)

    def say(self, seconds: float, text: str) -> None:
        self._draw("".join(f"{line}\n" for line in said(seconds, text, _size().columns, self._paint)))

    def show(self, seconds: float, seen: Seen) -> None:
        size = _size()
        self._frame = frame(seconds, seen, (size.columns, size.lines), self._paint)
        self._draw("")

    def close(self) -> None:
        """The table goes; what was said stays."""
        self._frame = []
        self._draw(_SHOW)

    def _draw(self, above: str) -> None:
        """One write, so that nothing flickers."""
        wiped = (_UP.format(self._drawn) if self._drawn else "") + _WIPE
        below = "".join(f"{line}\n" for line in self._frame)
        self._out.write(f"{wiped}{above}{below}")
        self._out.flush()
        self._drawn = len(self._frame)


def _size() -> os.terminal_size:
    return shutil.get_terminal_size()


def said(seconds: float, text: str, width: int, paint: Paint) -> list[str]:
    """A sentence and when it was said, on as many lines as it needs."""
    stamp = f"{seconds:5.1f} s  "
    lines = textwrap.wrap(text, max(20, width - len(stamp) - 1), break_on_hyphens=False) or [""]
    style = Style.GOOD if text.startswith(COMMAND) else None
    first, *rest = (paint(style, line) for line in lines)
    return [f"{paint(Style.DIM, stamp)}{first}", *(f"{' ' * len(stamp)}{line}" for line in rest)]


def frame(seconds: float, seen: Seen, size: tuple[int, int], paint: Paint) -> list[str]:
    """The table and its total, in at most half a screen. No line is wider than the screen: it would be two, and the
    next frame would be drawn one line too low."""
    width, height = size[0] - 1, max(_LEAST_LINES, size[1] // 2)
    pods = f"{seen.running} pods run, {seen.pending} wait"
    total = f"{len(seen.machines)} nodes, {figures.money(seen.nanodollars)}/h · {pods} · {seconds:.1f} s"
    rows = _groups(seen)
    room = height - _LEAST_LINES + 1
    shown = rows if len(rows) <= room else rows[: room - 1]
    more = [f"… and {len(rows) - len(shown)} kinds more"] if len(shown) < len(rows) else []
    lines = [*_table(shown, width, paint), *(paint(Style.DIM, one[:width]) for one in more)]
    return ["", paint(Style.HEADING, total[:width]), *lines]


def _table(rows: list[list[str | Cell]], width: int, paint: Paint) -> list[str]:
    if not rows:
        return []
    plain = render(_COLUMNS, rows, width).splitlines()
    # Its head, a line for each row, and perhaps one for the columns left out: a frame never grows on its own.
    if all(display_width(line) <= width for line in plain) and len(plain) <= len(rows) + 2:
        return render(_COLUMNS, rows, width, paint).splitlines()
    needed = [at for at, column in enumerate(_COLUMNS) if not column.rank]
    least = render([_COLUMNS[at] for at in needed], [[row[at] for at in needed] for row in rows])
    return [line[:width] for line in least.splitlines()]


def _groups(seen: Seen) -> list[list[str | Cell]]:
    """Machines that are the same but for their names, on one line."""
    found: dict[tuple[str, str, str, str, int], list[Machine]] = {}
    for one in seen.machines:
        if one.state != ORDERED:
            key = (one.pool, one.capacity_type, one.zone, one.type, one.nanodollars)
            found.setdefault(key, []).append(one)
    return [
        [
            *(pool, Cell(kind, Style.NAME), zone, capacity_type, str(len(held)), str(sum(one.pods for one in held))),
            figures.money(price),
            _state(held),
        ]
        for (pool, capacity_type, zone, kind, price), held in sorted(found.items())
    ]


def _state(held: list[Machine]) -> Cell:
    states = Counter(one.state for one in held)
    worst = next(state for state in (LEAVING, BOOTING, READY) if states[state])
    if len(states) == 1:
        return Cell(worst, _STATES[worst])
    return Cell(", ".join(f"{states[one]} {one}" for one in _STATES if states[one]), _STATES[worst])
