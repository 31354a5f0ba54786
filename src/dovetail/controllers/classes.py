"""Node classes that point at things of their cloud: kept as long as anybody needs them, and kept true.

Such a class stays until the last claim that was launched with it is gone: whoever ends a machine needs to know how it
was made. What the cloud made for a class goes with it. A class that says by itself all there is to know is left alone:
nobody else would take a finalizer off it, and a cluster may be handed to somebody else any day.

A class of a cloud that resolves them is looked at when its spec changes and when the cloud says; what was found goes
into its status in one patch, if it is anything new. Claims that carry another version of its drift hash are told
first: whoever dies in between finds them as they were and tells them again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.fields import Fields
from dovetail.api.kinds import Kind
from dovetail.api.live import meta
from dovetail.clouds.port import ClassReport, NodeClasses
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.queue import WorkQueue
from dovetail.controllers.supervision import Rest, keep_on
from dovetail.core.effects import Ref, Say
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodeClassRef
from dovetail.kube.client import Client
from dovetail.kube.errors import Conflict, KubeError, NotFound
from dovetail.kube.patches import MergePatch

#: How many classes are looked at side by side: a look may wait for several answers of a cloud.
WORKERS: Final = 10
SWEEP_SECONDS: Final = 1800.0
#: A class that claims still need is looked at when the last of them goes, and now and then.
WAITING_SECONDS: Final = 600.0
_log: Final = logging.getLogger(__name__)


def finalizer_of(kind: Kind) -> str:
    return f"{kind.group}/termination"


@dataclass(frozen=True, slots=True)
class Key:
    kind: Kind
    name: str

    @property
    def ref(self) -> NodeClassRef:
        return NodeClassRef(self.kind.group, self.kind.name, self.name)


@dataclass(slots=True)
class Classes:
    cluster: Cluster
    client: Client
    failed: Callable[[Hashable, Exception], None]
    #: Who resolves them; None where a class says by itself all there is to know.
    resolver: NodeClasses | None = None
    say: Callable[[Say], None] = lambda event: None
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
        """Our own writes to its status change nothing that is looked at here."""
        if new is None:
            self._queue.forget(Key(kind, old.key[1]))
        elif old is None or _looked_at(old.value) != _looked_at(new.value):
            self._queue.add(Key(kind, new.key[1]))

    def _claim_changed(self, old: Any, new: Any) -> None:
        if new is None and old is not None:
            ref = old.value.node_class
            for kind in self.cluster.classes:
                if (kind.group, kind.name) == (ref.group, ref.kind):
                    self._queue.add(Key(kind, ref.name))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._queue.run(WORKERS), name="node classes")
            if self.resolver is not None:
                group.create_task(self._swept(self.resolver), name="leftovers of node classes")

    async def _swept(self, resolver: NodeClasses) -> None:
        async def turn() -> float:
            if all(self.cluster.sees(one) for one in (kinds.NODE_CLAIMS, *self.cluster.classes)):
                await resolver.sweep([one.value for one in self.cluster.claims])
            else:
                _log.info("nothing made for node classes is removed while not all of them and their claims are seen")
            return SWEEP_SECONDS

        await asyncio.sleep(SWEEP_SECONDS)
        await keep_on(turn, partial(self.failed, "sweep"), Rest(SWEEP_SECONDS, SWEEP_SECONDS))

    # ---- one class

    async def _one(self, key: Key) -> float | None:
        held = self.cluster.classes[key.kind].get(key.name)
        if held is None:
            return None
        about = held.value.map("metadata")
        given = about.wire.get("finalizers")
        there = tuple(str(one) for one in given) if isinstance(given, list) else ()
        mine = finalizer_of(key.kind)
        if self.resolver is None:
            # A finalizer of ours is from the days when every class had one.
            return await self._let_go(key, held.value, there)
        if about.has("deletionTimestamp"):
            return await self._going(self.resolver, key, held.value, there)
        if mine not in there:
            # The echo of this write brings it back here.
            return await self._saved(key, about, [*there, mine])
        return await self._resolved(self.resolver, key, held.value)

    async def _going(self, resolver: NodeClasses, key: Key, wire: Fields, there: Sequence[str]) -> float | None:
        if finalizer_of(key.kind) not in there:
            return None
        if claims := self._claims(key):
            self.say(_waiting(key, wire, claims))
            return WAITING_SECONDS
        await resolver.release(key.ref, wire.wire)
        return await self._let_go(key, wire, there)

    async def _let_go(self, key: Key, wire: Fields, there: Sequence[str]) -> float | None:
        left = [one for one in there if one != finalizer_of(key.kind)]
        return await self._saved(key, wire.map("metadata"), left) if len(left) < len(there) else None

    async def _saved(self, key: Key, about: Fields, finalizers: list[str]) -> float | None:
        body = {"finalizers": finalizers, "resourceVersion": about.text("resourceVersion") or ""}
        try:
            await self.client.patch(key.kind, key.name, MergePatch({"metadata": body}))
        except (Conflict, NotFound):
            return 1.0
        return None

    def _claims(self, key: Key) -> list[NodeClaim]:
        ref = (key.kind.group, key.kind.name, key.name)
        held = (one.value for one in self.cluster.claims)
        return [one for one in held if (one.node_class.group, one.node_class.kind, one.node_class.name) == ref]

    # ---- what the cloud found

    async def _resolved(self, resolver: NodeClasses, key: Key, wire: Fields) -> float | None:
        report = await resolver.resolve(key.ref, wire.wire, self._claims(key))
        for problem in report.problems:
            _log.warning("%s %s: %s", key.kind.name, key.name, problem)
        try:
            await self._told(key, wire, report)
        except (Conflict, NotFound):
            return 1.0
        return report.again

    async def _told(self, key: Key, wire: Fields, report: ClassReport) -> None:
        for name, notes in report.claims.items():
            await self._tell_claim(name, notes)
        changed = _changed(wire, report)
        if changed:
            body = {"metadata": {"resourceVersion": wire.map("metadata").text("resourceVersion") or ""}}
            patch = MergePatch({**body, "status": changed})
            await self.client.patch(key.kind, key.name, patch, subresource="status")
        before = wire.map("metadata").labels("annotations")
        notes = {name: value for name, value in report.annotations.items() if before.get(name) != value}
        if notes:
            await self.client.patch(key.kind, key.name, MergePatch({"metadata": {"annotations": notes}}))

    async def _tell_claim(self, name: str, notes: Mapping[str, str]) -> None:
        """One claim that cannot be told keeps nobody else from being told; it is tried with the next look."""
        try:
            await self.client.patch(kinds.NODE_CLAIMS, name, MergePatch({"metadata": {"annotations": dict(notes)}}))
        except NotFound:
            return
        except KubeError as failed:
            self.failed(name, failed)


def _looked_at(wire: Fields) -> tuple[object, ...]:
    about = wire.map("metadata").wire
    return tuple(str(about.get(name)) for name in ("uid", "generation", "deletionTimestamp", "finalizers"))


def _waiting(key: Key, wire: Fields, claims: Sequence[NodeClaim]) -> Say:
    names = ", ".join(sorted(one.name for one in claims)[:5])
    more = f" and {len(claims) - 5} more" if len(claims) > 5 else ""
    about = Ref(key.kind.name, key.name, wire.map("metadata").text("uid") or "")
    told = f"waits for the NodeClaims that were launched with it to go: {names}{more}"
    return Say(about, "WaitingOnNodeClaimTermination", told, dedupe=(key.name,), quiet_seconds=WAITING_SECONDS)


def _changed(wire: Fields, report: ClassReport) -> dict[str, object]:
    """The fields of the status that are to be another thing than they are."""
    before = wire.map("status").wire
    after = {**report.status, "conditions": [meta.condition_body(one) for one in report.conditions]}
    return {name: value for name, value in after.items() if before.get(name) != value}
