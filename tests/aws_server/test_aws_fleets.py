"""CreateFleet of the test server."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError
from tests.aws_server.asking import bought, client, code, described, fleet, ids, pools, template
from tools.aws_server.world import Cut


@pytest.fixture
def ec2(aws_server: Any, aws_account: Any) -> Any:
    ec2 = client("ec2", aws_server.url)
    template(ec2, aws_account)
    aws_server.world.on_demand.update({"m5.large": 0.096, "c5.large": 0.085})
    return ec2


def test_the_cheapest_pool_is_bought(ec2: Any, aws_account: Any) -> None:
    answer = fleet(ec2, {"plain": pools(aws_account, "m5.large", "c5.large")})
    assert bought(answer) == [("c5.large", "us-east-1a")]
    assert answer["Errors"] == []


def test_priorities_count_when_asked_for(ec2: Any, aws_account: Any) -> None:
    ways = pools(aws_account, "m5.large", "c5.large")
    ways[0]["Priority"], ways[1]["Priority"] = 1.0, 2.0
    assert bought(fleet(ec2, {"plain": ways}, strategy="prioritized")) == [("m5.large", "us-east-1a")]
    assert bought(fleet(ec2, {"plain": ways}, strategy="lowest-price")) == [("c5.large", "us-east-1a")]


def test_spot_goes_by_the_price_of_the_zone(ec2: Any, aws_server: Any, aws_account: Any) -> None:
    aws_server.world.spot.update({("m5.large", "us-east-1a"): 0.04, ("m5.large", "us-east-1b"): 0.03})
    ways = pools(aws_account, "m5.large", zones=("us-east-1a", "us-east-1b"))
    answer = fleet(ec2, {"plain": ways}, kind="spot", strategy="price-capacity-optimized")
    assert bought(answer) == [("m5.large", "us-east-1b")]
    (machine,) = described(ec2)
    assert machine["InstanceLifecycle"] == "spot"
    assert machine["SpotInstanceRequestId"].startswith("sir-")


def test_what_is_sold_out_is_an_error_beside_the_instances(ec2: Any, aws_server: Any, aws_account: Any) -> None:
    aws_server.world.restock("on-demand", "c5.large", "us-east-1a", left=1)
    answer = fleet(ec2, {"plain": pools(aws_account, "m5.large", "c5.large")}, count=3)
    assert sorted(bought(answer)) == [
        ("c5.large", "us-east-1a"),
        ("m5.large", "us-east-1a"),
        ("m5.large", "us-east-1a"),
    ]
    (error,) = answer["Errors"]
    assert error["ErrorCode"] == "InsufficientInstanceCapacity"
    assert error["LaunchTemplateAndOverrides"]["Overrides"]["InstanceType"] == "c5.large"


def test_a_market_that_is_empty_sells_nothing_and_says_so_for_each_pool(
    ec2: Any, aws_server: Any, aws_account: Any
) -> None:
    aws_server.world.sell_out(code="VcpuLimitExceeded")
    answer = fleet(ec2, {"plain": pools(aws_account, "m5.large", "c5.large")})
    assert ids(answer) == []
    assert [one["ErrorCode"] for one in answer["Errors"]] == ["VcpuLimitExceeded"] * 2


def test_one_pool_twice_is_refused(ec2: Any, aws_account: Any) -> None:
    with pytest.raises(ClientError) as caught:
        fleet(ec2, {"plain": pools(aws_account, "m5.large", "m5.large")})
    assert code(caught) == "InvalidFleetConfig"


def test_a_client_token_is_one_fleet(ec2: Any, aws_account: Any) -> None:
    ways = {"plain": pools(aws_account, "m5.large")}
    first = fleet(ec2, ways, ClientToken="a")
    assert ids(fleet(ec2, ways, ClientToken="a")) == ids(first)
    assert ids(fleet(ec2, ways, ClientToken="b")) != ids(first)
    with pytest.raises(ClientError) as caught:
        fleet(ec2, ways, count=2, ClientToken="a")
    assert code(caught) == "IdempotentParameterMismatch"
    assert len(described(ec2)) == 2


def test_a_lost_answer_is_there_for_whoever_asks_again(ec2: Any, aws_server: Any, aws_account: Any) -> None:
    aws_server.world.lose_answer("CreateFleet")
    ways = {"plain": pools(aws_account, "m5.large")}
    with pytest.raises(HTTPClientError):
        fleet(ec2, ways, ClientToken="a")
    assert ids(fleet(ec2, ways, ClientToken="a")) == [one["InstanceId"] for one in described(ec2)]


def test_a_call_cut_before_it_was_made_has_done_nothing(ec2: Any, aws_server: Any, aws_account: Any) -> None:
    aws_server.world.fail("CreateFleet", Cut(done=False))
    with pytest.raises(HTTPClientError):
        fleet(ec2, {"plain": pools(aws_account, "m5.large")})
    assert described(ec2) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"InstanceType": "m9.enormous"}, "InvalidInstanceType"),
        ({"InstanceType": "m5.large", "zone": "us-east-1e"}, "Unsupported"),
        ({"SubnetId": "subnet-0"}, "InvalidSubnetID.NotFound"),
        ({"ImageId": "ami-0"}, "InvalidAMIID.NotFound"),
        ({"InstanceType": "m6g.large"}, "InvalidParameterValue"),
    ],
)
def test_a_pool_that_cannot_be_is_an_error_of_its_own(
    ec2: Any, aws_account: Any, change: dict[str, str], expected: str
) -> None:
    zone = change.pop("zone", "us-east-1a")
    way = {"InstanceType": "m5.large", "SubnetId": aws_account.subnets[zone], **change}
    answer = fleet(ec2, {"plain": [way]})
    assert [one["ErrorCode"] for one in answer["Errors"]] == [expected]


def test_a_profile_nobody_made_is_an_error(ec2: Any, aws_account: Any) -> None:
    template(ec2, aws_account, "bad", IamInstanceProfile={"Name": "nobody"})
    (error,) = fleet(ec2, {"bad": pools(aws_account, "m5.large")})["Errors"]
    assert "iamInstanceProfile.name is invalid" in error["ErrorMessage"]


def test_a_subnet_without_addresses_is_an_error(ec2: Any, aws_account: Any) -> None:
    small = aws_account.add_subnet("us-east-1a", "10.0.255.240/28")
    answer = fleet(ec2, {"plain": [{"InstanceType": "m5.large", "SubnetId": small}]}, count=12)
    assert len(ids(answer)) == 11
    assert [one["ErrorCode"] for one in answer["Errors"]] == ["InsufficientFreeAddressesInSubnet"]


def test_a_template_that_is_not_there_fails_the_call(ec2: Any, aws_account: Any) -> None:
    with pytest.raises(ClientError) as caught:
        fleet(ec2, {"gone": pools(aws_account, "m5.large")})
    assert code(caught) == "InvalidLaunchTemplateName.NotFoundException"


def test_a_dry_run_buys_nothing(ec2: Any, aws_account: Any) -> None:
    with pytest.raises(ClientError) as caught:
        fleet(ec2, {"plain": pools(aws_account, "m5.large")}, DryRun=True)
    assert code(caught) == "DryRunOperation"
    assert described(ec2) == []


def test_a_machine_is_what_its_template_says(ec2: Any, aws_account: Any) -> None:
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "a", "Value": "b"}]}]
    template(ec2, aws_account, "full", Placement={"Tenancy": "dedicated"}, Monitoring={"Enabled": True})
    fleet(ec2, {"full": pools(aws_account, "m5.large")}, TagSpecifications=tags)
    (machine,) = described(ec2)
    assert {one["GroupId"] for one in machine["SecurityGroups"]} == set(aws_account.security_groups)
    assert machine["Placement"]["Tenancy"] == "dedicated"
    assert machine["Placement"]["AvailabilityZoneId"] == "use1-az6"
    assert machine["Monitoring"]["State"] == "enabled"
    assert machine["IamInstanceProfile"]["Arn"].endswith(f"/{aws_account.profile}")
    assert {"Key": "a", "Value": "b"} in machine["Tags"]
