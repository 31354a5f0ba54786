"""Prices: exact, and never without a source.

Money is a whole number of nanodollars an hour (a billionth), so that sums are exact, ties are real ties, and a
reservation at a thousandth of its on-demand price keeps its place in the order. A type without a price has `None`,
never zero.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Final

from dovetail.core.errors import BadValue, shown

NANO: Final = 10**9
HOURS_PER_MONTH: Final = 730
_PLACES: Final = 9
_DECIMAL: Final = re.compile(r"(?:[0-9]{1,12}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)


class SourceKind(StrEnum):
    """Where a price may come from."""

    LIVE = "live"
    BUNDLED = "bundled"
    MODELLED = "modelled"
    IMPORTED = "imported"
    OVERRIDE = "override"
    OVERLAY = "overlay"


@dataclass(frozen=True, slots=True)
class Source:
    """Who says so, and as of when: what makes a price one can argue about."""

    kind: SourceKind
    detail: str = ""
    as_of: str | None = None
    currency: str = "USD"

    def __str__(self) -> str:
        about = ", ".join(part for part in (self.detail, self.as_of) if part)
        return f"{self.kind} ({about})" if about else str(self.kind)


@dataclass(frozen=True, slots=True)
class Price:
    """An hourly price."""

    nanodollars: int
    source: Source

    def __lt__(self, other: Price) -> bool:
        return self.nanodollars < other.nanodollars

    def __str__(self) -> str:
        return dollars(self.nanodollars)


def dollars(nanodollars: int) -> str:
    """An amount as plain decimal text, without trailing zeros: `0.096`."""
    sign, amount = ("-", -nanodollars) if nanodollars < 0 else ("", nanodollars)
    whole, fraction = divmod(amount, NANO)
    return f"{sign}{whole}" + (f".{fraction:09d}".rstrip("0") if fraction else "")


def parse_amount(text: object) -> int:
    """Read an hourly price in dollars as nanodollars; a price is a plain number, 0 or more."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise BadValue(f"{shown(text)} is not a price; write a number of dollars an hour, such as 0.096")
    return _parse_text(text.strip() if isinstance(text, str) else shown(text))


@lru_cache(maxsize=8192)
def _parse_text(text: str) -> int:
    if text.startswith("-"):
        raise BadValue(f"{shown(text)} is negative; a price is 0 or more")
    if _DECIMAL.fullmatch(text) is None:
        raise BadValue(f"{shown(text)} is not a price; write a number of dollars an hour, such as 0.096")
    whole, _, fraction = text.partition(".")
    if len(fraction) <= _PLACES and (whole + fraction).isdigit():
        return int(whole or "0") * NANO + int(fraction.ljust(_PLACES, "0"))
    return round(Fraction(text) * NANO)


_ADJUSTMENT: Final = re.compile(r"(?P<sign>[+-])(?P<number>[0-9]*\.?[0-9]+)(?P<percent>%)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A change to a price: to an amount, by an amount, or by a share."""

    replace_nanodollars: int | None = None
    add_nanodollars: int = 0
    percent: Fraction = Fraction(0)

    def apply(self, nanodollars: int) -> int:
        """The adjusted amount; an adjustment never goes below zero."""
        if self.replace_nanodollars is not None:
            return self.replace_nanodollars
        if self.percent:
            # Whole numbers throughout, as a change of overlay does this for thousands of rows.
            share, whole = self.percent.numerator, 100 * self.percent.denominator
            nanodollars = (2 * nanodollars * (whole + share) + whole) // (2 * whole)
        return max(0, nanodollars + self.add_nanodollars)


def parse_replacement(text: object) -> Adjustment:
    return Adjustment(replace_nanodollars=parse_amount(text))


def parse_adjustment(text: object) -> Adjustment:
    """Read `-10%`, `+5%`, `-0.02` or `+0.1`; a decrease is at most 100 %."""
    shape = _ADJUSTMENT.fullmatch(text) if isinstance(text, str) and len(text) < 32 else None
    if shape is None:
        raise BadValue(f"{shown(text)} is not an adjustment; write a signed number or percentage, such as -10%")
    number = Fraction(shape["number"]) * (-1 if shape["sign"] == "-" else 1)
    if not shape["percent"]:
        return Adjustment(add_nanodollars=round(number * NANO))
    if number < -100:
        raise BadValue(f"{text} takes off more than everything; a decrease is at most 100%")
    return Adjustment(percent=number)
