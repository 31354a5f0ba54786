"""A thousand machines are looked at with one list, which is believed in one thing only: that who runs still does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.clouds.azure.azure_orders import Shop, order, shop, sought
from tools.azure_server import Fault

from dovetail.clouds import port
from dovetail.clouds.azure.machines.pulse import FEWEST, FRESH_SECONDS
from dovetail.core.machines.infra_objects import Found, State

Fleet = dict[str, Found]


def run(scenario: Callable[[Shop, Fleet], Awaitable[None]], number: int = FEWEST) -> None:
    async def through() -> None:
        async with shop() as one:
            one.server.page = 1000
            names = [f"m{at}" for at in range(number)]
            made = {name: await one.made(order(name, spotVMOptions={})) for name in names}
            await looked(one, made)
            one.server.asked.clear()
            await scenario(one, made)

    asyncio.run(through())


async def looked(one: Shop, fleet: Fleet) -> dict[str, Found | None]:
    async def ask(name: str) -> Found | None:
        try:
            return await one.machines.find(sought(name, fleet[name].provider_id))
        except port.NotFound:
            return None

    return dict(zip(fleet, await asyncio.gather(*(ask(name) for name in fleet)), strict=True))


def test_many_machines_that_run_are_looked_at_with_one_list():
    async def scenario(one: Shop, fleet: Fleet) -> None:
        first = await looked(one, fleet)
        assert {found.state for found in first.values() if found} == {State.RUNNING}
        assert all(found is not None and found.addresses for found in first.values())
        await looked(one, fleet)
        assert [asked.query.get("statusOnly") for asked in one.server.asked] == ["true"]
        one.time.now += FRESH_SECONDS
        await looked(one, fleet)
        assert len(one.server.asked) == 2

    run(scenario)


def test_few_machines_are_looked_at_one_by_one():
    async def scenario(one: Shop, fleet: Fleet) -> None:
        await looked(one, fleet)
        assert len(one.server.asked) == 3
        assert not any("statusOnly" in asked.query for asked in one.server.asked)

    run(scenario, 3)


@pytest.mark.parametrize("policy", ["Deallocate", "Delete"])
def test_R29_one_that_was_evicted_among_many_is_noticed(policy: str):
    async def scenario(one: Shop, fleet: Fleet) -> None:
        await looked(one, fleet)
        one.server.world.named("Microsoft.Compute/virtualMachines", "m7").properties["evictionPolicy"] = policy
        one.server.world.evict("m7")
        one.time.now += FRESH_SECONDS
        found = await looked(one, fleet)
        lost = found.pop("m7")
        assert lost is None if policy == "Delete" else lost is not None and lost.state is State.STOPPED
        assert {each.state for each in found.values() if each} == {State.RUNNING}

    run(scenario)


def test_a_list_without_power_states_and_one_that_cannot_be_had_mean_nothing():
    async def scenario(one: Shop, fleet: Fleet) -> None:
        one.server.statusless = True
        assert all(found is not None for found in (await looked(one, fleet)).values())
        assert len(one.server.asked) == 1 + len(fleet)
        for fault in (Fault("GET", "/virtualMachines", 503), Fault("GET", "/virtualMachines", 200, text="[")):
            one.time.now += FRESH_SECONDS
            one.server.faults.append(fault)
            assert all(found is not None for found in (await looked(one, fleet)).values())

    run(scenario)


def test_what_is_left_of_many_machines_is_asked_for_together():
    async def scenario(one: Shop, fleet: Fleet) -> None:
        one.server.world.takes_along = False
        await asyncio.gather(*(one.gone(found, name) for name, found in fleet.items()))
        assert one.server.everything() == []
        lists = [asked for asked in one.server.asked if asked.path.endswith(("Interfaces", "disks", "Addresses"))]
        assert len(lists) < len(fleet)

    run(scenario)
