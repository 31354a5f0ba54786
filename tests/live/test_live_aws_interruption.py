"""A warning in the queue, and what becomes of the machine it is about."""

from __future__ import annotations

import json

from tests.live.aws_time import run
from tests.live.live_aws import LiveAws, pool
from tests.live.test_live_aws import served
from tools.aws_server import Account, AwsServer, events, statuses

from dovetail.clouds.aws.interruption import Habits, Interruptions
from dovetail.clouds.aws.machines import id_of
from dovetail.clouds.port import Notice
from dovetail.core import labels

QUEUE = "test"


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
