"""Machines that the cloud will take away: heard of, and their claims ended while there is time."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from dovetail.clouds.port import Notice
from dovetail.controllers.act import Hands
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.queue import WorkQueue
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.lifecycle import interruption


@dataclass(slots=True)
class Interruptions:
    cluster: Cluster
    hands: Hands
    catalogs: CatalogCache
    failed: Callable[[Hashable, Exception], None]
    now: Callable[[], float] = time.time
    _queue: WorkQueue[Notice] = field(init=False)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed)

    def heard(self, notice: Notice) -> None:
        self._queue.add(notice)

    async def run(self) -> None:
        await self._queue.run(workers=8)

    async def _one(self, notice: Notice) -> float | None:
        for claim in self.cluster.claims_of(notice.provider_id):
            gone = interruption.shortage(claim, notice.kind)
            if gone is not None:
                self.catalogs.mark(gone, self.now())
            await self.hands.perform(interruption.interrupted(claim, notice.kind, notice.ends))
        return None
