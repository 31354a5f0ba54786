"""`kill -9` at every boundary of a machine's life: one instance for each Machine, and none after (R9, R10)."""

from __future__ import annotations

import asyncio

import pytest
from tests.live.live_machines import Killed, LiveMachines
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.core.effects import Delete, SaveNode
from dovetail.core.machines.effects import Buy, Discard, Effect, MakeMachine, Own, SaveInfra, SaveMachine
from dovetail.core.machines.infra_objects import State

#: As many as the life has, rounded up; `test_every_boundary_is_tried` keeps it honest.
BOUNDARIES = 64
#: Effects after which something is different; before each of them is after another.
CHANGES = (Buy, Delete, Discard, MakeMachine, Own, SaveInfra, SaveMachine, SaveNode)


class Killer:
    """Ends the process at one boundary, counted from its start."""

    def __init__(self, at: int) -> None:
        self.at, self.seen, self.where = at, 0, ""

    def __call__(self, effect: Effect, after: bool) -> None:
        if not after or not isinstance(effect, CHANGES):
            return
        self.seen += 1
        if self.seen == self.at:
            self.where = f"after {type(effect).__name__}"
            raise Killed(self.where)


async def watched(one: LiveMachines) -> None:
    """Start the process anew whenever it has died."""
    while True:
        await asyncio.sleep(0.5)
        if one.is_dead:
            await one.stop()
            one.start()


async def life(killer: Killer) -> LiveMachines:
    """One spot machine comes up, is taken away and replaced, and everything is removed."""
    one = LiveMachines()
    one.boundary = killer
    # Found by name only a while after it was made: without a token a second one would be made meanwhile.
    one.cloud.lag_seconds = 3.0
    async with one:
        guard = asyncio.create_task(watched(one), name="guard")
        try:
            one.check()
            one.workers(1, spot={})
            await one.until(lambda: one.running() == 1)
            assert one.cloud.made == 1, killer.where
            (first,) = one.machines()
            one.cloud.take_away(first, State.STOPPED, "deallocated")
            await one.until(lambda: first not in one.machines() and one.running() == 1, 600)
            assert one.cloud.made == 2, killer.where
            one.delete(kinds.MACHINE_SETS, "s")
            await one.until(lambda: one.is_empty() and not one.all(kinds.MACHINE_SETS), 600)
            assert one.cloud.running == ()
            assert one.cloud.parts == {}
            assert one.all(kinds.NODES) == []
        finally:
            guard.cancel()
            await asyncio.gather(guard, return_exceptions=True)
    return one


@pytest.mark.parametrize("at", range(1, BOUNDARIES + 1))
def test_a_process_killed_anywhere_leaves_one_instance_for_each_machine_and_none_after(at: int):
    run(life(Killer(at)))


def test_every_boundary_is_tried():
    killer = Killer(0)
    run(life(killer))
    assert killer.seen <= BOUNDARIES, f"raise BOUNDARIES to {killer.seen}"
