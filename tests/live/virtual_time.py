"""An event loop whose time passes only while nobody has anything to do.

Sockets are real: a loop that waits for its next timer looks once more whether bytes have arrived, and if none have,
that timer is due. So five minutes of patience take as long as what happens in them, and the order in which things
happen is the order of their times. Threads would be left behind: planning is done in the loop itself.
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


class _Selector(selectors.DefaultSelector):
    """Waits for nothing, and says how long it would have."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if found or (timeout is not None and timeout <= 0):
            return found
        found = super().select(LOOK_AGAIN if timeout is not None else 0.05)
        if not found and timeout is not None:
            self.passed += timeout
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.passed


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
