"""A picture of the demo: what stood on the terminal at its fullest moment, as an SVG written by hand.

Text stays text, so that it can be selected and searched. Every run of one colour says where it begins and how wide it
is, in cells of the terminal; so columns line up whatever font the reader has. There are colours for light and for dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from dovetail.demo import screen
from dovetail.demo.screen import Screen
from dovetail.demo.seen import Seen
from dovetail.views.paint import Paint, Style
from dovetail.views.table import display_width

COLUMNS: Final = 112
_TABLE_LINES: Final = 64
_CELL_WIDTH, _LINE_HEIGHT, _FONT_SIZE, _MARGIN = 7.8, 18, 13, 16
_PAINT: Final = Paint(True)
_RUN: Final = re.compile(r"(?:\x1b\[(?P<code>[0-9]+)m)?(?P<text>[^\x1b]+)(?:\x1b\[0m)?")
_CLASSES: Final = {style.value: style.name.lower() for style in Style}
_LOOK: Final = """\
.screen { fill: #f6f8fa; stroke: #d0d7de } text { fill: #1f2328 } .heading { font-weight: bold } .dim { fill: #656d76 }
.good { fill: #116329 } .bad { fill: #b31d28 } .notable { fill: #8a4600 } .name { fill: #0a5c8a }
@media (prefers-color-scheme: dark) {
.screen { fill: #0d1117; stroke: #30363d } text { fill: #e6edf3 } .dim { fill: #9198a1 }
.good { fill: #56d364 } .bad { fill: #ff8182 } .notable { fill: #e3b341 } .name { fill: #79c0ff }
}
"""


class Run(NamedTuple):
    """Text of one colour, and the cell of its line it begins in; `style` is a `Style`'s name in small letters."""

    at: int
    text: str
    style: str = ""


class Recorder:
    """Passes everything on to another screen, and remembers what that would look like on a terminal."""

    #: People need time to read; so does who draws, and the table is drawn for both.
    watched = True

    def __init__(self, inner: Screen) -> None:
        self._inner = inner
        self._said: list[str] = []
        self._most = -1
        self._is_typing = False
        #: What the picture shows: everything said until most pods ran, the last time they did, and the table then.
        self.lines: list[str] = []

    def say(self, seconds: float, text: str) -> None:
        self._inner.say(seconds, text)
        self._said += screen.said(seconds, text, COLUMNS, _PAINT)
        self._is_typing = text.startswith(screen.COMMAND)

    def show(self, seconds: float, seen: Seen) -> None:
        self._inner.show(seconds, seen)
        if seen.running >= self._most and not self._is_typing:  # what was typed has not happened yet
            self._most = seen.running
            self.lines = [*self._said, *screen.frame(seconds, seen, (COLUMNS, _TABLE_LINES), _PAINT)]

    def close(self) -> None:
        self._inner.close()


def svg(lines: Sequence[str]) -> str:
    """Lines as a terminal shows them, colours included."""
    width = COLUMNS * _CELL_WIDTH + 2 * _MARGIN
    height = len(lines) * _LINE_HEIGHT + 2 * _MARGIN
    body = "".join(_line(number, line) for number, line in enumerate(lines))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img"'
        f' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="{_FONT_SIZE}">\n'
        f"<title>make demo, at its fullest moment</title>\n<style>\n{_LOOK}</style>\n"
        f'<rect class="screen" x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="8"/>\n{body}</svg>\n'
    )


def _line(number: int, line: str) -> str:
    y = _MARGIN + number * _LINE_HEIGHT + _FONT_SIZE
    spans = "".join(_span(run) for run in runs(line))
    return f'<text y="{y}" xml:space="preserve">{spans}</text>\n' if spans else ""


def _span(run: Run) -> str:
    told = f' class="{run.style}"' if run.style else ""
    x, wide = _MARGIN + run.at * _CELL_WIDTH, display_width(run.text) * _CELL_WIDTH
    return f'<tspan x="{x:g}" textLength="{wide:g}"{told}>{escape(run.text, quote=False)}</tspan>'


def runs(line: str) -> Iterator[Run]:
    """A line taken apart by colour; blanks around a run are left out, since every run knows where it begins."""
    at = 0
    for found in _RUN.finditer(line):
        text = found["text"]
        before = len(text) - len(text.lstrip(" "))
        if text.strip(" "):
            yield Run(at + before, text.strip(" "), _CLASSES.get(found["code"] or "", ""))
        at += display_width(text)
