"""Machines of Cluster API on Azure, in this process: `live_machines`, but what is bought is bought with the real SDK
from the test server, in virtual time. A process that is started anew knows nothing of what the one before it made."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from tests.clouds.azure.azure_orders import CLUSTER, SPEC
from tests.live.live_machines import LiveMachines, Object
from tools.azure_server import AzureServer
from tools.azure_server.world import VM

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.clouds.azure.client import Access, Azure
from dovetail.clouds.azure.machines import ids
from dovetail.clouds.azure.machines.machines import AzureMachines, Pace
from dovetail.clouds.azure.machines.places import Clusters
from dovetail.controllers.cluster_api.clusters import InfraClusters
from dovetail.core.machines.infra_objects import Found, State


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

    templates: ClassVar[Kind] = kinds.AZURE_TEMPLATES
    infra: ClassVar[Kind] = kinds.AZURE_MACHINES

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
        super().start()

    def machine(self, spot: dict[str, Any] | None) -> Object:
        return SPEC | ({"spotVMOptions": spot} if spot is not None else {})

    def told(self, name: str) -> Object:
        """What an AzureMachine says of itself."""
        return self.get(kinds.AZURE_MACHINES, name).get("status") or {}

    # ---- what Azure has

    @property
    def bought(self) -> list[str]:
        return [one.rpartition("/")[2] for one in self.azure_world.made]

    def vanish(self) -> None:
        for one in list(self.azure_world.of(VM)):
            self.azure_world.evict(one.name)
