"""Colour, as an argument: a `Paint` that is off returns text as it came."""

from __future__ import annotations

from enum import Enum


class Style(Enum):
    """What a stretch of text is, not how it looks."""

    HEADING = "1"
    DIM = "2"
    GOOD = "32"
    BAD = "31"
    NOTABLE = "33"
    NAME = "36"


class Paint:
    """Puts colour on text, or does not."""

    __slots__ = ("on",)

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, style: Style | None, text: str) -> str:
        return f"\x1b[{style.value}m{text}\x1b[0m" if self.on and style is not None and text else text


PLAIN = Paint(False)
