"""Times as Kubernetes writes them (RFC 3339, UTC), without a clock: seconds since 1970 in, text out, and back."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from dovetail.core.errors import BadValue

_DAY: Final = 86400
_FORM: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_DURATION: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h))+")
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)")
_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_MONTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def text(seconds: float, micros: bool = False) -> str:
    """2026-11-15T12:00:00Z, or with six digits after the second, as leases and events have it."""
    whole = int(seconds // 1)
    days, rest = divmod(whole, _DAY)
    year, month, day = _date(days)
    hour, minute, second = rest // 3600, rest % 3600 // 60, rest % 60
    fraction = f".{int((seconds - whole) * 1e6):06d}" if micros else ""
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}{fraction}Z"


@lru_cache(maxsize=4096)  # objects of one burst carry the same few seconds over and over
def seconds(written: str) -> float:
    """Seconds since 1970; a text that is no time is a `BadValue`."""
    found = _FORM.fullmatch(written)
    if found is None:
        raise BadValue(f"{written[:40]!r} is not a time; write it as 2026-11-15T12:00:00Z")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= _length(year, month) and hour < 24 and minute < 60 and second <= 60):
        raise BadValue(f"{written[:40]!r} names a day or hour that does not exist")
    total = _days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second
    zone = found[8]
    if zone not in "Zz":
        shift = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
        total += -shift if zone[0] == "+" else shift
    return total + (float(found[7]) if found[7] else 0.0)


def duration(written: str) -> float:
    """`1h30m` in seconds."""
    if _DURATION.fullmatch(written) is None:
        raise BadValue(f"{written[:40]!r} is not a duration; write it as 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(written))


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _length(year: int, month: int) -> int:
    return 29 if month == 2 and _is_leap(year) else _MONTHS[month - 1]


def _days(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01, counting years from March so that the leap day comes last."""
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def _date(days: int) -> tuple[int, int, int]:
    era, rest = divmod(days + 719468, 146097)
    of_era = (rest - rest // 1460 + rest // 36524 - rest // 146096) // 365
    of_year = rest - (365 * of_era + of_era // 4 - of_era // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    number = month + 3 if month < 10 else month - 9
    return era * 400 + of_era + (number <= 2), number, day
