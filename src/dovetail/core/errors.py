"""What bad input gets: one error that says where it is and what to do.

    BadInput
    ├── BadValue     a value that cannot be read; the place is not known yet
    └── BadField     the same, with the path to the field

Parsers deep down raise `BadValue`; whoever knows the file, the object and the field adds them with `at`, so
that what a person reads is `prices.csv: m5.large: price: "-1" is negative; a price is 0 or more`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


class BadInput(ValueError):
    """Something a person wrote cannot be used. The text is a sentence for that person."""


class BadValue(BadInput):
    """A value that cannot be read."""

    def at(self, *path: str | int) -> BadField:
        return BadField(Place(*(str(part) for part in path)), str(self))


class BadField(BadInput):
    """A value that cannot be read, and the place where it stands."""

    def __init__(self, place: Place, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem

    def within(self, *outer: str | int) -> BadField:
        """The same problem, seen from further out: within("file.yaml", "m5.large")."""
        return BadField(Place(*(str(part) for part in outer), *self.place.parts), self.problem)


#: Longer than this, a value is no longer something to read in a sentence.
_SHOWN: Final = 64


def shown(value: object) -> str:
    """What somebody wrote, short enough for a sentence and safe to print, whatever it is.

    A number of five thousand digits and a list nested a thousand deep both make Python's own `repr` raise.
    """
    if isinstance(value, str):
        return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "…")
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if abs(value) < 10**_SHOWN else "a number of more than 64 digits"
    return f"a {type(value).__name__}"


@dataclass(frozen=True, slots=True, init=False)
class Place:
    """Where in a user's input something stands: file, object, field, outermost first."""

    parts: tuple[str, ...]

    def __init__(self, *parts: str) -> None:
        object.__setattr__(self, "parts", parts)

    def __str__(self) -> str:
        return ": ".join(self.parts)
