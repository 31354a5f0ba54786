"""What is looked at from time to time, whatever happens: machines nobody claims, and claims whose machine is gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from dovetail.clouds.port import Cloud, CloudError
from dovetail.controllers.act import Hands
from dovetail.controllers.cluster import Cluster
from dovetail.core.effects import Return, Step
from dovetail.core.lifecycle import upkeep
from dovetail.kube.errors import KubeError

SECONDS: Final = 120.0


@dataclass(slots=True)
class Upkeep:
    cluster: Cluster
    hands: Hands
    cloud: Cloud
    failed: Callable[[Hashable, Exception], None]
    now: Callable[[], float] = time.time
    every: float = SECONDS

    async def run(self) -> None:
        """At once, since whoever ran before may have died while buying; then every two minutes."""
        while True:
            try:
                await self.once()
            except (CloudError, KubeError) as failed:
                self.failed(self.cloud.name, failed)
            await asyncio.sleep(self.every)

    async def once(self) -> None:
        instances = await self.cloud.instances()
        claims = [one.value for one in self.cluster.claims if self.cluster.manages(one.value)]
        nodes = {one.value.provider_id: one.value for one in self.cluster.nodes if one.value.provider_id}
        known = {one.provider_id: one for one in instances}
        await self.hands.perform(Step(upkeep.vanished(claims, nodes, known)))
        for one in upkeep.unclaimed(instances, claims, self.now()):
            try:
                await self.hands.perform(Step((Return(one),)))
            except CloudError as failed:
                self.failed(one.provider_id, failed)
