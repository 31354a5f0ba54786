"""MachineDeployments where ours is the core: nobody makes machines for them, and each says so.

A deployment that is written and does nothing would leave whoever wrote it to wonder. So it has the condition of a set
whose machines cannot be made, and an event beside it, with a sentence on what to do instead.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final

from dovetail.api import kinds
from dovetail.api.cluster_api import reading, writing
from dovetail.api.kinds import Kind
from dovetail.controllers.cluster_api.cloning import TEMPLATE
from dovetail.controllers.cluster_api.loops import Key
from dovetail.controllers.queue import WorkQueue
from dovetail.controllers.supervision import Later
from dovetail.core.effects import Say
from dovetail.core.machines import sets
from dovetail.core.machines.objects import MachineSet
from dovetail.kube.client import Client
from dovetail.kube.decoding import Plain, Stored
from dovetail.kube.errors import Conflict, NotFound
from dovetail.kube.patches import MergePatch
from dovetail.kube.store import Store
from dovetail.kube.watch import Options, Reflector

_WORKERS: Final = 1


@dataclass(slots=True)
class Deployments:
    """Tells those whose machines would be of these kinds; they are read as the sets they would make."""

    client: Client
    kinds: tuple[Kind, ...]
    failed: Callable[[Hashable, Exception], None]
    say: Callable[[Say], None] = lambda event: None
    now: Callable[[], float] = time.time
    options: Options | None = None
    may_act: Callable[[], bool] | None = None
    _held: Store[Stored[MachineSet]] = field(default_factory=Store)
    _queue: WorkQueue[Key] = field(init=False)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed)

    async def run(self) -> None:
        """Until cancelled."""
        self._held.listen(self._changed)
        watch = Reflector(self.client, kinds.MACHINE_DEPLOYMENTS, Plain(reading.machine_set), self._held, self.options)
        async with asyncio.TaskGroup() as group:
            group.create_task(watch.run(), name=f"watch {watch.kind}")
            group.create_task(self._queue.run(_WORKERS), name="machine deployments")

    def _changed(self, old: Stored[MachineSet] | None, new: Stored[MachineSet] | None) -> None:
        if new is not None:
            self._queue.add(Key(kinds.MACHINE_DEPLOYMENTS, *new.key))

    async def _one(self, key: Key) -> float | None:
        held = self._held.get(key.name, key.namespace)
        if held is None or not self._is_ours(held.value):
            return None
        before, meta = held.value, held.value.meta
        after, said = sets.undeployed(before, self.now())
        if after == before:
            return None
        if self.may_act is not None and not self.may_act():
            raise Later("another process holds the lease")
        status = writing.machine_set(before, after).status
        patch = MergePatch({"metadata": {"resourceVersion": meta.version}, "status": status})
        try:
            await self.client.patch(key.kind, meta.name, patch, meta.namespace, subresource="status")
        except (Conflict, NotFound) as changed:
            raise Later(str(changed)) from None
        self.say(said)
        return None

    def _is_ours(self, one: MachineSet) -> bool:
        """Whether its machines would be; those of other clouds are another process's to tell."""
        kind = one.template.infrastructure.kind.removesuffix(TEMPLATE) if one.template is not None else ""
        return any(each.name == kind for each in self.kinds)
