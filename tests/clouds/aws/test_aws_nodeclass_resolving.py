"""Node classes resolved against the test server: what they find, and what their status says."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from tests.clouds.aws.classes import CLUSTER, DISCOVERY, HOME, Desk, is_ready, node_class, said, sat
from tests.clouds.aws.orders import kinds
from tools.aws_server import Account, AwsServer
from tools.aws_server.reservations import reserve
from tools.aws_server.wire import instant

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.aws.intervals import Intervals
from dovetail.clouds.aws.resolved import Boot

EKS = "/aws/service/eks/optimized-ami"


def test_a_class_of_the_peers_documentation_becomes_ready_in_one_look(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account))
        assert is_ready(report), report.conditions
        assert [one.type for one in report.conditions][-1] == "Ready"
        assert {one.generation for one in report.conditions} == {1}
        status: Any = report.status
        assert {one["id"] for one in status["subnets"]} == set(aws_account.subnets.values())
        assert {one["id"] for one in status["securityGroups"]} == set(aws_account.security_groups)
        assert {one["id"] for one in status["amis"]} == {
            image for (kind, _), image in aws_account.images.items() if kind.startswith("al2023")
        }
        assert status["instanceProfile"].startswith(f"{CLUSTER}_")
        assert report.annotations["karpenter.k8s.aws/ec2nodeclass-hash-version"] == "v5"
        assert 0 < report.again <= 60
        ready = desk.resolver.resolved(desk.ref())
        assert ready.zones == set(aws_account.zones)
        assert ready.image_for(kinds()["m6g.large"]).id == aws_account.images["al2023", "arm64"]
        assert ready.image_for(kinds()["g5.xlarge"]).id == aws_account.images["al2023-nvidia", "x86_64"]

    sat(aws_server, scenario)


def test_subnets_stand_by_free_addresses_and_then_by_id(aws_server: AwsServer, aws_account: Account) -> None:
    small = aws_account.add_subnet("us-east-1a", "10.0.250.0/28")

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account))
        ids = [one["id"] for one in report.status["subnets"]]
        assert ids[-1] == small
        assert ids[:-1] == sorted(ids[:-1])
        assert desk.resolver.resolved(desk.ref()).subnets[-1].free_addresses == 11

    sat(aws_server, scenario)


def test_a_second_look_within_the_minute_asks_nobody(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account))
        before = desk.counts.calls.total()
        await desk.look()
        assert desk.counts.calls.total() == before
        await desk.later(60)
        assert desk.counts.calls.total() == before + 1
        assert desk.counts.calls["DescribeSubnets"] == 2

    sat(aws_server, scenario)


def test_answers_are_used_for_as_long_as_was_said(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        def asked() -> list[int]:
            names = ("DescribeSubnets", "DescribeImages", "DescribeSecurityGroups")
            return [desk.counts.calls[name] for name in names]

        await desk.look(node_class(aws_account))
        assert asked() == [1, 1, 1]
        await desk.later(540)
        assert asked() == [1, 1, 1]
        await desk.later(60)
        assert asked() == [2, 1, 1]
        await desk.later(600)
        assert asked() == [3, 2, 1]
        await desk.later(600)
        assert asked() == [4, 2, 2]

    sat(aws_server, scenario, intervals=Intervals(images=1200.0, subnets=600.0, groups=1800.0))


def test_classes_with_the_same_terms_ask_once(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        for name in ("a", "b", "c"):
            await desk.look(node_class(aws_account, name, role=None, instanceProfile=aws_account.profile))
        assert desk.counts.calls["DescribeSubnets"] == 1
        assert desk.counts.calls["DescribeImages"] == 1
        assert desk.counts.calls["GetParameter"] == 5

    sat(aws_server, scenario)


def test_what_changes_in_the_market_moves_the_generation_and_addresses_do_not(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account))
        first = desk.resolver.generation
        await desk.later(60)
        assert desk.resolver.generation == first
        aws_account.add_subnet("us-east-1a", "10.0.250.0/28")
        await desk.later(60)
        assert desk.resolver.generation == first + 1

    sat(aws_server, scenario)


@pytest.mark.parametrize(
    ("terms", "family"),
    [
        ([{"id": "{x86}"}], "AL2023"),
        ([{"name": "al2023-x86_64-*"}], "AL2023"),
        ([{"name": "al2023-x86_64-*", "owner": "self"}], "AL2023"),
        ([{"tags": {"team": "a"}}], "Custom"),
        ([{"tags": {"team": "*"}}], "Custom"),
        ([{"ssmParameter": f"{EKS}/1.35/amazon-linux-2023/x86_64/standard/recommended/image_id"}], "AL2023"),
    ],
)
def test_images_are_selected_in_every_way(
    aws_server: AwsServer, aws_account: Account, terms: list[Any], family: str
) -> None:
    x86 = aws_account.images["al2023", "x86_64"]
    tagged = aws_account.add_image("mine", tags={"team": "a"})
    wanted = [{key: x86 if value == "{x86}" else value for key, value in one.items()} for one in terms]

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, amiSelectorTerms=wanted, amiFamily=family))
        assert is_ready(report), report.conditions
        found: Any = report.status["amis"]
        assert [one["id"] for one in found] == [tagged if "tags" in wanted[0] else x86]
        assert found[0]["requirements"] == [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]

    sat(aws_server, scenario)


def test_a_deprecated_image_gives_way_to_another_and_is_taken_where_it_is_alone(
    aws_server: AwsServer, aws_account: Account
) -> None:
    old, new = aws_account.add_image("img-2"), aws_account.add_image("img-1")
    terms = [{"name": "img-*"}]
    aws_account.deprecate(old)

    async def scenario(desk: Desk) -> None:
        wire = node_class(aws_account, amiSelectorTerms=terms, amiFamily="Custom")
        report = await desk.look(wire)
        assert [one["id"] for one in report.status["amis"]] == [new]
        aws_account.deprecate(new)
        report = await desk.later(301)
        assert is_ready(report)
        assert report.status["amis"][0]["deprecated"] is True
        assert "deprecated by its owner" in said(report, "AMIsReady").message

    sat(aws_server, scenario)


def test_a_latest_that_was_deprecated_is_read_anew_before_its_day_is_over(
    aws_server: AwsServer, aws_account: Account
) -> None:
    from tools.aws_server.parameters import image_parameters, put_parameters

    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account))
        newer = aws_account.add_image("newer")
        put_parameters("us-east-1", image_parameters("1.35", {("al2023", "x86_64"): newer}))
        report = await desk.later(3600)
        assert newer not in [one["id"] for one in report.status["amis"]]
        aws_account.deprecate(aws_account.images["al2023", "x86_64"])
        report = await desk.later(3600)
        assert newer in [one["id"] for one in report.status["amis"]]

    sat(aws_server, scenario)


# ---- capacity reservations


def test_reservations_are_selected_and_told_with_their_counts(aws_server: AwsServer, aws_account: Account) -> None:
    """S3.1, S3.2."""
    ends = instant(aws_server.world.now + 86_400)
    mine = reserve("m5.large", "us-east-1a", 10, Tags=[{"Key": "team", "Value": "a"}], EndDate=ends)
    reserve("c5.large", "us-east-1a", 3)
    by_type = reserve("r5.large", "us-east-1b", 2, InstanceMatchCriteria="open")
    terms = [{"tags": {"team": "*"}}, {"instanceType": "r5.large", "type": "open"}]

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, capacityReservationSelectorTerms=terms))
        assert is_ready(report), report.conditions
        found: Any = {one["id"]: one for one in report.status["capacityReservations"]}
        assert set(found) == {mine, by_type}
        assert (found[mine]["availableInstanceCount"], found[mine]["totalInstanceCount"]) == (10, 10)
        assert found[mine]["endTime"].endswith("Z")
        assert (found[by_type]["instanceMatchCriteria"], found[by_type]["reservationType"]) == ("open", "default")
        assert desk.left.left(mine) == 10
        assert set(desk.resolver.resolved(desk.ref()).reservations) == {mine, by_type}

    sat(aws_server, scenario)


def test_a_capacity_block_expires_forty_minutes_early_and_is_looked_at_then(
    aws_server: AwsServer, aws_account: Account
) -> None:
    ends = instant(aws_server.world.now + 41 * 60 - 30)
    block = reserve("m5.large", "us-east-1a", 1, ReservationType="capacity-block", EndDate=ends)

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, capacityReservationSelectorTerms=[{"id": block}]))
        assert report.status["capacityReservations"][0]["state"] == "active"
        assert report.again < 31
        report = await desk.later(report.again + 1)
        assert report.status["capacityReservations"][0]["state"] == "expiring"
        assert desk.resolver.resolved(desk.ref()).reservations[block].expiring

    sat(aws_server, scenario)


def test_a_shared_reservation_that_vanishes_leaves_the_class_ready_and_says_so(
    aws_server: AwsServer, aws_account: Account
) -> None:
    held = reserve("m5.large", "us-east-1a", 4, OwnerId="210987654321")

    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account, capacityReservationSelectorTerms=[{"id": held}]))
        assert desk.left.left(held) == 4
        del aws_server.world.reservations[held]
        report = await desk.later(60)
        assert is_ready(report)
        assert report.status["capacityReservations"] == []
        assert f"capacityReservationSelectorTerms[0] (id {held})" in said(report, "CapacityReservationsReady").message
        assert desk.left.left(held) == 0
        assert desk.resolver.resolved(desk.ref()).reservations == {}

    sat(aws_server, scenario)


def test_thousands_of_reservations_are_all_used_and_shown_as_far_as_they_fit(
    aws_server: AwsServer, aws_account: Account
) -> None:
    for number in range(1100):
        reserve("m5.large", "us-east-1a", number % 2)

    async def scenario(desk: Desk) -> None:
        terms = [{"instanceMatchCriteria": "targeted"}]
        report = await desk.look(node_class(aws_account, capacityReservationSelectorTerms=terms))
        shown: Any = report.status["capacityReservations"]
        assert len(shown) == 1000
        assert [one["id"] for one in shown] == sorted(one["id"] for one in shown)
        assert sum(one["availableInstanceCount"] for one in shown) == 550
        assert len(desk.resolver.resolved(desk.ref()).reservations) == 1100
        assert "1100 are selected" in said(report, "CapacityReservationsReady").message

    sat(aws_server, scenario)


def test_an_answer_that_is_remembered_does_not_undo_what_was_launched_since(
    aws_server: AwsServer, aws_account: Account
) -> None:
    """S3.5."""
    held = reserve("m5.large", "us-east-1a", 4)

    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account, capacityReservationSelectorTerms=[{"id": held}]))
        desk.left.launched(held, aws_server.world.now)
        await desk.later(10)
        assert desk.left.left(held) == 3
        await desk.later(60)
        assert desk.left.left(held) == 4

    sat(aws_server, scenario)


# ---- the rest of what a machine is made with


def test_what_launching_reads_is_what_the_class_says(aws_server: AwsServer, aws_account: Account) -> None:
    spec = {
        "tags": {"team": "a"},
        "detailedMonitoring": True,
        "associatePublicIPAddress": False,
        "context": "c",
        "metadataOptions": {"httpPutResponseHopLimit": 2, "httpTokens": "optional"},
        "cpuOptions": {"nestedVirtualization": "enabled"},
        "enclaveOptions": {"enabled": True},
        "connectionTracking": {"udpTimeout": 40},
        "networkInterfaces": [
            {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
            {"networkCardIndex": 1, "deviceIndex": 1, "interfaceType": "efa-only"},
        ],
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "1T", "encrypted": True}}],
    }

    async def scenario(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account, **spec)))
        one = desk.resolver.resolved(desk.ref())
        assert (one.tags, one.detailed_monitoring, one.context) == ({"team": "a"}, True, "c")
        assert (one.metadata.hops, one.metadata.tokens, one.metadata.endpoint) == (2, "optional", "enabled")
        assert (one.nested_virtualization, one.network.public_address) == ("enabled", False)
        assert one.enclaves
        assert one.network.tracking is not None
        assert (one.network.tracking.udp, one.network.tracking.tcp_established) == (40, None)
        assert [interface.efa_only for interface in one.network.interfaces] == [False, True]
        assert [(disk.device, disk.size_gib) for disk in one.disks] == [("/dev/xvda", 932)]
        told = one.user_data(Boot(one.images[0], kinds()["m5.large"], {"team": "a"}))
        assert "team=a" in told
        assert "https://example.test" in told

    sat(aws_server, scenario)


def test_a_placement_group_is_found_by_name_with_its_partitions(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.placement_groups["far"] = {
        "GroupName": "far", "GroupId": "pg-1", "State": "available", "Strategy": "partition", "PartitionCount": 5,
    }  # fmt: skip

    async def scenario(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account, placementGroupSelector={"name": "far"})))
        group = desk.resolver.resolved(desk.ref()).placement_group
        assert group is not None
        assert (group.id, group.partitions) == ("pg-1", 5)
        report = await desk.look(node_class(aws_account, placementGroupSelector={"name": "near"}))
        assert said(report, "PlacementGroupReady").reason == "PlacementGroupNotFound"
        assert "placementGroupSelector" in said(report, "PlacementGroupReady").message

    sat(aws_server, scenario)


def test_what_the_cluster_is_is_asked_of_eks_where_nobody_said(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account)))
        one = desk.resolver.resolved(desk.ref())
        assert "cidr: 10.100.0.0/16" in one.user_data(Boot(one.images[0], kinds()["m5.large"], {}))
        assert desk.counts.calls["DescribeCluster"] == 1

    sat(aws_server, scenario, home=Home(CLUSTER, "", ""))


def test_an_ipv6_cluster_has_its_machines_speak_it(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        await desk.look(node_class(aws_account))
        assert desk.resolver.resolved(desk.ref()).network.ipv6

    sat(aws_server, scenario, home=Home(CLUSTER, HOME.endpoint, HOME.authority, "fd00::/108"))


def test_a_region_with_one_zone_is_enough(aws_server: AwsServer, aws_account: Account) -> None:
    only = aws_account.subnets["us-east-1c"]

    async def scenario(desk: Desk) -> None:
        report = await desk.look(node_class(aws_account, subnetSelectorTerms=[{"id": only}]))
        assert is_ready(report)
        assert desk.resolver.resolved(desk.ref()).zones == {"us-east-1c"}

    sat(aws_server, scenario)


@pytest.mark.parametrize("gate", [True, False])
def test_machines_keep_out_of_open_reservations_where_reservations_are_bought_from(
    aws_server: AwsServer, aws_account: Account, gate: bool
) -> None:
    async def scenario(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account)))
        assert desk.resolver.resolved(desk.ref()).opts_out is gate

    sat(aws_server, scenario, reserved=gate)


def test_nothing_is_made_by_a_resolver_that_only_reads(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account)))
        await desk.resolver.release(desk.ref(), desk.objects["default"])
        await desk.resolver.sweep(())
        made = {one.name for one in calls.EVERY if one.name.startswith(("Create", "Delete", "Add", "Remove", "Run"))}
        assert not made & set(desk.counts.calls)

    sat(aws_server, scenario, read_only=True)


def test_the_time_of_a_condition_moves_with_its_status_alone(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        first = said(await desk.look(node_class(aws_account)), "SubnetsReady").since
        later = said(await desk.later(120), "SubnetsReady")
        assert later.since == int(first)
        bad = node_class(aws_account, subnetSelectorTerms=[{"tags": {"no": "such"}}])
        assert said(await desk.look(bad), "SubnetsReady").since > later.since
        assert said(await desk.look(node_class(aws_account)), "SubnetsReady").generation == 3

    sat(aws_server, scenario)


def test_terms_that_select_nothing_beside_others_are_told(aws_server: AwsServer, aws_account: Account) -> None:
    async def scenario(desk: Desk) -> None:
        terms = [DISCOVERY, {"tags": {"no": "such"}}]
        report = await desk.look(node_class(aws_account, subnetSelectorTerms=terms))
        assert is_ready(report)
        assert said(report, "SubnetsReady").message == "nothing is selected by subnetSelectorTerms[1] (tags no=such)"

    sat(aws_server, scenario)


def test_times_in_the_status_are_the_servers_own_form() -> None:
    from dovetail.clouds.aws.nodeclass import reservations
    from dovetail.clouds.aws.resolved import HeldReservation

    end = dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC).timestamp()
    seen = reservations.Seen(HeldReservation("cr-1", "m5.large", "a", ends_at=end, owner="1" * 12), "open", 1, 2, 0.0)
    assert reservations.status([seen])[0]["endTime"] == "2026-12-01T12:00:00Z"
