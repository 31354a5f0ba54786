"""Schedules of budgets: five fields of cron or a macro, in UTC or another time zone, without a clock.

A schedule fires at whole minutes. What a budget asks is whether a window that opens with a firing and lasts so long is
open now, which is the same as asking for the first firing after (now − duration). Where both a day of the month and a
day of the week are named, either will do, as cron has always had it.

`Schedule` knows one kind of time. `Zoned` fires whenever a clock on the wall shows such a time: where clocks go back,
twice; where they go forward over it, when the gap is over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from dovetail.core import timestamps
from dovetail.core.disruption.zones import UTC, Span, Zone
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
_NAMES: Final = {
    "month": {name: at for at, name in enumerate(_MONTHS, 1)},
    "weekday": {name: at for at, name in enumerate(_WEEKDAYS)},
}
_PART: Final = re.compile(r"(?P<from>[*?]|\w{1,9})(?:-(?P<to>\w{1,9}))?(?:/(?P<step>[0-9]{1,3}))?", re.ASCII)
#: The most days a month ever has.
_LONGEST: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MINUTE: Final = 60
_DAY: Final = 86400
#: 1 January 1970 was a Thursday, with Sunday as 0.
_FIRST_WEEKDAY: Final = 4
#: 29 February may be eight years away (1896 to 1904, 2096 to 2104); a weekday among it never makes it longer.
_HORIZON_DAYS: Final = 366 * 9


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a schedule fires. `any_day` and `any_weekday` say that the field was left open."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    @property
    def ever_fires(self) -> bool:
        """30 February never comes; with a weekday named, some day always does."""
        if not self.any_weekday:
            return True
        return any(min(self.days) <= _LONGEST[month - 1] for month in self.months)

    def fires_on(self, day: int) -> bool:
        """Whether it fires on this day, counted from 1970."""
        _, month, of_month = _date(day)
        if month not in self.months:
            return False
        weekday = (day + _FIRST_WEEKDAY) % 7
        if self.any_day or self.any_weekday:
            return (self.any_day or of_month in self.days) and (self.any_weekday or weekday in self.weekdays)
        return of_month in self.days or weekday in self.weekdays

    def next_after(self, moment: float, until: float | None = None) -> float | None:
        """The first firing strictly after a moment; None if there is none up to `until`."""
        first = int(moment // _MINUTE) + 1
        day, minute = divmod(first, _DAY // _MINUTE)
        last = day + _HORIZON_DAYS if until is None else int(until // _DAY)
        while day <= last:
            if self.fires_on(day):
                for hour in self.hours:
                    for one in self.minutes:
                        if hour * 60 + one >= minute:
                            found = float(day * _DAY + hour * 3600 + one * _MINUTE)
                            return found if until is None or found <= until else None
            day, minute = day + 1, 0
        return None

    def is_open(self, now: float, duration: float) -> bool:
        """Whether a window that opens with each firing and lasts so long is open: [fire, fire + duration)."""
        return self.next_after(now - duration, until=now) is not None


@dataclass(frozen=True, slots=True)
class Zoned:
    """A schedule read off the clocks of a zone. Everything that goes in and comes out is UTC."""

    schedule: Schedule
    zone: Zone = UTC

    def next_after(self, moment: float, until: float) -> float | None:
        """The first firing in (moment, until]."""
        for span in self.zone.spans(moment, until):
            if span.gap and span.since > moment and self._fell_into_gap(span):
                return span.since
            first = moment if span.since == moment else span.since - 1
            last = min(until, span.until - 1)
            found = self.schedule.next_after(first + span.offset, until=last + span.offset)
            if found is not None:
                return found - span.offset
        return None

    def _fell_into_gap(self, span: Span) -> bool:
        first, last = span.since + span.before, span.since + span.offset
        return self.schedule.next_after(first - 1, until=last - 1) is not None

    def is_open(self, now: float, duration: float) -> bool:
        return self.next_after(now - duration, until=now) is not None

    def next_change(self, now: float, duration: float, until: float) -> float | None:
        """When the window opens that is closed, or closes that is open; None if not up to `until`."""
        fired = self.next_after(now - duration, until=now)
        if fired is None:
            return self.next_after(now, until)
        while (later := self.next_after(fired, until=fired + duration)) is not None:
            fired = later
            if fired > until:
                return None
        return fired + duration if fired + duration <= until else None


@lru_cache(maxsize=4096)
def _date(day: int) -> tuple[int, int, int]:
    text = timestamps.text(float(day * _DAY))
    return int(text[:4]), int(text[5:7]), int(text[8:10])


@lru_cache(maxsize=1024)
def parse(text: str) -> Schedule:
    """Read a schedule; what is none is a `BadValue`."""
    words = _MACROS.get(text.strip(), text).split()
    if len(words) != len(_FIELDS):
        raise BadValue(f"{shown(text)} is no schedule; write minute, hour, day, month, weekday, such as '0 9 * * 1-5'")
    minutes, hours, days, months, weekdays = (_field(word, *about) for word, about in zip(words, _FIELDS, strict=True))
    found = Schedule(
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        days,
        months,
        frozenset(one % 7 for one in weekdays),
        words[2] in "*?",
        words[4] in "*?",
    )
    if not found.ever_fires:
        raise BadValue(f"{shown(text)} never comes: there is no such day")
    return found


def _field(text: str, name: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None or (match["step"] is not None and int(match["step"]) == 0):
            raise BadValue(f"{shown(part)} is no {name}")
        is_open = match["from"] in "*?"
        if is_open and match["to"] is not None:
            raise BadValue(f"{shown(part)} is no {name}")
        first = low if is_open else _number(match["from"], name)
        to_the_end = is_open or (match["step"] is not None and match["to"] is None)
        last = high if to_the_end else _number(match["to"] or match["from"], name)
        if not low <= first <= last <= high:
            raise BadValue(f"{shown(part)} is no {name}; it goes from {low} to {high}")
        found.update(range(first, last + 1, int(match["step"] or 1)))
    return frozenset(found)


def _number(text: str, name: str) -> int:
    if text.isdigit() and len(text) < 4:
        return int(text)
    known = _NAMES.get(name, {}).get(text.lower())
    if known is None:
        raise BadValue(f"{shown(text)} is no {name}")
    return known
