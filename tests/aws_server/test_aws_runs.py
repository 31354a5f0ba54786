"""RunInstances of the test server: one machine as it was asked for, by token, on the market or not."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.ec2.models import ec2_backends
from tests.aws_server.asking import client, code, described
from tools.aws_server.parameters import ACCOUNT


@pytest.fixture
def ec2(aws_server: Any, aws_account: Any) -> Any:
    return client("ec2", aws_server.url)


def asked(account: Any, **more: Any) -> dict[str, Any]:
    first = {"DeviceIndex": 0, "SubnetId": account.subnets["us-east-1a"], "Groups": list(account.security_groups)}
    return {
        "ImageId": account.images["al2023", "x86_64"],
        "InstanceType": "m5.large",
        "MinCount": 1,
        "MaxCount": 1,
        "NetworkInterfaces": [first],
        **more,
    }


def run(ec2: Any, account: Any, **more: Any) -> dict[str, Any]:
    (one,) = ec2.run_instances(**asked(account, **more))["Instances"]
    return dict(one)


def spot(price: str = "") -> dict[str, Any]:
    return {
        "MarketType": "spot",
        "SpotOptions": {"SpotInstanceType": "one-time"} | ({"MaxPrice": price} if price else {}),
    }


def test_the_same_token_is_the_same_machine_and_another_request_with_it_is_refused(
    ec2: Any, aws_server: Any, aws_account: Any
) -> None:
    first = run(ec2, aws_account, ClientToken="t")
    assert run(ec2, aws_account, ClientToken="t")["InstanceId"] == first["InstanceId"]
    with pytest.raises(ClientError) as caught:
        run(ec2, aws_account, ClientToken="t", KeyName="other")
    assert code(caught) == "IdempotentParameterMismatch"
    assert [one["ClientToken"] for one in described(ec2)] == ["t"]
    assert len(aws_server.world.runs) == 1


def test_the_token_of_a_machine_that_is_gone_buys_nothing(ec2: Any, aws_account: Any) -> None:
    first = run(ec2, aws_account, ClientToken="t")
    ec2.terminate_instances(InstanceIds=[first["InstanceId"]])
    with pytest.raises(ClientError) as caught:
        run(ec2, aws_account, ClientToken="t")
    assert code(caught) == "IdempotentInstanceTerminated"


def test_a_refused_request_does_not_use_its_token_up(ec2: Any, aws_server: Any, aws_account: Any) -> None:
    aws_server.world.restock("on-demand", "m5.large", "*", left=0)
    with pytest.raises(ClientError) as caught:
        run(ec2, aws_account, ClientToken="t")
    assert code(caught) == "InsufficientInstanceCapacity"
    aws_server.world.restock("on-demand", "m5.large", "*", left=1)
    assert run(ec2, aws_account, ClientToken="t")["State"]["Name"] == "running"


def test_a_bid_below_the_market_is_refused_and_one_above_buys_spot(ec2: Any, aws_server: Any, aws_account: Any) -> None:
    aws_server.world.spot["m5.large", "us-east-1a"] = 0.04
    with pytest.raises(ClientError) as caught:
        run(ec2, aws_account, InstanceMarketOptions=spot("0.039"))
    assert code(caught) == "SpotMaxPriceTooLow"
    one = run(ec2, aws_account, InstanceMarketOptions=spot("0.04"))
    assert one["InstanceLifecycle"] == "spot"
    assert one["SpotInstanceRequestId"].startswith("sir-")
    assert "InstanceLifecycle" not in run(ec2, aws_account)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"KeyName": "nobody's"}, "InvalidKeyPair.NotFound"),
        ({"ImageId": "ami-0"}, "InvalidAMIID.NotFound"),
        ({"InstanceType": "m5.tiny"}, "InvalidInstanceType"),
        ({"Placement": {"GroupName": "none"}}, "InvalidPlacementGroup.Unknown"),
        ({"NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": "subnet-0"}]}, "InvalidSubnetID.NotFound"),
        ({"IamInstanceProfile": {"Name": "nobody's"}}, "InvalidParameterValue"),
        ({"UserData": "x" * 16385}, "InvalidParameterValue"),
        ({"SubnetId": "subnet-0"}, "InvalidParameterCombination"),
        (
            {
                "InstanceMarketOptions": {"MarketType": "spot"},
                "CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": "cr-1"}},
            },
            "InvalidParameterCombination",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_own_code(ec2: Any, aws_account: Any, more: Any, said: str) -> None:
    with pytest.raises(ClientError) as caught:
        run(ec2, aws_account, **more)
    assert code(caught) == said
    assert described(ec2) == []


def test_a_group_that_is_not_there_is_refused(ec2: Any, aws_account: Any) -> None:
    first = {"DeviceIndex": 0, "SubnetId": aws_account.subnets["us-east-1a"], "Groups": ["sg-0"]}
    with pytest.raises(ClientError) as caught:
        run(ec2, aws_account, NetworkInterfaces=[first])
    assert code(caught) == "InvalidGroup.NotFound"


def test_disks_that_are_not_to_go_with_their_machine_stay(ec2: Any, aws_account: Any) -> None:
    """As the image has it, the first disk stays; the request says otherwise of one disk and adds another."""
    disks = [
        {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 30, "DeleteOnTermination": True}},
        {"DeviceName": "/dev/xvdb", "Ebs": {"VolumeSize": 40, "DeleteOnTermination": True}},
    ]
    volumes = ec2_backends[ACCOUNT]["us-east-1"].volumes
    first = run(ec2, aws_account)
    assert [one.size for one in volumes.values()] == [15]
    ec2.terminate_instances(InstanceIds=[first["InstanceId"]])
    assert len(volumes) == 1
    second = run(ec2, aws_account, BlockDeviceMappings=disks)
    assert sorted(one.size for one in volumes.values()) == [15, 30, 40]
    ec2.terminate_instances(InstanceIds=[second["InstanceId"]])
    assert [one.size for one in volumes.values()] == [15]


def test_an_interface_that_was_brought_outlives_its_machine(ec2: Any, aws_account: Any) -> None:
    made = ec2.create_network_interface(SubnetId=aws_account.subnets["us-east-1b"])["NetworkInterface"]
    brought = [{"DeviceIndex": 0, "NetworkInterfaceId": made["NetworkInterfaceId"]}]
    one = run(ec2, aws_account, NetworkInterfaces=brought)
    assert one["Placement"]["AvailabilityZone"] == "us-east-1b"
    ec2.terminate_instances(InstanceIds=[one["InstanceId"]])
    held = ec2_backends[ACCOUNT]["us-east-1"].enis
    assert list(held) == [made["NetworkInterfaceId"]]


def test_a_public_address_is_given_where_it_is_asked_for(ec2: Any, aws_account: Any) -> None:
    first = {"DeviceIndex": 0, "SubnetId": aws_account.subnets["us-east-1a"], "AssociatePublicIpAddress": True}
    assert run(ec2, aws_account, NetworkInterfaces=[first])["PublicIpAddress"]
    assert "PublicIpAddress" not in run(ec2, aws_account)
