"""NodeRegistrationHealthy: whether a pool's machines come up, judged by its last four (§2.7).

Two failures among the last four make a pool unhealthy, whatever else is there. Nothing depends on it but people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

REMEMBERED: Final = 4
_UNHEALTHY: Final = 2


@dataclass(frozen=True, slots=True)
class Window:
    """The last few launches of one pool, oldest first."""

    results: tuple[bool, ...] = ()

    def after(self, healthy: bool) -> Window:
        return Window((*self.results, healthy)[-REMEMBERED:])

    @property
    def healthy(self) -> bool | None:
        """None while nothing is known."""
        if not self.results:
            return None
        return self.results.count(False) < _UNHEALTHY


def seeded(status: str | None) -> Window:
    """What a restart can still know: the condition the pool was left with."""
    if status == "True":
        return Window((True,))
    return Window((False,) * _UNHEALTHY) if status == "False" else Window()
