"""`kill -9` after any request to Azure: one of everything for the machine, and nothing after it (R9, R10)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.clouds.azure.azure_orders import BOOT, Shop, order, shop, sought

from dovetail.clouds.azure.client import Azure
from dovetail.clouds.machines import Underway
from dovetail.clouds.port import NotFound
from dovetail.core.machines.infra_objects import State

RICH = {"allocatePublicIP": True, "networkInterfaces": [{}, {}], "dataDisks": [{"nameSuffix": "d", "diskSizeGB": 4}]}
#: As many as making or removing has, rounded up; `test_every_request_is_tried` keeps it honest.
REQUESTS = 18


class Killed(BaseException):
    """The process is no more."""


class Mortal(Azure):
    """Dies after its `at`-th request was answered, before anybody hears the answer."""

    at, count = 0, 0

    async def _once(self, action: str, asked: Any) -> Any:
        answer = await super()._once(action, asked)
        self.count += 1
        if self.count == self.at:
            raise Killed(action)
        return answer


async def lived(one: Shop, at: int) -> int:
    """Make a machine and remove it, dying once in each, and starting anew. Requests of the longer of the two."""
    assert isinstance(one.azure, Mortal)
    one.server.world.waits.make = one.server.world.waits.remove = 12.0
    one.server.world.waits.network, one.server.world.takes_along = 1.0, False
    making = await through_death(one, at, _make)
    assert len(one.server.world.made) == 1
    assert len(one.server.everything()) == 6
    found = await one.machines.find(sought())
    assert found.state is State.RUNNING
    removing = await through_death(one, at, _remove)
    assert one.server.everything() == []
    return max(making, removing)


async def through_death(one: Shop, at: int, work: Any) -> int:
    assert isinstance(one.azure, Mortal)
    one.azure.at, one.azure.count = at, 0
    try:
        await work(one)
    except Killed:
        one.machines = one.process()
        one.azure.at = 0
        await work(one)
    one.azure.at = 0
    return one.azure.count


async def _make(one: Shop) -> None:
    """As the loops do: look first, then order."""
    for _ in range(20):
        try:
            await one.machines.find(sought())
            return
        except NotFound:
            pass
        try:
            await one.machines.create(order(**RICH), BOOT)
        except Underway as going:
            await one.time.sleep(going.wait)


async def _remove(one: Shop) -> None:
    await one.gone()


@pytest.mark.parametrize("at", range(1, REQUESTS + 1))
def test_a_process_killed_after_any_request_leaves_one_machine_and_in_the_end_none(at: int):
    async def scenario() -> None:
        async with shop(door=Mortal) as one:
            await lived(one, at)

    asyncio.run(scenario())


def test_every_request_is_tried():
    async def scenario() -> None:
        async with shop(door=Mortal) as one:
            assert await lived(one, 0) <= REQUESTS, "raise REQUESTS"

    asyncio.run(scenario())
