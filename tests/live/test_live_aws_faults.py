"""Bad days of AWS, whole: whatever it does, pods get machines in the end; none is bought twice, none is left over."""

from __future__ import annotations

import pytest
from tests.live.aws_time import run
from tests.live.live import condition
from tests.live.live_aws import REF, LiveAws, needs, pool
from tests.live.test_live_aws import RESERVATION, emptied, served
from tools.aws_server import Account, AwsServer
from tools.aws_server.lives import end
from tools.aws_server.reservations import reserve
from tools.aws_server.world import Nonsense, Refuse

from dovetail.api import kinds
from dovetail.core import labels

REVOKED = Refuse("UnrecognizedClientException", "The security token included in the request is invalid.", 403)
BOTH = (labels.SPOT, labels.ON_DEMAND)


def test_what_is_sold_out_is_passed_over_at_once(aws_server: AwsServer, aws_account: Account):
    """No spot anywhere: the same launch buys on demand, and the next one does not try spot again."""

    async def scenario() -> None:
        aws_server.world.sell_out("spot")
        async with LiveAws(aws_server, aws_account, pool_=pool(capacity=BOTH)) as live:
            live.pods(1)
            await served(live, 1)
            assert live.claim()["metadata"]["labels"][labels.CAPACITY_TYPE] == labels.ON_DEMAND
            asked = live.metrics.text().count("cloudprovider_instance_launch_failures_total{")
            assert asked, "every pool that had none is counted"

    run(scenario())


def test_when_nothing_is_to_be_had_the_pods_are_planned_again_until_it_is(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        aws_server.world.sell_out()
        async with LiveAws(aws_server, aws_account) as live:
            live.pods(1)
            await live.until(lambda: live.events("InsufficientCapacityError"))
            await live.settle(60)
            assert not live.machines()
            aws_server.world.stock.clear()
            await served(live, 1)
            assert len(live.machines()) == 1

    run(scenario())


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_purchase_whose_answer_is_lost_is_found_again(times: int, aws_server: AwsServer, aws_account: Account):
    """Once the client asks again by itself; after that the claim is in doubt, and looked for first."""

    async def scenario() -> None:
        aws_server.world.lose_answer("CreateFleet", times)
        async with LiveAws(aws_server, aws_account) as live:
            live.pods(3)
            await served(live, 3)
            assert len(live.machines()) == 1
            await live.settle(300)
            assert live.is_whole()

    run(scenario())


def test_a_machine_that_describes_do_not_show_yet_is_believed(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        aws_server.world.waits.seen = 45.0
        async with LiveAws(aws_server, aws_account) as live:
            live.pods(1)
            await live.until(lambda: live.claimed() - {""})
            bought = live.machines()
            await live.restart()
            await served(live, 1)
            await live.settle(200)
            assert live.machines() == bought
            await emptied(live)

    run(scenario())


def test_a_machine_that_nobody_sees_yet_is_ended_all_the_same(aws_server: AwsServer, aws_account: Account):
    """Bought by a process that is no more, and its claim deleted, before describes know of it."""

    async def scenario() -> None:
        aws_server.world.waits.seen = 45.0
        async with LiveAws(aws_server, aws_account) as live:
            live.pods(1)
            await live.until(lambda: live.claimed() - {""})
            await live.stop()
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
            live.delete(kinds.NODE_CLAIMS, live.claim()["metadata"]["name"])
            await live.start()
            await live.until(lambda: not live.claims())
            assert not live.machines()

    run(scenario())


def test_a_reservation_that_others_filled_is_planned_around_at_once(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        held = reserve("m5.large", "us-east-1a", 1)
        async with LiveAws(aws_server, aws_account, pool_=pool(capacity=(labels.RESERVED, labels.ON_DEMAND))) as live:
            terms = [{"id": held}]
            live.edit(kinds.EC2_NODE_CLASSES, "default", {"spec": {"capacityReservationSelectorTerms": terms}})
            await live.until(lambda: live.cloud.counts.left(held) == 1)
            aws_server.world.reservations[held]["TotalInstanceCount"] = 0
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1, 20)
            assert RESERVATION not in live.claim()["metadata"]["labels"]
            assert live.cloud.counts.left(held) == 0

    run(scenario())


def test_credentials_that_are_revoked_stop_purchases_and_lose_nothing(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account) as live:
            live.pods(1)
            await served(live, 1)
            before = live.machines()
            aws_server.world.fail_always("*", REVOKED)
            live.pods(2, "more", cpu="3")
            await live.settle(400)
            assert live.machines() == before
            assert len(live.running()) == 1
            told = [condition(one, "Launched") for one in live.claims()]
            assert any("credentials are wrong" in str(one) for one in told), told
            aws_server.world.fail_always("*", None)
            await served(live, 3)

    run(scenario())


@pytest.mark.parametrize("fault", [Refuse(), Nonsense()], ids=["throttled", "nonsense"])
def test_every_third_call_that_fails_only_costs_time(
    fault: Refuse | Nonsense, aws_server: AwsServer, aws_account: Account
):
    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account) as live:
            calls = ("DescribeSubnets", "CreateLaunchTemplate", "CreateFleet", "DescribeInstances")
            for name in (*calls, "TerminateInstances", "DescribeLaunchTemplates"):
                aws_server.world.fail(name, fault, 3)
            live.pods(2)
            await served(live, 2)
            for name in (*calls, "TerminateInstances"):
                aws_server.world.fail(name, fault, 3)
            await emptied(live)

    run(scenario())


def test_a_machine_that_never_joins_is_replaced(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account) as live:
            live.pods(1)
            await live.until(lambda: live.joined.machines())
            (first,) = live.joined.machines()
            live.joined.deaf.add(first.id)
            await live.until(lambda: first.id not in {one.id for one in live.joined.machines()}, 1200)
            await served(live, 1)

    run(scenario())


def test_a_machine_that_somebody_ends_is_noticed_and_replaced(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account) as live:
            live.pods(1)
            await served(live, 1)
            (first,) = live.joined.machines()
            end(first)
            await live.until(lambda: live.machines() and live.is_whole(), 900)

    run(scenario())


def test_a_class_that_selects_nothing_says_so_and_harms_no_other(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account) as live:
            bad = live.get(kinds.EC2_NODE_CLASSES, "default")["spec"]
            bad = {**bad, "subnetSelectorTerms": [{"tags": {"no": "such"}}]}
            live.put(kinds.EC2_NODE_CLASSES, {"metadata": {"name": "bad"}, "spec": bad})
            other = pool(needs("team", "bad"))
            other["metadata"]["name"] = "bad"
            other["spec"]["template"]["spec"]["nodeClassRef"] = {**REF, "name": "bad"}
            live.put(kinds.NODE_POOLS, other)
            live.pods(1)
            await served(live, 1)
            told = condition(live.get(kinds.EC2_NODE_CLASSES, "bad"), "SubnetsReady")
            assert told is not None
            assert "subnetSelectorTerms[0]" in told["message"]
            assert live.claim()["spec"]["nodeClassRef"]["name"] == "default"

    run(scenario())
