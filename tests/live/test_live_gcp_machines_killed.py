"""`kill -9` of a process that buys from Compute Engine, at every boundary of a Machine's making and removal and at
every answer of Compute Engine's: one instance for each Machine, and none after, nor any disk (R9, R10)."""

from __future__ import annotations

import asyncio

import pytest
from tests.live import aws_time
from tests.live.live_gcp_machines import LiveGcp
from tests.live.live_machines import Killed
from tools.gcp_server import GcpServer

from dovetail.api import kinds
from dovetail.core.effects import Delete, SaveNode
from dovetail.core.machines.effects import Buy, Discard, Effect, MakeMachine, Own, SaveInfra, SaveMachine

#: As many as the life has, rounded up; `test_every_boundary_and_every_answer_is_tried` keeps them honest.
BOUNDARIES, ANSWERS = 32, 24
#: Effects after which something is different; before each of them is after another.
CHANGES = (Buy, Delete, Discard, MakeMachine, Own, SaveInfra, SaveMachine, SaveNode)


class Killer:
    """Ends the process once: at one boundary, or when Compute Engine has answered so often."""

    def __init__(self, boundary: int = 0, answer: int = 0) -> None:
        self.boundary, self.answer = boundary, answer
        self.crossed, self.answered, self.where = 0, 0, ""

    def __call__(self, effect: Effect, after: bool) -> None:
        if after and isinstance(effect, CHANGES):
            self.crossed += 1
            if self.crossed == self.boundary:
                self.where = f"after {type(effect).__name__}"
                raise Killed(self.where)

    def heard(self) -> None:
        """What was asked for is done, and nobody lives to hear of it."""
        self.answered += 1
        if self.answered == self.answer:
            self.where = f"at answer {self.answer}"
            raise Killed(self.where)


async def watched(one: LiveGcp) -> None:
    """Start the process anew whenever it has died."""
    while True:
        await asyncio.sleep(0.5)
        if one.is_dead:
            await one.stop()
            one.start()


async def life(server: GcpServer, killer: Killer) -> None:
    """One spot machine comes up, and everything is removed."""
    one = LiveGcp(server)
    one.boundary = killer
    async with one:
        one.gcp.heard = killer.heard
        guard = asyncio.create_task(watched(one), name="guard")
        try:
            one.workers(1, spot={"provisioningModel": "Spot"})
            await one.until(lambda: one.running() == 1)
            world = server.world
            assert (world.made, len(world.instances), len(world.orders)) == (1, 1, 1), killer.where
            one.delete(kinds.MACHINE_SETS, "s")
            await one.until(lambda: one.is_empty() and not one.all(kinds.MACHINE_SETS), 600)
            assert (world.instances, world.disks) == ({}, {}), killer.where
            assert one.all(kinds.NODES) == []
        finally:
            guard.cancel()
            await asyncio.gather(guard, return_exceptions=True)


@pytest.mark.parametrize("at", range(1, BOUNDARIES + 1))
def test_R9_a_process_killed_at_any_boundary_leaves_one_instance_and_none_after(gcp_server: GcpServer, at: int):
    aws_time.run(life(gcp_server, Killer(boundary=at)))


@pytest.mark.parametrize("at", range(1, ANSWERS + 1))
def test_R9_a_process_killed_at_any_answer_leaves_one_instance_and_none_after(gcp_server: GcpServer, at: int):
    aws_time.run(life(gcp_server, Killer(answer=at)))


def test_every_boundary_and_every_answer_is_tried(gcp_server: GcpServer):
    killer = Killer()
    aws_time.run(life(gcp_server, killer))
    assert BOUNDARIES - 8 <= killer.crossed <= BOUNDARIES, f"set BOUNDARIES to {killer.crossed}"
    assert ANSWERS - 8 <= killer.answered <= ANSWERS, f"set ANSWERS to {killer.answered}"
