"""What an option is: a flag that wins over a variable in the environment, and how the text of either is read.

The termination handler, which runs on every node, reads its options with this too, so it knows of nothing else here.
"""

from __future__ import annotations

from argparse import SUPPRESS, Namespace, _ArgumentGroup
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from dovetail.core.errors import BadInput, BadValue

T = TypeVar("T")
TRUE, FALSE = ("true", "1"), ("false", "0")
LEVELS: Final = ("debug", "info", "warn", "error")


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its flag, its variable, how it is read, and what it is for."""

    name: str
    variable: str
    read: Callable[[str], Any]
    help: str
    metavar: str = "VALUE"

    @property
    def dest(self) -> str:
        """Unlike any flag a verb has of its own."""
        return "option_" + self.name.replace("-", "_")

    def add_to(self, group: _ArgumentGroup) -> None:
        told = f"{self.help} ({self.variable})".replace("%", "%%")
        if self.read is switch:  # the flag alone says yes, as flags of other verbs do; `false` says no
            how: dict[str, Any] = {"nargs": "?", "const": TRUE[0], "metavar": "BOOL"}
        else:
            how = {"metavar": self.metavar}
        group.add_argument(f"--{self.name}", dest=self.dest, default=SUPPRESS, help=told, **how)


class Chosen:
    """What was said for each of some options; a bad one is refused by the flag or variable it stands in."""

    def __init__(self, options: tuple[Option, ...], flags: Namespace, environment: Mapping[str, str]) -> None:
        self._said = {one.name: _said(one, flags, environment) for one in options}

    def __call__(self, name: str, default: T) -> T:
        value: T | None = self._said[name]
        return default if value is None else value


def _said(one: Option, flags: Namespace, environment: Mapping[str, str]) -> Any:
    text, place = getattr(flags, one.dest, None), f"--{one.name}"
    if text is None:
        text, place = environment.get(one.variable) or None, one.variable
    if text is None:
        return None
    try:
        return one.read(text)
    except BadInput as bad:
        raise BadValue(str(bad)).at(place) from None


# ---- readers


def switch(text: str) -> bool:
    """True or false."""
    if text.lower() not in (*TRUE, *FALSE):
        raise BadValue(f"{text[:40]!r} is neither true nor false")
    return text.lower() in TRUE


def port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 2**16):
        raise BadValue(f"{text[:40]!r} is not a port, 0 to 65535")
    return int(text)


def one_of(*known: str) -> Callable[[str], str]:
    """One of some words, however it is capitalised."""

    def read(text: str) -> str:
        found = next((one for one in known if one.lower() == text.lower()), None)
        if found is None:
            raise BadValue(f"{text[:40]!r} is none of {', '.join(known)}")
        return found

    return read
