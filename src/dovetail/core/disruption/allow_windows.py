"""Windows in which nodes may go, as people say it: `Mon-Fri 09:00-17:00 Europe/Berlin; Drifted: Sat 10:00-12:00`.

Windows stand apart by `;`. Each may name reasons before a colon, days, one or more times of day, and a time zone; the
days are every day and the zone the pool's own where they are left out. A time that ends no later than it begins ends on
the next day. A window is open while a clock on the wall there shows a time within it, so on the day clocks go forward
it may be shorter, and on the day they go back it may open twice.

    a reason that some window names    may act while one of those is open
    any other reason                   may act while one that names none is open
    repair                             is held back only by windows that name Unhealthy

A pool without windows is always open. A window that cannot be read never opens, and says so; the others stay as they
are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.zones import UTC, Zone, Zones, only_utc
from dovetail.core.errors import BadInput, BadValue, shown

ANNOTATION: Final = "dovetail.dev/allow-windows"
_MOST: Final = 64
_DAY, _MINUTE, _DAY_MINUTES = 86400, 60, 1440
#: 1 January 1970 was a Thursday, with Monday as 0.
_FIRST_WEEKDAY: Final = 3
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ENTRY: Final = re.compile(
    r"(?:(?P<reasons>[A-Za-z][A-Za-z, ]*):)?\s*(?:(?P<days>[A-Za-z*][A-Za-z*,-]*)\s+)?"
    r"(?P<times>[0-9:,-]+)(?:\s+(?P<zone>[A-Za-z]\S*))?",
    re.ASCII,
)
_TIME: Final = re.compile(r"([0-9]{1,2}):([0-9]{2})-([0-9]{1,2}):([0-9]{2})", re.ASCII)
_PREFIX: Final = re.compile(r"([A-Za-z][A-Za-z, ]*):", re.ASCII)
EVERY_DAY: Final = frozenset(range(7))
#: Who is held back by a window that names no reason.
WITHOUT_REASON: Final = frozenset({Reason.EMPTY, Reason.DRIFTED, Reason.UNDERUTILIZED, Reason.EXPIRED})
NAMED: Final = tuple(one for one in Reason if one in WITHOUT_REASON or one is Reason.UNHEALTHY)


@dataclass(frozen=True, slots=True)
class Window:
    """One window as it was written. `times` are minutes of the day, an end past 1440 lies on the next day.

    `problem` is why it cannot be read; then it never opens.
    """

    text: str
    reasons: frozenset[Reason] | None = None
    days: frozenset[int] = EVERY_DAY
    times: tuple[tuple[int, int], ...] = ()
    zone: Zone = UTC
    problem: str = ""

    def is_open(self, moment: float) -> bool:
        day, second = divmod(self.zone.wall(moment), _DAY)
        today, before = (int(day) + _FIRST_WEEKDAY) % 7, (int(day) + _FIRST_WEEKDAY - 1) % 7
        minute = second / _MINUTE
        return any(
            (today in self.days and first <= minute < last)
            or (before in self.days and first <= minute + _DAY_MINUTES < last)
            for first, last in self.times
        )

    def edges(self, since: float, until: float) -> Iterator[float]:
        """The moments in (since, until] at which it may open or close, in order."""
        marks = sorted({mark % _DAY_MINUTES * _MINUTE for pair in self.times for mark in pair})
        for span in self.zone.spans(since, until):
            if span.since > since:
                yield span.since
            last = min(span.until, until)
            day = (span.since + span.offset) // _DAY
            while marks and day * _DAY - span.offset <= last:
                for mark in marks:
                    moment = day * _DAY + mark - span.offset
                    if span.since < moment <= last and moment < span.until:
                        yield moment
                day += 1


@dataclass(frozen=True, slots=True)
class Windows:
    """All windows of a pool."""

    windows: tuple[Window, ...] = ()

    def concerning(self, reason: Reason) -> tuple[Window, ...]:
        """The windows a reason has to keep to; none where it need not."""
        named = tuple(one for one in self.windows if one.reasons is not None and reason in one.reasons)
        if named or reason not in WITHOUT_REASON:
            return named
        return tuple(one for one in self.windows if one.reasons is None)

    def is_open(self, reason: Reason, moment: float) -> bool:
        some = self.concerning(reason)
        return not some or any(one.is_open(moment) for one in some)

    def next_change(self, reason: Reason, moment: float, until: float) -> float | None:
        """When a reason that may act no longer may, or the other way round; None if not before `until`."""
        some = self.concerning(reason)
        now = self.is_open(reason, moment)
        marks = sorted({edge for one in some for edge in one.edges(moment, until)})
        return next((mark for mark in marks if self.is_open(reason, mark) != now), None)

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(f"window {number + 1}: {one.problem}" for number, one in enumerate(self.windows) if one.problem)


NO_WINDOWS: Final = Windows()


# ---- reading


def read(text: str, zones: Zones = only_utc, zone: Zone | None = UTC) -> Windows:
    """The windows of an annotation. Nothing is raised: a window that cannot be read is kept with its problem.

    `zone` is that of windows which name none; None where nobody knows it.
    """
    parts = [part.strip() for part in text.split(";")]
    if len(parts) > _MOST:
        return Windows((Window(text[:_MOST], problem=f"these are more than {_MOST} windows"),))
    found = tuple(_window(part, zones, zone) for part in parts if part)
    return Windows(found or (Window(text, problem="it names no window; write it as Mon-Fri 09:00-17:00"),))


def _window(text: str, zones: Zones, zone: Zone | None) -> Window:
    reasons: frozenset[Reason] | None = None
    try:
        prefix = _PREFIX.match(text)
        reasons = None if prefix is None else reasons_of(prefix[1])
        entry = _ENTRY.fullmatch(text)
        if entry is None:
            raise BadValue(f"{shown(text)} is no window; write it as Mon-Fri 09:00-17:00 Europe/Berlin")
        times = tuple(_time(part) for part in entry["times"].split(","))
        days = EVERY_DAY if entry["days"] is None else _days(entry["days"])
        own = zone if entry["zone"] is None else zones(entry["zone"])
        if own is None:
            raise BadValue("it names no time zone, and that of the pool cannot be read")
        return Window(text, reasons, days, times, own)
    except BadInput as bad:
        return Window(text, reasons, problem=str(bad))


def reasons_of(text: str) -> frozenset[Reason]:
    """`Drifted, Empty`, in any case."""
    known = {one.lower(): one for one in NAMED}
    found = set()
    for word in text.split(","):
        reason = known.get(word.strip().lower())
        if reason is None:
            raise BadValue(f"{shown(word.strip())} is no reason; there are {', '.join(NAMED)}")
        found.add(reason)
    return frozenset(found)


def _days(text: str) -> frozenset[int]:
    if text.lower() in ("*", "daily"):
        return EVERY_DAY
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.lower().partition("-")
        numbers = [_DAYS.index(one) for one in ((first, last) if dash else (first,)) if one in _DAYS]
        if len(numbers) != 1 + bool(dash):
            raise BadValue(f"{shown(part)} is no day; there are {', '.join(one.title() for one in _DAYS)}")
        length = (numbers[-1] - numbers[0]) % 7
        found.update((numbers[0] + step) % 7 for step in range(length + 1))
    return frozenset(found)


def _time(text: str) -> tuple[int, int]:
    match = _TIME.fullmatch(text)
    if match is None:
        raise BadValue(f"{shown(text)} is no time of day; write it as 09:00-17:00")
    hours, minutes = (int(match[1]), int(match[3])), (int(match[2]), int(match[4]))
    first, last = hours[0] * 60 + minutes[0], hours[1] * 60 + minutes[1]
    if max(minutes) > 59 or first >= _DAY_MINUTES or last > _DAY_MINUTES:
        raise BadValue(f"{shown(text)} is no time of day; it goes from 00:00 to 24:00")
    return first, last if last > first else last + _DAY_MINUTES


def listed(windows: Iterable[Window]) -> str:
    return "; ".join(one.text for one in windows)
