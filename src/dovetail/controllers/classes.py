"""Node classes stay until the last claim that was launched with them is gone: whoever ends a machine needs to know how
it was made."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dovetail.api.fields import Fields
from dovetail.api.kinds import Kind
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.queue import WorkQueue
from dovetail.kube.client import Client
from dovetail.kube.errors import Conflict, NotFound
from dovetail.kube.patches import MergePatch


def finalizer_of(kind: Kind) -> str:
    return f"{kind.group}/termination"


@dataclass(frozen=True, slots=True)
class Key:
    kind: Kind
    name: str


@dataclass(slots=True)
class Classes:
    cluster: Cluster
    client: Client
    failed: Callable[[Hashable, Exception], None]
    _queue: WorkQueue[Key] = field(init=False)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed)

    def listen(self) -> None:
        for kind, store in self.cluster.classes.items():
            store.listen(partial(self._class_changed, kind))
            for held in store:
                self._queue.add(Key(kind, held.key[1]))
        self.cluster.claims.listen(self._claim_changed)

    def _class_changed(self, kind: Kind, old: Any, new: Any) -> None:
        if new is not None:
            self._queue.add(Key(kind, new.key[1]))

    def _claim_changed(self, old: Any, new: Any) -> None:
        if new is None and old is not None:
            ref = old.value.node_class
            for kind in self.cluster.classes:
                if (kind.group, kind.name) == (ref.group, ref.kind):
                    self._queue.add(Key(kind, ref.name))

    async def run(self) -> None:
        await self._queue.run(2)

    async def _one(self, key: Key) -> float | None:
        held = self.cluster.classes[key.kind].get(key.name)
        if held is None:
            return None
        about = held.value.map("metadata")
        given = about.wire.get("finalizers")
        there = tuple(str(one) for one in given) if isinstance(given, list) else ()
        mine = finalizer_of(key.kind)
        if about.has("deletionTimestamp"):
            if mine not in there or self._is_used(key):
                return None
            after = [one for one in there if one != mine]
        elif mine in there:
            return None
        else:
            after = [*there, mine]
        return await self._saved(key, about, after)

    async def _saved(self, key: Key, about: Fields, finalizers: list[str]) -> float | None:
        body = {"finalizers": finalizers, "resourceVersion": about.text("resourceVersion") or ""}
        try:
            await self.client.patch(key.kind, key.name, MergePatch({"metadata": body}))
        except (Conflict, NotFound):
            return 1.0
        return None

    def _is_used(self, key: Key) -> bool:
        ref = (key.kind.group, key.kind.name, key.name)
        held = (one.value.node_class for one in self.cluster.claims)
        return any((one.group, one.kind, one.name) == ref for one in held)
