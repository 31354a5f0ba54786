"""Schedules of disruption budgets: five fields of cron, or a macro, read far enough to say whether they ever come."""

from __future__ import annotations

import re
from typing import Final

from dovetail.core.errors import BadValue, shown

_MACROS: Final = {
    "@annually": "0 0 1 1 *",
    "@yearly": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS: Final = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES: Final = {name: at for at, name in enumerate(_MONTHS, 1)} | {name: at for at, name in enumerate(_WEEKDAYS)}
_PART: Final = re.compile(r"(?P<from>\*|\w+)(?:-(?P<to>\w+))?(?:/(?P<step>\d{1,3}))?")
#: The most days a month ever has.
_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DURATION: Final = re.compile(r"(?:(?P<h>\d{1,6})h)?(?:(?P<m>\d{1,6})m)?(?:0s)?")
Schedule = tuple[frozenset[int], ...]


def parse(text: str) -> Schedule:
    """The minutes, hours, days, months and weekdays of a schedule."""
    words = _MACROS.get(text.strip(), text).split()
    if len(words) != len(_FIELDS):
        raise BadValue(f"{shown(text)} is no schedule; write minute, hour, day, month, weekday, such as '0 9 * * 1-5'")
    return tuple(_field(word, *about) for word, about in zip(words, _FIELDS, strict=True))


def _field(text: str, name: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None or match["step"] == "0":
            raise BadValue(f"{shown(part)} is no {name}")
        first = low if match["from"] == "*" else _number(match["from"], name)
        open_ended = match["from"] == "*" or (match["step"] is not None and match["to"] is None)
        last = high if open_ended else _number(match["to"] or match["from"], name)
        if not low <= first <= last <= high:
            raise BadValue(f"{shown(part)} is no {name}; it goes from {low} to {high}")
        found.update(range(first, last + 1, int(match["step"] or 1)))
    return frozenset(found)


def _number(text: str, name: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 4:
        return int(text)
    known = _NAMES.get(text.lower())
    if known is None:
        raise BadValue(f"{shown(text)} is no {name}")
    return known


def ever_comes(schedule: Schedule) -> bool:
    """Whether there is such a day at all: 30 February never comes. With a weekday named, some day always does."""
    _, _, days, months, weekdays = schedule
    if len(weekdays - {7}) < 7 and weekdays:
        return True
    return any(min(days) <= _DAYS[month - 1] for month in months)


def minutes(duration: str) -> int | None:
    """A duration such as 8h or 1h30m in minutes; None where it is none."""
    match = _DURATION.fullmatch(duration)
    if match is None or not (match["h"] or match["m"]):
        return None
    return int(match["h"] or 0) * 60 + int(match["m"] or 0)
