"""`kill -9` of a process of machines: at one of its effects, or at one of its cloud's answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.live.live_machines import Killed, LiveMachines

from dovetail.core.effects import Delete, SaveNode
from dovetail.core.machines.effects import Buy, Discard, Effect, MakeMachine, Own, SaveInfra, SaveMachine

#: Effects after which something is different; before each of them is after another.
CHANGES = (Buy, Delete, Discard, MakeMachine, Own, SaveInfra, SaveMachine, SaveNode)


class Killer:
    """Ends the process once: at one boundary, or when its cloud has answered so often, counted from the start."""

    def __init__(self, boundary: int = 0, answer: int = 0) -> None:
        self.boundary, self.answer = boundary, answer
        self.crossed, self.answered, self.where = 0, 0, ""

    def __call__(self, effect: Effect, after: bool) -> None:
        if after and isinstance(effect, CHANGES):
            self.crossed += 1
            if self.crossed == self.boundary:
                self.kill(f"after {type(effect).__name__}")

    def heard(self, what: str = "") -> None:
        """What the cloud was asked for is done, and nobody lives to hear of it."""
        self.answered += 1
        if self.answered == self.answer:
            self.kill(f"at answer {self.answer} {what}".rstrip())

    def kill(self, where: str) -> None:
        self.where = where
        raise Killed(where)


class After(Killer):
    """Ends it after the first effect of a kind."""

    def __init__(self, is_it: Callable[[Effect], bool]) -> None:
        super().__init__()
        self._is_it = is_it

    def __call__(self, effect: Effect, after: bool) -> None:
        if after and not self.where and self._is_it(effect):
            self.kill(f"after {type(effect).__name__}")


@asynccontextmanager
async def watched(
    one: LiveMachines, meanwhile: Callable[[], None] = lambda: None, away: float = 0.0
) -> AsyncIterator[None]:
    """A process is started anew whenever it has died, `away` seconds later; `meanwhile` happens before."""

    async def guard() -> None:
        while True:
            await asyncio.sleep(0.5)
            if one.is_dead:
                await one.stop()
                meanwhile()
                await asyncio.sleep(away)
                one.start()

    task = asyncio.create_task(guard(), name="guard")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
