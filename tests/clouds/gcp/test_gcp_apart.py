"""Google's SDK in a process of its own: what it costs is not there while nothing is bought or removed."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from tests.clouds.gcp.gcp_orders import BOOT, ZONE, order, sought
from tools.gcp_server import Fault, GcpServer

from dovetail.clouds.gcp import sdk
from dovetail.clouds.gcp.client import Access, Gcp
from dovetail.clouds.gcp.errors import ALREADY_EXISTS, was
from dovetail.clouds.gcp.machines import GcpMachines
from dovetail.clouds.gcp.machines import answers as wire
from dovetail.clouds.port import CloudError, Misconfigured, NotFound, Throttled, Unavailable
from dovetail.core.machines.infra_objects import State

#: What is imported, told by a process that has imported nothing before.
_IMPORTED = """
import sys
from dovetail.clouds.gcp.{module} import {name}
{name}({given})
services = {{name.split(".")[4] for name in sys.modules if name.startswith("google.cloud.compute_v1.services.")}}
print(len(services), "google.cloud.compute_v1.types.compute" in sys.modules)
"""


def imported(module: str, name: str, given: str) -> str:
    access = 'Access("p", "http://127.0.0.1:9")'
    code = f"from dovetail.clouds.gcp.identity import Access{_IMPORTED.format(module=module, name=name, given=given)}"
    line = [sys.executable, "-c", code.replace("ACCESS", access)]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


def test_of_the_hundred_services_only_those_that_are_used_are_imported():
    services, types = imported("sdk", "Sdk", "ACCESS").split()
    assert int(services) < 8
    assert types == "True"


def test_to_look_at_machines_the_sdk_is_not_needed():
    assert imported("session", "Session", "None, 'http://127.0.0.1:9', 1.0") == "0 False"


def test_after_it_the_package_is_whole_for_whoever_imports_it():
    code = "from dovetail.clouds.gcp.identity import Access\nfrom dovetail.clouds.gcp.sdk import Sdk\n"
    code += 'Sdk(Access("p", "http://127.0.0.1:9"))\nfrom google.cloud import compute_v1\n'
    code += "print(compute_v1.FirewallsClient.__name__, compute_v1.Instance.__name__)"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert told.split() == ["FirewallsClient", "Instance"]


def test_machines_are_made_looked_at_called_and_removed_through_it(gcp_server: GcpServer):
    async def scenario() -> None:
        async with Gcp(Access("p", gcp_server.url, apart=True)) as gcp:
            machines = GcpMachines(gcp)
            made = await machines.create(order("m", provisioningModel="Spot"), BOOT)
            known = sought("m", made.provider_id)
            assert (await machines.find(known)).state is State.RUNNING
            assert await machines.roll_call((known,)) == {made.provider_id}
            for _ in range(20):
                try:
                    await machines.delete(known)
                except NotFound:
                    break
            assert gcp_server.world.instances == {}

    asyncio.run(scenario())


def test_errors_come_back_as_what_they_were(gcp_server: GcpServer):
    async def scenario() -> None:
        async with Gcp(Access("p", gcp_server.url, apart=True)) as gcp:
            with pytest.raises(NotFound):
                await gcp.delete_instance(ZONE, "nobody")
            gcp_server.faults.add(Fault("instances.delete", 429, "rateLimitExceeded", headers={"Retry-After": "7"}))
            with pytest.raises(Throttled) as slow:
                await gcp.delete_instance(ZONE, "nobody")
            assert slow.value.wait == 7
            with pytest.raises(Misconfigured, match="no such instance"):
                await gcp.insert_instance(ZONE, {"nmae": 1}, "1")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "error",
    [
        sdk.sorted_out(sdk.Refusal("make", 409, "alreadyExists", "there is one")),
        sdk.sorted_out(sdk.Refusal("make", 429, "rateLimitExceeded", "slow", 3.0)),
        Misconfigured("no such instance"),
        NotFound("gone"),
        Unavailable("nothing was heard"),
    ],
)
def test_an_error_survives_being_a_line(error: CloudError):
    again = sdk.raised(sdk.shown(error))
    assert (type(again), str(again), again.reason) == (type(error), str(error), error.reason)
    assert was(again, ALREADY_EXISTS) == was(error, ALREADY_EXISTS)
    assert getattr(again, "wait", None) == getattr(error, "wait", None)


def test_an_instance_reads_the_same_with_the_sdk_and_without(gcp_server: GcpServer):
    async def scenario() -> None:
        async with Gcp(Access("p", gcp_server.url)) as gcp:
            await GcpMachines(gcp).create(order("m", provisioningModel="Spot"), BOOT)
            light = wire.read(wire.Instance, await gcp.get_instance(ZONE, "m"))
            (heavy,) = [wire.read(wire.Instance, one) for one in await gcp.list_instances('name = "m"')]
            assert light == heavy

    asyncio.run(scenario())
