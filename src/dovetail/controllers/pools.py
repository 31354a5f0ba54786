"""NodePools kept true: validity, the node class's readiness, the drift hash, what their nodes add up to.

A pool is looked at when it changes, when its node class does, and, for what its nodes add up to, a moment after any of
its nodes changes: a thousand nodes that come up together are one write, not a thousand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.disruption import pools as disruption_pools
from dovetail.api.fields import Fields
from dovetail.api.live import meta, pools
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.queue import WorkQueue
from dovetail.controllers.snapshots import Snapshots
from dovetail.core import conditions
from dovetail.core.conditions import Condition, Status
from dovetail.core.effects import Health, Ref, Say
from dovetail.core.lifecycle import launch
from dovetail.core.lifecycle import pools as pool_rules
from dovetail.core.lifecycle.health import Window
from dovetail.core.lifecycle.pools import ClassState, PoolRecord
from dovetail.core.nodeclaims import DRIFTED, POOL_HASH, POOL_HASH_VERSION
from dovetail.core.nodepools import NodeClassRef
from dovetail.kube.client import Client
from dovetail.kube.errors import Conflict, NotFound
from dovetail.kube.patches import MergePatch

#: What nodes add up to is written at most this often.
COUNT_SECONDS: Final = 1.0
#: How often a pool says that its node class is not there.
RESOLVE_SECONDS: Final = 600.0


@dataclass(slots=True)
class Pools:
    cluster: Cluster
    snapshots: Snapshots
    client: Client
    replan: Callable[[], None]
    failed: Callable[[str, Exception], None]
    now: Callable[[], float] = time.time
    say: Callable[[Say], None] = lambda told: None
    _windows: dict[str, Window] = field(default_factory=dict)
    _told: dict[str, list[Health]] = field(default_factory=dict)
    _queue: WorkQueue[str] = field(init=False)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed)

    def listen(self) -> None:
        self.cluster.pools.listen(self._pool_changed)
        self.cluster.claims.listen(self._count_later)
        self.cluster.nodes.listen(self._node_changed)
        for kind, store in self.cluster.classes.items():
            store.listen(partial(self._class_changed, kind.name))

    def look_at(self, name: str) -> None:
        self._queue.add(name)

    def _pool_changed(self, old: Any, new: Any) -> None:
        if new is None:
            self._queue.forget(old.key[1])
            self._windows.pop(old.value.meta.uid, None)
            return
        self._queue.add(new.key[1])
        if old is None or old.value.meta.generation != new.value.meta.generation or _is_usable(old) != _is_usable(new):
            self.replan()

    def _count_later(self, old: Any, new: Any) -> None:
        pool = (new or old).value.pool
        if pool:
            self._queue.add(pool, COUNT_SECONDS)

    def _node_changed(self, old: Any, new: Any) -> None:
        for claim in self.cluster.claims_of((new or old).value.provider_id):
            if claim.pool:
                self._queue.add(claim.pool, COUNT_SECONDS)

    def _class_changed(self, kind: str, old: Any, new: Any) -> None:
        name = (new or old).key[1]
        for held in self.cluster.pools:
            ref = held.value.pool.node_class
            if (ref.kind, ref.name) == (kind, name):
                self._queue.add(held.value.name)

    def health(self, one: Health) -> None:
        """A machine of a pool came up, or did not."""
        self._told.setdefault(one.pool, []).append(one)
        self._queue.add(one.pool)

    async def run(self, workers: int = 8) -> None:
        await self._queue.run(workers)

    async def _one(self, name: str) -> float | None:
        record = self.cluster.pool(name)
        if record is None or not (record.problem or self.cluster.is_ours(record.pool.node_class)):
            return None
        try:
            await self._hashed(record)
            await self._saved(record, self._judged(record))
        except (Conflict, NotFound):
            return 1.0
        return self._told_of_class(record)

    def _told_of_class(self, record: PoolRecord) -> float | None:
        """A pool whose node class is not there says so again and again: events are forgotten after an hour."""
        ref = record.pool.node_class
        if record.problem or self._class_state(ref) is not None:
            return None
        about = Ref("NodePool", record.name, record.meta.uid)
        self.say(launch.unresolved(about, f"there is no {ref.kind} {ref.name}"))
        return RESOLVE_SECONDS

    def _judged(self, record: PoolRecord) -> PoolRecord:
        state = self._class_state(record.pool.node_class)
        after = pool_rules.judged(record, state, self.now())
        after = pool_rules.disruption_told(after, disruption_pools.of_record(record).sentence, self.now())
        after = pool_rules.counted(after, self.cluster.held(record.name))
        return self._health_judged(after, state.generation if state is not None else 0)

    def _class_state(self, ref: NodeClassRef) -> ClassState | None:
        for kind, store in self.cluster.classes.items():
            if (kind.group, kind.name) != (ref.group, ref.kind):
                continue
            held = _only(store, ref.name) if kind.namespaced else store.get(ref.name)
            if held is not None:
                about = held.value.map("metadata")
                generation = about.whole("generation", 0, 2**53) or 0
                # A class in a namespace is a template, which says nothing of itself.
                ready = conditions.true("Ready") if kind.namespaced else _ready(held.value)
                return ClassState(ready, about.has("deletionTimestamp"), generation)
        return None

    def _health_judged(self, record: PoolRecord, generation: int) -> PoolRecord:
        uid = record.meta.uid
        if uid not in self._windows:
            self._windows[uid] = pool_rules.seeded(record)
        if pool_rules.must_forget(record, generation):
            self._windows[uid] = Window()
            record = pool_rules.forgotten(record, generation, self.now())
        for one in self._told.pop(record.name, ()):
            if one.pool_uid == uid:
                record, self._windows[uid] = pool_rules.health_told(record, self._windows[uid], one, self.now())
        return record

    async def _saved(self, before: PoolRecord, after: PoolRecord) -> None:
        patch = pools.status_patch(before, after)
        if patch is not None:
            await self.client.patch(kinds.NODE_POOLS, before.name, MergePatch(patch), subresource="status")

    async def _hashed(self, record: PoolRecord) -> None:
        """Write the hash; claims of an older recipe get the new numbers, unless they had drifted before."""
        if record.problem:
            return
        after = pool_rules.hashed(record)
        changed = meta.changes(record.meta.annotations, after.meta.annotations)
        if not changed:
            return
        if POOL_HASH_VERSION in changed:
            await self._migrated(after)
        patch = MergePatch({"metadata": {"annotations": changed}})
        await self.client.patch(kinds.NODE_POOLS, record.name, patch)

    async def _migrated(self, after: PoolRecord) -> None:
        version = after.meta.annotations[POOL_HASH_VERSION]
        for claim in tuple(self.cluster.claims_of_pool(after.name)):
            if claim.meta.annotations.get(POOL_HASH_VERSION) == version:
                continue
            notes = {POOL_HASH_VERSION: version}
            if conditions.found(claim.conditions, DRIFTED) is None:
                notes[POOL_HASH] = after.meta.annotations[POOL_HASH]
            with suppress(NotFound):  # one that is gone does not keep the others from their numbers
                await self.client.patch(kinds.NODE_CLAIMS, claim.name, MergePatch({"metadata": {"annotations": notes}}))


def _is_usable(held: Any) -> bool:
    return bool(held.value.pool.ready)


def _only(store: Iterable[Any], name: str) -> Any:
    """The one of this name, whatever its namespace; pools cannot say which of several they mean."""
    found = [one for one in store if one.key[1] == name]
    return found[0] if len(found) == 1 else None


def _ready(wire: Fields) -> Condition | None:
    for one in wire.map("status").items("conditions"):
        if one.wire.get("type") == "Ready":
            text = str(one.wire.get("status"))
            status = Status(text) if text in tuple(Status) else Status.UNKNOWN
            return Condition("Ready", status, str(one.wire.get("reason") or ""), str(one.wire.get("message") or ""))
    return None
