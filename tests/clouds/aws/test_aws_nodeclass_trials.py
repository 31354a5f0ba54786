"""Dry runs: permissions that are missing are found out before the first pod waits."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clouds.aws.classes import Desk, assert_a_sentence, is_ready, node_class, said, sat
from tests.clouds.aws.selling import region
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.market import AwsMarket

PLAIN = "You are not authorized to perform this operation."


def denied(message: str = PLAIN) -> Refuse:
    return Refuse("UnauthorizedOperation", message, 403)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("CreateLaunchTemplate", "CreateLaunchTemplateAuthCheckFailed"),
        ("CreateFleet", "CreateFleetAuthCheckFailed"),
        ("RunInstances", "RunInstancesAuthCheckFailed"),
    ],
)
def test_a_permission_that_is_missing_is_named_and_believed_for_half_an_hour(
    aws_server: AwsServer, aws_account: Account, action: str, reason: str
) -> None:
    aws_server.world.fail_always(action, denied())

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account))
        one = said(report, "ValidationSucceeded")
        assert (one.status, one.reason) == ("False", reason)
        assert f"add ec2:{action} to its IAM policy" in one.message
        assert_a_sentence(one)
        asked = desk.counts.calls[action]
        aws_server.world.fail_always(action, None)
        await desk.later(600)
        assert desk.counts.calls[action] == asked
        assert is_ready(await desk.later(1801))

    sat(aws_server, scenario)


def test_the_action_iam_names_is_the_one_that_is_told(aws_server: AwsServer, aws_account: Account) -> None:
    told = "not authorized to perform: iam:PassRole on resource: r. Encoded authorization failure message: abc123"
    aws_server.world.fail_always("RunInstances", denied(told))

    async def scenario(desk: Desk) -> None:
        one = said(await desk.look(node_class(aws_account)), "ValidationSucceeded")
        assert "add iam:PassRole to its IAM policy" in one.message
        assert "abc123" not in one.message

    sat(aws_server, scenario)


def test_what_was_tried_is_not_tried_again_for_half_an_hour_unless_it_is_something_else(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account))
        await desk.later(600)
        assert desk.counts.calls["CreateFleet"] == 1
        await desk.look(node_class(aws_account, userData="#!/bin/sh\ntrue"))
        assert desk.counts.calls["CreateFleet"] == 2
        await desk.later(1801)
        assert desk.counts.calls["CreateFleet"] == 3
        assert desk.counts.calls["CreateLaunchTemplate"] == 2

    sat(aws_server, scenario)


@pytest.mark.parametrize(
    ("spec", "sampled", "tried"),
    [
        ({}, True, "m5.large"),
        ({"enclaveOptions": {"enabled": True}}, True, "m6g.large"),
        ({"enclaveOptions": {"enabled": True}}, False, "m5.large"),
        ({"amiFamily": "Windows2022", "amiSelectorTerms": [{"alias": "windows2022@latest"}]}, True, "m5.large"),
    ],
)
def test_a_type_is_tried_that_the_class_can_launch(
    aws_server: AwsServer,
    aws_account: Account,
    monkeypatch: pytest.MonkeyPatch,
    spec: dict[str, object],
    sampled: bool,
    tried: str,
) -> None:
    """EC2 refuses what a type does not have, and then a class would never be ready that asks for it."""
    asked: list[str] = []
    may = Aws.may

    async def recorded(aws: Aws, call: Call, **request: Any) -> None:
        overrides = [one for config in request.get("LaunchTemplateConfigs", ()) for one in config["Overrides"]]
        asked.extend(one["InstanceType"] for one in (*overrides, request) if "InstanceType" in one)
        await may(aws, call, **request)

    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account, **spec))
        assert asked == [tried, tried]

    monkeypatch.setattr(Aws, "may", recorded)
    found = AwsMarket(region()).sample
    sat(aws_server, scenario, **({"sample": found} if sampled else {}))


def test_nothing_is_tried_where_the_user_does_not_want_it(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account)))
        assert not {"CreateFleet", "RunInstances", "CreateLaunchTemplate"} & set(desk.counts.calls)

    sat(aws_server, scenario, probes=False)


def test_an_expression_that_fails_for_a_type_is_told_with_the_type(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        good = {"maxPods": "min(110, max_pods)", "kubeReserved": {"memory": "11 * max_pods + 255"}}
        assert is_ready(await desk.look(node_class(aws_account, kubelet=good)))
        bad = {"maxPods": "instance_type == 'm5.large' ? max_pods / 0 : max_pods"}
        told = said(await desk.look(node_class(aws_account, kubelet=bad)), "ValidationSucceeded")
        assert (told.status, told.reason) == ("False", "KubeletExpressionEvaluationFailed")
        assert told.message == ("spec.kubelet.maxPods cannot be worked out for m5.large: something is divided by zero")

    found = AwsMarket(region()).unworkable
    sat(aws_server, scenario, probes=False, formulas=True, unworkable=found)


def test_expressions_are_refused_unless_they_are_enabled(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        wire = node_class(aws_account, kubelet={"maxPods": "min(110, max_pods)"})
        told = said(await desk.look(wire), "ValidationSucceeded")
        assert (told.status, told.reason) == ("False", "KubeletExpressionDisabled")

    sat(aws_server, scenario, probes=False)


def test_a_busy_ec2_leaves_the_class_unknown_and_is_asked_again_soon(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.fail_always("CreateFleet", Refuse())

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account))
        assert said(report, "ValidationSucceeded").status == "Unknown"
        assert report.again <= 10
        aws_server.world.fail_always("CreateFleet", None)
        assert is_ready(await desk.later(10))

    sat(aws_server, scenario)


def test_a_market_that_is_empty_is_no_lack_of_permission(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.fail_always("RunInstances", Refuse("InsufficientInstanceCapacity", "none left", 400))

    async def scenario(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account)))

    sat(aws_server, scenario)


def test_a_policy_that_allows_one_subnet_is_enough(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.fail("RunInstances", denied(), times=3)

    async def scenario(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account)))
        assert desk.counts.calls["RunInstances"] == 4

    sat(aws_server, scenario)


def test_a_profile_the_user_named_and_nobody_made_is_told_and_our_own_is_waited_for(
    aws_server: AwsServer, aws_account: Account
) -> None:
    unknown = Refuse("InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid. "
                     "Invalid IAM Instance Profile name", 400)  # fmt: skip
    aws_server.world.fail_always("RunInstances", unknown)

    async def scenario(desk: Desk) -> None:
        named = await desk.look(node_class(aws_account, role=None, instanceProfile="x"))
        one = said(named, "ValidationSucceeded")
        assert (one.status, one.reason) == ("False", "InstanceProfileNotFound")
        assert "spec.instanceProfile" in one.message
        ours = await desk.look(node_class(aws_account, "other"))
        assert said(ours, "ValidationSucceeded").status == "Unknown"
        assert ours.again <= 10
        aws_server.world.fail_always("RunInstances", None)
        assert is_ready(await desk.later(10, "other"))

    sat(aws_server, scenario)


def test_user_data_that_is_nearly_too_long_is_told(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, userData="#!/bin/sh\n" + "#" * 14_800))
        assert is_ready(report)
        assert "of 16384 bytes" in said(report, "ValidationSucceeded").message

    sat(aws_server, scenario)


# ---- classes that are not whole yet

NOWHERE = [{"tags": {"nobody": "has-it"}}]


def test_rights_that_will_be_missing_are_said_before_the_class_is_whole(
    aws_server: AwsServer, aws_account: Account
) -> None:
    """Whoever sets a class up hears of all that is missing, and not of one thing after another."""
    for action in ("CreateLaunchTemplate", "RunInstances"):
        aws_server.world.fail_always(action, denied())

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, subnetSelectorTerms=NOWHERE))
        one = said(report, "ValidationSucceeded")
        assert (one.status, one.reason) == ("False", "CreateLaunchTemplateAuthCheckFailed")
        assert "add ec2:CreateLaunchTemplate to its IAM policy" in one.message
        assert "add ec2:RunInstances to its IAM policy" in one.message
        assert "SubnetsReady is False (SubnetsNotFound)" in one.message
        assert_a_sentence(one)
        asked = desk.counts.calls["RunInstances"]
        await desk.later(600)
        assert desk.counts.calls["RunInstances"] == asked, "believed for half an hour"
        await desk.later(1801)
        assert desk.counts.calls["RunInstances"] == asked + 1

    sat(aws_server, scenario)


def test_what_may_be_done_is_only_waited_for(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        one = said(await desk.look(node_class(aws_account, subnetSelectorTerms=NOWHERE)), "ValidationSucceeded")
        assert (one.status, one.reason) == ("False", "DependenciesNotReady")
        assert not await desk.aws.all(calls.DESCRIBE_TEMPLATES), "asking makes nothing"
        assert is_ready(await desk.look(node_class(aws_account)))

    sat(aws_server, scenario)


def test_that_AWS_is_busy_or_a_part_is_missing_is_no_missing_right(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.fail_always("CreateLaunchTemplate", Refuse("RequestLimitExceeded", "slow down", 503))
    aws_server.world.fail_always("RunInstances", Refuse("MissingParameter", "an image, please", 400))

    async def scenario(desk: Desk) -> None:
        one = said(await desk.look(node_class(aws_account, subnetSelectorTerms=NOWHERE)), "ValidationSucceeded")
        assert one.reason == "DependenciesNotReady"

    sat(aws_server, scenario)


def test_a_class_of_which_nothing_may_even_be_read_says_each_action_that_is_missing(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.fail_always("*", denied())

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account))
        told = " ".join(one.message for one in report.conditions)
        reads = ("ec2:DescribeSubnets", "ec2:DescribeSecurityGroups", "ssm:GetParameter")
        for action in (*reads, "ec2:CreateLaunchTemplate", "ec2:RunInstances"):
            assert f"add {action} to its IAM policy" in told, action
        assert not is_ready(report)

    sat(aws_server, scenario)


def test_nothing_is_tried_early_where_the_user_does_not_want_it(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account, subnetSelectorTerms=NOWHERE))
        assert not {"RunInstances", "CreateLaunchTemplate"} & set(desk.counts.calls)

    sat(aws_server, scenario, probes=False)
