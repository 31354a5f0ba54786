"""Machines the cloud will take away: what they hold is planned and ordered before the first of their pods is evicted.

Notices of one moment are planned together: a market that takes one machine back often takes many.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from dovetail.controllers.disruption.loop import Disruption
from dovetail.controllers.supervision import attempted
from dovetail.core.disruption import interrupting
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.interrupting import Interrupted, Warned
from dovetail.core.scheduling.shelf import Shelf

#: Notices that come within so long of the first are planned with it.
TOGETHER_SECONDS: Final = 0.1


@dataclass(slots=True)
class TakenOver:
    """Turns notices into commands of the loop."""

    loop: Disruption
    #: Of its own: a pass may be planning at the same time.
    _shelf: Shelf = field(default_factory=Shelf)
    _warned: dict[str, Warned] = field(default_factory=dict)
    _planned: asyncio.Task[frozenset[str]] | None = None

    async def __call__(self, claim: str, warned: Warned) -> bool:
        """Whether a command sees to this claim; if not, it ends as it is."""
        if self.loop.dry_run or not self.loop.is_ready():
            return False
        self._warned[claim] = warned
        if self._planned is None:
            self._planned = asyncio.create_task(self._plan(), name="interrupted machines")
        return claim in await asyncio.shield(self._planned)

    async def _plan(self) -> frozenset[str]:
        await asyncio.sleep(TOGETHER_SECONDS)
        warned, self._warned, self._planned = self._warned, {}, None
        # The cloud does not wait: without a plan they are drained at once.
        failed = partial(self.loop.failed, "machines that are taken away, which end without a replacement")
        done = await attempted(partial(self._taken, warned), failed)
        return frozenset() if done is None else done.value

    async def _taken(self, warned: dict[str, Warned]) -> frozenset[str]:
        world = self.loop.world()
        return self._started(world, await self.loop.beside(self._commands, world, warned))

    def _commands(self, world: World, warned: dict[str, Warned]) -> tuple[Interrupted, ...]:
        of = {one.claim.name: name for name, one in world.machines.items() if one.claim is not None}
        named = {of[claim]: one for claim, one in warned.items() if claim in of}
        return interrupting.interrupted(world, named, self._shelf)

    def _started(self, world: World, found: tuple[Interrupted, ...]) -> frozenset[str]:
        taken: set[str] = set()
        for one in found:
            if self.loop.start(one.command, world, one.timing.drain_by):
                taken |= {held.claim.name for held in one.command.candidates}
        return frozenset(taken)
