"""A small API server of one kind, inside the test: it keeps history, and has the bad days it is told to have."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec import Raw

from dovetail.api.kinds import CONFIG_MAPS, Kind
from dovetail.kube.clock import Clock
from dovetail.kube.errors import KubeError, StreamCut
from dovetail.kube.lists import Page

Json = dict[str, Any]
GONE = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}


class Hours:
    """Virtual time: sleeping is over at once, and takes as long as it says."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []
        self.on_sleep: Callable[[], None] = lambda: None

    def clock(self, chance: float = 0.5) -> Clock:
        return Clock(now=lambda: self.time, wall=lambda: 1.7e9 + self.time, sleep=self.sleep, chance=lambda: chance)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.on_sleep()
        self.time += seconds
        await asyncio.sleep(0)


class Cluster:
    """Objects, versions, and what happened since history begins."""

    def __init__(self) -> None:
        self.version = 10
        self.began = 10  # what happened up to here is forgotten
        self.objects: dict[str, Json] = {}
        self.history: list[tuple[int, str, Json]] = []
        self._uids = 0

    def put(self, name: str, **more: Any) -> None:
        known = self.objects.get(name)
        if known is None:
            self._uids += 1
        uid = known["metadata"]["uid"] if known else f"uid-{self._uids}"
        self._happened("MODIFIED" if known else "ADDED", name, uid, more)

    def delete(self, name: str) -> None:
        known = self.objects.get(name)
        if known is not None:
            self._happened("DELETED", name, known["metadata"]["uid"], {})
            del self.objects[name]

    def _happened(self, what: str, name: str, uid: str, more: Json) -> None:
        self.version += 1
        about = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(self.version)}
        found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, **more}
        self.objects[name] = found
        self.history.append((self.version, what, found))

    def forget(self) -> None:
        self.began = self.version

    def since(self, version: int) -> list[tuple[int, str, Json]]:
        return [one for one in self.history if one[0] > version]

    def content(self) -> dict[tuple[str, str], tuple[str, int]]:
        """What a store must hold, as far as it can be decoded."""
        return {
            ("default", name): (one["metadata"]["uid"], int(one["metadata"]["resourceVersion"]))
            for name, one in self.objects.items()
            if "broken" not in one
        }


def line(what: str, obj: Json) -> bytes:
    return json.dumps({"type": what, "object": obj}).encode()


def bookmark(version: int) -> bytes:
    return line("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": str(version)}})


@dataclass(frozen=True)
class Day:
    """How one list or watch goes: what changes first, and what goes wrong.

    Of the events there are, a watch gives `most` (None: all), each `times` times, after the old ones that `replayed`
    counts back to; then a bookmark if wanted, and then `end`: an error to raise, a line to send, or None to end in
    good order.
    """

    before: Callable[[Cluster], None] | None = None
    most: int | None = None
    times: int = 1
    replayed: tuple[int, ...] = ()
    bookmark: bool = False
    end: KubeError | bytes | None = None


@dataclass
class Server:
    """A client of a cluster whose days are numbered: after the last one it behaves, and `idle` is set."""

    cluster: Cluster = field(default_factory=Cluster)
    lists: deque[Day] = field(default_factory=deque)
    watches: deque[Day] = field(default_factory=deque)
    page: int = 2
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list)

    async def pages(self, kind: Kind, namespace: str = "", **asked: Any) -> AsyncGenerator[Page[Any], None]:
        self.asked.append("list")
        day = self.lists.popleft() if self.lists else Day()
        items = [Raw(json.dumps(one).encode()) for one in self.cluster.objects.values()]
        version = str(self.cluster.version)
        cut = [items[at : at + self.page] for at in range(0, len(items), self.page)] or [[]]
        for at, part in enumerate(cut):
            if isinstance(day.end, KubeError) and at == len(cut) - 1:
                raise day.end
            yield Page(part, version, at == 0, at == len(cut) - 1)
        if day.before is not None:
            day.before(self.cluster)

    async def watch_batches(
        self, kind: Kind, namespace: str = "", *, resource_version: str, **asked: Any
    ) -> AsyncGenerator[list[bytes], None]:
        self.asked.append(f"watch {resource_version}")
        last = not self.watches
        day = Day() if last else self.watches.popleft()
        if day.before is not None:
            day.before(self.cluster)
        position = int(resource_version)
        if position < self.cluster.began:
            yield [line("ERROR", GONE)]
            return
        for batch in _batches(self.cluster, position, day):
            yield batch
        if isinstance(day.end, KubeError):
            raise day.end
        if isinstance(day.end, bytes):
            yield [day.end]
        if last:
            self.idle.set()
            await asyncio.Event().wait()


def _batches(cluster: Cluster, position: int, day: Day) -> Iterable[list[bytes]]:
    old = [one for one in cluster.history if one[0] <= position]
    events = cluster.since(position)[: day.most]
    yield [line(*old[-back][1:]) for back in day.replayed if back <= len(old)]
    yield [line(what, obj) for _, what, obj in events for _ in range(day.times)]
    if day.bookmark and events:
        yield [bookmark(events[-1][0])]
    elif day.bookmark and day.most is None:
        yield [bookmark(cluster.version)]


HALF_A_LINE = b'{"type":"ADDED","object":{"metadata":{"name":"ha'
CUT = StreamCut("cut")
KIND = CONFIG_MAPS


def at_length(scenario: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """An asynchronous test, which may not hang."""

    def test() -> None:
        async def bounded() -> None:
            async with asyncio.timeout(20):
                await scenario()

        asyncio.run(bounded())

    test.__name__, test.__doc__ = scenario.__name__, scenario.__doc__
    return test
