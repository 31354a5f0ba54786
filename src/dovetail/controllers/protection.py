"""Pods that ask not to be disrupted for a while: told when the time begins, when it is over, and when nobody can read
what they ask for."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Protocol

from dovetail.api.pod_stream import PodRecord
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.queue import WorkQueue
from dovetail.core.effects import Ref, Say
from dovetail.core.lifecycle import protection
from dovetail.kube.store import Key


class Ears(Protocol):
    def say(self, event: Say) -> None: ...


@dataclass(slots=True)
class Protections:
    cluster: Cluster
    ears: Ears
    failed: Callable[[Hashable, Exception], None]
    now: Callable[[], float] = time.time
    _queue: WorkQueue[Key] = field(init=False)
    #: Whose time was seen to run: of time that ended before we looked nobody is told, again and again at each start.
    _running: dict[Key, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self._one, self.failed)

    def listen(self) -> None:
        self.cluster.pods.listen(self._changed)
        for pod in self.cluster.pods:
            self._changed(None, pod)

    def _changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if new is None:
            if old is not None and old.rare.do_not_disrupt:
                self._running.pop(old.key, None)
                self._queue.forget(old.key)
        elif new.rare.do_not_disrupt and new.node is not None and (old is None or _asks(old) != _asks(new)):
            self._queue.add(new.key)

    async def run(self) -> None:
        await self._queue.run(1)

    async def _one(self, key: Key) -> float | None:
        pod = self.cluster.pods.get(key[1], key[0])
        if pod is None:
            return None
        note, now = pod.rare.do_not_disrupt, self.now()
        ends = protection.until(note, pod.started)
        said = protection.told(Ref("Pod", pod.name, pod.uid, pod.namespace), note, pod.started, now)
        if said is None:
            return None
        runs = isinstance(ends, float) and now < ends
        if runs:
            self._running[key] = note
        elif isinstance(ends, float) and self._running.pop(key, None) is None:
            return None
        self.ears.say(said)
        return ends - now if runs and isinstance(ends, float) else None


def _asks(pod: PodRecord) -> tuple[str, float, str | None]:
    return pod.rare.do_not_disrupt, pod.started, pod.node
