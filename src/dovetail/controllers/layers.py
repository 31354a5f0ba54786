"""What users lay over the catalog (NodeOverlays, InstanceTypes): put in force, and told whether it is.

An overlay that contradicts another of its weight is out of force everywhere; which ones do depends on the pools there
are, so a change of any of them is a reason to look at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.api.live.meta import condition_body
from dovetail.clouds.port import CloudError
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.queue import WorkQueue
from dovetail.controllers.snapshots import Snapshots
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.lifecycle import declared
from dovetail.core.lifecycle.declared import Declared
from dovetail.kube.client import Client
from dovetail.kube.errors import Conflict, NotFound
from dovetail.kube.patches import MergePatch


@dataclass(slots=True)
class Layers:
    cluster: Cluster
    snapshots: Snapshots
    catalogs: CatalogCache
    client: Client
    replan: Callable[[], None]
    failed: Callable[[Hashable, Exception], None]
    now: Callable[[], float] = time.time
    _queue: WorkQueue[str] = field(init=False)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._judge, self.failed)

    def listen(self) -> None:
        """Put in force what is there, and hear of what changes."""
        for store in (self.cluster.overlays, self.cluster.overrides):
            if store is not None:
                store.listen(self._changed)
        self.cluster.pools.listen(self._pool_changed)
        self._put_in_force()

    def _changed(self, old: Any, new: Any) -> None:
        if old is not None and new is not None and old.value.meta.generation == new.value.meta.generation:
            return
        self._put_in_force()

    def _pool_changed(self, old: Any, new: Any) -> None:
        if old is None or new is None or old.value.meta.generation != new.value.meta.generation:
            self._queue.add("all")

    def _put_in_force(self) -> None:
        if self.cluster.overlays is not None:
            usable = (one.value.value for one in self.cluster.overlays)
            self.catalogs.set_overlays([one for one in usable if one is not None])
        known = (one.value.value for one in self.cluster.overrides)
        self.catalogs.set_overrides([one for one in known if one is not None])
        self._queue.add("all")
        self.replan()

    async def run(self) -> None:
        await self._queue.run(1)

    async def _judge(self, key: str) -> float | None:
        """Conflicts show once every pool's catalog has been made."""
        for pool in self.snapshots.pools():
            if pool.problem is None:
                try:
                    self.catalogs.catalog(pool, self.now())
                except CloudError as failed:
                    self.failed(pool.name, failed)
        refused = self.catalogs.refused_overlays
        for one in self.cluster.overlays or ():
            clash = refused.get(one.value.meta.name)
            await self._saved(kinds.NODE_OVERLAYS, one.value, "" if clash is None else str(clash))
        for held in self.cluster.overrides:
            await self._saved(kinds.INSTANCE_TYPES, held.value, "")
        return None

    async def _saved(self, kind: Kind, one: Declared[Any], clash: str) -> None:
        after = declared.judged(one, clash, self.now())
        if after == one.conditions:
            return
        patch = MergePatch({"status": {"conditions": [condition_body(each) for each in after]}})
        try:
            await self.client.patch(kind, one.meta.name, patch, subresource="status")
        except (Conflict, NotFound):
            return  # it changed or went meanwhile, and is looked at again
