"""Pods told which of them goes first when their owner scales down, so that scaling down empties nodes (newest §6).

Looked at every minute, and only if something changed; what is written then is no reason to look again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from dovetail.api import kinds
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.disruption.loop import LONGEST_REST_SECONDS, Disruption
from dovetail.controllers.metrics import Metrics, Sample
from dovetail.controllers.supervision import Rest, keep_on
from dovetail.controllers.telling import Telling
from dovetail.core.disruption import deletion_costs
from dovetail.core.disruption.deletion_costs import ANNOTATION, Patch, Written
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.scenes import settle
from dovetail.core.effects import Count
from dovetail.core.scheduling.shelf import Shelf
from dovetail.kube.client import Client
from dovetail.kube.errors import Conflict, KubeError, NotFound
from dovetail.kube.patches import MergePatch

SECONDS: Final = 60.0
_AT_ONCE: Final = 50
_WRITES: Final = "pod_deletion_cost_pod_annotation_writes_total"


def declare(metrics: Metrics) -> None:
    metrics.counter(_WRITES, "Deletion costs written on pods, by what came of it.", "result")


@dataclass(slots=True)
class DeletionCosts:
    cluster: Cluster
    client: Client
    loop: Disruption
    telling: Telling
    failed: Callable[[Hashable, Exception], None]
    #: Of its own: a pass may be planning at the same time.
    _shelf: Shelf = field(default_factory=Shelf)
    _seen: int = -1
    _waiting: dict[str, int] = field(default_factory=dict)

    def declare(self, metrics: Metrics) -> None:
        told = "Nodes whose pods are still to be told what they cost."
        metrics.gauge("pod_deletion_cost_nodes_with_pending_annotation_writes", told, self._pending, "nodepool")

    def _pending(self) -> Iterator[Sample]:
        for pool, count in self._waiting.items():
            yield {"nodepool": pool}, float(count)

    async def run(self) -> None:
        await asyncio.sleep(SECONDS)
        await keep_on(self._turn, partial(self.failed, "deletion costs"), Rest(SECONDS, LONGEST_REST_SECONDS))

    async def _turn(self) -> float:
        if self.loop.is_ready() and self._seen != self.loop.changes:
            await self.once()
        return SECONDS

    async def once(self) -> None:
        """Write what is to be written now."""
        world = self.loop.world()
        found = await self.loop.beside(self._written, world)
        await self._write(found.patches)
        # With nodes left over the next look is not to wait for a change.
        self._seen = -1 if found.waiting else self.loop.changes
        pools = Counter(_pool(world, name) for name in found.waiting)
        self._waiting = {**dict.fromkeys(world.pools, 0), **pools}

    def _written(self, world: World) -> Written:
        return deletion_costs.written(world, settle(world, self._shelf))

    async def _write(self, patches: tuple[Patch, ...]) -> None:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(patch: Patch) -> None:
            async with gate:
                self.telling.count(Count(_WRITES, {"result": await self._patched(patch)}))

        await asyncio.gather(*(one(patch) for patch in patches))

    async def _patched(self, patch: Patch) -> str:
        pod = patch.pod
        held = self.cluster.pods.get(pod.name, pod.namespace)
        if held is None or held.uid != pod.uid:
            return "skipped_notfound"
        body = {"metadata": {"resourceVersion": str(held.version), "annotations": {ANNOTATION: patch.value}}}
        try:
            await self.client.patch(kinds.PODS, pod.name, MergePatch(body), pod.namespace)
        except NotFound:
            return "skipped_notfound"
        except Conflict:
            return "skipped_conflict"
        except KubeError as failed:
            self.failed(pod.key, failed)
            return "error"
        return "updated"


def _pool(world: World, name: str) -> str:
    claim = world.machines[name].claim
    return "" if claim is None else claim.pool or ""
