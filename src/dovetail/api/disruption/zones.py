"""Time zones from the machine's own database, as the tables that core asks.

A table is made once for each name, by looking at the zone week by week and then closer where its offset changed; no
zone changes twice within a week.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dovetail.core.disruption import zones
from dovetail.core.disruption.zones import Zone
from dovetail.core.errors import BadValue, shown

_WEEK: Final = 7 * 86400
_FIRST: Final = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp())
_LAST: Final = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp())
_LONGEST_NAME: Final = 64


@lru_cache(maxsize=256)
def named(name: str) -> Zone:
    """A zone of the IANA database (`Europe/Berlin`, `UTC`); a name it does not have is a `BadValue`."""
    if name == zones.UTC.name:
        return zones.UTC
    return Zone(name, _table(_found(name)))


def _found(name: str) -> ZoneInfo:
    try:
        if not name or len(name) > _LONGEST_NAME or not name.isascii():
            raise ZoneInfoNotFoundError
        return ZoneInfo(name)
    # A folder of the database, a path out of it, a file that is no zone: all of them are names nobody meant.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadValue(f"{shown(name)} is no time zone that is known here; write it as Europe/Berlin or UTC") from None


def _table(zone: ZoneInfo) -> tuple[tuple[float, int], ...]:
    offset = _offset(zone, _FIRST)
    turns = [(float(_FIRST), offset)]
    for week in range(_FIRST, _LAST, _WEEK):
        after = _offset(zone, week + _WEEK)
        if after != offset:
            turns.append((float(_turn(zone, week, week + _WEEK)), after))
            offset = after
    return tuple(turns)


def _turn(zone: ZoneInfo, before: int, after: int) -> int:
    """The first second of the new offset, which is the one at `after`."""
    new = _offset(zone, after)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(zone, middle) == new:
            after = middle
        else:
            before = middle
    return after


def _offset(zone: ZoneInfo, moment: int) -> int:
    found = datetime.fromtimestamp(moment, zone).utcoffset()
    return int((found or timedelta(0)).total_seconds())
