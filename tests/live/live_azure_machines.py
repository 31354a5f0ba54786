"""Machines of Cluster API on Azure, in this process: `live_machines`, but what is bought is bought with the real SDK
from the test server, in virtual time. A process that is started anew knows nothing of what the one before it made."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from tests.clouds.azure.azure_orders import CLUSTER, SPEC
from tests.live.live_machines import LABELS, LiveMachines
from tools.azure_server import AzureServer
from tools.azure_server.world import VM

from dovetail.api import kinds
from dovetail.clouds.azure.client import Access, Azure
from dovetail.clouds.azure.machines import ids
from dovetail.clouds.azure.machines.machines import AzureMachines, Pace
from dovetail.clouds.azure.machines.places import Clusters
from dovetail.controllers.cluster_api.clusters import InfraClusters
from dovetail.controllers.cluster_api.loops import MachineController
from dovetail.core.machines.infra_objects import Found, State
from dovetail.kube.watch import Options as WatchOptions


class AzureCloud(AzureMachines):
    """What is bought from, and what Azure itself knows about it."""

    def __init__(self, azure: Azure, clusters: Clusters, server: AzureServer) -> None:
        super().__init__(azure, clusters, Pace(server.world.now))
        self._server = server

    @property
    def running(self) -> tuple[Found, ...]:
        """What has a kubelet that runs."""
        world = self._server.world
        up = (one for one in world.of(VM) if one.power == "running" and one.state == "Succeeded")
        return tuple(self._one(one.wire["id"], one.name) for one in up)

    def _one(self, id_: str, name: str) -> Found:
        return Found(ids.provider_id(self._server.world.subscription, ids.group_of(id_), name), name, State.RUNNING)

    @property
    def made(self) -> int:
        return len(self._server.world.made)


class LiveAzure(LiveMachines):
    """One cluster and its subscription. Making a machine takes eight seconds, removing one six."""

    def __init__(self) -> None:
        super().__init__()
        self.server_of_azure = AzureServer(self.world.now)
        self.azure_world = self.server_of_azure.world
        self.azure_world.waits.make, self.azure_world.waits.remove = 8.0, 6.0

    async def __aenter__(self) -> Self:
        server = await self._opened.enter_async_context(self.server_of_azure)
        access = Access(server.world.subscription, server.url)
        self.azure = await self._opened.enter_async_context(Azure(access))
        return await super().__aenter__()

    def _furnish(self) -> None:
        super()._furnish()
        ref = {"apiGroup": kinds.AZURE_CLUSTERS.group, "kind": kinds.AZURE_CLUSTERS.name, "name": "c"}
        self.put(kinds.AZURE_CLUSTERS, {"metadata": {"name": "c"}, "spec": CLUSTER})
        self.edit(kinds.CLUSTERS, "c", {"spec": {"infrastructureRef": ref}})

    def start(self) -> None:
        clusters = InfraClusters(self.client, kinds.AZURE_CLUSTERS, self.world.now)
        self.cloud: Any = AzureCloud(self.azure, clusters, self.server_of_azure)
        self.controller = MachineController(
            self.client,
            {"azure": self.cloud},
            kinds.INFRA_MACHINES,
            core=True,
            failed=lambda key, problem: self.problems.append(f"{key}: {problem!r}"),
            say=self.said.append,
            now=self.world.now,
            options=WatchOptions(clock=self.world.clock()),
            boundary=self.boundary,
        )
        self._tasks = [asyncio.create_task(self.controller.run(), name="machines")]

    def workers(self, replicas: int, *, spot: dict[str, Any] | None = None, **spec: Any) -> None:
        machine = SPEC | self.asked | ({"spotVMOptions": spot} if spot is not None else {})
        self.put(kinds.AZURE_TEMPLATES, {"metadata": {"name": "t"}, "spec": {"template": {"spec": machine}}})
        reference = {"apiGroup": kinds.AZURE_TEMPLATES.group, "kind": kinds.AZURE_TEMPLATES.name, "name": "t"}
        template = {
            "metadata": {"labels": LABELS},
            "spec": {"clusterName": "c", "bootstrap": {"dataSecretName": "boot"}, "infrastructureRef": reference},
        }
        wanted = {"clusterName": "c", "replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
        self.put(kinds.MACHINE_SETS, {"metadata": {"name": "s"}, "spec": wanted | spec})

    def is_empty(self) -> bool:
        return not self.all(kinds.MACHINES) and not self.all(kinds.AZURE_MACHINES)

    def infra(self, name: str) -> dict[str, Any]:
        """What an AzureMachine says of itself."""
        return self.get(kinds.AZURE_MACHINES, name).get("status") or {}
