"""Time for tests: it moves when told to, and nobody really sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dovetail.clouds.sim.cloud import Habits


class Clock:
    """Time that moves when told to, and wakes who sleeps."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        if seconds > 0:
            sleeper = asyncio.get_running_loop().create_future()
            self._sleepers.append((self.now + seconds, sleeper))
            await sleeper

    async def forward(self, seconds: float) -> None:
        await settled()
        self.now += seconds
        for until, sleeper in self._sleepers:
            if until <= self.now and not sleeper.done():
                sleeper.set_result(None)
        await settled()

    @property
    def habits(self) -> Habits:
        return Habits(now=lambda: self.now, sleep=self.sleep)


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario()

    asyncio.run(whole())
