"""Waves: how far a roll-out may go before it looks at what it did.

`1, 10%, 50%` replaces one node, waits until it is up, goes on to a tenth of the pool, to half of it, and then to the
end. `10%/30m` looks on for half an hour before the next wave begins. Budgets hold
besides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from dovetail.core import timestamps
from dovetail.core.errors import BadValue, shown

ANNOTATION: Final = "dovetail.dev/rollout-waves"
_WAVE: Final = re.compile(r"(?P<number>[0-9]{1,6})(?P<percent>%)?(?:/(?P<soak>\S+))?", re.ASCII)
_MOST: Final = 32


@dataclass(frozen=True, slots=True)
class Wave:
    """So many nodes, or so many hundredths of the pool, replaced since the roll-out began; then `soak` seconds."""

    size: int
    percent: bool = False
    soak: float = 0.0

    def goal(self, total: int) -> int:
        """How many nodes of so many are replaced when it is over."""
        return min(total, -(-self.size * total // 100) if self.percent else self.size)

    def __str__(self) -> str:
        return f"{self.size}{'%' if self.percent else ''}"


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a roll-out stands: the number of its wave, how many may be replaced in it, and until when it looks on."""

    wave: int
    goal: int
    soaks_until: float | None = None


@dataclass(frozen=True, slots=True)
class Waves:
    waves: tuple[Wave, ...] = ()

    def stand(self, total: int, up: Sequence[float], now: float) -> Stand:
        """Where a roll-out of so many nodes stands. `up` is since when each replacement is up, ascending."""
        reached = 0
        for number, wave in enumerate(self.waves):
            # A wave that is smaller than one before it, as percentages of a small pool may be, is over with it.
            goal = reached = max(reached, wave.goal(total))
            if len(up) < goal:
                return Stand(number, goal)
            if goal and wave.soak and goal < total and now < up[goal - 1] + wave.soak:
                return Stand(number, goal, up[goal - 1] + wave.soak)
        return Stand(len(self.waves), total)

    def __bool__(self) -> bool:
        return bool(self.waves)

    def __str__(self) -> str:
        return ", ".join(str(one) for one in self.waves)


NO_WAVES: Final = Waves()


def parse(text: str) -> Waves:
    """`1, 10%/30m, 50%`; what is none is a `BadValue`."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > _MOST:
        raise BadValue(f"these are more than {_MOST} waves")
    found = tuple(_wave(part) for part in parts)
    for one, other in pairwise(found):
        if one.percent == other.percent and other.size <= one.size:
            raise BadValue(f"wave {other} is no larger than {one} before it; waves count from the beginning")
    return Waves(found)


def _wave(text: str) -> Wave:
    match = _WAVE.fullmatch(text)
    if match is None:
        raise BadValue(f"{shown(text)} is no wave; write waves as 1, 10%/30m, 50%")
    size, percent = int(match["number"]), match["percent"] is not None
    if size == 0 or (percent and size > 100):
        raise BadValue(f"{shown(text)} is no wave; it is at least one node and at most 100%")
    return Wave(size, percent, 0.0 if match["soak"] is None else timestamps.duration(match["soak"]))


def with_canary(canary: int, waves: Waves) -> Waves:
    """A canary is a first wave."""
    return Waves((Wave(canary), *waves.waves)) if canary else waves
