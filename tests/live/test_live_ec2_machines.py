"""Spot workers of Cluster API on EC2, with our own controllers alone: bought, labelled, interrupted, healed
(R1, R9–R14, R17, R18, R32–R34, R38–R40)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import yaml
from tests.live.aws_time import run
from tests.live.live_ec2_machines import ZONE, LiveEc2
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse

from dovetail.api import kinds
from dovetail.core.machines import names

Scenario = Callable[[LiveEc2], Awaitable[None]]
HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "spot-workers-aws.md"


def live(server: AwsServer, account: Account, scenario: Scenario) -> None:
    async def through() -> None:
        async with LiveEc2(server, account) as one:
            await scenario(one)

    run(through())


def status(one: dict[str, Any]) -> dict[str, Any]:
    return one.get("status") or {}


def interruptible(one: LiveEc2) -> list[bool]:
    return [names.INTERRUPTIBLE in node["metadata"].get("labels", {}) for node in one.all(kinds.NODES)]


def test_R1_R11_a_spot_worker_comes_up_is_labelled_interrupted_found_failed_and_replaced(
    aws_server: AwsServer, aws_account: Account
) -> None:
    """The whole story. R11: EC2 itself makes nothing in place of what it took, and neither do we: the set does."""

    async def scenario(one: LiveEc2) -> None:
        one.check()
        one.workers(2, spot={"maxPrice": "0.10"})
        await one.until(lambda: one.running() == 2)
        await one.until(lambda: interruptible(one) == [True, True])
        first, second = one.machines()
        told = status(one.get(kinds.AWS_MACHINES, first))
        assert told["interruptible"]
        assert (told["ready"], told["initialization"]) == (True, {"provisioned": True})
        assert {address["type"] for address in told["addresses"]} == {"InternalIP", "InternalDNS"}
        assert told["failureDomain"] == ZONE
        one.cloud.take_away(first)
        await one.until(lambda: "Failed" in one.phases(), 60)
        failed = status(one.get(kinds.AWS_MACHINES, first))
        assert failed["failureReason"] == "UpdateError"
        assert failed["instanceState"] in ("shutting-down", "terminated")
        await one.until(lambda: first not in one.machines(), 300)
        await one.until(lambda: one.running() == 2)
        assert second in one.machines()
        assert one.cloud.made == 3
        options = [asked["InstanceMarketOptions"]["SpotOptions"] for asked in aws_server.world.runs]
        assert {each["SpotInstanceType"] for each in options} == {"one-time"}
        one.delete(kinds.MACHINE_SETS, "s")
        await one.until(one.is_empty)
        assert one.cloud.running == ()
        assert one.cloud.parts == 0

    live(aws_server, aws_account, scenario)


def test_R38_R39_R40_a_bid_below_the_market_fails_visibly_and_a_cheaper_market_heals_it(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.spot["m5.large", ZONE] = 0.05

    async def scenario(one: LiveEc2) -> None:
        one.check()
        one.workers(1, spot={"maxPrice": "0.01"})
        await one.until(lambda: one.phases() == ["Failed"], 600)
        (infra,) = one.all(kinds.AWS_MACHINES)
        assert status(infra)["failureReason"] == "InsufficientResources"
        assert "lower than the minimum required Spot request fulfillment price" in status(infra)["failureMessage"]
        aws_server.world.spot.clear()
        await one.until(lambda: one.running() == 1, 1200)
        assert one.cloud.made == 1

    live(aws_server, aws_account, scenario)


def test_R38_what_the_role_may_not_do_fails_the_machine_at_once_and_is_not_asked_again(
    aws_server: AwsServer, aws_account: Account
) -> None:
    refused = Refuse("UnauthorizedOperation", "You are not authorized to perform this operation.", 403)
    aws_server.world.fail_always("RunInstances", refused)

    async def scenario(one: LiveEc2) -> None:
        one.workers(1)
        await one.until(lambda: one.phases() == ["Failed"])
        one.tick = 600.0
        await one.settle(1800)
        (infra,) = one.all(kinds.AWS_MACHINES)
        assert status(infra)["failureReason"] == "CreateError"
        assert "allow it in the policy" in status(infra)["failureMessage"]
        assert aws_server.world.calls["RunInstances"] == 1

    live(aws_server, aws_account, scenario)


def test_throttles_and_lost_answers_pass_and_leave_one_instance(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.throttle("DescribeInstances", 3)
    aws_server.world.throttle("RunInstances", 3)
    aws_server.world.lose_answer("RunInstances", 2)

    async def scenario(one: LiveEc2) -> None:
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        assert len(one.cloud.running) == 1
        one.delete(kinds.MACHINE_SETS, "s")
        await one.until(one.is_empty)
        assert one.cloud.parts == 0

    live(aws_server, aws_account, scenario)


def test_a_field_that_cannot_be_honoured_is_named_on_the_machine(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(one: LiveEc2) -> None:
        one.asked = {**one.asked, "elasticIpPool": {"publicIpv4Pool": "p"}}
        one.workers(1)
        await one.until(lambda: one.phases() == ["Failed"])
        (infra,) = one.all(kinds.AWS_MACHINES)
        assert status(infra)["failureMessage"].startswith("spec.elasticIpPool: ")
        assert not aws_server.world.runs

    live(aws_server, aws_account, scenario)


def test_the_manifests_of_the_how_to_come_up_as_they_stand(aws_server: AwsServer, aws_account: Account) -> None:
    text = HOWTO.read_text()
    for placeholder, real in {
        "my-cluster": "c",
        "worker-bootstrap": "boot",
        "ami-0123456789abcdef0": aws_account.images["al2023", "x86_64"],
        "subnet-0123456789abcdef0": aws_account.subnets[ZONE],
        "sg-0123456789abcdef0": aws_account.security_groups[0],
        "iamInstanceProfile: my-nodes": f"iamInstanceProfile: {aws_account.profile}",
    }.items():
        assert placeholder in text
        text = text.replace(placeholder, real)
    block = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0]
    of_kind = {one.name: one for one in (kinds.AWS_TEMPLATES, kinds.MACHINE_SETS, kinds.HEALTH_CHECKS)}

    async def scenario(one: LiveEc2) -> None:
        for manifest in yaml.safe_load_all(block):
            one.put(of_kind[manifest["kind"]], manifest)
        await one.until(lambda: one.running() == 3)
        await one.until(lambda: interruptible(one) == [True] * 3)

    live(aws_server, aws_account, scenario)
