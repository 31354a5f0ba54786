"""A whole cluster in this process, in virtual time: the embedded API server with its controllers and pretended
kubelets, the simulated cloud, and the controller under test.

    async with Live() as live:
        live.pods(3)
        await live.until(lambda: len(live.running()) == 3)

What anybody else would do to the cluster is done through `live.store`, the server's objects. The controller talks to it
over a socket, as it always does. A fault of the controller's own (anything it logs with a traceback) fails the test.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar

from tests.live import objects
from tests.live.virtual_time import World

from dovetail.api import kinds
from dovetail.api.crds.every import of_cloud
from dovetail.api.kinds import Kind
from dovetail.apiserver.controllers import Controllers
from dovetail.apiserver.controllers import Options as Taking
from dovetail.apiserver.server import EmbeddedServer, Options
from dovetail.apiserver.writes import Deletion, MergePatch
from dovetail.clouds.sim.cloud import PARTITION, Habits, SimCloud
from dovetail.clouds.sim.market import SimMarket
from dovetail.clouds.sim.nodes import PARTITION as PARTITION_LABEL
from dovetail.controllers import declared
from dovetail.controllers.batching import Window
from dovetail.controllers.controller import Choices, Controller
from dovetail.controllers.dry_run import ReadOnly
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.node_api import Nodes
from dovetail.controllers.telling import Telling
from dovetail.core.scheduling.problem import Plan, Problem
from dovetail.core.scheduling.solve import solve
from dovetail.kube.client import Client
from dovetail.kube.config import from_document
from dovetail.kube.events import Recorder
from dovetail.kube.transport import Options as ClientOptions

Object = dict[str, Any]
T = TypeVar("T")
SOON = Window(0.2, 2.0)


@cache
def _manifests(cloud: str) -> tuple[Object, ...]:
    return tuple(one.manifest() for one in of_cloud(cloud))


async def solve_here(problem: Problem) -> Plan:
    return solve(problem)


async def here(function: Callable[..., T], *args: Any) -> T:
    """Threads would be left behind by a time that passes only while nobody is at work."""
    return function(*args)


class _Faults(logging.Handler):
    """What is logged with a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0] is not None:
            self.lines.append(f"{record.getMessage()} ({record.exc_info[0].__name__})")


class Live:
    """One cluster with one controller, which may be thrown away and started anew."""

    provider = "kwok"

    def __init__(self, choices: Choices | None = None, *, kubelet: bool = True, pool: Object | None = None) -> None:
        self.world, self.metrics = World(), Metrics()
        self.choices = choices or Choices(window=SOON)
        self.market = SimMarket()
        self.shutdown = 0.0
        self._kubelet, self._pool = kubelet, objects.pool() if pool is None else pool
        self._faults = _Faults()
        self._written = asyncio.Event()
        self._opened = AsyncExitStack()
        self._task: asyncio.Task[None] | None = None

    # ---- from beginning to end

    async def __aenter__(self) -> Self:
        log = logging.getLogger("dovetail")
        log.addHandler(self._faults)
        self._opened.callback(log.removeHandler, self._faults)
        self.server = await self._opened.enter_async_context(
            EmbeddedServer(Options(tls=False, clock=self.world.date, controllers=False))
        )
        self.store = self.server.store
        self.store.storage.listeners.append(lambda kind, change: self._written.set())
        await self._opened.enter_async_context(Controllers(self.store, Taking(fake_kubelet=self._kubelet)))
        for manifest in _manifests(self.provider):
            self.put(kinds.CRDS, copy.deepcopy(manifest))
        self.furnish()
        if self._pool:
            self.put(kinds.NODE_POOLS, self._pool)
        self.client = await self._new_client()
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
        await self._opened.aclose()
        if kind is None:
            assert not self._faults.lines, self._faults.lines

    def furnish(self) -> None:
        """What nodes are launched with."""
        self.put(kinds.KWOK_NODE_CLASSES, objects.node_class())

    async def _new_client(self) -> Client:
        client = Client(from_document(self.server.kubeconfig()), ClientOptions(clock=self.world.clock()))
        return await self._opened.enter_async_context(client)

    def build(self, client: Client | None = None, **changed: Any) -> Controller:
        """A controller that knows nothing yet; the market is the cloud's, and outlives it."""
        mine = client or self.client
        if self.choices.dry_run:
            mine = ReadOnly(mine)
        habits = Habits(shutdown=self.shutdown, now=self.world.now)
        self.cloud = SimCloud(self.market, Nodes(mine, f"{PARTITION_LABEL}={PARTITION}"), habits)
        self.metrics = declared.declare(Metrics())
        telling = Telling(Recorder(mine, "test", clock=self.world.clock()), self.metrics)
        clock = self.world.clock()
        return Controller(mine, self.cloud, telling, solve_here, self.choices, clock, here, **changed)

    async def start(self) -> None:
        self.controller = self.build()
        self._task = asyncio.create_task(self.acting(self.controller), name="controller")
        await self.until(lambda: self.controller.cluster.is_synced)

    async def acting(self, controller: Controller) -> None:
        """All that a process does."""
        await controller.run()

    async def stop(self) -> BaseException | None:
        """End the controller wherever it stands; what it died of, if it was not us."""
        task, self._task = self._task, None
        if task is None:
            return None
        task.cancel()
        (result,) = await asyncio.gather(task, return_exceptions=True)
        return None if isinstance(result, asyncio.CancelledError) else result

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    # ---- waiting

    async def until(self, true: Callable[[], object], seconds: float = 60.0) -> None:
        """Wait, at most so long. Looks whenever something was written, and now and then."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not true():
            await self.check()
            assert loop.time() < deadline, f"not within {seconds} s; {self.summary()}"
            self._written.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._written.wait(), max(0.5, seconds / 100))

    async def check(self) -> None:
        """That the controller is still at it."""
        if self._task is not None and self._task.done():
            self._task.result()

    async def settle(self, seconds: float = 5.0) -> None:
        """Let time pass in which nothing is expected."""
        await asyncio.sleep(seconds)
        await self.check()

    def summary(self) -> str:
        found = [f"{one['metadata']['name']}: {conditions(one)}" for one in self.claims()]
        waiting = len(self.all(kinds.PODS)) - len(self.running())
        return f"claims {found}, {len(self.nodes())} nodes, {waiting} pods not running, events {self.reasons()}"

    # ---- what others do

    def put(self, kind: Kind, obj: Object, namespace: str = "") -> Object:
        return self.store.create(kind, obj, namespace or ("default" if kind.namespaced else ""))

    def put_raw(self, kind: Kind, obj: Object) -> Object:
        """Store what no server would admit today: written before its rules were."""
        about = {"uid": f"{obj['metadata']['name']}-uid", "creationTimestamp": "2027-01-15T08:00:00Z", "generation": 1}
        return self.store.storage.put(
            kind, {"apiVersion": kind.api_version, "kind": kind.name, **obj, "metadata": {**about, **obj["metadata"]}}
        ).object()

    def edit(self, kind: Kind, name: str, body: Object, *, subresource: str = "", namespace: str = "") -> Object:
        where = namespace or ("default" if kind.namespaced else "")
        return self.store.patch(kind, name, MergePatch(body), where, subresource=subresource)

    def delete(self, kind: Kind, name: str, namespace: str = "", grace: int | None = None) -> None:
        where = namespace or ("default" if kind.namespaced else "")
        self.store.delete(kind, name, where, Deletion(grace=grace))

    def pods(self, count: int = 1, name: str = "web", **changed: Any) -> None:
        """A deployment of so many, one cpu each."""
        self.put(kinds.DEPLOYMENTS, objects.deployment(name, count, **changed))

    # ---- what there is

    def all(self, kind: Kind) -> list[Object]:
        return list(self.store.list(kind))

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        return self.store.get(kind, name, namespace or ("default" if kind.namespaced else ""))

    def claims(self) -> list[Object]:
        return self.all(kinds.NODE_CLAIMS)

    def names(self) -> set[str]:
        """Of claims."""
        return {one["metadata"]["name"] for one in self.claims()}

    def claim(self) -> Object:
        (one,) = self.claims()
        return one

    def nodes(self) -> list[Object]:
        return self.all(kinds.NODES)

    def node(self) -> Object:
        (one,) = self.nodes()
        return one

    def running(self) -> list[Object]:
        return [one for one in self.all(kinds.PODS) if (one.get("status") or {}).get("phase") == "Running"]

    def ready(self) -> list[Object]:
        return [one for one in self.claims() if is_true(one, "Ready")]

    def events(self, reason: str = "") -> list[Object]:
        return [one for one in self.all(kinds.CORE_EVENTS) if reason in ("", one["reason"])]

    def reasons(self) -> set[str]:
        ours = (one for one in self.events() if one.get("source", {}).get("component") == "karpenter")
        return {one["reason"] for one in ours}

    def value(self, metric: str, **labels: str) -> float:
        return self.metrics.value(metric, labels)

    def excuse(self, *words: str) -> None:
        """Faults that name these words are part of the test."""
        self._faults.lines[:] = [one for one in self._faults.lines if not any(word in one for word in words)]


def condition(obj: Object, type_: str) -> Object | None:
    held: Iterable[Object] = (obj.get("status") or {}).get("conditions") or ()
    return next((one for one in held if one["type"] == type_), None)


def conditions(obj: Object) -> dict[str, str]:
    held: Iterable[Object] = (obj.get("status") or {}).get("conditions") or ()
    return {one["type"]: f"{one['status']}/{one.get('reason', '')}" for one in held}


def is_true(obj: Object, type_: str) -> bool:
    one = condition(obj, type_)
    return one is not None and one["status"] == "True"
