"""`kill -9` of a process that buys from Compute Engine, at every boundary of a Machine's making and removal and at
every answer of Compute Engine's: one instance for each Machine, and none after, nor any disk (R9, R10)."""

from __future__ import annotations

import pytest
from tests.live import aws_time
from tests.live.dying import Killer, watched
from tests.live.live_gcp_machines import LiveGcp
from tools.gcp_server import GcpServer

from dovetail.api import kinds

#: As many as the life has, rounded up; `test_every_boundary_and_every_answer_is_tried` keeps them honest.
BOUNDARIES, ANSWERS = 32, 24


async def life(server: GcpServer, killer: Killer) -> None:
    """One spot machine comes up, and everything is removed."""
    one = LiveGcp(server)
    one.boundary = killer
    async with one, watched(one):
        one.gcp.heard = killer.heard
        one.workers(1, spot={"provisioningModel": "Spot"})
        await one.until(lambda: one.running() == 1)
        world = server.world
        assert (world.made, len(world.instances), len(world.orders)) == (1, 1, 1), killer.where
        one.delete(kinds.MACHINE_SETS, "s")
        await one.until(lambda: one.is_empty() and not one.all(kinds.MACHINE_SETS), 600)
        assert (world.instances, world.disks) == ({}, {}), killer.where
        assert one.all(kinds.NODES) == []


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
