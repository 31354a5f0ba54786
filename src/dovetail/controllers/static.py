"""Static pools, kept at their number."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.controllers.act import Hands
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.draining import Pods
from dovetail.controllers.provisioning import template_of
from dovetail.controllers.queue import WorkQueue
from dovetail.core.effects import Count, Create, Delete, Effect, Ref, Step
from dovetail.core.lifecycle import ordering, static
from dovetail.core.lifecycle.ordering import Wanted
from dovetail.core.lifecycle.pools import PoolRecord
from dovetail.core.lifecycle.static import Load
from dovetail.core.nodeclaims import NodeClaim

#: With nothing heard of it, a pool is looked at this often; sooner where a limit is in the way.
SECONDS: Final = 60.0
LIMITED_SECONDS: Final = 30.0


@dataclass(slots=True)
class Static:
    cluster: Cluster
    hands: Hands
    pods: Pods
    failed: Callable[[Hashable, Exception], None]
    now: Callable[[], float] = time.time
    _queue: WorkQueue[str] = field(init=False)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed)

    def listen(self) -> None:
        self.cluster.pools.listen(self._pool_changed)
        self.cluster.claims.listen(self._claim_changed)
        for one in self.cluster.pools:
            self._queue.add(one.value.name)

    def _pool_changed(self, old: Any, new: Any) -> None:
        self._queue.add((new or old).key[1])

    def _claim_changed(self, old: Any, new: Any) -> None:
        pool = (new or old).value.pool
        if pool and (old is None or new is None or old.value.is_deleting != new.value.is_deleting):
            self._queue.add(pool)

    async def run(self) -> None:
        await self._queue.run(4)

    async def _one(self, name: str) -> float | None:
        record = self.cluster.pool(name)
        if record is None or record.pool.replicas is None or not self._is_kept(record):
            return None
        now = static.standing(self.cluster.claims_of_pool(name))
        await self._shrunk(record, now)
        if not record.pool.ready:
            return SECONDS  # what is too much goes all the same; nothing can be bought
        lacking = static.missing(record.pool, now)
        if not all([await self._grown(record) for _ in range(lacking)]):
            return None  # a dry run: it was told, and nothing came of it
        short = (record.pool.replicas or 0) > len(now.active) + now.replaced + lacking
        return LIMITED_SECONDS if short else SECONDS

    def _is_kept(self, record: PoolRecord) -> bool:
        """Whether the pool is ours to keep at its number; others' pools have their own controllers."""
        return not record.problem and record.meta.deleting is None and self.cluster.is_ours(record.pool.node_class)

    async def _grown(self, record: PoolRecord) -> bool:
        claim = ordering.ordered(template_of(record, self.cluster.scope.well_known), Wanted(), "")
        answer = await self.hands.create(Create(claim, f"{record.name}-"))
        if answer is None:
            return False
        self.cluster.learn_claim(answer, new=True)
        created = {"reason": "provisioned", "nodepool": record.name, "min_values_relaxed": "false"}
        await self.hands.perform(Step((Count("nodeclaims_created_total", created),)))
        return True

    async def _shrunk(self, record: PoolRecord, now: static.Standing) -> None:
        loads = [self._load(one) for one in now.active] if len(now.active) > (record.pool.replicas or 0) else []
        gone: list[Effect] = [
            Delete(Ref("NodeClaim", one.name, one.meta.uid)) for one in static.surplus(record.pool, now, loads)
        ]
        await self.hands.perform(Step(tuple(gone)))

    def _load(self, claim: NodeClaim) -> Load:
        nodes = self.cluster.nodes_of(claim.provider_id)
        held = [one for node in nodes for one in self.pods.on(node.name)]
        costs = sum(self.pods.eviction_cost(node.name) for node in nodes)
        return Load(
            claim,
            sum(not one.daemon and not one.mirror for one in held),
            any(one.protected for one in held),
            costs * static.life_left(claim, self.now()),
        )
