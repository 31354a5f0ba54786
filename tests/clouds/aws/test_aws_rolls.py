"""Who of many instances runs is asked by the hundred, and half an answer is none."""

from __future__ import annotations

import threading

import pytest
from tests.clouds.aws import single
from tests.clouds.aws.single import BOOT, Process, order, processed, sought, spec
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Cut, Fault, Hold, Nonsense, Refuse

from dovetail.clouds.aws.machines import rolls
from dovetail.clouds.machines import Sought
from dovetail.clouds.port import CloudError, Misconfigured, Throttled, Unavailable
from dovetail.core.machines.infra_objects import State

COUNT = 5
CALL = "DescribeInstanceStatus"


async def fleet(one: Process, account: Account) -> dict[str, Sought]:
    made = {}
    for number in range(COUNT):
        found = await one.machines.create(order(spec(account), f"m-{number}"), BOOT)
        made[found.name] = sought(found.name, found.provider_id)
    one.counts.calls.clear()
    return made


def ids(made: dict[str, Sought]) -> frozenset[str]:
    return frozenset(one.provider_id for one in made.values())


def asked(server: AwsServer) -> int:
    return int(server.world.calls[CALL])


def test_everybody_is_called_with_one_question_a_hundred(
    aws_server: AwsServer, aws_account: Account, monkeypatch: pytest.MonkeyPatch
):
    async def scenario(one: Process) -> None:
        made = await fleet(one, aws_account)
        before = asked(aws_server)
        assert await one.machines.roll_call(tuple(made.values())) == ids(made)
        assert asked(aws_server) == before + 1
        monkeypatch.setattr(rolls, "MOST", 2)
        assert await one.machines.roll_call(tuple(made.values())) == ids(made)
        assert asked(aws_server) == before + 4

    processed(aws_server, scenario)


def test_who_was_ended_does_not_answer(aws_server: AwsServer, aws_account: Account):
    async def scenario(one: Process) -> None:
        made = await fleet(one, aws_account)
        single.living(aws_account)[0].terminate()
        answered = await one.machines.roll_call(tuple(made.values()))
        assert len(answered) == COUNT - 1
        (lost,) = [each for each in made.values() if each.provider_id not in answered]
        assert (await one.machines.find(lost)).state in (State.GOING, State.GONE)

    processed(aws_server, scenario)


def test_R10_an_id_nobody_knows_says_nothing_about_those_asked_for_with_it(
    aws_server: AwsServer, aws_account: Account, monkeypatch: pytest.MonkeyPatch
):
    async def scenario(one: Process) -> None:
        made = await fleet(one, aws_account)
        unknown = sought("x", "aws:///us-east-1a/i-fffffffffffffffff")
        assert await one.machines.roll_call((*made.values(), unknown)) == frozenset()
        for each in made.values():
            assert (await one.machines.find(each)).state is State.RUNNING
        monkeypatch.setattr(rolls, "MOST", COUNT)
        assert await one.machines.roll_call((*made.values(), unknown)) == ids(made)
        odd = sought("y", "gce://p/z/y")
        assert await one.machines.roll_call((*made.values(), odd)) == ids(made)

    processed(aws_server, scenario)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Refuse("InternalError", "again", 500), Unavailable),
        (Cut(), Unavailable),
        (Nonsense(), Unavailable),
        (Refuse(), Throttled),
        (Refuse("UnauthorizedOperation", "no", 403), Misconfigured),
    ],
)
def test_a_part_that_fails_half_way_fails_the_whole(
    aws_server: AwsServer,
    aws_account: Account,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    error: type[CloudError],
):
    async def scenario(one: Process) -> None:
        made = await fleet(one, aws_account)
        monkeypatch.setattr(rolls, "MOST", 2)
        at_once = threading.Event()
        at_once.set()
        aws_server.world.fail(CALL, Hold(at_once))
        aws_server.world.fail_always(CALL, fault)
        with pytest.raises(error):
            await one.machines.roll_call(tuple(made.values()))
        aws_server.world.fail_always(CALL, None)
        assert await one.machines.roll_call(tuple(made.values())) == ids(made)

    processed(aws_server, scenario)
