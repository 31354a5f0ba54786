"""A warning in the queue, and what becomes of the machine it is about (R43)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.live.aws_time import run
from tests.live.live import is_true
from tests.live.live_aws import LiveAws, pool
from tests.live.test_live_aws import served
from tools.aws_server import Account, AwsServer, events, statuses

from dovetail.api import kinds
from dovetail.clouds.aws.described import id_of
from dovetail.clouds.aws.interruption import Habits, Interruptions
from dovetail.clouds.port import Notice
from dovetail.controllers.aws_metrics import AwsMetrics
from dovetail.core import labels

QUEUE = "test"
#: Virtual time begins in the middle of January 2027.
NEXT_WEEK = "Fri, 22 Jan 2027 15:05:00 GMT"


def queue_of(live: LiveAws) -> Interruptions:
    """The queue as the cloud listens to it, but for waiting: SQS would hold the question in real time."""

    def find(instance_id: str) -> str | None:
        return next((one for one in live.machines() if id_of(one) == instance_id), None)

    def tell(notice: Notice) -> None:
        live.cloud.tell(notice)

    return Interruptions(live.aws, QUEUE, tell, find, Habits(now=live.world.now, poll=0))


def test_a_spot_machine_that_is_taken_back_is_replaced_from_another_pool(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario() -> None:
        events.queue(QUEUE)
        async with LiveAws(aws_server, aws_account, pool_=pool(capacity=(labels.SPOT,))) as live:
            live.pods(1)
            await served(live, 1)
            (old,) = live.machines()
            before = live.claim()["metadata"]["labels"]
            events.put(QUEUE, json.dumps(events.warning("spot", id_of(old))))
            await queue_of(live).once()
            await live.until(lambda: old not in live.machines() and live.is_whole() and live.machines(), 120)
            assert "SpotInterrupted" in live.reasons()
            after = live.claim()["metadata"]["labels"]
            pools = [(one[labels.INSTANCE_TYPE], one[labels.ZONE]) for one in (before, after)]
            assert pools[0] != pools[1], "what was taken away is not bought again at once"
            assert events.waiting(QUEUE) == 0

    run(scenario())


def test_a_recommendation_alone_costs_no_pod_its_place(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario() -> None:
        events.queue(QUEUE)
        async with LiveAws(aws_server, aws_account, pool_=pool(capacity=(labels.SPOT,))) as live:
            live.pods(1)
            await served(live, 1)
            (old,) = live.machines()
            aws_server.world.sell_out()
            events.put(QUEUE, json.dumps(events.warning("rebalance", id_of(old))))
            await queue_of(live).once()
            await live.settle(120)
            assert old in live.machines()
            assert len(live.running()) == 1
            assert "SpotRebalanceRecommendation" in live.reasons()

    run(scenario())


def test_a_machine_that_fails_its_checks_is_replaced_without_any_queue(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account) as live:
            live.pods(1)
            await served(live, 1)
            (old,) = live.machines()
            statuses.impair(id_of(old), "SystemStatus")
            await live.until(lambda: old not in live.machines() and live.is_whole() and live.machines(), 600)
            assert "InstanceUnhealthy" in live.reasons()
            assert live.value("interruption_instance_status_unhealthy_total", category="system_status") == 1

    run(scenario())


@asynccontextmanager
async def listening(live: LiveAws) -> AsyncIterator[None]:
    """The queue is read all the while, as the cloud reads it, and machines are known as the cloud knows them."""
    watch = AwsMetrics(live.metrics).interruptions
    queue = Interruptions(
        live.aws, QUEUE, live.cloud.tell, live.cloud.provider_id, Habits(watch, live.world.now, poll=0)
    )

    async def loop() -> None:
        while True:
            await queue.once()
            await asyncio.sleep(1.0)

    task = asyncio.create_task(loop(), name="queue")
    try:
        yield
    finally:
        task.cancel()


async def replaced_first(live: LiveAws, old: str, *, waits: bool) -> None:
    """Until the claim is gone: its end begins no sooner than another is ordered, or where it `waits` is up."""
    while old in live.names():
        if live.get(kinds.NODE_CLAIMS, old)["metadata"].get("deletionTimestamp"):
            (new,) = live.names() - {old}
            assert not waits or is_true(live.get(kinds.NODE_CLAIMS, new), "Initialized"), "drained before there is room"
        await live.settle(0.1)


@pytest.mark.parametrize(("kind", "reason"), [("spot", "SpotInterrupted"), ("health", "InstanceUnhealthy")])
def test_a_message_of_EventBridge_drains_a_machine_and_its_replacement_comes_first(
    aws_server: AwsServer, aws_account: Account, kind: str, reason: str
) -> None:
    """The whole way: rule, queue, notice, plan, replacement, drain. Messages come twice, and among rubbish.

    A week is time enough to wait for the replacement; two minutes, of which pods may need one, are not: then it is
    ordered first, and both go on at once.
    """

    async def scenario() -> None:
        events.queue(QUEUE)
        async with LiveAws(aws_server, aws_account, pool_=pool(capacity=(labels.SPOT,))) as live, listening(live):
            live.pods(3)
            await served(live, 3)
            (machine,), (old,) = live.machines(), live.names()
            name = id_of(machine)
            told = events.warning("spot", name) if kind == "spot" else events.maintenance(name, starts=NEXT_WEEK)
            events.put(QUEUE, "{rubbish")
            events.send(told)
            events.put(QUEUE, json.dumps(told))
            await replaced_first(live, old, waits=kind == "health")
            await served(live, 3)
            assert machine not in live.machines()
            assert len(live.machines()) == 1, "nothing is bought twice"
            assert reason in live.reasons()
            assert events.waiting(QUEUE) == 0
            received = {"spot": "spot_interrupted", "health": "scheduled_change"}[kind]
            assert live.value("interruption_received_messages_total", message_type=received) == 2
            assert live.value("interruption_parked_messages_total") == 1
            assert live.value("interruption_deleted_messages_total") == 3

    run(scenario())
