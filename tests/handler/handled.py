"""One interruptible node in virtual time: an embedded API server, a fake metadata server, a kubelet, a handler.

    async with Handled("aws") as one:
        one.interrupt(120)
        await one.until(one.tainted)

The kubelet ends a pod when its grace is over, or after `takes` seconds where that is sooner, as a well-behaved process
would. A fault of the handler's own (anything logged with a traceback) fails the test.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from tests.live import objects
from tests.live.virtual_time import START, World
from tools.metadata_server.server import FakeMetadata

from dovetail.api import kinds
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.server import EmbeddedServer, Options
from dovetail.apiserver.writes import Deletion, MergePatch
from dovetail.core import timestamps
from dovetail.core.handler import marks
from dovetail.handler.process import Choices, Process
from dovetail.kube.client import Client
from dovetail.kube.config import from_document
from dovetail.kube.transport import Options as ClientOptions

Object = dict[str, Any]
NODE = "spot-1"
PROVIDERS = {
    "aws": "aws:///us-east-1a/i-1",
    "gcp": "gce://project/zone/spot-1",
    "azure": "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/pool"
    "/virtualMachines/0",
}
ITN = "spot/instance-action"


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.faults: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if record.exc_info and record.exc_info[0] is not None:
            self.faults.append(record.getMessage())


class Handled:
    def __init__(self, cloud: str, *, takes: float = 1.0, start: bool = True, **choices: Any) -> None:
        self.cloud, self.takes, self.world = cloud, takes, World()
        self.choices = {"port": -1, **choices}
        self.log = _Log()
        self.processes: list[Process] = []
        self._start = start
        self._opened = AsyncExitStack()
        self._written = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        log = logging.getLogger("dovetail")
        log.addHandler(self.log)
        before = log.level
        log.setLevel(logging.INFO)
        self._opened.callback(log.setLevel, before)
        self._opened.callback(log.removeHandler, self.log)
        self.server = await self._opened.enter_async_context(
            EmbeddedServer(Options(tls=False, clock=self.world.date, controllers=False))
        )
        self.store = self.server.store
        self.store.storage.listeners.append(lambda kind, change: self._written.set())
        self.metadata = await self._opened.enter_async_context(FakeMetadata())
        self.client = await self._opened.enter_async_context(
            Client(from_document(self.server.kubeconfig()), ClientOptions(clock=self.world.clock()))
        )
        body = {"providerID": PROVIDERS[self.cloud]}
        self.store.create(
            kinds.NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}, "spec": body}, ""
        )
        self._kubelet = asyncio.create_task(self._play_kubelet(), name="kubelet")
        if self._start:
            await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.stop()
        finally:
            self._kubelet.cancel()
            await asyncio.gather(self._kubelet, return_exceptions=True)
            await self._opened.aclose()
        if kind is None:
            assert not self.log.faults, self.log.faults

    # ---- the handler

    async def start(self, client: Any = None, **changed: Any) -> Process:
        """Another handler on the same node; it is at work when this returns."""
        choices = Choices(NODE, metadata_url=self.metadata.url, **{**self.choices, **changed})
        process = Process(client or self.client, choices, self.world.clock(), up=lambda: self.world.now() - START)
        self.processes.append(process)
        self._tasks.append(asyncio.create_task(process.run(), name="handler"))
        if client is None:
            await self.until(lambda: process.listener is not None and process.listener.standing.settled)
        return process

    async def stop(self) -> None:
        """End every handler; what one died of is raised."""
        ending, self._tasks = self._tasks, []
        for task in ending:
            task.cancel()
        for result in await asyncio.gather(*ending, return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result

    async def until(self, true: Callable[[], object], seconds: float = 60.0) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not true():
            for task in self._tasks:
                if task.done():
                    task.result()
            assert loop.time() < deadline, f"not within {seconds} s: {self.node()}, {self.log.lines[-5:]}"
            self._written.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._written.wait(), max(0.1, seconds / 100))

    async def settle(self, seconds: float = 5.0) -> None:
        await asyncio.sleep(seconds)

    # ---- the cloud

    def at(self, seconds: float) -> str:
        return timestamps.text(self.world.now() + seconds)

    def interrupt(self, seconds: float = 120.0, action: str = "terminate") -> None:
        self.metadata.aws.notices[ITN] = f'{{"action": "{action}", "time": "{self.at(seconds)}"}}'

    # ---- the cluster

    def pod(self, name: str, *, grace: int = 30, owner: str = "", namespace: str = "default", **changed: Any) -> None:
        body = objects.pod(name, **{"nodeName": NODE, "terminationGracePeriodSeconds": grace, **changed})
        body["metadata"]["labels"] = {"app": name.rpartition("-")[0] or name}
        body["metadata"]["namespace"] = namespace
        if owner:
            reference = {"apiVersion": "apps/v1", "kind": owner, "name": "x", "uid": f"{owner}-uid", "controller": True}
            body["metadata"]["ownerReferences"] = [reference]
        self.store.create(kinds.PODS, body, namespace)
        ready = [{"type": "Ready", "status": "True"}]
        patch = MergePatch({"status": {"phase": "Running", "conditions": ready}})
        self.store.patch(kinds.PODS, name, patch, namespace, subresource="status")

    def budget(self, name: str) -> None:
        """A disruption budget that lets nobody go."""
        self.store.create(kinds.DISRUPTION_BUDGETS, objects.budget(name, maxUnavailable=0), "default")
        counted = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        patch = MergePatch({"status": {**counted, "observedGeneration": 1}})
        self.store.patch(kinds.DISRUPTION_BUDGETS, name, patch, "default", subresource="status")

    async def _play_kubelet(self) -> None:
        since: dict[str, float] = {}
        while True:
            now = self.world.now()
            going = [one["metadata"] for one in self.store.list(kinds.PODS) if "deletionTimestamp" in one["metadata"]]
            for about in going:
                began = since.setdefault(about["uid"], now)
                over = timestamps.seconds(about["deletionTimestamp"])
                if now >= min(over, began + self.takes):
                    with contextlib.suppress(ApiError):
                        self.store.delete(kinds.PODS, about["name"], about["namespace"], Deletion(grace=0))
            await asyncio.sleep(0.1 if going else 0.5)

    def edit(self, body: Object, subresource: str = "") -> None:
        self.store.patch(kinds.NODES, NODE, MergePatch(body), "", subresource=subresource)

    def node(self) -> Object:
        return self.store.get(kinds.NODES, NODE, "")

    def taints(self) -> dict[str, str]:
        return {one["key"]: one.get("value", "") for one in self.node()["spec"].get("taints") or ()}

    def tainted(self) -> bool:
        return marks.TAINT in self.taints()

    def condition(self) -> tuple[str, str]:
        """Status and reason of Terminating."""
        held = self.node().get("status", {}).get("conditions") or ()
        found = [(one["status"], one["reason"]) for one in held if one["type"] == marks.TERMINATING]
        return found[0] if found else ("", "")

    def cordoned(self) -> bool:
        return bool(self.node()["spec"].get("unschedulable"))

    def note(self) -> str | None:
        return (self.node()["metadata"].get("annotations") or {}).get(marks.NOTE)

    def pods(self) -> set[str]:
        return {one["metadata"]["name"] for one in self.store.list(kinds.PODS)}

    def reasons(self) -> list[str]:
        return [one["reason"] for one in self.store.list(kinds.CORE_EVENTS)]

    def value(self, metric: str, **labels: str) -> float:
        return self.processes[-1].telling.metrics.value(metric, labels)
