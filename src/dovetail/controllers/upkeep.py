"""What is looked at from time to time, whatever happens: machines nobody claims, and claims whose machine is gone.

Nothing is decided from what is not known. While claims or Nodes are not served (somebody removed their definitions), or
their watch is in trouble, every machine would look unclaimed. And when suddenly many machines are without a claim, a
mistake is more likely than so many leaks: people are told, and have time to act before the first machine goes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from dovetail.api import kinds
from dovetail.clouds.port import Cloud, CloudError
from dovetail.controllers.act import Hands
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.draining import Pods
from dovetail.controllers.supervision import Rest, keep_on
from dovetail.core.effects import Return, Step
from dovetail.core.instances import Instance
from dovetail.core.lifecycle import upkeep
from dovetail.core.nodeclaims import NodeObject

SECONDS: Final = 120.0
_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class Upkeep:
    cluster: Cluster
    hands: Hands
    cloud: Cloud
    pods: Pods
    failed: Callable[[Hashable, Exception], None]
    now: Callable[[], float] = time.time
    every: float = SECONDS
    #: Since when, by the loop's clock, too many machines are without a claim.
    _suspected: float | None = field(default=None)

    async def run(self) -> None:
        """At once, since whoever ran before may have died while buying; then every two minutes."""
        await keep_on(self._turn, partial(self.failed, self.cloud.name), Rest(self.every, self.every))

    async def _turn(self) -> float:
        await self.once()
        return self.every

    async def once(self) -> None:
        if not all(self.cluster.sees(one) for one in (kinds.NODE_CLAIMS, kinds.NODES)):
            _log.info("no machine is looked for or returned while not all NodeClaims and Nodes are seen")
            return
        instances = await self.cloud.instances()
        claims = [one.value for one in self.cluster.claims]
        nodes = {one.value.provider_id: one.value for one in self.cluster.nodes if one.value.provider_id}
        known = {one.provider_id: one for one in instances}
        ours = [one for one in claims if self.cluster.manages(one)]
        await self.hands.perform(Step(upkeep.vanished(ours, nodes, known, self._moving)))
        lost = upkeep.unclaimed(instances, claims, self.now(), self.cluster.unreadable(kinds.NODE_CLAIMS))
        await self._returned(upkeep.returnable(lost, self._suspicion(len(lost), len(instances))))

    def _moving(self, node: NodeObject) -> int:
        return self.pods.moving(node.name)

    async def _returned(self, machines: Iterable[Instance]) -> None:
        for one in machines:
            try:
                await self.hands.perform(Step((Return(one),)))
            except CloudError as failed:
                self.failed(one.provider_id, failed)

    def _suspicion(self, lost: int, machines: int) -> float | None:
        """For how long too many machines have been without a claim; once it is so, until none is."""
        now = asyncio.get_running_loop().time()
        if self._suspected is None and upkeep.is_suspicious(lost, machines):
            self._suspected = now
            _log.error(
                "%d of %d machines have no NodeClaim, which looks like a mistake (an API server set back?): "
                "none is returned for %d minutes, then %d in each round. Scale this controller to 0 to keep them; "
                "end them in the cloud if nobody needs them",
                *(lost, machines, upkeep.MISTAKE_SECONDS // 60, upkeep.MOST_AT_ONCE),
            )
        elif not lost:
            self._suspected = None
        return None if self._suspected is None else now - self._suspected
