"""AzureMachines of Cluster API, whole: bought, labelled, evicted, told of, healed, removed (R1, R9–R14, R26–R41)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.clouds.azure.azure_orders import SIZE
from tests.live.live_azure_machines import LiveAzure
from tests.live.live_machines import Killed
from tests.live.virtual_time import run
from tools.azure_server import Fault
from tools.azure_server.world import VM, Failing

from dovetail.api import kinds
from dovetail.core.machines import names
from dovetail.core.machines.effects import Buy, Discard, Effect, SaveInfra

Scenario = Callable[[LiveAzure], Awaitable[None]]
PUBLIC = {"allocatePublicIP": True, "dataDisks": [{"nameSuffix": "data", "diskSizeGB": 4}]}


def live(scenario: Scenario) -> None:
    async def through() -> None:
        async with LiveAzure() as one:
            await scenario(one)

    run(through())


def interruptible(one: LiveAzure) -> list[bool]:
    return [names.INTERRUPTIBLE in node["metadata"].get("labels", {}) for node in one.all(kinds.NODES)]


def started(one: LiveAzure) -> list[str]:
    """Whatever was asked of Azure but making, looking at and removing."""
    return [asked.path for asked in one.server_of_azure.asked if asked.method not in ("GET", "PUT", "DELETE")]


@pytest.mark.parametrize("policy", ["Deallocate", "Delete"])
def test_R1_R12_R27_R29_a_spot_machine_is_labelled_evicted_failed_and_its_set_restored(policy: str):
    async def scenario(one: LiveAzure) -> None:
        one.asked = PUBLIC
        one.check()
        one.workers(2, spot={"evictionPolicy": policy})
        await one.until(lambda: one.running() == 2)
        await one.until(lambda: interruptible(one) == [True, True])
        first, second = one.machines()
        one.azure_world.takes_along = False
        one.azure_world.evict(first)
        await one.until(lambda: one.told(first).get("failureReason") == "UpdateError")
        assert one.told(first)["vmState"] == ("deallocated" if policy == "Deallocate" else "deleted")
        await one.until(lambda: first not in one.machines(), 600)
        await one.until(lambda: one.running() == 2)
        assert second in one.machines()
        assert len(one.azure_world.made) == 3
        assert started(one) == []
        assert not [name for name in one.server_of_azure.everything() if name.startswith(first)]
        one.delete(kinds.MACHINE_SETS, "s")
        await one.until(lambda: one.is_empty() and not one.all(kinds.MACHINE_SETS), 600)
        assert one.server_of_azure.everything() == []

    live(scenario)


def test_R10_without_a_health_check_an_evicted_machine_stays_as_it_is_and_says_so():
    async def scenario(one: LiveAzure) -> None:
        one.workers(1, spot={})
        await one.until(lambda: one.running() == 1)
        (name,) = one.machines()
        one.azure_world.evict(name)
        await one.until(lambda: one.phases() == ["Failed"])
        one.tick = 600.0
        await one.settle(3600)
        assert "is deallocated; it is not started again" in one.told(name)["failureMessage"]
        assert (len(one.azure_world.made), started(one)) == (1, [])

    live(scenario)


def test_R9_R32_what_a_machine_is_stands_in_its_object():
    async def scenario(one: LiveAzure) -> None:
        one.asked = {"failureDomain": "2", **PUBLIC}
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        (name,) = one.machines()
        machine = one.get(kinds.AZURE_MACHINES, name)
        subscription = one.azure_world.subscription
        where = f"azure:///subscriptions/{subscription}/resourceGroups/my-group/providers/Microsoft.Compute"
        assert machine["spec"]["providerID"] == f"{where}/virtualMachines/{name}"
        told = machine["status"]
        assert (told["ready"], told["interruptible"], told["failureDomain"]) == (True, False, "2")
        assert {each["type"] for each in told["addresses"]} == {"InternalDNS", "InternalIP", "ExternalIP"}
        assert told["initialization"] == {"provisioned": True}

    live(scenario)


def test_R14_R38_want_of_room_fails_the_machine_after_three_times_and_leaves_nothing():
    async def scenario(one: LiveAzure) -> None:
        one.azure_world.failing[SIZE] = Failing("OverconstrainedAllocationRequest", "There is no room.")
        one.workers(1, spot={})
        await one.until(lambda: one.phases() == ["Failed"], 900)
        (name,) = one.machines()
        told = one.told(name)
        assert told["failureReason"] == "InsufficientResources"
        assert "There is no room" in told["failureMessage"]
        assert len(one.azure_world.made) == 3
        one.scale(0)
        await one.until(one.is_empty, 600)
        assert one.server_of_azure.everything() == []

    live(scenario)


def test_R40_R41_a_health_check_goes_on_where_azure_had_no_room_until_it_has():
    async def scenario(one: LiveAzure) -> None:
        one.azure_world.sold_out[SIZE] = ("SkuNotAvailable", "The requested size is not available.")
        one.check()
        one.workers(1, spot={})
        await one.until(lambda: one.phases() == ["Failed"], 900)
        one.azure_world.sold_out.clear()
        await one.until(lambda: one.running() == 1, 1800)
        assert len(one.azure_world.made) == 1
        assert len(one.server_of_azure.everything()) == 3

    live(scenario)


def test_a_field_that_cannot_be_honoured_fails_the_machine_with_its_name_and_no_call():
    async def scenario(one: LiveAzure) -> None:
        one.asked = {"vmExtensions": [{"name": "agent", "publisher": "p", "version": "1"}]}
        one.workers(1)
        await one.until(lambda: one.phases() == ["Failed"])
        (name,) = one.machines()
        assert "spec: vmExtensions" in one.told(name)["failureMessage"]
        assert one.server_of_azure.writes() == []

    live(scenario)


def test_faults_of_azure_pass_and_leave_one_of_everything():
    async def scenario(one: LiveAzure) -> None:
        faults = one.server_of_azure.faults
        faults.append(Fault("PUT", "/networkInterfaces/", 503))
        faults.append(Fault("PUT", "/virtualMachines/", 429, "TooManyRequests", headers={"Retry-After": "17"}))
        faults.append(Fault("PUT", "/virtualMachines/", lost=True, times=2))
        faults.append(Fault("GET", "/virtualMachines/", seconds=120.0, honest=True))
        one.workers(1)
        await one.until(lambda: one.running() == 1, 600)
        assert len(one.azure_world.made) == 1
        faults.append(Fault("DELETE", "/virtualMachines/", 401, "ExpiredAuthenticationToken"))
        faults.append(Fault("DELETE", "/virtualMachines/", 500, lost=True, times=2))
        one.scale(0)
        await one.until(one.is_empty, 600)
        assert one.server_of_azure.everything() == []

    live(scenario)


# ------------------------------------------------------------------------------------------------ killed


class Killer:
    """Ends the process after one of what changes the cloud or what is known of it, counted from its start."""

    def __init__(self, at: int) -> None:
        self.at, self.seen = at, 0

    def __call__(self, effect: Effect, after: bool) -> None:
        if after and isinstance(effect, Buy | Discard | SaveInfra):
            self.seen += 1
            if self.seen == self.at:
                raise Killed(type(effect).__name__)


async def watched(one: LiveAzure) -> None:
    while True:
        await asyncio.sleep(0.5)
        if one.is_dead:
            await one.stop()
            one.start()


async def life(killer: Killer) -> None:
    """One spot machine comes up, is evicted and replaced, and everything is removed."""
    one = LiveAzure()
    one.boundary = killer
    one.azure_world.takes_along = False
    async with one:
        guard = asyncio.create_task(watched(one), name="guard")
        try:
            one.check()
            one.workers(1, spot={})
            await one.until(lambda: one.running() == 1)
            (first,) = one.machines()
            assert one.server_of_azure.names(VM) == [first]
            one.azure_world.evict(first)
            await one.until(lambda: first not in one.machines() and one.running() == 1, 600)
            assert len(one.azure_world.made) == 2
            one.delete(kinds.MACHINE_SETS, "s")
            await one.until(lambda: one.is_empty() and not one.all(kinds.MACHINE_SETS), 600)
            assert one.server_of_azure.everything() == []
        finally:
            guard.cancel()
            await asyncio.gather(guard, return_exceptions=True)


#: As many as the life has, rounded up; `test_every_boundary_on_azure_is_tried` keeps it honest.
BOUNDARIES = 29


@pytest.mark.parametrize("at", range(1, BOUNDARIES + 1))
def test_R9_a_process_killed_anywhere_leaves_one_machine_on_azure_and_in_the_end_none(at: int):
    run(life(Killer(at)))


def test_every_boundary_on_azure_is_tried():
    killer = Killer(0)
    run(life(killer))
    assert killer.seen <= BOUNDARIES, f"raise BOUNDARIES to {killer.seen}"
