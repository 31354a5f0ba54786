"""Machines on the real control plane: its own patches, conflicts and garbage collection (R1, R9, R10, R32, R40)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.contract.kubernetes.things import fresh
from tests.control_plane_plugin import MACHINES_GROUP
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds
from dovetail.api.crds import every
from dovetail.api.kinds import Kind
from dovetail.clouds.sim.machines import SimMachines
from dovetail.controllers.cluster_api.loops import MachineController
from dovetail.core import timestamps
from dovetail.core.machines import names
from dovetail.core.machines.infra_objects import State
from dovetail.kube import config
from dovetail.kube.client import Client
from dovetail.kube.patches import Apply, MergePatch

pytestmark = pytest.mark.xdist_group(MACHINES_GROUP)
PATIENCE, LOOK = 180.0, 0.1
Object = dict[str, Any]


class World:
    """A namespace of its own, and instances that become Nodes."""

    def __init__(self, client: Client) -> None:
        self.client, self.namespace = client, fresh("machines")
        self.cloud = SimMachines("aws", time.time, boot_seconds=0.2)
        self.problems: list[str] = []

    async def put(self, kind: Kind, name: str, spec: Any, **more: Any) -> None:
        body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, **more}
        await self.client.create(kind, body | ({"spec": spec} if spec is not None else {}), self._place(kind))

    def _place(self, kind: Kind) -> str:
        return self.namespace if kind.namespaced else ""

    async def all(self, kind: Kind) -> list[Object]:
        return list((await self.client.list(kind, self._place(kind))).items)

    async def nodes(self) -> list[Object]:
        return [one for one in await self.all(kinds.NODES) if self.namespace in one["metadata"]["name"]]

    async def machines(self) -> dict[str, str]:
        """Phases by name."""
        found = await self.all(kinds.MACHINES)
        return {one["metadata"]["name"]: (one.get("status") or {}).get("phase", "") for one in found}

    async def until(self, true: Callable[[], Any]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not await true():
            assert time.monotonic() < deadline, (await self.machines(), self.problems[-3:])
            await asyncio.sleep(LOOK)

    async def joining(self) -> None:
        """Instances that run become Nodes."""
        while True:
            await asyncio.sleep(LOOK)
            known = {one["spec"].get("providerID") for one in await self.nodes()}
            for one in self.cloud.running:
                if one.state is State.RUNNING and one.provider_id not in known:
                    name = f"{self.namespace}-{one.name}"
                    await self.put(kinds.NODES, name, {"providerID": one.provider_id})
                    await self.client.patch(kinds.NODES, name, MergePatch({"status": _well()}), subresource="status")


def _well() -> Object:
    now = timestamps.text(time.time())
    told = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}
    return {
        "conditions": [
            {"type": one, "status": status, "reason": "Told", "lastHeartbeatTime": now, "lastTransitionTime": now}
            for one, status in told.items()
        ]
    }


@contextlib.asynccontextmanager
async def furnished(plane: ControlPlane) -> AsyncIterator[World]:
    async with Client(config.load(str(plane.kubeconfig), None, {})) as client:
        for one in every.CLUSTER_API:
            await client.patch(kinds.CRDS, one.name, Apply(one.manifest(), "test", force=True))
        world = World(client)
        await world.put(kinds.NAMESPACES, world.namespace, None)
        secret = {"value": base64.b64encode(b"#cloud-config\n").decode()}
        await world.put(kinds.SECRETS, "boot", None, data=secret)
        await world.until(lambda: _served(world))
        await world.put(kinds.CLUSTERS, "c", {})
        up = {"initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True}}
        await client.patch(kinds.CLUSTERS, "c", MergePatch({"status": up}), world.namespace, subresource="status")
        controller = MachineController(
            client,
            {"aws": world.cloud},
            kinds.INFRA_MACHINES,
            core=True,
            failed=lambda key, problem: world.problems.append(f"{key}: {problem!r}"),
        )
        tasks = [asyncio.create_task(controller.run()), asyncio.create_task(world.joining())]
        try:
            yield world
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for one in await world.nodes():
                await client.delete(kinds.NODES, one["metadata"]["name"])
            await client.delete(kinds.NAMESPACES, world.namespace)


async def _served(world: World) -> bool:
    try:
        for one in every.CLUSTER_API:
            await world.all(one.kind)
    except Exception:  # noqa: BLE001
        return False
    return True


def test_a_set_of_spot_machines_lives_is_healed_and_goes(control_plane: ControlPlane) -> None:
    labels = {"pool": "workers"}
    ref = {"apiGroup": kinds.AWS_TEMPLATES.group, "kind": kinds.AWS_TEMPLATES.name, "name": "t"}
    inner = {"clusterName": "c", "bootstrap": {"dataSecretName": "boot"}, "infrastructureRef": ref}
    wanted = {
        "clusterName": "c",
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": inner},
    }

    async def scenario() -> None:
        async with furnished(control_plane) as world:
            spot = {"template": {"spec": {"instanceType": "m5.large", "spotMarketOptions": {"maxPrice": "0.1"}}}}
            await world.put(kinds.AWS_TEMPLATES, "t", spot)
            await world.put(kinds.HEALTH_CHECKS, "h", {"clusterName": "c", "selector": {"matchLabels": labels}})
            await world.put(kinds.MACHINE_SETS, "s", wanted)
            await world.until(lambda: _running(world, 2))
            await world.until(lambda: _labelled(world, 2))
            assert world.cloud.made == 2
            first = min(await world.machines())
            infra = await world.client.get(kinds.AWS_MACHINES, first, world.namespace)
            assert infra["status"]["interruptible"] is True
            assert infra["metadata"]["ownerReferences"][0]["kind"] == "Machine"
            # The instance is looked at every half minute; whatever changes the object has it looked at now.
            world.cloud.take_away(first)
            touched = MergePatch({"metadata": {"annotations": {"look": "now"}}})
            await world.client.patch(kinds.AWS_MACHINES, first, touched, world.namespace)
            await world.until(lambda: _gone(world, first))
            await world.until(lambda: _running(world, 2))
            assert world.cloud.made == 3
            await world.client.delete(kinds.MACHINE_SETS, "s", world.namespace)
            await world.until(lambda: _empty(world))
            assert world.cloud.running == ()
            assert world.cloud.parts == {}
            assert world.problems == []

    asyncio.run(scenario())


async def _running(world: World, count: int) -> bool:
    return list((await world.machines()).values()) == ["Running"] * count


async def _labelled(world: World, count: int) -> bool:
    return sum(names.INTERRUPTIBLE in one["metadata"].get("labels", {}) for one in await world.nodes()) == count


async def _gone(world: World, name: str) -> bool:
    return name not in await world.machines()


async def _empty(world: World) -> bool:
    return not await world.machines() and not await world.all(kinds.AWS_MACHINES) and not await world.nodes()
