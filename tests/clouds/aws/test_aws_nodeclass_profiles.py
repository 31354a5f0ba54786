"""Instance profiles of classes, and what goes with a class."""

from __future__ import annotations

from typing import Any

import pytest
from moto.iam.models import iam_backends
from tests.clouds.aws.classes import CLUSTER, Desk, is_ready, node_class, said, sat
from tests.clouds.aws.orders import claim
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.port import CloudError, Throttled

NOTE = "karpenter.k8s.aws/instance-profile-name"


def iam() -> Any:
    """The server's; it is another one after a reset."""
    return iam_backends["123456789012"]["aws"]


def profiles(below: str = "/karpenter/") -> dict[str, list[str]]:
    """Profiles and their roles."""
    return {
        one.name: [role.name for role in one.roles]
        for one in iam().get_instance_profiles()
        if one.path.startswith(below)
    }


def add_role(name: str) -> str:
    iam().create_role(name, "{}", "/", None, "", [], "3600")
    return name


def test_a_role_gets_a_profile_of_its_own_under_the_clusters_path(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, tags={"team": "a"}))
        name = report.status["instanceProfile"]
        assert profiles(f"/karpenter/us-east-1/{CLUSTER}/uid-default/") == {name: [aws_account.role]}
        made = iam().get_instance_profile(name)
        told = tags.read(made.tags.values() if isinstance(made.tags, dict) else made.tags)
        assert told["team"] == "a"
        assert told[tags.CLUSTER] == CLUSTER
        assert told[tags.NODE_CLASS] == "default"
        assert told[f"kubernetes.io/cluster/{CLUSTER}"] == "owned"

    sat(aws_server, scenario)


def test_a_named_profile_is_taken_as_it_is_and_iam_is_left_alone(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, role=None, instanceProfile=aws_account.profile))
        assert is_ready(report)
        assert report.status["instanceProfile"] == aws_account.profile
        assert not {"GetInstanceProfile", "CreateInstanceProfile"} & set(desk.counts.calls)

    sat(aws_server, scenario)


def test_another_process_finds_the_profile_it_did_not_make(aws_server: AwsServer, aws_account: Account) -> None:
    """The first died before it could write down what it had made."""
    found: list[Any] = []

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account))
        found.append(report.status["instanceProfile"])

    sat(aws_server, scenario)
    sat(aws_server, scenario)
    assert len(set(found)) == 1
    assert len(profiles()) == 1


@pytest.mark.parametrize("action", ["CreateInstanceProfile", "AddRoleToInstanceProfile"])
def test_an_answer_that_was_lost_makes_no_second_profile(
    aws_server: AwsServer, aws_account: Account, action: str
) -> None:
    aws_server.world.lose_answer(action)

    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account))
        assert is_ready(await desk.later(60))
        assert [*profiles().values()] == [[aws_account.role]]

    sat(aws_server, scenario)


def test_a_peers_profile_with_the_role_is_kept(aws_server: AwsServer, aws_account: Account) -> None:
    theirs = f"{CLUSTER}_4711"
    iam().create_instance_profile(theirs, f"/karpenter/us-east-1/{CLUSTER}/uid-default/", [aws_account.role])

    async def scenario(desk: Desk) -> None:
        wire = {**node_class(aws_account), "status": {"instanceProfile": theirs}}
        report = await desk.look(wire)
        assert report.status["instanceProfile"] == theirs
        assert len(profiles()) == 1

    sat(aws_server, scenario)


def test_where_IAM_may_be_out_of_reach_only_classes_with_a_role_need_it(
    aws_server: AwsServer, aws_account: Account
) -> None:
    plain = node_class(aws_account, role=None, instanceProfile="theirs")

    async def scenario(desk: Desk) -> None:
        await desk.look(plain)
        aws_server.world.forward(3601)
        await desk.resolver.sweep(())
        assert not {one.name for one in calls.EVERY if one.service == "iam"} & set(desk.counts.calls)
        aws_server.world.fail_always("ListInstanceProfiles", Refuse())
        await desk.resolver.release(desk.ref(), desk.objects["default"])
        with pytest.raises(CloudError):
            await desk.resolver.release(desk.ref(), node_class(aws_account))
        aws_server.world.fail_always("ListInstanceProfiles", None)
        await desk.look(node_class(aws_account))
        assert profiles()
        await desk.resolver.release(desk.ref(), desk.objects["default"])
        assert not profiles(), "what a class with a role has made is taken away again"

    sat(aws_server, scenario, isolated=True)


def test_another_role_is_another_profile_and_the_old_one_goes_when_nobody_needs_it(
    aws_server: AwsServer, aws_account: Account
) -> None:
    other = add_role("other")

    async def scenario(desk: Desk) -> None:
        first = (await desk.look(node_class(aws_account))).status["instanceProfile"]
        second = (await desk.look(node_class(aws_account, role=f"some/path/{other}"))).status["instanceProfile"]
        assert first != second
        assert profiles()[second] == [other]
        user = claim(annotations={NOTE: first})
        await desk.resolver.sweep(())
        assert set(profiles()) == {first, second}, "both are young"
        aws_server.world.forward(3601)
        await desk.resolver.sweep([user])
        assert set(profiles()) == {first, second}, "a claim names the old one"
        await desk.resolver.sweep(())
        assert set(profiles()) == {second}

    sat(aws_server, scenario)


def test_profiles_of_other_clusters_are_never_swept(aws_server: AwsServer, aws_account: Account) -> None:
    iam().create_instance_profile("theirs", "/karpenter/us-east-1/another/uid/", [])

    async def scenario(desk: Desk) -> None:
        await desk.resolver.sweep(())
        assert "theirs" in profiles()

    sat(aws_server, scenario)


def test_a_role_that_is_not_there_is_asked_for_once_a_minute_and_leaves_nothing(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(desk: Desk) -> None:
        for _ in range(3):
            report = await desk.look(node_class(aws_account, role="later"))
        assert desk.counts.calls["CreateInstanceProfile"] == 1
        assert profiles() == {}
        assert said(report, "InstanceProfileReady").reason == "RoleNotFound"
        add_role("later")
        assert is_ready(await desk.later(61))

    sat(aws_server, scenario)


def test_what_iam_forbids_is_named(aws_server: AwsServer, aws_account: Account) -> None:
    message = "User: arn:aws:sts::1:x is not authorized to perform: iam:CreateInstanceProfile on resource: y"
    aws_server.world.fail_always("CreateInstanceProfile", Refuse("AccessDenied", message, 403))

    async def scenario(desk: Desk) -> None:
        one = said(await desk.look(node_class(aws_account)), "InstanceProfileReady")
        assert (one.status, one.reason) == ("False", "Unauthorized")
        assert "add iam:CreateInstanceProfile to its IAM policy" in one.message

    sat(aws_server, scenario)


# ---- a class that goes


def test_a_class_that_goes_takes_its_profiles_and_templates_along(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account))
        await desk.look(node_class(aws_account, "other"))
        assert len(profiles()) == 2
        await desk.resolver.release(desk.ref(), desk.objects["default"])
        assert [*profiles(f"/karpenter/us-east-1/{CLUSTER}/uid-default/")] == []
        assert len(profiles()) == 1
        assert await desk.templates.remove_class("default") == 0
        assert await desk.templates.remove_class("other") == 1
        await desk.resolver.release(desk.ref(), desk.objects["default"])

    sat(aws_server, scenario)


def test_an_old_profile_without_a_path_goes_if_its_tags_say_it_is_the_classs(
    aws_server: AwsServer, aws_account: Account
) -> None:
    told = {**tags.of_cluster(CLUSTER), tags.NODE_CLASS: "default"}
    iam().create_instance_profile("legacy", "/", [], tags.on_wire(told))

    async def scenario(desk: Desk) -> None:
        wire = node_class(aws_account)
        await desk.resolver.release(desk.ref(), {**wire, "status": {"instanceProfile": aws_account.profile}})
        assert aws_account.profile in profiles("/")
        await desk.resolver.release(desk.ref(), {**wire, "status": {"instanceProfile": "legacy"}})
        assert "legacy" not in profiles("/")

    sat(aws_server, scenario)


def test_a_class_does_not_go_while_what_it_made_cannot_be_removed(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account))
        aws_server.world.fail_always("DeleteInstanceProfile", Refuse())
        with pytest.raises(Throttled):
            await desk.resolver.release(desk.ref(), desk.objects["default"])
        aws_server.world.fail_always("DeleteInstanceProfile", None)
        aws_server.world.fail_always("DescribeLaunchTemplates", Refuse("InternalError", "", 500))
        with pytest.raises(CloudError):
            await desk.resolver.release(desk.ref(), desk.objects["default"])
        aws_server.world.fail_always("DescribeLaunchTemplates", None)
        await desk.resolver.release(desk.ref(), desk.objects["default"])
        assert profiles() == {}

    sat(aws_server, scenario)
