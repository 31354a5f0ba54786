"""Pods become machines of EC2, and go again: the whole loop against the test server."""

from __future__ import annotations

import pytest
from tests.clouds.aws.classes import node_class
from tests.clouds.aws.selling import sells_only
from tests.live import objects
from tests.live.aws_time import run
from tests.live.live import SOON, condition, is_true
from tests.live.live_aws import REF, TYPES, LiveAws, needs, pool
from tools.aws_server import Account, AwsServer
from tools.aws_server.reservations import reserve
from tools.aws_server.types import sell_new_type
from tools.aws_server.world import Refuse

from dovetail.api import kinds
from dovetail.controllers.controller import Choices
from dovetail.core import labels

RESERVATION = "karpenter.k8s.aws/capacity-reservation-id"
WRITES = ("CreateFleet", "RunInstances", "TerminateInstances", "CreateTags", "CreateLaunchTemplate")


class Discovering(LiveAws):
    """With a cloud that asks what is sold."""

    discovers = True


async def served(live: LiveAws, count: int) -> None:
    """Wait until all pods run, on machines that are all claimed and ready."""
    await live.until(lambda: len(live.running()) == count == len(live.all(kinds.PODS)) and live.is_whole(), 300)
    await live.until(lambda: live.claims() and all(is_true(one, "Ready") for one in live.claims()))


async def emptied(live: LiveAws) -> None:
    """Take everything away, and wait until it is."""
    live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
    for name in live.names():
        live.delete(kinds.NODE_CLAIMS, name)
    await live.until(lambda: not live.claims() and not live.nodes() and not live.machines(), 300)


def test_pending_pods_become_machines_and_go_again(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account) as live:
            live.pods(5)
            await served(live, 5)
            claim, node = live.claim(), live.node()
            assert claim["status"]["imageID"] == aws_account.images["al2023", "x86_64"]
            assert claim["status"]["nodeName"] == node["metadata"]["name"]
            told = node["metadata"]["labels"]
            assert told["karpenter.k8s.aws/instance-category"] in ("c", "m", "r")
            assert told["karpenter.k8s.aws/ec2nodeclass"] == "default"
            assert "karpenter.k8s.aws/ec2nodeclass-hash" in claim["metadata"]["annotations"]
            assert not [one for one in node["spec"].get("taints") or () if one["key"] == "karpenter.sh/unregistered"]
            await emptied(live)

    run(scenario())


def test_a_node_class_says_that_it_is_ready_and_goes_when_nobody_needs_it(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account) as live:
            live.pods(1)
            await served(live, 1)
            found = live.get(kinds.EC2_NODE_CLASSES, "default")
            assert is_true(found, "Ready")
            assert {one["zone"] for one in found["status"]["subnets"]} == set(aws_account.zones)
            shown = (
                'operator_ec2nodeclass_status_condition_count{name="default",namespace="",type="Ready",status="True"'
            )
            assert shown in await live.metrics.page()
            turned = {"type": "Ready", "status": "True", "reason": "Ready"}
            assert live.value("operator_ec2nodeclass_status_condition_transitions_total", **turned) == 1
            of_all = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", **turned}
            assert live.value("operator_status_condition_transitions_total", **of_all) == 1
            assert "SubnetsReady" in live.reasons()
            live.delete(kinds.EC2_NODE_CLASSES, "default")
            await live.settle(30)
            going = 'operator_ec2nodeclass_termination_current_time_seconds{name="default",namespace=""} 3'
            assert going in await live.metrics.page()
            assert live.get(kinds.EC2_NODE_CLASSES, "default"), "a claim still needs it"
            await emptied(live)
            await live.until(lambda: not live.all(kinds.EC2_NODE_CLASSES))
            await live.settle(1)
            assert "operator_ec2nodeclass_termination_duration_seconds_count 1\n" in await live.metrics.page()

    run(scenario())


def test_many_claims_are_few_calls(aws_server: AwsServer, aws_account: Account):
    """A fleet fills all claims of one shape, and one call ends them."""

    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account) as live:
            apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
            live.pods(12, affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}})
            await served(live, 12)
            assert len(live.machines()) == 12
            calls = aws_server.world.calls
            assert calls["CreateFleet"] <= 4
            ends = calls["TerminateInstances"]
            await emptied(live)
            assert calls["TerminateInstances"] - ends <= 6

    run(scenario())


def test_a_reservation_is_filled_before_anything_is_bought(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        held = reserve("m5.large", "us-east-1a", 1)
        both = (labels.RESERVED, labels.ON_DEMAND)
        async with LiveAws(aws_server, aws_account, pool_=pool(capacity=both)) as live:
            terms = [{"id": held}]
            live.edit(kinds.EC2_NODE_CLASSES, "default", {"spec": {"capacityReservationSelectorTerms": terms}})
            await live.until(lambda: live.cloud.counts.left(held) == 1)
            live.pods(1)
            await served(live, 1)
            assert live.claim()["metadata"]["labels"][RESERVATION] == held
            assert live.cloud.counts.left(held) == 0, "counted without asking"
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 4}})
            await served(live, 4)
            found = [one["metadata"]["labels"] for one in live.claims()]
            assert sorted(one[labels.CAPACITY_TYPE] for one in found) == ["on-demand", "reserved"]

    run(scenario())


def test_what_a_node_reports_of_its_memory_is_planned_with(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        only = pool(needs(labels.INSTANCE_TYPE, "m5.large"))
        async with LiveAws(aws_server, aws_account, pool_=only) as live:
            (seen,) = live.controller.snapshots.pools()
            planned = live.cloud.market.specs(seen)["m5.large"].capacity.of("memory")
            live.pods(1)
            await served(live, 1)
            assert live.cloud.market.specs(seen)["m5.large"].capacity.of("memory") > planned
            measured = int(live.node()["status"]["capacity"]["memory"].removesuffix("Mi")) * 1024**2
            assert live.cloud.market.specs(seen)["m5.large"].capacity.of("memory") == measured

    run(scenario())


def test_a_dry_run_asks_aws_and_changes_nothing_there(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account) as live:
            await live.until(lambda: is_true(live.get(kinds.EC2_NODE_CLASSES, "default"), "Ready"))
            await live.stop()
            aws_server.world.calls.clear()
            live.choices = Choices(window=SOON, dry_run=True)
            await live.start()
            live.pods(3)
            await live.settle(120)
            assert live.value("dry_run_effects_total", effect="create") == 1
            assert not live.claims()
            assert not live.machines()
            assert aws_server.world.calls["DescribeSubnets"]
            assert not [one for one in WRITES if aws_server.world.calls[one]]

    run(scenario())


def test_a_class_that_changes_makes_its_machines_drift(aws_server: AwsServer, aws_account: Account):
    async def scenario() -> None:
        async with LiveAws(aws_server, aws_account) as live:
            live.pods(1)
            await served(live, 1)
            old = live.machines()
            live.edit(kinds.EC2_NODE_CLASSES, "default", {"spec": {"userData": "#!/bin/sh\necho hello"}})
            await live.until(lambda: live.machines() and not live.machines() & old and live.is_whole(), 900)
            assert condition(live.claim(), "Drifted") is None

    run(scenario())


def test_a_type_nobody_had_heard_of_is_bought_once_aws_tells_of_it(
    aws_server: AwsServer, aws_account: Account, monkeypatch: pytest.MonkeyPatch
):
    async def scenario() -> None:
        sells_only(TYPES, monkeypatch)
        sell_new_type("m99.large", "m5.large", ("us-east-1a",))
        aws_server.world.spot["m99.large", "us-east-1a"] = 0.01
        wanted = [*objects.LINUX, needs(labels.INSTANCE_TYPE, "m99.large"), needs(labels.CAPACITY_TYPE, labels.SPOT)]
        new = objects.pool(nodeClassRef=REF, requirements=wanted)
        async with Discovering(aws_server, aws_account, pool_=new) as live:
            live.pods(1)
            await served(live, 1)
            found = live.claim()["metadata"]["labels"]
            assert found[labels.INSTANCE_TYPE] == "m99.large"
            assert all(one.live for one in live.cloud.discovery.freshness.by_subject.values() if not one.skipped)

    run(scenario())


class Grouped(LiveAws):
    """Whose machines stand in parts of a placement group."""

    def furnish(self) -> None:
        spec = node_class(self.account, placementGroupSelector={"name": "far"})["spec"]
        self.put(kinds.EC2_NODE_CLASSES, {"metadata": {"name": "default"}, "spec": spec})


def test_a_node_takes_no_pods_before_it_says_in_which_part_of_its_placement_group_it_is(
    aws_server: AwsServer, aws_account: Account
):
    aws_server.world.placement_groups["far"] = {
        "GroupName": "far", "GroupId": "pg-1", "State": "available", "Strategy": "partition", "PartitionCount": 3,
    }  # fmt: skip

    def waits(live: LiveAws) -> bool:
        return any(
            (condition(one, "Registered") or {}).get("reason") == "RegistrationHookPending" for one in live.claims()
        )

    async def scenario() -> None:
        async with Grouped(aws_server, aws_account) as live:
            live.pods(1)
            await live.until(live.claims)
            aws_server.world.fail_always("DescribeInstances", Refuse("InvalidInstanceID.NotFound", "none", 400))
            await live.until(lambda: waits(live), 60)
            assert (condition(live.claim(), "Registered") or {})["message"] == "PlacementGroupRegistrationHook"
            told = live.node()
            assert "karpenter.sh/unregistered" in {one["key"] for one in told["spec"]["taints"]}
            assert told["metadata"]["labels"][labels.NODEPOOL] == "general"
            assert not live.running()
            aws_server.world.fail_always("DescribeInstances", None)
            await served(live, 1)
            for one in (live.claim(), live.node()):
                assert one["metadata"]["labels"]["karpenter.k8s.aws/placement-group-partition"] == "1"

    run(scenario())
