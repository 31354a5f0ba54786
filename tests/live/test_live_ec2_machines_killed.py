"""`kill -9` of a process that buys from EC2, at every boundary of a Machine's making and removal and at every answer of
EC2's: one instance for each Machine, and none after (R9, R10)."""

from __future__ import annotations

import pytest
from tests.live.aws_time import HeldAws, run
from tests.live.dying import Killer, watched
from tests.live.live_ec2_machines import LiveEc2
from tools.aws_server import Account, AwsServer

from dovetail.api import kinds
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.client import Answer

#: As many as the life has, rounded up; `test_every_boundary_and_every_answer_is_tried` keeps them honest.
BOUNDARIES, ANSWERS = 28, 12


class MortalAws(HeldAws):
    """EC2, at whose answers a process may die."""

    def __init__(self, url: str, killer: Killer) -> None:
        super().__init__(url)
        self._killer = killer

    async def _once(self, call: Call, request: Answer, end: float) -> Answer:
        answer = await super()._once(call, request, end)
        self._killer.heard(call.name)
        return answer


class Mortal(LiveEc2):
    def __init__(self, server: AwsServer, account: Account, killer: Killer) -> None:
        super().__init__(server, account)
        self.killer = self.boundary = killer

    def start(self) -> None:
        self.aws = MortalAws(self.ec2.url, self.killer)
        super().start()

    async def stop(self) -> None:
        await super().stop()
        await self.aws.__aexit__()


async def life(server: AwsServer, account: Account, killer: Killer) -> None:
    """One spot machine comes up, and everything is removed."""
    async with Mortal(server, account, killer) as one, watched(one):
        one.workers(1, spot={})
        await one.until(lambda: one.running() == 1)
        assert len(one.cloud.running) == one.cloud.made == 1, killer.where
        one.delete(kinds.MACHINE_SETS, "s")
        await one.until(lambda: one.is_empty() and not one.all(kinds.MACHINE_SETS), 600)
        assert (one.cloud.running, one.cloud.parts, one.cloud.made) == ((), 0, 1), killer.where
        assert one.all(kinds.NODES) == []


@pytest.mark.parametrize("at", range(1, BOUNDARIES + 1))
def test_a_process_killed_at_any_boundary_leaves_one_instance_and_none_after(
    aws_server: AwsServer, aws_account: Account, at: int
) -> None:
    run(life(aws_server, aws_account, Killer(boundary=at)))


@pytest.mark.parametrize("at", range(1, ANSWERS + 1))
def test_a_process_killed_at_any_answer_leaves_one_instance_and_none_after(
    aws_server: AwsServer, aws_account: Account, at: int
) -> None:
    run(life(aws_server, aws_account, Killer(answer=at)))


def test_every_boundary_and_every_answer_is_tried(aws_server: AwsServer, aws_account: Account) -> None:
    killer = Killer()
    run(life(aws_server, aws_account, killer))
    assert BOUNDARIES - 4 <= killer.crossed <= BOUNDARIES, f"set BOUNDARIES to {killer.crossed}"
    assert ANSWERS - 4 <= killer.answered <= ANSWERS, f"set ANSWERS to {killer.answered}"
