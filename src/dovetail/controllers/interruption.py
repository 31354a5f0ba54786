"""Machines that the cloud will take away: heard of, and their claims ended while there is time.

Where a command can be made of it their pods' next places are ordered first; a machine that may only be taken away some
day is otherwise left as it is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Final

from dovetail.clouds.port import Notice
from dovetail.controllers.act import Hands
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.queue import WorkQueue
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.disruption.interrupting import Warned
from dovetail.core.effects import Count, Say, Step
from dovetail.core.lifecycle import interruption

#: What is told and counted of a claim whose end is somebody else's business.
_TOLD: Final = (Say, Count)


async def _nobody(claim: str, warned: Warned) -> bool:
    return False


@dataclass(slots=True)
class Interruptions:
    cluster: Cluster
    hands: Hands
    catalogs: CatalogCache
    failed: Callable[[Hashable, Exception], None]
    now: Callable[[], float] = time.time
    #: Whether a command sees to a claim; if not, it is ended here.
    taken_over: Callable[[str, Warned], Awaitable[bool]] = _nobody
    _queue: WorkQueue[Notice] = field(init=False)
    _waiting: dict[Notice, list[asyncio.Future[None]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed)

    def heard(self, notice: Notice) -> Awaitable[None]:
        """What this returns is over when the notice has been acted upon."""
        over = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(notice, []).append(over)
        self._queue.add(notice)
        return over

    async def run(self) -> None:
        await self._queue.run(workers=8)

    async def _one(self, notice: Notice) -> float | None:
        for claim in self.cluster.claims_of(notice.provider_id):
            gone = interruption.shortage(claim, notice.kind)
            if gone is not None:
                self.catalogs.mark(gone, self.now())
            nodes = self.cluster.nodes_of(notice.provider_id)
            step = interruption.interrupted(claim, notice.kind, notice.ends, nodes)
            waits = bool(step.effects) and notice.kind not in interruption.FORCEFUL
            taken = waits and await self.taken_over(claim.name, Warned(notice.kind, notice.ends))
            if taken or notice.kind == interruption.REBALANCE:
                step = Step(tuple(one for one in step.effects if isinstance(one, _TOLD if taken else Say)))
            await self.hands.perform(step)
        for one in self._waiting.pop(notice, ()):
            if not one.done():
                one.set_result(None)
        return None
