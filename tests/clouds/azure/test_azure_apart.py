"""Azure's SDK in a process of its own: what it costs is not there while nothing is made or removed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest
from tests.clouds.azure.azure_orders import GROUP, Shop, order, shop, sought
from tools.azure_server import Fault

from dovetail.clouds.azure import apart
from dovetail.clouds.azure.apart import AzureApart
from dovetail.clouds.azure.client import Azure
from dovetail.clouds.azure.errors import Refusal, code_of, sorted_out
from dovetail.clouds.azure.resources import INTERFACE, VIRTUAL_MACHINE
from dovetail.clouds.port import CloudError, Misconfigured, NotFound, Throttled, Unavailable
from dovetail.core.machines.infra_objects import State

#: The child's first answer may take as long as the SDK's import does on a busy machine.
SECONDS = 60.0


def run(scenario: Callable[[Shop], Awaitable[None]]) -> None:
    async def through() -> None:
        async with shop(SECONDS, AzureApart) as one:
            await scenario(one)

    asyncio.run(through())


def test_machines_are_made_looked_at_called_and_removed_through_it():
    async def scenario(one: Shop) -> None:
        made = await one.made(order(spotVMOptions={}))
        known = sought(provider_id=made.provider_id)
        found = await one.machines.find(known)
        assert (found.state, found.interruptible) == (State.RUNNING, True)
        assert found.addresses
        assert await one.machines.roll_call((known,)) == {made.provider_id}
        await one.gone(made)
        assert one.server.everything() == []

    run(scenario)


def test_to_look_at_machines_the_services_are_not_imported():
    code = """
import asyncio, sys
from dovetail.clouds.azure.apart import AzureApart
from dovetail.clouds.azure.client import Access
from dovetail.clouds.azure.resources import VIRTUAL_MACHINE
from dovetail.clouds.port import Unavailable

async def looked():
    async with AzureApart(Access("s", "http://127.0.0.1:9", 5.0)) as azure:
        try:
            await azure.get(VIRTUAL_MACHINE, "g", "m")
        except Unavailable:
            print(sorted({name.split(".")[2] for name in sys.modules if name.startswith("azure.mgmt.")}))

asyncio.run(looked())
"""
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert told.strip() == "['core']"


def test_errors_come_back_as_what_they_were():
    async def scenario(one: Shop) -> None:
        for kind in (VIRTUAL_MACHINE, INTERFACE):
            with pytest.raises(NotFound):
                await one.azure.get(kind, GROUP, "nobody")
        one.server.faults.append(Fault("PUT", "", 429, "TooManyRequests", "slow", {"Retry-After": "7"}))
        with pytest.raises(Throttled) as slow:
            await one.azure.put(INTERFACE, GROUP, "n", {"location": "westeurope", "properties": {}})
        assert slow.value.wait == 7
        for fault, error in (
            (Fault("GET", "", 200, text="["), Unavailable),
            (Fault("GET", "", 200, text="[]"), Unavailable),
            (Fault("GET", "", 503), Unavailable),
            (Fault("GET", "", 403, "AuthorizationFailed"), Misconfigured),
        ):
            one.server.faults.append(fault)
            with pytest.raises(error):
                await one.azure.get(VIRTUAL_MACHINE, GROUP, "m")

    run(scenario)


@pytest.mark.parametrize(
    "error",
    [
        sorted_out(Refusal("make", "Conflict", "there is one", 409)),
        sorted_out(Refusal("make", "TooManyRequests", "slow", 429, 3.0)),
        Misconfigured("no subscription"),
        NotFound("gone"),
        Unavailable("nothing was heard"),
    ],
)
def test_an_error_survives_being_a_line(error: CloudError):
    again = apart.raised(apart.shown(error))
    assert (type(again), str(again), again.reason) == (type(error), str(error), error.reason)
    assert code_of(again) == code_of(error)
    assert getattr(again, "wait", None) == getattr(error, "wait", None)


def test_a_machine_reads_the_same_with_the_sdk_and_without():
    async def scenario(one: Shop) -> None:
        made = await one.made(order(spotVMOptions={}))
        light = await one.machines.find(sought(provider_id=made.provider_id))
        async with Azure(one.azure.access) as whole:
            assert await one.process(whole).find(sought(provider_id=made.provider_id)) == light

    run(scenario)
