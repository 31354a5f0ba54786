"""The door to AWS, on a server that answers as AWS does, and one that does not."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from tools.aws_server.reservations import reserve
from tools.aws_server.world import Cut, Hold, Nonsense, Refuse

from dovetail.clouds.aws import calls, wholeness
from dovetail.clouds.aws.access import Access, Counts, Pace
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.errors import code_of
from dovetail.clouds.port import CloudError, Misconfigured, NotFound, Throttled, Unavailable


class Sleeps:
    """Nobody really waits; how long they would have."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


def asked(server: Any, scenario: Callable[[Aws], Awaitable[None]], **access: Any) -> tuple[Counts, list[float]]:
    """Run a scenario against the server; what was called, and how long was backed off."""
    counts, sleeps = Counts(), Sleeps()

    async def whole() -> None:
        reached = Access(**{"region": "us-east-1", "endpoint": server.url, **access})
        async with Aws(reached, counts, Pace(sleep=sleeps, chance=lambda: 0.5)) as aws:
            await scenario(aws)

    asyncio.run(whole())
    return counts, sleeps.slept


def test_an_answer_is_a_plain_dict(aws_server: Any, aws_account: Any) -> None:
    async def scenario(aws: Aws) -> None:
        found = await aws.ask(calls.DESCRIBE_SUBNETS, SubnetIds=[aws_account.subnets["us-east-1a"]])
        assert [one["AvailabilityZone"] for one in found["Subnets"]] == ["us-east-1a"]

    counts, _ = asked(aws_server, scenario)
    assert counts.calls == {"DescribeSubnets": 1}


def test_pages_are_joined(aws_server: Any) -> None:
    made = {reserve("m5.large", "us-east-1a", 1) for _ in range(25)}

    async def scenario(aws: Aws) -> None:
        small = replace(calls.DESCRIBE_RESERVATIONS, page_size=10)
        found = await aws.all(small)
        assert {one["CapacityReservationId"] for one in found} == made

    counts, _ = asked(aws_server, scenario)
    assert counts.calls["DescribeCapacityReservations"] == 3


def test_iam_has_pages_of_its_own_kind(aws_server: Any, aws_account: Any) -> None:
    async def scenario(aws: Aws) -> None:
        for number in range(3):
            await aws.ask(calls.CREATE_PROFILE, InstanceProfileName=f"p{number}", Path="/karpenter/")
        found = await aws.all(replace(calls.LIST_PROFILES, page_size=2), PathPrefix="/karpenter/")
        assert [one["InstanceProfileName"] for one in found] == ["p0", "p1", "p2"]

    asked(aws_server, scenario)


def test_a_list_of_ids_has_no_page_size(aws_server: Any) -> None:
    held = reserve("m5.large", "us-east-1a", 1)

    async def scenario(aws: Aws) -> None:
        assert len(await aws.all(calls.DESCRIBE_RESERVATIONS, CapacityReservationIds=[held])) == 1

    asked(aws_server, scenario)


def test_a_throttled_call_is_made_again_with_growing_waits(aws_server: Any) -> None:
    aws_server.world.throttle("DescribeSubnets", times=3)

    async def scenario(aws: Aws) -> None:
        assert await aws.all(calls.DESCRIBE_SUBNETS)

    counts, slept = asked(aws_server, scenario)
    assert slept == [0.25, 0.5, 1.0]
    assert counts.backed_off == 1.75
    assert counts.refused == {("DescribeSubnets", "RequestLimitExceeded"): 3}


def test_a_call_throttled_again_and_again_says_so(aws_server: Any) -> None:
    aws_server.world.fail_always("DescribeSubnets", Refuse())

    async def scenario(aws: Aws) -> None:
        with pytest.raises(Throttled) as caught:
            await aws.all(calls.DESCRIBE_SUBNETS)
        assert caught.value.wait > 0
        assert code_of(caught.value) == "RequestLimitExceeded"

    counts, _ = asked(aws_server, scenario, attempts=3)
    assert counts.calls["DescribeSubnets"] == 3


@pytest.mark.parametrize("fault", [Cut(), Cut(done=False), Nonsense(), Nonsense(200), Refuse("InternalError", "", 500)])
def test_a_call_without_an_answer_is_made_again(aws_server: Any, fault: Any) -> None:
    aws_server.world.fail("DescribeSubnets", fault)

    async def scenario(aws: Aws) -> None:
        assert await aws.all(calls.DESCRIBE_SUBNETS)

    asked(aws_server, scenario)
    assert aws_server.world.calls["DescribeSubnets"] == 2


def test_what_must_not_be_done_twice_is_not(aws_server: Any) -> None:
    aws_server.world.lose_answer("RebootInstances")

    async def scenario(aws: Aws) -> None:
        with pytest.raises(Unavailable, match="RebootInstances was not answered"):
            await aws.ask(calls.REBOOT_INSTANCES, InstanceIds=["i-0"])

    asked(aws_server, scenario)
    assert aws_server.world.calls["RebootInstances"] == 1


def test_a_call_has_its_deadline(aws_server: Any) -> None:
    release = threading.Event()
    aws_server.world.fail("DescribeSubnets", Hold(release))

    async def scenario(aws: Aws) -> None:
        await aws.ask(calls.DESCRIBE_ZONES)  # the client itself is there
        with pytest.raises(Unavailable, match=r"not answered within 0\.1 s"):
            await aws.ask(replace(calls.DESCRIBE_SUBNETS, seconds=0.1))
        release.set()

    asked(aws_server, scenario)


def test_a_server_that_is_not_there_is_unavailable(aws_server: Any) -> None:
    class Nobody:
        url = "http://127.0.0.1:9"

    async def scenario(aws: Aws) -> None:
        with pytest.raises(Unavailable, match="DescribeSubnets was not answered"):
            await aws.ask(calls.DESCRIBE_SUBNETS)

    counts, _ = asked(Nobody(), scenario, attempts=2)
    assert counts.calls["DescribeSubnets"] == 2


def test_credentials_that_are_missing_are_asked_for(aws_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    async def scenario(aws: Aws) -> None:
        with pytest.raises(Misconfigured, match="no AWS credentials") as caught:
            await aws.ask(calls.DESCRIBE_SUBNETS)
        assert caught.value.reason == "CredentialsMissing"

    asked(aws_server, scenario)


def test_credentials_that_were_revoked_are_told_apart(aws_server: Any) -> None:
    aws_server.world.fail_always("*", Refuse("AuthFailure", "AWS was not able to validate the credentials", 401))

    async def scenario(aws: Aws) -> None:
        with pytest.raises(Misconfigured) as caught:
            await aws.ask(calls.DESCRIBE_SUBNETS)
        assert caught.value.reason == "Unauthorized"
        aws_server.world.fail_always("*", None)
        await aws.ask(calls.DESCRIBE_SUBNETS)

    counts, slept = asked(aws_server, scenario)
    assert slept == []
    assert counts.refused == {("DescribeSubnets", "AuthFailure"): 1}


def test_a_region_comes_from_the_environment_or_is_asked_for(aws_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(aws: Aws) -> None:
        with pytest.raises(Misconfigured, match="set AWS_REGION"):
            await aws.ask(calls.DESCRIBE_SUBNETS)

    async def known(aws: Aws) -> None:
        assert await aws.region() == "eu-west-1"
        zones = await aws.all(calls.DESCRIBE_ZONES)
        assert {one["RegionName"] for one in zones} == {"eu-west-1"}

    asked(aws_server, unknown, region="")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    asked(aws_server, known, region="")


def test_the_endpoint_can_come_from_the_environment(aws_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws_server.url)

    async def scenario(aws: Aws) -> None:
        assert (await aws.ask(calls.GET_IDENTITY))["Account"] == "123456789012"

    asked(aws_server, scenario, endpoint="")


def test_prices_are_asked_for_near_by(aws_server: Any) -> None:
    aws_server.world.on_demand["m5.large"] = 0.1

    async def scenario(aws: Aws) -> None:
        assert len(await aws.all(calls.GET_PRODUCTS, ServiceCode="AmazonEC2")) == 1

    asked(aws_server, scenario, region="eu-west-1")


def test_a_dry_run_that_would_succeed_says_nothing_and_one_that_would_not_says_why(aws_server: Any) -> None:
    aws_server.world.fail("DescribeInstances", Refuse("UnauthorizedOperation", "You are not authorized.", 403))

    async def scenario(aws: Aws) -> None:
        await aws.may(calls.DESCRIBE_INSTANCE_TYPES)
        with pytest.raises(Misconfigured, match="UnauthorizedOperation"):
            await aws.may(calls.DESCRIBE_INSTANCES)

    asked(aws_server, scenario)


def test_what_cannot_even_be_asked_is_for_a_person(aws_server: Any) -> None:
    async def scenario(aws: Aws) -> None:
        with pytest.raises(Misconfigured, match="cannot be asked so"):
            await aws.ask(calls.DESCRIBE_SUBNETS, Subnetz=["x"])

    asked(aws_server, scenario)


def test_what_is_not_found_is_not_asked_for_again(aws_server: Any) -> None:
    async def scenario(aws: Aws) -> None:
        with pytest.raises(NotFound):
            await aws.ask(calls.GET_PARAMETER, Name="/nobody")

    counts, _ = asked(aws_server, scenario)
    assert counts.calls["GetParameter"] == 1


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiobotocore.session", None)

    async def scenario() -> None:
        async with Aws(Access(region="us-east-1")) as aws:
            with pytest.raises(CloudError, match=r"pip install 'dovetail\[aws\]'"):
                await aws.ask(calls.GET_IDENTITY)

    asyncio.run(scenario())


def test_nothing_of_the_sdk_is_imported_before_it_is_used() -> None:
    look = (
        "import sys, dovetail.clouds.aws.launching; sys.exit('aiobotocore' in sys.modules or 'botocore' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0


def test_every_call_is_one_the_sdk_knows(aws_server: Any) -> None:
    import botocore.session

    session = botocore.session.get_session()
    for call in calls.EVERY:
        operation = session.get_service_model(call.service).operation_model(call.name)
        if call.listed:
            assert call.listed in operation.output_shape.members, call
        if call.page_size:
            assert {"MaxResults", "MaxItems"} & operation.input_shape.members.keys(), call


@pytest.mark.parametrize("call", [one for one in calls.EVERY if one.told], ids=lambda one: one.name)
def test_what_an_answer_must_say_is_what_the_sdk_calls_it(call: calls.Call) -> None:
    import botocore.session

    operation = botocore.session.get_session().get_service_model(call.service).operation_model(call.name)
    for path in call.told:
        shape = operation.output_shape
        if call.listed:
            shape = shape.members[call.listed].member
        for name in path.split("."):
            shape = shape.members[name.removesuffix("[]")]
            if name.endswith("[]"):
                shape = shape.member


@pytest.mark.parametrize(
    ("call", "answer", "lacks"),
    [
        (calls.DESCRIBE_SUBNETS, {"Subnets": [{"SubnetId": "s", "AvailabilityZone": "a"}]}, ""),
        (calls.DESCRIBE_SUBNETS, {}, ""),
        (calls.DESCRIBE_SUBNETS, {"Subnets": [{"SubnetId": "s"}]}, "AvailabilityZone"),
        (calls.DESCRIBE_SUBNETS, {"Subnets": [{"SubnetId": "", "AvailabilityZone": "a"}]}, "SubnetId"),
        (calls.DESCRIBE_INSTANCES, {"Reservations": [{}]}, ""),
        (
            calls.DESCRIBE_INSTANCES,
            {"Reservations": [{"Instances": [{"InstanceId": "i"}, {}]}]},
            "Instances.InstanceId",
        ),
        (
            calls.TERMINATE_INSTANCES,
            {"TerminatingInstances": [{"InstanceId": "i", "CurrentState": None}]},
            "TerminatingInstances.CurrentState.Name",
        ),
        (calls.GET_PROFILE, {}, "InstanceProfile.InstanceProfileName"),
    ],
)
def test_an_answer_lacks_what_it_must_say_and_does_not(call: calls.Call, answer: dict[str, Any], lacks: str) -> None:
    assert wholeness.lacking(call, answer) == lacks
