"""Scenarios that would never end fail instead."""

from __future__ import annotations

import asyncio

import pytest
from tests.live.virtual_time import Hung, VirtualLoop, run


def loop() -> VirtualLoop:
    found = asyncio.get_running_loop()
    assert isinstance(found, VirtualLoop)
    return found


def test_an_hour_passes_at_once():
    async def scenario() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert run(scenario()) == pytest.approx(3600)


def test_a_loop_that_spins_without_end_fails():
    async def scenario() -> None:
        loop().bound(turns=1000)
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Hung, match="turns"):
        run(scenario())


def test_waiting_for_ever_while_timers_tick_fails():
    async def tick() -> None:
        while True:
            await asyncio.sleep(120)

    async def scenario() -> None:
        loop().bound(turns=500)
        other = asyncio.create_task(tick(), name="ticker")
        await asyncio.Event().wait()
        await other

    with pytest.raises(Hung, match="ticker at test_virtual_time"):
        run(scenario())


def test_waiting_for_what_nobody_does_fails():
    async def scenario() -> None:
        loop().bound(still=2)
        await asyncio.Event().wait()

    with pytest.raises(Hung):
        run(scenario())
