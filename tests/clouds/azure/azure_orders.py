"""Machines to order from the Azure of `tools.azure_server`, and somebody to order them from.

async with shop() as one:
    made = await one.made(order("m", spotVMOptions={}))
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tools.azure_server import AzureServer

from dovetail.api.cluster_api import infra_reading
from dovetail.api.fields import fields
from dovetail.api.kinds import AZURE_MACHINES
from dovetail.clouds.azure.client import Access, Azure
from dovetail.clouds.azure.machines.machines import AzureMachines, Pace
from dovetail.clouds.machines import Sought, Underway, UserData
from dovetail.clouds.port import NotFound
from dovetail.core.machines.infra_objects import Found, Purchase, Wanted, token_of

BOOT = UserData(b"#cloud-config\n")
SIZE = "Standard_D2s_v5"
GROUP = "My-Group"
SPEC: dict[str, Any] = {
    "vmSize": SIZE,
    "osDisk": {"osType": "Linux", "diskSizeGB": 30, "managedDisk": {"storageAccountType": "Premium_LRS"}},
    "image": {"computeGallery": {"gallery": "ClusterAPI-x", "name": "capi-ubun2-2404", "version": "1.34.0"}},
    "sshPublicKey": "",
}
CLUSTER: dict[str, Any] = {"location": "westeurope", "resourceGroup": GROUP}


def wanted(**changes: Any) -> Wanted:
    """As it is read from an AzureMachine."""
    spec = {name: value for name, value in {**SPEC, **changes}.items() if value is not None}
    whole = {"metadata": {"name": "m", "uid": "u", "creationTimestamp": "2027-01-15T08:00:00Z"}, "spec": spec}
    return infra_reading.infra_machine(AZURE_MACHINES, fields(whole)).wanted


def order(name: str = "m", *, cluster: str = "c", zone: str = "", **changes: Any) -> Purchase:
    return Purchase(name, token_of(f"uid-{name}"), cluster, name, wanted(**changes), zone, False, "default")


def sought(name: str = "m", provider_id: str = "", *, cluster: str = "c") -> Sought:
    return Sought(name, cluster, token_of(f"uid-{name}"), provider_id, "default")


class Ticking:
    """Time that passes when somebody waits, or when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


@dataclass
class Shop:
    server: AzureServer
    azure: Azure
    time: Ticking
    #: What the AzureCluster says.
    spec: Mapping[str, object] | None = field(default_factory=lambda: CLUSTER)

    def __post_init__(self) -> None:
        self.machines = self.process()

    def process(self, azure: Azure | None = None) -> AzureMachines:
        """A process that remembers nothing."""
        return AzureMachines(azure or self.azure, self.clusters, Pace(lambda: self.time.now, self.time.sleep))

    async def clusters(self, namespace: str, cluster: str) -> Mapping[str, object] | None:
        return self.spec

    async def made(self, purchase: Purchase, most: int = 50) -> Found:
        """Ordered again and again, as the loops do, until it is there."""
        for _ in range(most):
            try:
                return await self.machines.create(purchase, BOOT)
            except Underway as going:
                await self.time.sleep(going.wait)
        raise AssertionError(f"after {most} times it is still underway")

    async def gone(self, one: Found | None = None, name: str = "m", most: int = 50) -> int:
        """Remove it until nothing is left; how often that was asked."""
        for count in range(1, most + 1):
            try:
                await self.machines.delete(sought(name, one.provider_id if one is not None else ""))
            except NotFound:
                return count
            await self.time.sleep(5.0)
        raise AssertionError(f"after {most} times there is still {self.server.everything()}")


@asynccontextmanager
async def shop(seconds: float = 5.0, door: type[Azure] = Azure) -> AsyncIterator[Shop]:
    time = Ticking()
    async with (
        AzureServer(lambda: time.now) as server,
        door(Access(server.world.subscription, server.url, seconds)) as azure,
    ):
        yield Shop(server, azure, time)
