"""The Azure of the tests speaks ARM: the SDK's own pollers follow its operations to their end, in any process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.mgmt.compute.aio import ComputeManagementClient
from tests.clouds.azure.azure_orders import GROUP, SIZE, Shop, order, shop
from tools.azure_server import Fault
from tools.azure_server.world import NIC, VM, Failing

from dovetail.clouds.azure.client import _Nobody
from dovetail.clouds.azure.resources import INTERFACE
from dovetail.clouds.port import Unavailable

POLL = {"polling_interval": 0}


def run(scenario: Callable[[Shop, Any], Awaitable[None]]) -> None:
    async def through() -> None:
        async with shop() as one:
            given = {"base_url": one.server.url, "authentication_policy": SansIOHTTPPolicy(), **POLL}
            async with ComputeManagementClient(_Nobody(), one.server.world.subscription, **given) as compute:
                await scenario(one, compute.virtual_machines)

    asyncio.run(through())


async def body_of(one: Shop) -> dict[str, Any]:
    """What Azure was sent for a machine."""
    await one.made(order())
    sent = next(asked.body for asked in one.server.writes() if "/virtualMachines/" in asked.path)
    one.server.world.remove(one.server.world.named(VM, "m"))
    await one.machines._network(await one.machines._order(order()))
    found: dict[str, Any] = sent
    return found


async def passing(one: Shop, seconds: float) -> None:
    """Time goes on while somebody polls."""
    for _ in range(10):
        await asyncio.sleep(0.01)
        one.time.now += seconds / 10


def test_an_operation_is_polled_to_its_end():
    async def scenario(one: Shop, machines: Any) -> None:
        body = await body_of(one)
        one.server.world.waits.make = one.server.world.waits.remove = 10.0
        begun = await machines.begin_create_or_update(GROUP, "m", body)
        assert one.server.world.named(VM, "m").state == "Creating"
        made, _ = await asyncio.gather(begun.result(), passing(one, 11.0))
        assert made.provisioning_state == "Succeeded"
        removed = await machines.begin_delete(GROUP, "m")
        await asyncio.gather(removed.result(), passing(one, 11.0))
        with pytest.raises(ResourceNotFoundError):
            await machines.get(GROUP, "m")

    run(scenario)


def test_an_operation_goes_on_while_nobody_looks_and_another_process_resumes_it():
    async def scenario(one: Shop, machines: Any) -> None:
        body = await body_of(one)
        one.server.world.waits.make = 10.0
        one.server.world.failing[SIZE] = Failing("ZonalAllocationFailed")
        begun = await machines.begin_create_or_update(GROUP, "m", body)
        token = begun.continuation_token()
        one.time.now += 20.0
        resumed = await machines.begin_create_or_update(GROUP, "m", body, continuation_token=token)
        with pytest.raises(HttpResponseError) as told:
            await resumed.result()
        assert told.value.error is not None
        assert told.value.error.code == "ZonalAllocationFailed"

    run(scenario)


def test_a_machine_is_never_made_over_another():
    async def scenario(one: Shop, machines: Any) -> None:
        body = await body_of(one)
        await (await machines.begin_create_or_update(GROUP, "m", body)).result()
        other = {**body, "properties": {**body["properties"], "hardwareProfile": {"vmSize": "Standard_D4s_v5"}}}
        with pytest.raises(HttpResponseError) as told:
            await machines.begin_create_or_update(GROUP, "m", other)
        assert told.value.error is not None
        assert told.value.error.code == "PropertyChangeNotAllowed"

    run(scenario)


def test_what_is_held_cannot_be_removed_and_a_fault_befalls_one_request():
    async def scenario(one: Shop, machines: Any) -> None:
        await one.made(order())
        (nic,) = one.server.world.of(NIC)
        with pytest.raises(Unavailable, match="NicInUse"):
            await one.azure.delete(INTERFACE, GROUP, nic.name)
        one.server.faults.append(Fault("GET", "/virtualMachines/"))
        with pytest.raises(HttpResponseError):
            await machines.get(GROUP, "m", retry_total=0)
        assert (await machines.get(GROUP, "m")).name == "m"

    run(scenario)
