"""A small table: columns line up, wide characters count as wide, and what does not fit is wrapped or left out.

Prose wraps inside its column first. Only when every column of prose is as narrow as prose can be read do whole columns
go, the least important first; a last line says which, so that nobody takes the table for all there is. If that is not
enough either, words wrap in their columns, too; numbers never do.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dovetail.views.paint import PLAIN, Paint, Style

_GAP: Final = "  "
#: Prose narrower than this is hard to read.
_NARROWEST_PROSE: Final = 22
#: And anything narrower than this is no column.
_NARROWEST: Final = 8


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `rank` 0 always stays; the highest rank is the first to go when the table is too wide.

    A column of prose wraps. What cannot wrap and still is too wide is cut with an ellipsis.
    """

    title: str
    right: bool = False
    rank: int = 0
    prose: bool = False


class Cell(NamedTuple):
    text: str
    style: Style | None = None


Row = Sequence[str | Cell]


def render(columns: Sequence[Column], rows: Iterable[Row], width: int | None = None, paint: Paint = PLAIN) -> str:
    """The table as text, each line ended."""
    cells = [[_visible(one if isinstance(one, Cell) else Cell(one)) for one in row] for row in rows]
    widths = [
        max(display_width(column.title), *(display_width(row[at].text) for row in cells), 0)
        for at, column in enumerate(columns)
    ]
    shown = _fitting(columns, widths, width)
    widths = _squeezed(columns, widths, shown, width)
    layout = [(at, widths[at], columns[at]) for at in shown]
    lines = _lines(layout, [Cell(column.title, Style.HEADING) for column in columns], paint)
    for row in cells:
        lines += _lines(layout, row, paint)
    hidden = [column.title.strip() for at, column in enumerate(columns) if at not in shown]
    if hidden:
        lines.append(paint(Style.DIM, f"not shown, for want of width: {', '.join(hidden)}"))
    return "".join(f"{line}\n" for line in lines)


def _visible(cell: Cell) -> Cell:
    """Text from a user's file must not be able to move the cursor."""
    return cell if cell.text.isprintable() else cell._replace(text=printable(cell.text))


def printable(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _fitting(columns: Sequence[Column], widths: Sequence[int], width: int | None) -> list[int]:
    """Which columns can be shown, if prose is made as narrow as it may be."""
    least = [min(wide, _NARROWEST_PROSE) if one.prose else wide for one, wide in zip(columns, widths, strict=True)]
    shown = list(range(len(columns)))
    while width is not None and _total(least, shown) > width:
        droppable = [at for at in shown if columns[at].rank]
        if not droppable:
            break
        shown.remove(max(droppable, key=lambda at: (columns[at].rank, at)))
    return shown


def _squeezed(columns: Sequence[Column], widths: list[int], shown: Sequence[int], width: int | None) -> list[int]:
    """Take what is too much off the prose, the widest column first."""
    found = list(widths)
    prose = [at for at in shown if columns[at].prose]
    while width is not None and _total(found, shown) > width:
        widest = max(prose, key=lambda at: found[at], default=None)
        if widest is None or found[widest] <= _NARROWEST_PROSE:
            break
        found[widest] -= 1
    words = [at for at in shown if not columns[at].right]
    while width is not None and _total(found, shown) > width:
        widest = max(words, key=lambda at: found[at], default=None)
        if widest is None or found[widest] <= _NARROWEST:
            break
        found[widest] -= 1
    return found


def _total(widths: Sequence[int], shown: Sequence[int]) -> int:
    return sum(widths[at] for at in shown) + len(_GAP) * (len(shown) - 1)


def _lines(layout: Sequence[tuple[int, int, Column]], row: Sequence[Cell], paint: Paint) -> list[str]:
    """A row, on as many lines as its longest piece of prose needs."""
    wrapped = [_wrapped(row[at].text, wide) for at, wide, _ in layout]
    found = []
    for number in range(max((len(pieces) for pieces in wrapped), default=0) or 1):
        parts = []
        for (at, wide, column), pieces in zip(layout, wrapped, strict=True):
            text = _cut(pieces[number], wide) if number < len(pieces) else ""
            space = " " * (wide - display_width(text))
            painted = paint(row[at].style, text)
            parts.append(space + painted if column.right else painted + space)
        found.append(_GAP.join(parts).rstrip())
    return found


def _wrapped(text: str, width: int) -> list[str]:
    if display_width(text) <= width:
        return [text]
    indent = " " * min(len(text) - len(text.lstrip(" ")), width - 1)
    return textwrap.wrap(text.lstrip(" "), width, initial_indent=indent, subsequent_indent=indent)


def _cut(text: str, width: int) -> str:
    if display_width(text) <= width:
        return text
    kept = ""
    for char in text:
        if display_width(kept + char) > width - 1:
            break
        kept += char
    return kept + "…"


def display_width(text: str) -> int:
    """How many cells of a terminal a text takes: combining marks none, East Asian wide characters two."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def facts(pairs: Iterable[tuple[str, str]], paint: Paint = PLAIN, indent: str = "") -> str:
    """Names and values, one pair a line."""
    known = [(printable(name), printable(value)) for name, value in pairs]
    width = max((display_width(name) for name, _ in known), default=0)
    return "".join(
        f"{indent}{paint(Style.DIM, name)}{' ' * (width - display_width(name))}  {value}\n" for name, value in known
    )
