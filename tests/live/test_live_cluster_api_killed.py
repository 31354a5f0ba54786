"""`kill -9` at every boundary of a machine's life: one instance for each Machine, and none after (R9, R10)."""

from __future__ import annotations

import pytest
from tests.live.dying import Killer, watched
from tests.live.live_machines import LiveMachines
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.core.machines.infra_objects import State

#: As many as the life has, rounded up; `test_every_boundary_is_tried` keeps it honest.
BOUNDARIES = 64


async def life(killer: Killer) -> None:
    """One spot machine comes up, is taken away and replaced, and everything is removed."""
    one = LiveMachines()
    one.boundary = killer
    # Found by name only a while after it was made: without a token a second one would be made meanwhile.
    one.cloud.lag_seconds = 3.0
    async with one, watched(one):
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


@pytest.mark.parametrize("at", range(1, BOUNDARIES + 1))
def test_a_process_killed_anywhere_leaves_one_instance_for_each_machine_and_none_after(at: int):
    run(life(Killer(boundary=at)))


def test_every_boundary_is_tried():
    killer = Killer()
    run(life(killer))
    assert killer.crossed <= BOUNDARIES, f"raise BOUNDARIES to {killer.crossed}"
