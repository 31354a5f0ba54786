"""Events, for people who look at an object and ask what happened to it.

Telling is never worth waiting for: `publish` returns at once, never raises, and drops what does not fit. On the way an
event passes, in this order,

    deduplication   the same reason with the same values, within two minutes unless the event says otherwise: once
    its own limit   where an event has one, so many a second
    the queue       so many waiting; more are dropped and counted
    the writer      one at a time, to the API server; an event told again is counted up on the object already there

What is dropped is counted by why it was, and nothing else depends on it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Generic, Protocol, TypeVar

from dovetail.api.kinds import CORE_EVENTS, Kind
from dovetail.kube.clock import Clock
from dovetail.kube.errors import KubeError, NotFound
from dovetail.kube.patches import MergePatch, Patch

COMPONENT: Final = "karpenter"
DEDUPLICATED_FOR: Final = 120.0
#: Events waiting to be written; at two hundred writes a second, five seconds' worth.
QUEUED: Final = 1000
_REMEMBERED: Final = 10_000
_LONGEST_MESSAGE: Final = 1024
#: For how long a repeated event is counted up rather than written anew: the server forgets events after an hour.
_COUNTED_UP_FOR: Final = 600.0
_log: Final = logging.getLogger(__name__)
Object = dict[str, Any]
V = TypeVar("V")


class Importance(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class About:
    """The object an event is about."""

    kind: Kind
    name: str
    namespace: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    """So many a second, and so many at once after a pause."""

    per_second: float
    burst: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. Two with equal `same` and reason are the same event; by default, all of it counts."""

    about: About
    reason: str
    message: str
    importance: Importance = Importance.NORMAL
    same: tuple[str, ...] | None = None
    quiet: float = DEDUPLICATED_FOR
    limit: Limit | None = None

    @property
    def dedupe(self) -> tuple[str, ...]:
        about = self.about
        same = self.same if self.same is not None else (about.kind.name, about.namespace, about.name, self.message)
        return (self.reason.lower(), *same)


class Dropped(StrEnum):
    """Why an event was not written."""

    REPEATED = "repeated"
    LIMITED = "limited"
    QUEUE_FULL = "queue full"
    FAILED = "failed"


class Source(Protocol):
    """The part of the client that is needed here."""

    async def create(self, kind: Kind, obj: Object, namespace: str = "") -> Object: ...
    async def patch(self, kind: Kind, name: str, patch: Patch, namespace: str = "") -> Object: ...


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(slots=True)
class _Told:
    """An event object on the server, and how often it has been told."""

    name: str
    count: int


class _Lately(Generic[V]):
    """What is remembered for a while; of more than can be, the oldest goes."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[object, ...], tuple[float, V]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: tuple[object, ...], now: float) -> V | None:
        until, value = self._held.get(key, (now, None))
        return value if now < until else None

    def put(self, key: tuple[object, ...], value: V, now: float, seconds: float) -> None:
        self._held[key] = (now + seconds, value)
        self._held.move_to_end(key)
        while self._held and (len(self._held) > _REMEMBERED or next(iter(self._held.values()))[0] <= now):
            self._held.popitem(last=False)


class Recorder:
    """Publishes events. `run` writes them; without it they wait, up to a point."""

    def __init__(
        self, client: Source, instance: str = "", *, clock: Clock | None = None, component: str = COMPONENT
    ) -> None:
        """`instance` is who reports, beside the component: the name of the pod or host."""
        self.written = 0
        self.dropped: Counter[Dropped] = Counter()
        self._client, self._instance, self._clock = client, instance, clock or Clock()
        self._component = component
        self._queue: asyncio.Queue[Event] = asyncio.Queue(QUEUED)
        self._quiet: _Lately[bool] = _Lately()
        self._buckets: dict[str, _Bucket] = {}
        self._told: _Lately[_Told] = _Lately()
        self._number = 0

    def publish(self, *events: Event) -> None:
        for event in events:
            reason = self._refusal(event)
            if reason is not None:
                self.dropped[reason] += 1

    def _refusal(self, event: Event) -> Dropped | None:
        now = self._clock.now()
        key = event.dedupe
        if self._quiet.get(key, now):
            return Dropped.REPEATED
        if event.limit is not None and not self._allows(event.reason, event.limit, now):
            return Dropped.LIMITED
        if self._queue.full():
            return Dropped.QUEUE_FULL
        self._queue.put_nowait(event)
        if event.quiet > 0:
            self._quiet.put(key, True, now, event.quiet)
        return None

    def _allows(self, reason: str, limit: Limit, now: float) -> bool:
        bucket = self._buckets.get(reason)
        if bucket is None:
            bucket = self._buckets[reason] = _Bucket(float(limit.burst), now)
        bucket.tokens = min(float(limit.burst), bucket.tokens + (now - bucket.at) * limit.per_second)
        bucket.at = now
        if bucket.tokens < 1.0:
            return False
        bucket.tokens -= 1.0
        return True

    # ---- writing

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._write(await self._queue.get())
            self._queue.task_done()

    async def flush(self, seconds: float = 2.0) -> None:
        """Wait, but not for long, until what waits is written; `run` must be running."""
        done = asyncio.ensure_future(self._queue.join())
        await asyncio.wait({done}, timeout=seconds)
        done.cancel()

    async def _write(self, event: Event) -> None:
        key = (event.about, event.importance, event.reason, event.message)
        now = self._clock.now()
        told = self._told.get(key, now)
        try:
            if told is None or not await self._counted_up(event, told):
                told = _Told(self._name(event), 1)
                await self._client.create(CORE_EVENTS, self._object(event, told.name), _namespace(event))
            self._told.put(key, told, now, _COUNTED_UP_FOR)
            self.written += 1
        except KubeError as problem:
            self.dropped[Dropped.FAILED] += 1
            _log.debug("event %s: %s", event.reason, problem.sentence)

    async def _counted_up(self, event: Event, told: _Told) -> bool:
        """False where the server has forgotten it."""
        patch = MergePatch({"count": told.count + 1, "lastTimestamp": self._wall()})
        try:
            await self._client.patch(CORE_EVENTS, told.name, patch, _namespace(event))
        except NotFound:
            return False
        told.count += 1
        return True

    def _name(self, event: Event) -> str:
        """Unlike any other: the clock alone repeats itself on two events of one moment."""
        self._number += 1
        # A name of 253 characters leaves no room for more; events are found by what they are about, not by name.
        return f"{event.about.name[:200].rstrip('.-')}.{int(self._clock.wall() * 1e6):x}{self._number % 4096:03x}"

    def _object(self, event: Event, name: str) -> Object:
        about, now = event.about, self._wall()
        involved = {
            "apiVersion": about.kind.api_version,
            "kind": about.kind.name,
            "name": about.name,
            "namespace": about.namespace,
            "uid": about.uid,
        }
        return {
            "apiVersion": CORE_EVENTS.api_version,
            "kind": CORE_EVENTS.name,
            "metadata": {"name": name, "namespace": _namespace(event)},
            "involvedObject": {key: value for key, value in involved.items() if value},
            "type": event.importance.value,
            "reason": event.reason,
            "message": _cut(event.message),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }

    def _wall(self) -> str:
        return datetime.fromtimestamp(self._clock.wall(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _namespace(event: Event) -> str:
    """Where an event lives: beside its object, or in `default` where that has no namespace."""
    return event.about.namespace or "default"


def _cut(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 1] + "…"
