"""The loop of clusters: infrastructure clusters that are ready as they are written say so, and so does a Cluster where
ours is the core. Few objects that seldom change: two watches and one worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.cluster_api import grounds as wire
from dovetail.api.kinds import Kind
from dovetail.controllers.cluster_api.loops import Key
from dovetail.controllers.queue import WorkQueue
from dovetail.controllers.supervision import Later
from dovetail.core.machines import grounds
from dovetail.core.machines.grounds import Ground, InfraCluster
from dovetail.core.machines.objects import Meta
from dovetail.kube.client import Client
from dovetail.kube.decoding import Plain, Stored
from dovetail.kube.errors import Conflict, NotFound
from dovetail.kube.patches import MergePatch
from dovetail.kube.store import Store
from dovetail.kube.watch import Options, Reflector

_WORKERS: Final = 1


@dataclass(slots=True)
class Grounds:
    """Looks after infrastructure clusters of these kinds, and with `core` after the Clusters that refer to them."""

    client: Client
    kinds: tuple[Kind, ...]
    core: bool
    failed: Callable[[Hashable, Exception], None]
    now: Callable[[], float] = time.time
    options: Options | None = None
    may_act: Callable[[], bool] | None = None
    _clusters: Store[Stored[Ground]] = field(default_factory=Store)
    _infra: dict[Kind, Store[Stored[InfraCluster]]] = field(default_factory=dict)
    _queue: WorkQueue[Key] = field(init=False)

    def __post_init__(self) -> None:
        self._infra = {kind: Store() for kind in self.kinds}
        self._queue = WorkQueue(self._one, self.failed)

    async def run(self) -> None:
        """Until cancelled."""
        found: list[Reflector[Any]] = []
        for kind, store in self._infra.items():
            store.listen(partial(self._changed, kind))
            found.append(Reflector(self.client, kind, Plain(partial(wire.infra_cluster, kind)), store, self.options))
        if self.core:
            self._clusters.listen(partial(self._changed, kinds.CLUSTERS))
            found.append(Reflector(self.client, kinds.CLUSTERS, Plain(wire.ground), self._clusters, self.options))
        async with asyncio.TaskGroup() as group:
            for one in found:
                group.create_task(one.run(), name=f"watch {one.kind}")
            group.create_task(self._queue.run(_WORKERS), name="clusters")

    def _changed(self, kind: Kind, old: Stored[Any] | None, new: Stored[Any] | None) -> None:
        one = new or old
        if one is None:
            return
        self._queue.add(Key(kind, *one.key))
        if kind is kinds.CLUSTERS:
            return
        for held in self._clusters:
            ref = held.value.infrastructure
            if held.key[0] == one.key[0] and ref is not None and (ref.kind, ref.name) == (kind.name, one.key[1]):
                self._queue.add(Key(kinds.CLUSTERS, *held.key))

    async def _one(self, key: Key) -> float | None:
        kind = key.kind
        if kind is kinds.CLUSTERS:
            held = self._clusters.get(key.name, key.namespace)
            if held is not None:
                await self._rise(held.value)
            return None
        found = self._infra[kind].get(key.name, key.namespace)
        if found is not None:
            after = grounds.prepared(found.value, self.now())
            if after != found.value:
                await self._tell(kind, after.meta, wire.infra_status(after))
        return None

    async def _rise(self, ground: Ground) -> None:
        ref = ground.infrastructure
        kind = next((one for one in self._infra if ref is not None and ref.kind == one.name), None)
        if ref is not None and kind is None:
            return  # another cloud's, and another process's
        infra = self._infra[kind].get(ref.name, ground.cluster.meta.namespace) if ref is not None and kind else None
        after = grounds.risen(ground, infra.value if infra is not None else None, self.now())
        if after != ground:
            await self._tell(kinds.CLUSTERS, ground.cluster.meta, wire.cluster_status(after))

    async def _tell(self, kind: Kind, meta: Meta, status: dict[str, Any]) -> None:
        if self.may_act is not None and not self.may_act():
            raise Later("another process holds the lease")
        patch = MergePatch({"metadata": {"resourceVersion": meta.version}, "status": status})
        try:
            await self.client.patch(kind, meta.name, patch, meta.namespace, subresource="status")
        except (Conflict, NotFound) as changed:
            raise Later(str(changed)) from None
