"""Our half of the Kubernetes benchmark, each figure from a fresh process.

`python -m bench.kube_ours NAME [ARGUMENT …]` prints one JSON object; the names are the functions below.
"""

import asyncio
import contextlib
import gc
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any, Final

from msgspec import Raw

from bench import kube_world, measure
from dovetail.api.kinds import NODES, PODS, Kind
from dovetail.api.live.nodes import NodeReader, NodeWire
from dovetail.api.pod_stream import version_of
from dovetail.api.pods import Surroundings
from dovetail.kube import config
from dovetail.kube.client import Client
from dovetail.kube.decoding import ERROR, Stored, Typed
from dovetail.kube.lists import Page
from dovetail.kube.pod_store import PodStore, freeze
from dovetail.kube.store import Store
from dovetail.kube.watch import Options, Reflector

PAGE: Final = 500
LARGE_PODS, LARGE_NODES, LARGE_EVENTS = 100_000, 5_000, 60_000
Figures = dict[str, float]


def listed(kubeconfig: str) -> PodStore:
    """The pods of a cluster, in a store."""
    return asyncio.run(_listed(kubeconfig))[0]


async def _listed(kubeconfig: str) -> tuple[PodStore, float]:
    store = PodStore()
    async with Client(config.load(kubeconfig, None, {})) as client:
        start = time.perf_counter()
        async with _reflecting(Reflector(client, PODS, store.codec, store)) as reflector:
            await reflector.synced.wait()
            return store, time.perf_counter() - start


@contextlib.asynccontextmanager
async def _reflecting(reflector: Reflector[Any]) -> AsyncIterator[Reflector[Any]]:
    task = asyncio.create_task(reflector.run())
    try:
        yield reflector
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def list_seconds(kubeconfig: str) -> Figures:
    used = time.process_time()
    store, seconds = asyncio.run(_listed(kubeconfig))
    return {"seconds": seconds, "cpu": time.process_time() - used, "pods": float(len(store))}


def watch_rate(kubeconfig: str, events: str) -> Figures:
    """Events a second from the end of the list until `events` of them are in the store, and our share of a core."""
    return asyncio.run(_watch_rate(kubeconfig, int(events)))


async def _watch_rate(kubeconfig: str, events: int) -> Figures:
    store = PodStore()
    async with (
        Client(config.load(kubeconfig, None, {})) as client,
        _reflecting(Reflector(client, PODS, store.codec, store)) as reflector,
    ):
        await reflector.synced.wait()
        freeze()
        start, used = time.perf_counter(), time.process_time()
        while reflector.counts.events < events:
            await asyncio.sleep(0.002)
        took, used = time.perf_counter() - start, time.process_time() - used
    return {"rate": events / took, "cpu": 100 * used / took}


def replayed_rate(kubeconfig: str, version: str, events: str) -> Figures:
    """The same for a server that is asked for its history from `version` on, with nothing in the store."""
    return asyncio.run(_replayed_rate(kubeconfig, version, int(events)))


async def _replayed_rate(kubeconfig: str, version: str, events: int) -> Figures:
    store = PodStore()
    seen = 0
    async with Client(config.load(kubeconfig, None, {})) as client:
        await client.raw("GET", "/version")
        start, used = time.perf_counter(), time.process_time()
        async for batch in client.watch_batches(PODS, resource_version=version):
            for line in batch:
                kind, _, item = store.codec.event(line)
                assert kind != ERROR, line[:300]
                if item is not None:
                    store.put(item)
            seen += len(batch)
            if seen >= events:
                break
        took, used = time.perf_counter() - start, time.process_time() - used
    return {"rate": seen / took, "cpu": 100 * used / took}


# ---- a large cluster, without a network


class _Generated:
    """A client whose cluster is made up as it is listed, a page at a time."""

    async def pages(self, kind: Kind, namespace: str = "", **_: Any) -> AsyncGenerator[Page[Any], None]:
        line = kube_world.pod_line if kind is PODS else kube_world.node_line
        total = LARGE_PODS if kind is PODS else LARGE_NODES
        for at in range(0, total, PAGE):
            items = [Raw(line(number, number + 1)) for number in range(at, at + PAGE)]
            yield Page(items, str(total + 1), at == 0, at + PAGE >= total)

    async def watch_batches(self, kind: Kind, namespace: str = "", **_: Any) -> AsyncGenerator[list[bytes], None]:
        if kind is PODS:
            for batch in _changes():
                yield batch
                await asyncio.sleep(0)
        await asyncio.Event().wait()


def _changes() -> Iterator[list[bytes]]:
    for at in range(0, LARGE_EVENTS, 100):
        numbers = range(at, at + 100)
        yield [
            kube_world.event("MODIFIED", kube_world.pod_line(one * 7 % LARGE_PODS, LARGE_PODS + 2 + one))
            for one in numbers
        ]


def large() -> Figures:
    """A large cluster in stores: resident size of the whole process, and the longest pause of the collector.

    Pauses are those after the first sync: while pods change, and when planning asks for all of them for the first time.
    """
    return asyncio.run(_large())


async def _large() -> Figures:
    reader = NodeReader()
    pods, nodes = PodStore(), Store[Any]()
    codec = Typed(NodeWire, lambda wire: _node(reader, wire))
    source = _Generated()
    pauses = _Pauses()
    async with contextlib.AsyncExitStack() as stack:
        for kind, held, sink in ((NODES, codec, nodes), (PODS, pods.codec, pods)):
            one: Reflector[Any] = Reflector(source, kind, held, sink, Options())
            reflector = await stack.enter_async_context(_reflecting(one))
            await reflector.synced.wait()
        freeze()
        rss = measure.resident()
        gc.callbacks.append(pauses)
        while reflector.counts.events < LARGE_EVENTS:
            await asyncio.sleep(0.05)
        # A store alone makes nothing the collector counts, so none may have run; a busy controller will make it run.
        gc.collect()
        churned, pause = measure.resident(), pauses.longest
        pauses.longest = 0.0
        pods.made(Surroundings())
        planned = measure.resident()
    assert (len(pods), len(nodes)) == (LARGE_PODS, LARGE_NODES)
    return {"rss": rss, "churned": churned, "pause": pause, "planned": planned, "planning_pause": pauses.longest}


def _node(reader: NodeReader, wire: NodeWire) -> Stored[Any]:
    found = reader.of(wire)
    return Stored(("", found.meta.name), found.meta.uid, version_of(found.meta.version), found)


class _Pauses:
    """By the processor's time, so that a machine with other things to do makes no pause longer than it is."""

    def __init__(self) -> None:
        self.longest, self._began = 0.0, 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.longest = max(self.longest, time.thread_time() - self._began)


if __name__ == "__main__":
    os.environ.pop("KUBECONFIG", None)
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
