"""Text made to fit a terminal: a line that is too long goes on below, a little further in.

Tables fit themselves (`table`); this is for the sentences and pairs around them. Lines are broken between words only,
so that a name can still be copied; a word wider than the terminal stays whole.
"""

from __future__ import annotations

import re
from typing import Final

from dovetail.views.table import display_width

_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")
#: A name, and the value it is set apart from: what is too long goes on below the value.
_PAIR: Final = re.compile(r" *\S.*? {2,}(?=\S)")
_FURTHER_IN: Final = 2


def fitted(text: str, width: int | None) -> str:
    """The same text with no line wider than that, where it has spaces enough."""
    if width is None:
        return text
    return "".join(_fitted(line, width) for line in text.splitlines(keepends=True))


def _fitted(line: str, width: int) -> str:
    if shown_width(line.rstrip("\n")) <= width:
        return line
    plain = _ANSI.sub("", line)
    indent = len(plain) - len(plain.lstrip(" "))
    pair = _PAIR.match(plain)
    least = indent + _FURTHER_IN
    hanging = pair.end() if pair is not None and pair.end() <= width // 2 else least
    found, current = [], ""
    for piece in re.findall(r" *[^ \n]+", line):
        if current.strip() and shown_width(current + piece) > width:
            found.append(current)
            word = piece.lstrip(" ")
            current = " " * (hanging if hanging + shown_width(word) <= width else least) + word
        else:
            current += piece
    return "\n".join([*found, current]) + line[len(line.rstrip("\n")) :]


def shown_width(text: str) -> int:
    """How many cells a text takes, its colours left aside."""
    return display_width(_ANSI.sub("", text) if "\x1b" in text else text)
