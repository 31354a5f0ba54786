"""Parts of a page that are made, and the tables they consist of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tools import regions

#: What makes one part.
Maker = Callable[[], str]
COMMAND: Final = "make manifests"
_BEGIN: Final = re.compile(f"^{regions.begin('(.+)', COMMAND)}$", re.MULTILINE)


def marked(text: str) -> list[str]:
    """The parts a page has, in order."""
    return _BEGIN.findall(text)


def filled(text: str, makers: Mapping[str, Maker]) -> str:
    """A page with its made parts as they should be."""
    for name, maker in makers.items():
        text = regions.filled(text, name, COMMAND, maker())
    return text


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(line)} |\n" for line in (headings, *rows)]
    return "".join((lines[0], f"|{'---|' * len(headings)}\n", *lines[1:]))


def in_code(text: str) -> str:
    """Code in a cell of a table."""
    return f"`{text}`".replace("|", "\\|")
