"""An event loop whose time passes only while nobody has anything to do.

Sockets are real: a loop that waits for its next timer looks once more whether bytes have arrived, and if none have,
that timer is due. So five minutes of patience take as long as what happens in them, and the order in which things
happen is the order of their times. Threads would be left behind: planning is done in the loop itself.

A scenario that waits for what never comes would run for ever, since its time costs nothing. So a loop may turn only so
often, and may wait for sockets alone only so long; then it is `Hung`, with what everybody is waiting for.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

from dovetail.kube.clock import Clock

T = TypeVar("T")
#: 2027-01-15T08:00:00Z.
START = 1_800_000_000.0
#: Bytes sent over loopback have arrived by the time the sender is back; this is for machines that are busy.
LOOK_AGAIN = 0.0005
#: A multiple of what the longest scenario needs.
MOST_TURNS = 100_000
#: Nobody has a timer and no bytes come: this many looks of `STILL` seconds.
STILL, MOST_STILL = 0.05, 200


class Hung(AssertionError):
    """Nothing will come of it."""


class _Selector(selectors.DefaultSelector):
    """Waits for nothing, and says how long it would have."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0
        self.turns = self.still = 0
        self.most_turns, self.most_still = MOST_TURNS, MOST_STILL

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._turned()
        found = super().select(0)
        if found or (timeout is not None and timeout <= 0):
            self.still = 0
            return found
        found = super().select(LOOK_AGAIN if timeout is not None else STILL)
        self.still = 0 if found or timeout is not None else self.still + 1
        if not found and timeout is not None:
            self.passed += timeout
        return found

    def _turned(self) -> None:
        self.turns += 1
        if self.turns <= self.most_turns and self.still <= self.most_still:
            return
        told = f"after {self.turns} turns and {self.passed:.0f} virtual seconds"
        # Whoever cleans up may turn again, within the same bounds.
        self.turns = self.still = 0
        raise Hung(f"{told}: {_waiting()}")


def _waiting() -> str:
    """What the tasks that are not the controller's wait at."""
    found = []
    for task in asyncio.all_tasks(asyncio.get_running_loop()):
        frames = task.get_stack(limit=1)
        where = f" at {frames[-1].f_code.co_filename.rpartition('/')[2]}:{frames[-1].f_lineno}" if frames else ""
        found.append(f"{task.get_name()}{where}")
    return ", ".join(sorted(found)[:20])


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.passed

    def bound(self, turns: int = MOST_TURNS, still: int = MOST_STILL) -> None:
        """Other bounds than usual."""
        self._virtual.most_turns, self._virtual.most_still = turns, still


class World:
    """The date in a virtual loop; `jump` is somebody setting the machine's clock."""

    def __init__(self) -> None:
        self.jumped = 0.0

    def now(self) -> float:
        return START + asyncio.get_running_loop().time() + self.jumped

    def date(self) -> datetime:
        return datetime.fromtimestamp(START + asyncio.get_running_loop().time(), UTC)

    def clock(self) -> Clock:
        return Clock(now=lambda: asyncio.get_running_loop().time(), wall=self.now, chance=lambda: 0.5)


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(scenario)
