"""Many machines that run are looked at with few calls, and none is believed gone for being in no list."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.clouds.gcp.gcp_orders import BOOT, ZONE, order, sought
from tools.gcp_server import Fault, GcpServer

from dovetail.clouds.gcp.client import Access, Gcp
from dovetail.clouds.gcp.machines import GcpMachines, watching
from dovetail.clouds.port import NotFound, Unavailable
from dovetail.core.machines.infra_objects import Found, State

COUNT = 6


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Shop:
    """A few machines that run and were looked at once."""

    def __init__(self, server: GcpServer, machines: GcpMachines, clock: Clock) -> None:
        self.server, self.machines, self.clock = server, machines, clock

    async def look(self, number: int = 0) -> Found:
        return await self.machines.find(sought(f"m-{number}", f"gce://p/{ZONE}/m-{number}"))

    async def looked(self) -> list[State]:
        """Everybody, half a minute later."""
        self.clock.now += 30
        self.server.asked.clear()
        return [found.state for found in await asyncio.gather(*(self.look(number) for number in range(COUNT)))]

    def calls(self) -> list[str]:
        return sorted(one.call for one in self.server.asked)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def shop(server: GcpServer, clock: Clock, scenario: Callable[[Shop], Awaitable[None]]) -> None:
    async def through() -> None:
        async with Gcp(Access("p", server.url)) as gcp:
            one = Shop(server, GcpMachines(gcp), clock)
            one.machines._watches["capg-cluster-c"] = watching.Watch(gcp, "capg-cluster-c", clock)
            for number in range(COUNT):
                await one.machines.create(order(f"m-{number}", provisioningModel="Spot"), BOOT)
                await one.look(number)
            await scenario(one)

    asyncio.run(through())


RUNNING = [State.RUNNING] * COUNT


def test_machines_at_rest_share_one_call(gcp_server: GcpServer, clock: Clock):
    async def scenario(one: Shop) -> None:
        for _ in range(4):
            assert await one.looked() == RUNNING
            assert one.calls() == ["instances.list"]

    shop(gcp_server, clock, scenario)


def test_one_that_is_taken_away_is_seen_at_its_next_look(gcp_server: GcpServer, clock: Clock):
    async def scenario(one: Shop) -> None:
        one.server.world.preempt("m-2")
        assert (await one.looked())[2] is State.STOPPING
        one.server.world.stop("m-2")
        assert (await one.looked())[2] is State.STOPPED
        assert one.calls() == ["instances.list"]

    shop(gcp_server, clock, scenario)


def test_R10_one_that_was_deleted_is_missed_in_the_next_list_of_all_and_asked_about_by_itself(
    gcp_server: GcpServer, clock: Clock
):
    async def scenario(one: Shop) -> None:
        one.server.world.forget("m-3")
        assert await one.looked() == RUNNING
        one.clock.now += watching.ALL_SECONDS
        one.server.asked.clear()
        with pytest.raises(NotFound):
            await one.look(3)
        assert one.calls() == ["instances.get", "instances.list"]
        assert (await one.look(2)).state is State.RUNNING

    shop(gcp_server, clock, scenario)


def test_R10_a_list_that_is_behind_makes_nobody_gone(gcp_server: GcpServer, clock: Clock):
    async def scenario(one: Shop) -> None:
        one.clock.now += watching.ALL_SECONDS + 1
        del one.server.world.instances[ZONE, "m-0"].body["labels"]["capg-cluster-c"]
        assert (await one.look(0)).state is State.RUNNING
        # A list that cannot be had is no list either.
        one.clock.now += watching.ALL_SECONDS + 1
        one.server.faults.add(Fault("instances.list", 503))
        with pytest.raises(Unavailable):
            await one.look(1)
        assert (await one.look(1)).state is State.RUNNING

    shop(gcp_server, clock, scenario)


def test_an_instance_of_another_object_is_not_told_of_from_a_list_either(gcp_server: GcpServer, clock: Clock):
    async def scenario(one: Shop) -> None:
        with pytest.raises(NotFound):
            await one.machines.find(sought("other", f"gce://p/{ZONE}/m-0"))

    shop(gcp_server, clock, scenario)
