"""Time zones as tables: from which moment on clocks on the wall show how much more than UTC.

The tables are read by the shell (`api.disruption.zones`); here they are values. A zone is known by its name: two tables
under one name are the same zone.

Clocks are turned twice a year in many places. Forward, and some times of that day never come (a *gap*); back, and some
come twice. Whoever asks what a clock shows is answered for every moment; whoever waits for a time that fell into a gap
is served when the gap is over, since a budget that keeps nodes from 02:00 on was not meant to be off for a day.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Final

from dovetail.core import timestamps
from dovetail.core.errors import BadValue, shown


@dataclass(frozen=True, slots=True)
class Span:
    """A time during which clocks are not turned: [since, until). `before` is what they showed just before."""

    since: float
    until: float
    offset: int
    before: int

    @property
    def gap(self) -> int:
        """Seconds that clocks skipped when it began."""
        return max(0, self.offset - self.before)


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone. `turns` are (moment, seconds ahead of UTC from then on), ascending; the first holds before, too."""

    name: str
    turns: tuple[tuple[float, int], ...] = field(default=((0.0, 0),), compare=False, repr=False)

    def offset(self, moment: float) -> int:
        return self.turns[self._at(moment)][1]

    def wall(self, moment: float) -> float:
        """What a clock there shows, as seconds that count as if it were UTC."""
        return moment + self.offset(moment)

    def spans(self, since: float, until: float = inf) -> Iterator[Span]:
        """The spans that reach into [since, until], in order; the first begins no earlier than `since`."""
        at = self._at(since)
        begun = since
        while at < len(self.turns) and begun <= until:
            ends = self.turns[at + 1][0] if at + 1 < len(self.turns) else inf
            offset = self.turns[at][1]
            turned = at > 0 and begun == self.turns[at][0]
            yield Span(begun, ends, offset, self.turns[at - 1][1] if turned else offset)
            begun, at = ends, at + 1

    def text(self, moment: float) -> str:
        """For people: 2026-03-29 03:00 Europe/Berlin."""
        return f"{timestamps.text(self.wall(moment))[:16].replace('T', ' ')} {self.name}"

    def _at(self, moment: float) -> int:
        return max(0, bisect_right(self.turns, (moment, inf)) - 1)


UTC: Final = Zone("UTC")
#: Finds a zone by its name; one it does not know is a `BadValue`.
Zones = Callable[[str], Zone]


def only_utc(name: str) -> Zone:
    """For those who have no tables."""
    if name == UTC.name:
        return UTC
    raise BadValue(f"{shown(name)} is not a time zone that is known here; UTC is")
