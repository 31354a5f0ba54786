"""CapacityBuffers: what each comes to, its pods for the planner, and what it is told about them.

Buffers are looked at when they change, when a template or workload they name does, and every half minute. Each look,
even one that finds nothing, is a reason to plan: room that real pods took has to be made anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dovetail.api import buffers, kinds
from dovetail.api.buffers import KIND, Buffer, References, Resolved
from dovetail.api.live import buffers as wire
from dovetail.api.live.buffers import BufferRecord, Told
from dovetail.api.pods import Shapes
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.queue import WorkQueue
from dovetail.controllers.snapshots import Snapshots
from dovetail.core.conditions import Moment
from dovetail.core.lifecycle import buffers as rules
from dovetail.core.lifecycle.buffers import Room
from dovetail.core.pods import Pod
from dovetail.core.scheduling.problem import Plan
from dovetail.kube.client import Client
from dovetail.kube.errors import Conflict, NotFound
from dovetail.kube.patches import MergePatch
from dovetail.kube.store import Key

SECONDS: Final = 30.0


def is_virtual(pod: Pod) -> bool:
    return pod.owner == KIND


@dataclass(slots=True)
class Buffers:
    cluster: Cluster
    snapshots: Snapshots
    client: Client
    replan: Callable[[], None]
    failed: Callable[[Hashable, Exception], None]
    now: Callable[[], float] = time.time
    _resolved: dict[Key, Resolved] = field(default_factory=dict)
    _queue: WorkQueue[Key] = field(init=False)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed)

    def listen(self) -> None:
        if self.cluster.buffers is None:
            return
        self.cluster.buffers.listen(self._buffer_changed)
        for store in (self.cluster.templates, *self.cluster.scalables.values()):
            if store is not None:
                store.listen(lambda old, new: self._all())
        self._all()

    def _all(self) -> None:
        for held in self.cluster.buffers or ():
            self._queue.add(held.key)

    def _buffer_changed(self, old: Any, new: Any) -> None:
        if new is None:
            self._resolved.pop(old.key, None)
            self._queue.forget(old.key)
            self.replan()
        elif old is None or old.value.meta.generation != new.value.meta.generation:
            self._queue.add(new.key)

    async def run(self) -> None:
        await self._queue.run(2)

    # ---- what each comes to

    async def _one(self, key: Key) -> float | None:
        record = self._record(key)
        if record is None:
            return None
        found, reason, message = self._looked_up(record)
        if found is None:
            self._resolved.pop(key, None)
        else:
            self._resolved[key] = found
        at = Moment(self.now(), record.meta.generation)
        held = rules.resolved(record.told.conditions, reason, message, at)
        if found is None or not found.pods:
            held = rules.provisioned(held, 0, Room(), at)
        after = replace(record.told, conditions=held)
        if found is not None and record.buffer is not None:
            after = self._described(after, record.buffer, found)
        await self._saved(record, after)
        self.replan()
        return SECONDS

    def _record(self, key: Key) -> BufferRecord | None:
        held = self.cluster.buffers.get(key[1], key[0]) if self.cluster.buffers is not None else None
        return held.value if held is not None else None

    def _looked_up(self, record: BufferRecord) -> tuple[Resolved | None, str, str]:
        if record.buffer is None:
            return None, rules.FAILED, record.problem
        known = self._references(record.buffer)
        found = buffers.resolve(record.buffer, known, self.cluster.drafts, Shapes(self.snapshots.surroundings()))
        if found.problem is None:
            return found, rules.RESOLVED, ""
        if record.buffer.template and not known.templates:
            return None, rules.NO_TEMPLATE, found.problem
        if record.buffer.scalable is not None and not known.workloads:
            return None, rules.NO_WORKLOAD, found.problem
        return None, rules.FAILED, found.problem

    def _references(self, one: Buffer) -> References:
        if one.template and self.cluster.templates is not None:
            held = self.cluster.templates.get(one.template, one.namespace)
            return References({} if held is None else {held.value[0]: held.value[1]})
        if one.scalable is not None:
            kind, name = one.scalable
            store = self.cluster.scalables.get(kind)
            found = store.get(name, one.namespace) if store is not None else None
            if found is not None:
                return References(workloads={(kind, one.namespace, name): found.value})
        return References()

    def _described(self, told: Told, one: Buffer, found: Resolved) -> Told:
        held = self.cluster.templates.get(one.template, one.namespace) if self.cluster.templates is not None else None
        generation = held.value[2] if held is not None and one.template else None
        return replace(
            told, replicas=len(found.pods), template=one.template, generation=generation, strategy=one.strategy
        )

    async def _saved(self, record: BufferRecord, after: Told) -> None:
        patch = wire.status_patch(record.told, after)
        if patch is None:
            return
        where = (record.meta.name, MergePatch(patch), record.namespace)
        try:
            await self.client.patch(kinds.CAPACITY_BUFFERS, *where, subresource="status")
        except (Conflict, NotFound):
            return  # it changed or went meanwhile, and is looked at again

    # ---- planning

    def pods(self) -> Iterator[Pod]:
        """The pods of every buffer that is known, to be planned like real ones."""
        for one in self._resolved.values():
            yield from one.pods

    async def planned(self, plan: Plan) -> None:
        """Tell every buffer where its pods went."""
        rooms: dict[str, Room] = {}
        for placed in plan.placed:
            _count(rooms, placed.pods, there=1)
        for claim in plan.claims:
            _count(rooms, claim.pods, new=1)
        for refused in plan.refused:
            _count(rooms, refused.pods, refused=1)
        for held in tuple(self.cluster.buffers or ()):
            await self._told(held.value, rooms.get(held.uid, Room()))

    async def _told(self, record: BufferRecord, room: Room) -> None:
        at = Moment(self.now(), record.meta.generation)
        held = rules.provisioned(record.told.conditions, record.told.replicas or 0, room, at)
        await self._saved(record, replace(record.told, conditions=held))


def _count(rooms: dict[str, Room], pods: tuple[Pod, ...], there: int = 0, new: int = 0, refused: int = 0) -> None:
    for pod in pods:
        if is_virtual(pod):
            uid = pod.uid.rpartition("-")[0]
            was = rooms.get(uid, Room())
            rooms[uid] = Room(was.there + there, was.new + new, was.refused + refused)
