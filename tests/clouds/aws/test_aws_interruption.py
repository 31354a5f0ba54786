"""The interruption queue, on the test server: what is told, what stays, what is put aside, and what trouble costs."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from tools.aws_server import AwsServer, events
from tools.aws_server.world import Refuse

from dovetail.clouds.aws.access import Access, Counts, Pace
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.interruption import FIRST_WAIT, LONGEST_WAIT, TRIES, Habits, Interruptions, Tally
from dovetail.clouds.port import CloudError, Notice

QUEUE = "test"
OURS = {f"i-{number}": f"aws:///us-east-1a/i-{number}" for number in range(30)}
DENIED = Refuse("AccessDenied", "not allowed", 403)


@dataclass
class Ear:
    """A queue that is listened to, and what was heard."""

    queue: Interruptions
    tally: Tally
    counts: Counts
    heard: list[Notice] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    async def until(self, *steps: Callable[[], object]) -> None:
        """Have the loop itself run until each of these has been true in turn; what a step does, it does when it is."""
        task = asyncio.create_task(self.queue.run())
        try:
            for step in steps:
                while not step():
                    assert not task.done()
                    await asyncio.sleep(0.002)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def listened(server: AwsServer, scenario: Callable[[Ear], Awaitable[None]], known: dict[str, str] = OURS) -> Ear:
    ears: list[Ear] = []

    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    async def slept(seconds: float) -> None:
        ears[0].slept.append(seconds)
        await asyncio.sleep(0)

    async def whole() -> None:
        tally, counts, heard = Tally(), Counts(), []
        habits = Habits(tally, lambda: server.world.now, slept, poll=0)
        async with Aws(Access("us-east-1", server.url, attempts=1), counts, Pace(sleep=at_once)) as aws:
            queue = Interruptions(aws, QUEUE, heard.append, known.get, habits)
            ears.append(Ear(queue, tally, counts, heard))
            await scenario(ears[0])

    asyncio.run(whole())
    return ears[0]


def test_an_event_goes_from_eventbridge_through_the_queue_to_whoever_listens(aws_server: AwsServer) -> None:
    events.queue(QUEUE)
    events.send(events.warning("spot", "i-1"))
    events.send(events.maintenance("i-2", "i-3", "i-foreign"))

    async def scenario(ear: Ear) -> None:
        await ear.queue.once()

    ear = listened(aws_server, scenario)
    assert {(one.provider_id, one.kind) for one in ear.heard} == {
        (OURS["i-1"], "spot_interrupted"),
        (OURS["i-2"], "scheduled_change"),
        (OURS["i-3"], "scheduled_change"),
    }
    assert events.waiting(QUEUE) == 0
    assert ear.tally.kinds == {"spot_interrupted": 1, "scheduled_change": 1}
    assert (ear.tally.gone, len(ear.tally.waits)) == (2, 2)


def test_ten_messages_are_deleted_with_one_call(aws_server: AwsServer) -> None:
    events.queue(QUEUE)
    for number in range(10):
        events.put(QUEUE, json.dumps(events.warning("state", f"i-{number}", state="stopping")))

    async def scenario(ear: Ear) -> None:
        await ear.queue.once()

    ear = listened(aws_server, scenario)
    assert len(ear.heard) == 10
    assert ear.counts.calls == {"GetQueueUrl": 1, "ReceiveMessage": 1, "DeleteMessageBatch": 1}
    assert events.waiting(QUEUE) == 0


def test_an_event_that_is_delivered_twice_is_told_once(aws_server: AwsServer) -> None:
    events.queue(QUEUE)
    body = json.dumps(events.warning("spot", "i-1"))
    events.put(QUEUE, body)
    events.put(QUEUE, body)

    async def scenario(ear: Ear) -> None:
        await ear.queue.once()
        events.put(QUEUE, body)
        await ear.queue.once()

    ear = listened(aws_server, scenario)
    assert len(ear.heard) == 1
    assert events.waiting(QUEUE) == 0


def test_a_message_goes_when_it_was_acted_upon_and_comes_again_if_that_failed(aws_server: AwsServer) -> None:
    """Who dies between hearing of it and ending the claim leaves it in the queue, for the next one."""
    events.queue(QUEUE)
    events.put(QUEUE, json.dumps(events.warning("spot", "i-1")))
    acts: list[asyncio.Future[None]] = []

    async def scenario(ear: Ear) -> None:
        def acted(notice: Notice) -> asyncio.Future[None]:
            ear.heard.append(notice)
            acts.append(asyncio.get_running_loop().create_future())
            if len(acts) == 1:
                acts[0].set_exception(OSError("the API server is away"))
            else:
                asyncio.get_running_loop().call_later(0.01, acts[1].set_result, None)
            return acts[-1]

        ear.queue._tell = acted
        await ear.queue.once()
        assert ear.tally.gone == 0
        events.show_again(QUEUE)
        await ear.queue.once()

    ear = listened(aws_server, scenario)
    assert (len(ear.heard), ear.tally.gone) == (2, 1)
    assert events.waiting(QUEUE) == 0


def test_what_could_not_be_deleted_comes_again_and_is_not_told_again(aws_server: AwsServer) -> None:
    events.queue(QUEUE)
    events.put(QUEUE, json.dumps(events.warning("spot", "i-1")))
    aws_server.world.fail("DeleteMessageBatch", DENIED)

    async def scenario(ear: Ear) -> None:
        with pytest.raises(CloudError):
            await ear.queue.once()
        events.show_again(QUEUE)
        await ear.queue.once()

    ear = listened(aws_server, scenario)
    assert len(ear.heard) == 1
    assert events.waiting(QUEUE) == 0


def test_messages_nobody_can_read_are_put_aside_counted_and_gone(
    aws_server: AwsServer, caplog: pytest.LogCaptureFixture
) -> None:
    events.queue(QUEUE)
    events.put(QUEUE, "{'not': json")
    events.put(QUEUE, json.dumps(events.warning("spot", "i-1")))

    async def scenario(ear: Ear) -> None:
        await ear.queue.once()

    with caplog.at_level(logging.WARNING):
        ear = listened(aws_server, scenario)
    assert [one.provider_id for one in ear.heard] == [OURS["i-1"]]
    assert [one.beginning for one in ear.queue.parked] == ["{'not': json"]
    assert len(ear.tally.unread) == 1
    assert "no JSON" in caplog.text
    assert events.waiting(QUEUE) == 0


def test_only_the_last_few_messages_that_were_put_aside_are_kept(aws_server: AwsServer) -> None:
    events.queue(QUEUE)
    for number in range(25):
        events.put(QUEUE, f"rubbish {number} " + "x" * 1000)

    async def scenario(ear: Ear) -> None:
        while events.waiting(QUEUE):
            await ear.queue.once()

    ear = listened(aws_server, scenario)
    assert len(ear.tally.unread) == 25
    assert len(ear.queue.parked) == 20
    assert all(len(one.beginning) <= 300 for one in ear.queue.parked)


def test_a_warning_about_a_machine_nobody_knows_yet_waits_until_somebody_does(aws_server: AwsServer) -> None:
    events.queue(QUEUE)
    events.put(QUEUE, json.dumps(events.warning("spot", "i-new")))
    known: dict[str, str] = {}

    async def scenario(ear: Ear) -> None:
        await ear.queue.once()
        assert events.waiting(QUEUE) == 1
        known["i-new"] = "aws:///us-east-1a/i-new"
        events.show_again(QUEUE)
        await ear.queue.once()

    ear = listened(aws_server, scenario, known)
    assert [one.provider_id for one in ear.heard] == ["aws:///us-east-1a/i-new"]
    assert events.waiting(QUEUE) == 0


def test_a_warning_about_somebody_elses_machine_goes_after_a_few_looks(aws_server: AwsServer) -> None:
    events.queue(QUEUE)
    events.put(QUEUE, json.dumps(events.warning("spot", "i-foreign")))

    async def scenario(ear: Ear) -> None:
        for seen in range(1, TRIES + 1):
            assert events.waiting(QUEUE) == 1, seen
            await ear.queue.once()
            events.show_again(QUEUE)

    assert listened(aws_server, scenario).heard == []
    assert events.waiting(QUEUE) == 0


def test_what_befalls_other_machines_of_the_account_is_deleted_at_once(aws_server: AwsServer) -> None:
    events.queue(QUEUE)
    events.put(QUEUE, json.dumps(events.warning("state", "i-foreign", state="terminated")))
    events.put(QUEUE, json.dumps(events.event("aws.s3", "Object Created", {})))

    async def scenario(ear: Ear) -> None:
        await ear.queue.once()

    ear = listened(aws_server, scenario)
    assert (ear.heard, ear.tally.gone) == ([], 2)
    assert ear.tally.kinds["no_op"] == 1


def test_a_queue_that_is_not_there_costs_one_sentence_and_longer_and_longer_waits(
    aws_server: AwsServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(ear: Ear) -> None:
        await ear.until(lambda: len(ear.slept) >= 9)

    with caplog.at_level(logging.INFO):
        ear = listened(aws_server, scenario)
    told = [one.getMessage() for one in caplog.records if "interruption queue" in one.getMessage()]
    assert len(told) == 1
    assert "there is no interruption queue test" in told[0]
    assert ear.slept[:3] == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
    assert max(ear.slept) == LONGEST_WAIT


def test_a_queue_that_is_deleted_and_made_again_is_listened_to_again(
    aws_server: AwsServer, caplog: pytest.LogCaptureFixture
) -> None:
    events.queue(QUEUE)

    async def scenario(ear: Ear) -> None:
        def remove() -> bool:
            events.remove_queue(QUEUE)
            return True

        def restore() -> bool:
            events.queue(QUEUE)
            events.put(QUEUE, json.dumps(events.warning("rebalance", "i-1")))
            return True

        await ear.until(
            lambda: ear.counts.calls["ReceiveMessage"],
            remove,
            lambda: "no interruption queue" in ear.queue.problem,
            restore,
            lambda: ear.heard and not ear.queue.problem,
        )

    with caplog.at_level(logging.INFO):
        ear = listened(aws_server, scenario)
    assert [one.kind for one in ear.heard] == ["rebalance_recommendation"]
    assert "answers again" in caplog.text


def test_no_refusal_ends_the_loop_and_each_kind_is_told_once(
    aws_server: AwsServer, caplog: pytest.LogCaptureFixture
) -> None:
    events.queue(QUEUE)
    aws_server.world.fail("ReceiveMessage", DENIED, times=3)
    aws_server.world.fail("ReceiveMessage", Refuse("InternalFailure", "oh", 500), times=2)
    aws_server.world.fail("ReceiveMessage", Refuse("ExpiredToken", "old", 403))
    events.put(QUEUE, json.dumps(events.warning("spot", "i-1")))

    async def scenario(ear: Ear) -> None:
        await ear.until(lambda: ear.heard)

    with caplog.at_level(logging.WARNING):
        ear = listened(aws_server, scenario)
    assert len(ear.slept) == 6
    assert len([one for one in caplog.records if "cannot be read" in one.getMessage()]) == 3


def test_an_event_is_forgotten_when_it_cannot_come_again(aws_server: AwsServer) -> None:
    events.queue(QUEUE)

    async def scenario(ear: Ear) -> None:
        events.put(QUEUE, json.dumps(events.warning("spot", "i-1")))
        await ear.queue.once()
        assert len(ear.queue._told) == 1
        aws_server.world.forward(3600)
        await ear.queue.once()
        assert not ear.queue._told

    listened(aws_server, scenario)


def test_a_message_that_brings_a_fault_of_ours_to_light_is_put_aside_in_the_end(aws_server: AwsServer) -> None:
    class Faulty(dict[str, str]):
        def get(self, key: str, default: object = None) -> str:
            if key == "i-9":
                raise RuntimeError("oh")
            return OURS[key]

    events.queue(QUEUE)
    events.put(QUEUE, json.dumps(events.warning("spot", "i-9")))
    events.put(QUEUE, json.dumps(events.warning("spot", "i-1")))

    async def scenario(ear: Ear) -> None:
        for _ in range(TRIES):
            await ear.queue.once()
            events.show_again(QUEUE)

    ear = listened(aws_server, scenario, Faulty())
    assert [one.provider_id for one in ear.heard] == [OURS["i-1"]]
    assert "oh" in ear.queue.parked[0].why
    assert events.waiting(QUEUE) == 0
