"""Azure in the contract suite of single instances: the real SDK against the test server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.clouds.azure.azure_orders import GROUP, shop, wanted
from tests.contract.machines.worlds import World
from tools.azure_server.world import World as AzureWorld

from dovetail.clouds.azure.machines import ids
from dovetail.clouds.machines import Machines
from dovetail.core.machines.infra_objects import Market, Wanted


def azure_world() -> World:
    return World(opened, on, (Market.ON_DEMAND, Market.SPOT), nobodys, id_of(GROUP, "m", "another"))


def nobodys(name: str) -> tuple[str, ...]:
    return id_of(GROUP, "other"), id_of("another-group", name)


def id_of(group: str, name: str, subscription: str = AzureWorld.subscription) -> str:
    return ids.provider_id(subscription, group, name)


def on(market: Market) -> Wanted:
    return wanted(spotVMOptions={} if market.is_interruptible else None)


@asynccontextmanager
async def opened() -> AsyncIterator[Machines]:
    async with shop() as one:
        # The zone every order of the suite names.
        one.server.world.zones = ("zone-a",)
        yield one.machines
