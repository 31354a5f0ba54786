"""Classes on bad days: each is told in a sentence, and costs no other class anything."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clouds.aws.classes import DISCOVERY, HOME, Desk, assert_a_sentence, is_ready, node_class, said, sat
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse, Without

from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.port import Misconfigured, NoCapacity, Unavailable

NOTHING = [{"tags": {"no": "such"}}]
DENIED = Refuse("UnauthorizedOperation", "You are not authorized to perform this operation.", 403)


@pytest.mark.parametrize(
    ("spec", "type_", "reason", "names"),
    [
        ({"subnetSelectorTerms": NOTHING}, "SubnetsReady", "SubnetsNotFound", "subnetSelectorTerms[0] (tags no=such)"),
        ({"subnetSelectorTerms": [{"id": "subnet-0"}]}, "SubnetsReady", "SubnetsNotFound", "(id subnet-0)"),
        (
            {"securityGroupSelectorTerms": [{"name": "none"}]},
            "SecurityGroupsReady",
            "SecurityGroupsNotFound",
            "securityGroupSelectorTerms[0] (name none)",
        ),
        (
            {"amiSelectorTerms": [{"id": "ami-0"}], "amiFamily": "AL2023"},
            "AMIsReady",
            "AMINotFound",
            "amiSelectorTerms[0] (id ami-0)",
        ),
        ({"amiSelectorTerms": [{"alias": "al2023@v1"}]}, "AMIsReady", "AMINotFound", "al2023@v1"),
        ({"amiSelectorTerms": [{"alias": "al2@latest"}]}, "AMIsReady", "UnsupportedAlias", "before 1.33"),
        (
            {"amiSelectorTerms": [{"ssmParameter": "/none"}], "amiFamily": "Custom"},
            "AMIsReady",
            "AMINotFound",
            "(ssmParameter /none)",
        ),
        ({"role": "nobody"}, "InstanceProfileReady", "RoleNotFound", "spec.role"),
        ({"placementGroupSelector": {"id": "pg-0"}}, "PlacementGroupReady", "PlacementGroupNotFound", "pg-0"),
    ],
)
def test_what_is_not_there_is_named_and_other_classes_are_untouched(
    aws_server: AwsServer, aws_account: Account, spec: dict[str, Any], type_: str, reason: str, names: str
) -> None:
    async def scenario(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account, "other")))
        report = await desk.look(node_class(aws_account, **spec))
        one = said(report, type_)
        assert (one.status, one.reason) == ("False", reason)
        assert names in one.message
        assert_a_sentence(one)
        assert said(report, "Ready").status == "False"
        assert said(report, "ValidationSucceeded").reason == "DependenciesNotReady"
        with pytest.raises(Misconfigured, match=type_):
            desk.resolver.resolved(desk.ref())
        assert is_ready(await desk.look(name="other"))
        assert desk.resolver.resolved(desk.ref("other"))

    sat(aws_server, scenario)


@pytest.mark.parametrize(
    ("action", "element", "type_", "names"),
    [
        ("DescribeSubnets", "subnetId", "SubnetsReady", "DescribeSubnets gave an answer without SubnetId"),
        ("DescribeSecurityGroups", "groupId", "SecurityGroupsReady", "without GroupId"),
        ("DescribeImages", "imageId", "AMIsReady", "without ImageId"),
    ],
)
def test_an_answer_that_lacks_what_matters_is_told_and_passes(
    aws_server: AwsServer, aws_account: Account, action: str, element: str, type_: str, names: str
) -> None:
    async def scenario(desk: Desk) -> None:
        aws_server.world.fail_always(action, Without(element))
        report = await desk.look(node_class(aws_account))
        assert said(report, type_).status != "True"
        assert names in said(report, type_).message
        assert_a_sentence(said(report, type_))
        aws_server.world.fail_always(action, None)
        assert is_ready(await desk.look())

    sat(aws_server, scenario)


def test_an_image_no_node_can_run_is_told_by_its_architecture(aws_server: AwsServer, aws_account: Account) -> None:
    mac = aws_account.add_image("mac", "x86_64_mac")

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, amiSelectorTerms=[{"id": mac}], amiFamily="Custom"))
        one = said(report, "AMIsReady")
        assert one.reason == "AMINotFound"
        assert f"{mac} (x86_64_mac)" in one.message
        assert_a_sentence(one)

    sat(aws_server, scenario)


def test_subnets_without_an_address_are_told_while_the_class_stays_ready(
    aws_server: AwsServer, aws_account: Account
) -> None:
    from moto.ec2.models import ec2_backends

    full = aws_account.add_subnet("us-east-1a", "10.0.250.0/28", {"full": "yes"})
    backend = ec2_backends["123456789012"]["us-east-1"]
    for _ in range(11):
        backend.create_network_interface(backend.get_subnet(full), "", [])

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, subnetSelectorTerms=[{"tags": {"full": "yes"}}]))
        assert is_ready(report)
        assert full in said(report, "SubnetsReady").message
        assert_a_sentence(said(report, "SubnetsReady"))

    sat(aws_server, scenario)


def test_groups_of_another_network_are_found_out_before_anything_is_launched(
    aws_server: AwsServer, aws_account: Account
) -> None:
    from moto.ec2.models import ec2_backends

    backend = ec2_backends["123456789012"]["us-east-1"]
    other = backend.create_vpc("172.16.0.0/16")
    backend.create_security_group("far", "far", other.id, {})

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, securityGroupSelectorTerms=[{"name": "far"}]))
        one = said(report, "SecurityGroupsReady")
        assert one.reason == "SecurityGroupSubnetVPCMismatch"
        assert other.id in one.message
        assert_a_sentence(one)

    sat(aws_server, scenario)


@pytest.mark.parametrize(
    ("spec", "reason", "names"),
    [
        ({"userData": "\nspec: [:"}, "InvalidUserData", "spec.userData"),
        ({"userData": "MIME-Version: 1.0\nContent-Type: multipart/mixed\n\nx"}, "InvalidUserData", "boundary"),
        ({"userData": "#!" + "x" * 20_000}, "UserDataSizeLimitExceeded", "16384"),
        ({"tags": {"aws:mine": "x"}}, "TagValidationFailed", "aws:mine"),
        ({"tags": {"karpenter.sh/nodepool": "x"}}, "TagValidationFailed", "karpenter.sh/nodepool"),
        ({"tags": {f"t{number}": "" for number in range(48)}}, "TagValidationFailed", "remove 4"),
        ({"kubelet": {"maxPds": 3}}, "InvalidKubeletConfiguration", "did you mean maxPods"),
        ({"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "Ti"}}]}, "InvalidSpec",
         "blockDeviceMappings[0]"),
        ({"subnetSelectorTerms": [{"id": "subnet-1", "tags": {"a": "b"}}, DISCOVERY]}, "InvalidSpec",
         "subnetSelectorTerms[0]"),
        ({"instanceProfile": "p"}, "InvalidSpec", "role or instanceProfile"),
    ],
)  # fmt: skip
def test_what_is_written_wrongly_is_told_where_it_stands(
    aws_server: AwsServer, aws_account: Account, spec: dict[str, Any], reason: str, names: str
) -> None:
    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, **spec))
        one = said(report, "ValidationSucceeded")
        assert (one.status, one.reason) == ("False", reason)
        assert names in one.message
        assert_a_sentence(one)
        with pytest.raises(Misconfigured):
            desk.resolver.resolved(desk.ref())
        assert is_ready(await desk.look(node_class(aws_account, "other")))

    sat(aws_server, scenario)


# ---- AWS itself


def test_credentials_revoked_while_running_are_told_and_healed(aws_server: AwsServer, aws_account: Account) -> None:
    revoked = Refuse("AuthFailure", "AWS was not able to validate the provided access credentials", 401)

    async def scenario(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account)))
        aws_server.world.fail_always("*", revoked)
        report = await desk.later(3600)
        for type_ in ("SubnetsReady", "SecurityGroupsReady", "AMIsReady"):
            one = said(report, type_)
            assert (one.status, one.reason) == ("False", "Unauthorized")
            assert_a_sentence(one)
        assert "ec2:DescribeSubnets" in said(report, "SubnetsReady").message
        assert "subnets" not in report.status, "what was found before stays in the status"
        with pytest.raises(Misconfigured, match="DescribeSubnets"):
            desk.resolver.resolved(desk.ref())
        aws_server.world.fail_always("*", None)
        assert is_ready(await desk.later(60))

    sat(aws_server, scenario)


def test_throttles_on_every_call_change_nothing_that_was_known(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        first = await desk.look(node_class(aws_account))
        ready = desk.resolver.resolved(desk.ref())
        aws_server.world.fail_always("*", Refuse())
        report = await desk.later(120)
        assert report.conditions[-1] == said(first, "Ready") or is_ready(report)
        assert all(one.status == "True" for one in report.conditions)
        assert desk.resolver.resolved(desk.ref()).subnets == ready.subnets
        assert report.again <= 10
        assert report.problems
        assert desk.counts.backed_off > 0
        aws_server.world.fail_always("*", None)
        assert not (await desk.later(10)).problems

    sat(aws_server, scenario)


def test_throttles_from_the_start_leave_a_class_unknown_and_say_why(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.fail_always("*", Refuse())

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account))
        assert said(report, "Ready").status == "Unknown"
        one = said(report, "SubnetsReady")
        assert (one.status, one.reason) == ("Unknown", "RequestLimitExceeded")
        assert_a_sentence(one)
        with pytest.raises(Unavailable, match="the subnets of EC2NodeClass default are not known"):
            desk.resolver.resolved(desk.ref())
        aws_server.world.fail_always("*", None)
        assert is_ready(await desk.later(10))

    sat(aws_server, scenario)


def test_a_class_that_was_ready_stays_so_when_the_next_process_is_throttled(
    aws_server: AwsServer, aws_account: Account
) -> None:
    stored: dict[str, Any] = {}

    async def before(desk: Desk) -> None:
        await desk.look(node_class(aws_account))
        stored.update(desk.objects)

    async def after(desk: Desk) -> None:
        desk.objects.update(stored)
        aws_server.world.fail_always("DescribeSubnets", Refuse())
        report = await desk.look()
        assert is_ready(report)
        assert "subnets" not in report.status
        with pytest.raises(Unavailable):
            desk.resolver.resolved(desk.ref())

    sat(aws_server, before)
    sat(aws_server, after)


def test_one_call_that_is_denied_costs_its_own_part_only(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.fail_always("DescribeCapacityReservations", DENIED)

    async def scenario(desk: Desk) -> None:
        terms = [{"instanceMatchCriteria": "open"}]
        report = await desk.look(node_class(aws_account, capacityReservationSelectorTerms=terms))
        one = said(report, "CapacityReservationsReady")
        assert (one.status, one.reason) == ("False", "Unauthorized")
        assert "add ec2:DescribeCapacityReservations to its IAM policy" in one.message
        assert said(report, "SubnetsReady").status == "True"
        assert is_ready(await desk.look(node_class(aws_account, "other")))

    sat(aws_server, scenario)


def test_a_cluster_eks_does_not_know_is_told(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account))
        one = said(report, "ValidationSucceeded")
        assert one.reason == "ClusterCIDRResolutionFailed"
        assert_a_sentence(one)
        assert report.annotations == {}
        told = Home("elsewhere", HOME.endpoint, HOME.authority)
        assert told.cidr == ""

    sat(aws_server, scenario, home=Home("elsewhere", "", ""))


def test_a_class_nobody_has_heard_of_cannot_be_bought_with(aws_server: AwsServer) -> None:
    async def scenario(desk: Desk) -> None:
        with pytest.raises(NoCapacity, match="there is no EC2NodeClass"):
            desk.resolver.resolved(desk.ref("never"))

    sat(aws_server, scenario)


def test_a_class_that_was_changed_is_not_launched_with_before_it_is_looked_at_nor_one_that_goes(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(desk: Desk) -> None:
        wire = node_class(aws_account)
        desk.resolver.note(desk.ref(), wire)
        with pytest.raises(Unavailable, match="is new, or was changed"):
            desk.resolver.resolved(desk.ref())
        await desk.look(wire)
        assert desk.resolver.resolved(desk.ref())
        newer = {**wire, "metadata": {**wire["metadata"], "generation": 2}}
        desk.resolver.note(desk.ref(), newer)
        with pytest.raises(Unavailable, match="is new, or was changed"):
            desk.resolver.resolved(desk.ref())
        going = {**wire, "metadata": {**wire["metadata"], "deletionTimestamp": "2026-11-15T00:00:00Z"}}
        desk.resolver.note(desk.ref(), going)
        with pytest.raises(NoCapacity, match="is being deleted"):
            desk.resolver.resolved(desk.ref())
        desk.resolver.note(desk.ref(), None)
        assert desk.resolver.spec(desk.ref()) is None

    sat(aws_server, scenario)


def test_a_version_of_kubernetes_nobody_knows_yet_is_waited_for(aws_server: AwsServer, aws_account: Account) -> None:
    version = [""]

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account))
        assert said(report, "AMIsReady").status == "Unknown"
        assert_a_sentence(said(report, "AMIsReady"))
        version[0] = "1.35+"
        assert is_ready(await desk.look())

    sat(aws_server, scenario, kubernetes=lambda: version[0])


def test_a_class_that_is_forgotten_is_gone_and_its_reservations_with_it(
    aws_server: AwsServer, aws_account: Account
) -> None:
    from tools.aws_server.reservations import reserve

    held = reserve("m5.large", "us-east-1a", 4)

    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account, capacityReservationSelectorTerms=[{"id": held}]))
        before = desk.resolver.generation
        desk.resolver.forget(desk.ref())
        assert desk.resolver.generation == before + 1
        assert desk.left.left(held) == 0
        with pytest.raises(NoCapacity):
            desk.resolver.resolved(desk.ref())

    sat(aws_server, scenario)
