"""Nodes whose command failed are left alone for a while, which doubles with every failure in a row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

FIRST_SECONDS: Final = 15.0
LONGEST_SECONDS: Final = 900.0


class Resting:
    """By node: until when it rests, and how often its commands failed in a row."""

    def __init__(self) -> None:
        self._until: dict[str, tuple[float, int]] = {}

    def failed(self, nodes: Iterable[str], now: float) -> None:
        # What has not failed for long is no longer in a row, and is most likely gone.
        self._until = {name: held for name, held in self._until.items() if now < held[0] + 2 * LONGEST_SECONDS}
        for name in nodes:
            count = self._until.get(name, (0.0, 0))[1] + 1
            self._until[name] = (now + min(FIRST_SECONDS * 2.0 ** (count - 1), LONGEST_SECONDS), count)

    def forget(self, nodes: Iterable[str]) -> None:
        for name in nodes:
            self._until.pop(name, None)

    def includes(self, nodes: Iterable[str], now: float) -> bool:
        return any(self._until.get(name, (0.0, 0))[0] > now for name in nodes)

    def next_end(self, now: float) -> float | None:
        """When the next of them has rested."""
        return min((until for until, _ in self._until.values() if until > now), default=None)
