"""Kubernetes quantities, exactly.

A quantity is an integer number of *nano* units and the family of suffix it was written with. Kubernetes
keeps at most nine decimal places and rounds what is finer away from zero, so an integer of nanos holds every
value it can, and no float ever touches one.

Printing is canonical in Kubernetes' sense: no fraction, the largest suffix that keeps the number whole, the family
of suffix the value came with. The family is how a value is written and no part of what it is, so `"1Ki"` equals
`"1024"`, `parse(str(q)) == q` holds for every quantity, and `"1024Mi"`, `"1Gi"` and `"1.0Gi"` print alike. A binary
value that is fractional or smaller than 1024 has no binary spelling and prints as a decimal one (`0.5Ki` is `512`),
as Kubernetes does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final

from dovetail.core.errors import BadValue, shown

NANO: Final = 10**9
#: Kubernetes saturates at the largest 64-bit integer; larger inputs mean "as much as can be said".
MAX_NANOS: Final = (2**63 - 1) * NANO

_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_DOWN: Final = tuple(sorted(_DECIMAL.items(), key=lambda pair: -pair[1]))
_BINARY_DOWN: Final = tuple(sorted(_BINARY.items(), key=lambda pair: -pair[1]))
#: Beyond this many digits a number is not a quantity anybody means, and would only cost time.
_MAX_LENGTH: Final = 64

_SHAPE: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,3}))?",
    re.ASCII,
)


class Form(Enum):
    """Which family of suffixes a quantity is written with."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount: `nanos` billionths of a unit."""

    nanos: int
    form: Form = field(default=Form.DECIMAL, compare=False)

    @property
    def millis(self) -> int:
        """Thousandths, rounded away from zero as Kubernetes does."""
        return _divide_away_from_zero(self.nanos, 10**6)

    @property
    def units(self) -> int:
        """Whole units, rounded away from zero as Kubernetes does."""
        return _divide_away_from_zero(self.nanos, NANO)

    def __str__(self) -> str:
        if self.nanos == 0:
            return "0"
        if self.form is Form.BINARY and self.nanos % NANO == 0 and abs(self.nanos) >= 1024 * NANO:
            units = self.nanos // NANO
            for suffix, factor in _BINARY_DOWN:
                if units % factor == 0:
                    return f"{units // factor}{suffix}"
            return str(units)
        for suffix, power in _DECIMAL_DOWN:
            unit = 10 ** (power + 9)
            if self.nanos % unit == 0:
                number = self.nanos // unit
                if self.form is Form.EXPONENT and power:
                    return f"{number}e{power}"
                return f"{number}{suffix}"
        raise AssertionError("every integer is a multiple of one nano")

    def __bool__(self) -> bool:
        return self.nanos != 0


def parse(text: object) -> Quantity:
    """Read a quantity as the Kubernetes API does; `BadValue` says what is wrong with it.

    JSON numbers are accepted because YAML writes `cpu: 2` and `cpu: 0.5` without quotes.
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise BadValue(f"{shown(text)} is not a quantity; write a number with an optional suffix, such as 500m or 2Gi")
    if isinstance(text, int):
        return Quantity(_capped(text * NANO))
    if isinstance(text, float):
        if text != text or text in (float("inf"), float("-inf")):
            raise BadValue(f"{text} is not a quantity; it must be a finite number")
        text = repr(text)
    return _parse_text(text)


@lru_cache(maxsize=4096)
def _parse_text(text: str) -> Quantity:
    shape = _SHAPE.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    whole, fraction = (shape["whole"], shape["fraction"] or "") if shape else ("", "")
    if shape is None or not (whole or fraction):
        raise BadValue(
            f"{shown(text)} is not a quantity; write a number with an optional suffix, such as 500m, 2Gi or 1e3"
        )
    digits = int(whole + fraction)
    suffix, exponent = shape["suffix"] or "", shape["exponent"]
    if suffix in _BINARY:
        form, numerator, power = Form.BINARY, digits * _BINARY[suffix], 9 - len(fraction)
    elif exponent is not None:
        form, numerator, power = Form.EXPONENT, digits, int(exponent) + 9 - len(fraction)
    else:
        form, numerator, power = Form.DECIMAL, digits, _DECIMAL[suffix] + 9 - len(fraction)
    nanos = numerator * 10**power if power >= 0 else -(-numerator // 10**-power)
    return Quantity(_capped(-nanos if shape["sign"] == "-" else nanos), form)


def of_millis(millis: int) -> Quantity:
    return Quantity(millis * 10**6)


def of_units(units: int) -> Quantity:
    return Quantity(units * NANO)


def of_bytes(count: int) -> Quantity:
    return Quantity(count * NANO, Form.BINARY)


def _capped(nanos: int) -> int:
    return max(-MAX_NANOS, min(MAX_NANOS, nanos))


def _divide_away_from_zero(number: int, divisor: int) -> int:
    return -(-number // divisor) if number >= 0 else number // divisor
