"""Reading one map of a wire object, field by field, with the path to each in every error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from dovetail.core.errors import BadField, BadInput, BadValue, Place

SHOWN: Final = 60
Wire = Mapping[str, object]


def shown(value: object) -> str:
    """A value as it may stand in a sentence, however long the user made it."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def kind_of(value: object) -> str:
    """What a value is, in the words of YAML."""
    if value is None:
        return "nothing"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list", dict: "a map"}
    return names.get(type(value), type(value).__name__)


def near(wrong: str, known: Iterable[str]) -> str:
    """What a person probably meant, or all they could have."""
    choices = sorted(known)
    found = get_close_matches(wrong, choices, 1, 0.6)
    return f"did you mean {found[0]}?" if found else f"use one of {', '.join(choices)}"


@dataclass(frozen=True, slots=True)
class Fields:
    """A map and the path to it."""

    wire: Wire
    path: tuple[str, ...] = ()

    def bad(self, name: str, problem: str) -> BadField:
        return BadValue(problem).at(*self.path, name) if name else BadField(Place(*self.path), problem)

    def only(self, known: Iterable[str]) -> Fields:
        """Refuse a key nobody reads: it is a typing error, and would be silently without effect."""
        names = frozenset(known)
        for key in self.wire:
            if key not in names:
                raise self.bad(str(key), f"unknown key; {near(str(key), names)}")
        return self

    def has(self, name: str) -> bool:
        return self.wire.get(name) is not None

    def map(self, name: str) -> Fields:
        """A map inside this one; an empty one where it is left out."""
        value = self.wire.get(name)
        if value is None:
            return Fields({}, (*self.path, name))
        if not isinstance(value, Mapping):
            raise self.bad(name, f"expected a map, got {kind_of(value)}")
        return Fields(value, (*self.path, name))

    def items(self, name: str) -> Sequence[Fields]:
        """A list of maps."""
        value = self.wire.get(name)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self.bad(name, f"expected a list, got {kind_of(value)}")
        found = []
        for at, one in enumerate(value):
            place = (*self.path, f"{name}[{at}]")
            if not isinstance(one, Mapping):
                raise BadValue(f"expected a map, got {kind_of(one)}").at(*place)
            found.append(Fields(one, place))
        return found

    def text(self, name: str) -> str | None:
        value = self.wire.get(name)
        if value is not None and not isinstance(value, str):
            raise self.bad(name, f"expected text, got {kind_of(value)}; put it in quotes")
        return value

    def required(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise self.bad(name, "is missing" if value is None else "is empty")
        return value

    def whole(self, name: str, low: int, high: int) -> int | None:
        value = self.wire.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.bad(name, f"{shown(value)} is not a whole number from {low} to {high}")
        return value

    def flag(self, name: str) -> bool:
        value = self.wire.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.bad(name, f"expected true or false, got {kind_of(value)}")
        return bool(value)

    def labels(self, name: str) -> dict[str, str]:
        """A map from text to text."""
        inner = self.map(name)
        return {str(key): inner.text(str(key)) or "" for key in inner.wire}


def fields(wire: object, *path: str) -> Fields:
    if not isinstance(wire, Mapping):
        raise BadField(Place(*path), f"expected a map, got {kind_of(wire)}")
    return Fields(wire, path)


def settled(problem: BadInput, *path: str) -> BadField:
    """A problem with a place: its own, or the one where it was met."""
    return problem if isinstance(problem, BadField) else BadField(Place(*path), str(problem))


def dotted(problem: BadField, *outer: str) -> BadField:
    """The problem with its field path written as one, inside a file and an object."""
    field = ""
    for part in problem.place.parts:
        field += part if part.startswith("[") or not field else f".{part}"
    return BadField(Place(*outer, *((field,) if field else ())), problem.problem)
