"""Manifests as a user of the peer writes them, resolved against the test server: each says what it should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.clouds.aws import manifests
from tests.clouds.aws.classes import Desk, is_ready, sat
from tests.clouds.aws.orders import kinds
from tools.aws_server import Account, AwsServer
from tools.aws_server.reservations import reserve

from dovetail.clouds.aws.resolved import Boot, ResolvedClass

Check = Callable[[ResolvedClass, str], bool]
#: Of each class something that only it has: of what was resolved, and of the user data of an m5.large.
CHECKS: dict[str, Check] = {
    "al2023": lambda one, told: "shutdownGracePeriod" in told and "kind: NodeConfig" in told and len(one.images) > 2,
    "al2023-shell": lambda one, told: "vm.max_map_count=262144" in told and "NodeConfig" in told,
    "al2": lambda one, told: "echo before" in told and "/etc/eks/bootstrap.sh" in told,
    "bottlerocket": lambda one, told: "vm.max_map_count" in told and "cluster-certificate" in told,
    "windows": lambda one, told: "<powershell>" in told and "before the node joins" in told,
    "custom": lambda one, told: told == "#!/bin/bash\n/opt/join-the-cluster\n" and one.profile == "test-profile",
    "by-id": lambda one, told: len(one.subnets) == len(one.security_groups) == len(one.images) == 1,
    "by-name": lambda one, told: len(one.subnets) > 1 and len(one.security_groups) == 1,
    "by-any-value-of-a-tag": lambda one, told: len(one.subnets) > 1 and one.images[0].name == "golden",
    "by-parameter": lambda one, told: len(one.images) == 1,
    "by-several-terms": lambda one, told: (len(one.images), len(one.subnets), len(one.security_groups)) == (2, 1, 2),
    "reserved-by-id": lambda one, told: len(one.reservations) == 1,
    "reserved-by-tags": lambda one, told: len(one.reservations) == 1,
    "reserved-by-owner": lambda one, told: len(one.reservations) == 2,
    "everything": lambda one, told: (
        "evictionSoft" in told and one.disks[0].size_gib == 100 and one.context == "fleet-context"
    ),
    "fast-network": lambda one, told: (
        one.placement_group is not None and [each.efa_only for each in one.network.interfaces] == [False, True]
    ),
}


def furnished(server: AwsServer, account: Account) -> dict[str, str]:
    """What the manifests point at, and its ids."""
    account.add_image("golden", tags={"golden": "yes"})
    reserve("m5.large", "us-east-1b", 2, Tags=[{"Key": "team", "Value": "search"}])
    server.world.placement_groups["near"] = {
        "GroupName": "near",
        "GroupId": "pg-1",
        "State": "available",
        "Strategy": "cluster",
    }
    return {
        "SUBNET": next(iter(account.subnets.values())),
        "GROUP": account.security_groups[0],
        "IMAGE": account.images["al2023", "x86_64"],
        "RESERVATION": reserve("m5.large", "us-east-1a", 1),
    }


def test_every_class_is_checked() -> None:
    assert {f"EC2NodeClass/{name}" for name in CHECKS} == set(manifests.CLASSES)


def test_all_of_them_become_ready_and_are_what_they_say(aws_server: AwsServer, aws_account: Account) -> None:
    written = manifests.written(furnished(aws_server, aws_account))

    async def scenario(desk: Desk) -> None:
        for name, check in CHECKS.items():
            wire: Any = written[f"EC2NodeClass/{name}"]
            wire["metadata"] |= {"uid": f"uid-{name}", "generation": 1, "creationTimestamp": "2026-11-01T00:00:00Z"}
            report = await desk.look(wire)
            assert is_ready(report), (name, [one for one in report.conditions if one.status != "True"])
            one = desk.resolver.resolved(desk.ref(name))
            told = one.user_data(Boot(one.images[0], kinds()["m5.large"], {"team": "search"}))
            assert check(one, told), (name, one, told)

    sat(aws_server, scenario)


@pytest.mark.parametrize(
    ("alias", "word"),
    [("al2@latest", "UnsupportedAlias"), ("windows2019@latest", "AMINotFound"), ("al2023@v20200101", "AMINotFound")],
)
def test_an_alias_without_an_image_for_this_kubernetes_says_so(
    aws_server: AwsServer, aws_account: Account, alias: str, word: str
) -> None:
    wire: Any = manifests.written()["EC2NodeClass/al2023"]
    wire["spec"] |= {"amiSelectorTerms": [{"alias": alias}], "userData": ""}
    wire["metadata"] |= {"uid": "u", "generation": 1, "creationTimestamp": "2026-11-01T00:00:00Z"}

    async def scenario(desk: Desk) -> None:
        report = await desk.look(wire)
        assert not is_ready(report)
        assert word in {one.reason for one in report.conditions}

    sat(aws_server, scenario)
