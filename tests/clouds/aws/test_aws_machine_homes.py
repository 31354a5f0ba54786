"""What a machine has of its AWSCluster, and which clusters it is not bought for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clouds.aws.single import BOOT, ZONE, Process, backend, living, order, processed, spec
from tools.aws_server import Account, AwsServer

from dovetail.clouds.port import Misconfigured


def bought(server: AwsServer, asked: dict[str, Any], home: dict[str, Any] | None, name: str = "m") -> dict[str, Any]:
    """What EC2 was asked for."""

    async def scenario(one: Process) -> None:
        await one.machines.create(order(asked, name), BOOT)

    processed(server, scenario, home=home)
    found: dict[str, Any] = server.world.runs[-1]
    return found


def test_the_clusters_tags_are_on_its_machines_and_give_way_to_theirs(
    aws_server: AwsServer, aws_account: Account
) -> None:
    home = {"region": "us-east-1", "additionalTags": {"team": "cluster", "cost": "1", "Name": "all-alike"}}
    request = bought(aws_server, spec(aws_account, additionalTags={"team": "mine"}), home)
    told = {one["Key"]: one["Value"] for one in request["TagSpecifications"][0]["Tags"]}
    assert (told["team"], told["cost"], told["Name"]) == ("mine", "1", "m")


def test_the_clusters_key_is_taken_unless_the_machine_says_otherwise(
    aws_server: AwsServer, aws_account: Account
) -> None:
    for name in ("theirs", "mine"):
        backend(aws_account).create_key_pair(name, "ed25519", {})
    home = {"sshKeyName": "theirs"}
    assert bought(aws_server, spec(aws_account), home, "a")["KeyName"] == "theirs"
    assert bought(aws_server, spec(aws_account, sshKeyName="mine"), home, "b")["KeyName"] == "mine"
    assert "KeyName" not in bought(aws_server, spec(aws_account, sshKeyName=""), home, "c")
    assert "KeyName" not in bought(aws_server, spec(aws_account), None, "d")


def test_a_machine_without_a_subnet_stands_in_one_of_its_clusters_in_its_zone(
    aws_server: AwsServer, aws_account: Account
) -> None:
    private, public = (aws_account.add_subnet(ZONE, f"10.0.25{number}.0/24") for number in range(2))
    listed = [
        {"id": "made-by-name", "resourceID": private, "availabilityZone": ZONE},
        {"id": public, "availabilityZone": ZONE, "isPublic": True},
        {"id": aws_account.subnets["us-east-1b"], "availabilityZone": "us-east-1b"},
    ]
    home = {"network": {"vpc": {"id": aws_account.vpc}, "subnets": listed}}
    asked = spec(aws_account, subnet=None)
    assert bought(aws_server, asked, home, "a")["NetworkInterfaces"][0]["SubnetId"] == private
    assert bought(aws_server, {**asked, "publicIP": True}, home, "b")["NetworkInterfaces"][0]["SubnetId"] == public
    with pytest.raises(Misconfigured, match=r"no subnet in us-east-1a is in spec\.network\.subnets"):
        bought(aws_server, asked, {"network": {"subnets": listed[2:]}}, "c")


@pytest.mark.parametrize(
    ("home", "told"),
    [
        ({"region": "eu-west-1"}, "AWSCluster.spec.region: is eu-west-1, and this process buys in us-east-1"),
        (
            {"identityRef": {"kind": "AWSClusterRoleIdentity", "name": "x"}},
            "AWSCluster.spec.identityRef.kind: machines",
        ),
        ({"network": []}, "AWSCluster.spec.network: expected a map"),
    ],
)
def test_a_cluster_of_another_place_or_name_is_not_bought_for(
    aws_server: AwsServer, aws_account: Account, home: dict[str, Any], told: str
) -> None:
    with pytest.raises(Misconfigured) as caught:
        bought(aws_server, spec(aws_account), home)
    assert told in str(caught.value)
    assert living(aws_account) == []


def test_the_identity_that_is_written_where_nobody_says_anything_is_our_own(
    aws_server: AwsServer, aws_account: Account
) -> None:
    home = {"identityRef": {"kind": "AWSClusterControllerIdentity", "name": "default"}}
    assert bought(aws_server, spec(aws_account), home)
