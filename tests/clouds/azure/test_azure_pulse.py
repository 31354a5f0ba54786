"""A thousand machines are called with one list, which is believed in one thing only: that who runs still does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.clouds.azure.azure_orders import Shop, order, shop, sought
from tools.azure_server import Fault

from dovetail.clouds import port
from dovetail.clouds.machines import Sought
from dovetail.core.machines.infra_objects import Found, State

Fleet = dict[str, Found]
COUNT = 6
VM = "Microsoft.Compute/virtualMachines"


def run(scenario: Callable[[Shop, Fleet], Awaitable[None]]) -> None:
    async def through() -> None:
        async with shop() as one:
            one.server.page = 1000
            made = {name: await one.made(order(name, spotVMOptions={})) for name in (f"m{at}" for at in range(COUNT))}
            one.server.asked.clear()
            await scenario(one, made)

    asyncio.run(through())


def everybody(fleet: Fleet) -> tuple[Sought, ...]:
    return tuple(sought(name, found.provider_id) for name, found in fleet.items())


def ids(fleet: Fleet) -> frozenset[str]:
    return frozenset(one.provider_id for one in fleet.values())


def test_everybody_is_called_with_one_question_a_page():
    async def scenario(one: Shop, fleet: Fleet) -> None:
        assert await one.machines.roll_call(everybody(fleet)) == ids(fleet)
        assert [asked.query.get("statusOnly") for asked in one.server.asked] == ["true"]
        one.server.page = 2
        assert await one.machines.roll_call(everybody(fleet)) == ids(fleet)
        assert len(one.server.asked) == 1 + 3

    run(scenario)


@pytest.mark.parametrize("policy", ["Deallocate", "Delete"])
def test_R29_one_that_was_evicted_among_many_does_not_answer(policy: str):
    async def scenario(one: Shop, fleet: Fleet) -> None:
        one.server.world.named(VM, "m3").properties["evictionPolicy"] = policy
        one.server.world.evict("m3")
        lost = fleet["m3"].provider_id
        assert await one.machines.roll_call(everybody(fleet)) == ids(fleet) - {lost}
        try:
            assert (await one.machines.find(sought("m3", lost))).state is State.STOPPED
            assert policy == "Deallocate"
        except port.NotFound:
            assert policy == "Delete"

    run(scenario)


def test_R10_a_list_without_power_states_makes_nobody_gone():
    async def scenario(one: Shop, fleet: Fleet) -> None:
        one.server.statusless = True
        assert await one.machines.roll_call(everybody(fleet)) == frozenset()
        for name, found in fleet.items():
            assert (await one.machines.find(sought(name, found.provider_id))).state is State.RUNNING

    run(scenario)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault("GET", "/virtualMachines", 503), port.Unavailable),
        (Fault("GET", "/virtualMachines", lost=True, times=2), port.Unavailable),
        (Fault("GET", "/virtualMachines", 200, text="["), port.Unavailable),
        (Fault("GET", "/virtualMachines", 403, "AuthorizationFailed"), port.Misconfigured),
    ],
)
def test_a_page_that_fails_half_way_fails_the_whole(fault: Fault, error: type[port.CloudError]):
    async def scenario(one: Shop, fleet: Fleet) -> None:
        one.server.page = 2
        one.server.faults += [Fault("GET", "/virtualMachines", honest=True), fault]
        with pytest.raises(error):
            await one.machines.roll_call(everybody(fleet))
        assert await one.machines.roll_call(everybody(fleet)) == ids(fleet)

    run(scenario)


def test_who_asks_too_often_is_told_how_long_to_wait():
    async def scenario(one: Shop, fleet: Fleet) -> None:
        headers = {"Retry-After": "40"}
        one.server.faults.append(Fault("GET", "/virtualMachines", 429, "TooManyRequests", "slow", headers))
        with pytest.raises(port.Throttled) as caught:
            await one.machines.roll_call(everybody(fleet))
        assert caught.value.wait == 40

    run(scenario)


def test_what_is_left_of_many_machines_is_asked_for_together():
    async def scenario(one: Shop, fleet: Fleet) -> None:
        one.server.world.takes_along = False
        await asyncio.gather(*(one.gone(found, name) for name, found in fleet.items()))
        assert one.server.everything() == []
        lists = [asked for asked in one.server.asked if asked.path.endswith(("Interfaces", "disks", "Addresses"))]
        assert len(lists) < 3 * len(fleet)

    run(scenario)
