"""A cluster of machines in this process, in virtual time: the embedded API server, single instances in memory, machines
that become Nodes when they run, and the loops under test.

    async with LiveMachines() as live:
        live.workers(3, spot=True)
        await live.until(lambda: live.ready() == 3)
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import copy
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import cache
from types import TracebackType
from typing import Any, ClassVar, Self

from tests.live.virtual_time import World

from dovetail.api import kinds
from dovetail.api.crds import every
from dovetail.api.kinds import Kind
from dovetail.apiserver import errors
from dovetail.apiserver.controllers import Controllers
from dovetail.apiserver.controllers import Options as Taking
from dovetail.apiserver.server import EmbeddedServer, Options
from dovetail.apiserver.writes import MergePatch
from dovetail.clouds.sim.machines import SimMachines
from dovetail.controllers.cluster_api.loops import MachineController
from dovetail.core import timestamps
from dovetail.core.effects import Say
from dovetail.core.machines.effects import Effect
from dovetail.core.machines.infra_objects import State
from dovetail.kube.client import Client
from dovetail.kube.config import from_document
from dovetail.kube.transport import Options as ClientOptions
from dovetail.kube.watch import Options as WatchOptions

Object = dict[str, Any]
CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
LABELS = {"pool": "workers"}


class Killed(BaseException):
    """The process ends here, whatever it was doing."""


@cache
def _manifests() -> tuple[Object, ...]:
    return tuple(one.manifest() for one in every.CLUSTER_API)


class LiveMachines:
    """One cluster, one process of loops, which may be thrown away and started anew."""

    #: What machines are made from, and what they are.
    templates: ClassVar[Kind] = kinds.AWS_TEMPLATES
    infra: ClassVar[Kind] = kinds.AWS_MACHINES

    def __init__(self) -> None:
        self.world = World()
        self.cloud = SimMachines("aws", self.world.now)
        self.said: list[Say] = []
        self.problems: list[str] = []
        #: Whether instances that run become Nodes.
        self.join = True
        #: How often kubelets look; seldom, where hours pass.
        self.tick = 1.0
        self.boundary: Callable[[Effect, bool], None] | None = None
        #: What every machine asks for besides its type.
        self.asked: Object = {}
        self._opened = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self._written = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.server = await self._opened.enter_async_context(
            EmbeddedServer(Options(tls=False, clock=self.world.date, controllers=False))
        )
        self.store = self.server.store
        self.store.storage.listeners.append(lambda kind, change: self._written.set())
        await self._opened.enter_async_context(Controllers(self.store, Taking(fake_kubelet=True)))
        for manifest in _manifests():
            self.put(kinds.CRDS, copy.deepcopy(manifest))
        self._furnish()
        client = Client(from_document(self.server.kubeconfig()), ClientOptions(clock=self.world.clock()))
        self.client = await self._opened.enter_async_context(client)
        self._kubelets = asyncio.create_task(self._joining(), name="kubelets")
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kubelets.cancel()
        await asyncio.gather(self._kubelets, return_exceptions=True)
        await self.stop()
        await self._opened.aclose()
        if kind is None:
            assert self.problems == []

    def start(self) -> None:
        self.controller = MachineController(
            self.client,
            {self.cloud.cloud: self.cloud},
            kinds.INFRA_MACHINES,
            core=True,
            failed=lambda key, problem: self.problems.append(f"{key}: {problem!r}"),
            say=self.said.append,
            now=self.world.now,
            options=WatchOptions(clock=self.world.clock()),
            boundary=self.boundary,
        )
        self._tasks = [asyncio.create_task(self.controller.run(), name="machines")]

    async def stop(self) -> None:
        for one in self._tasks:
            one.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    @property
    def is_dead(self) -> bool:
        return any(one.done() for one in self._tasks)

    def _furnish(self) -> None:
        self.put(kinds.CLUSTERS, {"metadata": {"name": "c"}, "spec": {}})
        now = timestamps.text(self.world.now())
        up = [
            {"type": one, "status": "True", "reason": one, "message": "", "lastTransitionTime": now}
            for one in ("InfrastructureReady", "ControlPlaneInitialized")
        ]
        self.edit(kinds.CLUSTERS, "c", {"status": {"conditions": up}}, subresource="status")
        secret = {"value": base64.b64encode(b"#cloud-config\n").decode()}
        self.put(kinds.SECRETS, {"metadata": {"name": "boot"}, "data": secret})

    # ---- kubelets

    async def _joining(self) -> None:
        """Instances that run become Nodes; those that do not any more fall silent."""
        while True:
            await asyncio.sleep(self.tick)
            running = {one.provider_id: one for one in self.cloud.running if one.state is State.RUNNING}
            known = {one["spec"].get("providerID"): one["metadata"]["name"] for one in self.all(kinds.NODES)}
            for provider_id, one in running.items():
                if self.join and provider_id not in known:
                    node = {"metadata": {"name": f"node-{one.name}"}, "spec": {"providerID": provider_id}}
                    self.put(kinds.NODES, node)
                    self._tell(f"node-{one.name}", "True")
            for provider_id, name in known.items():
                if provider_id not in running:
                    self._tell(name, "Unknown")

    def _tell(self, node: str, ready: str) -> None:
        held = (self.get(kinds.NODES, node).get("status") or {}).get("conditions") or []
        if any(one["type"] == "Ready" and one["status"] == ready for one in held):
            return
        now = timestamps.text(self.world.now())
        told = [
            {"type": one, "status": ready if one == "Ready" else "False", "lastTransitionTime": now, "reason": "Told"}
            for one in CONDITIONS
        ]
        self.edit(kinds.NODES, node, {"status": {"conditions": told}}, subresource="status")

    # ---- what users do

    def workers(self, replicas: int, *, spot: dict[str, Any] | None = None, **spec: Any) -> None:
        """A set of so many machines."""
        machine = self.machine(spot) | self.asked
        self.put(self.templates, {"metadata": {"name": "t"}, "spec": {"template": {"spec": machine}}})
        reference = {"apiGroup": self.templates.group, "kind": self.templates.name, "name": "t"}
        template = {
            "metadata": {"labels": LABELS},
            "spec": {"clusterName": "c", "bootstrap": {"dataSecretName": "boot"}, "infrastructureRef": reference},
        }
        wanted = {"clusterName": "c", "replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
        self.put(kinds.MACHINE_SETS, {"metadata": {"name": "s"}, "spec": wanted | spec})

    def machine(self, spot: dict[str, Any] | None) -> Object:
        """The least that can be asked for, on spot if so."""
        return {"instanceType": "m5.large"} | ({"spotMarketOptions": spot} if spot is not None else {})

    def check(self, **spec: Any) -> None:
        """A health check of those machines."""
        signs = [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 60}]
        wanted: Object = {"clusterName": "c", "selector": {"matchLabels": LABELS}}
        wanted |= {"checks": {"nodeStartupTimeoutSeconds": 600, "unhealthyNodeConditions": signs}} | spec
        self.put(kinds.HEALTH_CHECKS, {"metadata": {"name": "h"}, "spec": wanted})

    def scale(self, replicas: int) -> None:
        self.edit(kinds.MACHINE_SETS, "s", {"spec": {"replicas": replicas}})

    def put(self, kind: Kind, obj: Object) -> Object:
        body = {"apiVersion": kind.api_version, "kind": kind.name, **obj}
        return self.store.create(kind, body, "default" if kind.namespaced else "")

    def edit(self, kind: Kind, name: str, body: Object, *, subresource: str = "") -> Object:
        where = "default" if kind.namespaced else ""
        return self.store.patch(kind, name, MergePatch(body), where, subresource=subresource)

    def delete(self, kind: Kind, name: str) -> None:
        self.store.delete(kind, name, "default" if kind.namespaced else "")

    # ---- what the cloud has

    @property
    def bought(self) -> list[str]:
        """The names of all instances that were ever made, one for each time."""
        return list(self.cloud.bought)

    def vanish(self) -> None:
        """The cloud takes everything back, and forgets it."""
        for one in self.cloud.running:
            self.cloud.forget(one.name)

    # ---- what there is

    def all(self, kind: Kind) -> list[Object]:
        return list(self.store.list(kind))

    def get(self, kind: Kind, name: str) -> Object:
        return self.store.get(kind, name, "default" if kind.namespaced else "")

    def find(self, kind: Kind, name: str) -> Object | None:
        with contextlib.suppress(errors.ApiError):
            return self.get(kind, name)
        return None

    def machines(self) -> list[str]:
        return sorted(one["metadata"]["name"] for one in self.all(kinds.MACHINES))

    def phases(self) -> list[str]:
        return sorted((one.get("status") or {}).get("phase", "") for one in self.all(kinds.MACHINES))

    def running(self) -> int:
        return self.phases().count("Running")

    def is_empty(self) -> bool:
        return not self.all(kinds.MACHINES) and not self.all(self.infra)

    async def until(self, true: Callable[[], object], seconds: float = 120.0) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not true():
            assert loop.time() < deadline, f"not within {seconds} s; {self.summary()}"
            self._written.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._written.wait(), max(0.5, seconds / 100))

    async def settle(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def summary(self) -> str:
        shown = []
        for one in self.all(kinds.MACHINES):
            held = (one.get("status") or {}).get("conditions") or []
            told = ", ".join(f"{each['type']}={each['status']}/{each.get('reason')}" for each in held)
            shown.append(f"{one['metadata']['name']} {(one.get('status') or {}).get('phase')} [{told}]")
        return f"machines {shown}, instances {len(self.cloud.running)}, problems {self.problems[-3:]}"
