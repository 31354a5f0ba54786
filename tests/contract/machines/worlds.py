"""A cloud the contract of single instances is tried on: how it is opened, and what is asked of it.

A cloud joins by a fixture here, or in `conftest`, and its name in `test_machines_contract.WORLDS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

from dovetail.clouds.machines import Machines
from dovetail.clouds.sim.machines import SimMachines
from dovetail.core.machines.infra_objects import Market, Wanted

NOW = 1_800_000_000.0
Scenario = Callable[[Machines], Awaitable[None]]


@dataclass(frozen=True)
class World:
    """`wanted` is a machine of this cloud on a market; `markets` are those it has. `nobodys` are well-formed ids of
    no instance that a machine of a name may be given; `foreign` is one of an account that is not ours, where an id says
    so."""

    opened: Callable[[], AbstractAsyncContextManager[Machines]]
    wanted: Callable[[Market], Wanted]
    markets: tuple[Market, ...]
    nobodys: Callable[[str], tuple[str, ...]]
    foreign: str = ""

    def run(self, scenario: Scenario) -> None:
        async def through() -> None:
            async with self.opened() as machines:
                await scenario(machines)

        asyncio.run(through())


def simulated() -> World:
    return World(
        lambda: nullcontext(SimMachines("aws", lambda: NOW, boot_seconds=0.0)),
        lambda market: Wanted("aws", "m5.large", market),
        tuple(Market),
        lambda name: ("aws:///zone-a/i-99999999",),
    )
