"""The part of a placement group that EC2 chose is known before pods come to a Node."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import pytest
from tests.clouds.aws import orders
from tests.clouds.aws.office import Office, visited
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.partitions import Partitions
from dovetail.clouds.aws.resolved import PlacementGroup
from dovetail.clouds.port import CloudError, Hook, Unavailable, hooks_of
from dovetail.controllers.hooks import Hooks
from dovetail.core.instances import Instance
from dovetail.core.lifecycle.registration import NO_HOOKS, Hooked
from dovetail.core.nodeclaims import NodeClaim

HOOK = "PlacementGroupRegistrationHook"
GROUP, PART = aws_labels.PLACEMENT_GROUP_ID, aws_labels.PLACEMENT_GROUP_PARTITION


def group(strategy: str = "partition") -> dict[str, Any]:
    count = 3 if strategy == "partition" else None
    return {"GroupName": "far", "GroupId": "pg-1", "State": "available", "Strategy": strategy, "PartitionCount": count}


def bought(machine: Instance, name: str = "general-a1b2c") -> NodeClaim:
    claim = orders.claim(name)
    told = MappingProxyType({**claim.meta.labels, **machine.labels})
    return replace(claim, meta=replace(claim.meta, labels=told), provider_id=machine.provider_id)


def labelled(**told: str) -> NodeClaim:
    claim = orders.claim()
    return replace(claim, meta=replace(claim.meta, labels=MappingProxyType(told)), provider_id="aws:///us-east-1a/i-1")


def test_what_ec2_chose_is_asked_of_ec2(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.placement_groups["far"] = group()

    async def scenario(office: Office) -> None:
        (hook,) = hooks_of(office.cloud)
        parts = []
        for name in ("one", "two"):
            claim = bought(await office.cloud.launch(orders.order(bought_for=orders.claim(name))), name)
            assert claim.meta.labels[GROUP] == "pg-1"
            assert hook.concerns(claim)
            parts.append(await hook.labels(claim))
        assert parts == [{PART: "1"}, {PART: "2"}]

    visited(aws_server, aws_account, scenario, placementGroupSelector={"name": "far"})


def test_a_group_without_parts_and_no_group_at_all_keep_nobody_waiting(
    aws_server: AwsServer, aws_account: Account
) -> None:
    aws_server.world.placement_groups["far"] = group("cluster")

    async def scenario(office: Office) -> None:
        (hook,) = hooks_of(office.cloud)
        near = bought(await office.cloud.launch(orders.order()))
        assert near.meta.labels[GROUP] == "pg-1"
        assert not hook.concerns(near)
        await office.look()
        assert hook.concerns(near), "its class has another group now, or none: only EC2 knows"
        assert await hook.labels(near) == {}
        alone = bought(await office.cloud.launch(orders.order(bought_for=orders.claim("alone"))), "alone")
        assert not hook.concerns(alone)

    visited(aws_server, aws_account, scenario, placementGroupSelector={"name": "far"})


@pytest.mark.parametrize(
    ("told", "concerned"),
    [
        ({}, False),
        ({GROUP: "pg-1"}, True),
        ({GROUP: "pg-1", PART: ""}, True),
        ({GROUP: "pg-1", PART: "2"}, False),
        ({GROUP: "pg-2"}, True),
    ],
)
def test_a_claim_that_says_where_it_stands_is_done(told: dict[str, str], concerned: bool) -> None:
    hook = Partitions(None, lambda ref: PlacementGroup("pg-1", strategy="partition"))  # type: ignore[arg-type]
    assert hook.concerns(labelled(**told)) == concerned


def test_a_machine_ec2_has_not_heard_of_yet_is_waited_for(aws_server: AwsServer, aws_account: Account) -> None:
    aws_server.world.placement_groups["far"] = group()

    async def scenario(office: Office) -> None:
        (hook,) = hooks_of(office.cloud)
        claim = bought(await office.cloud.launch(orders.order()))
        aws_server.world.fail_always("DescribeInstances", Refuse("InvalidInstanceID.NotFound", "no such", 400))
        assert await hook.labels(claim) is None
        aws_server.world.fail_always("DescribeInstances", Refuse())
        with pytest.raises(CloudError):
            await hook.labels(claim)
        aws_server.world.fail_always("DescribeInstances", None)
        assert await hook.labels(claim) == {PART: "1"}

    visited(aws_server, aws_account, scenario, placementGroupSelector={"name": "far"})


# ---- all of a cloud's hooks together


@dataclass
class Fixed:
    """A hook that says what it was told to say."""

    name: str
    found: Mapping[str, str] | CloudError | None
    concerned: bool = True

    def concerns(self, claim: NodeClaim) -> bool:
        return self.concerned

    async def labels(self, claim: NodeClaim) -> Mapping[str, str] | None:
        if isinstance(self.found, CloudError):
            raise self.found
        return self.found


def test_hooks_are_asked_together_and_one_that_fails_is_waited_for() -> None:
    failed: list[object] = []

    def hooked(*hooks: Hook) -> Hooked:
        return asyncio.run(Hooks(hooks, lambda key, error: failed.append((key, str(error))))(orders.claim("one")))

    assert hooked() is NO_HOOKS
    assert hooked(Fixed("A", None, concerned=False)) is NO_HOOKS
    assert hooked(Fixed("A", {"a": "1"}), Fixed("B", {"b": "2"})) == Hooked({"a": "1", "b": "2"})
    assert hooked(Fixed("A", None), Fixed("B", {"b": "2"}), Fixed("C", Unavailable("busy"))) == Hooked(
        {"b": "2"}, ("A", "C")
    )
    assert failed == [("one", "busy")]
