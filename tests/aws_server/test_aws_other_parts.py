"""Types, prices, templates, images, profiles: the rest of the test server; every answer is one EC2 could give."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.aws_server.asking import client, code, fleet, pools, template
from tools.aws_server.reservations import reserve
from tools.aws_server.server import grafted
from tools.aws_server.types import sell_new_type
from tools.aws_server.wire import WrongAnswer, ec2_answer


@pytest.fixture
def ec2(aws_server: Any, aws_account: Any) -> Any:
    return client("ec2", aws_server.url)


def _plain_fleet(ec2: Any, account: Any) -> Any:
    template(ec2, account)
    return fleet(ec2, {"plain": pools(account, "m5.large")})


def _machine(ec2: Any, account: Any) -> str:
    return str(_plain_fleet(ec2, account)["Instances"][0]["InstanceIds"][0])


def _one_machine(ec2: Any, account: Any) -> Any:
    image, subnet = account.images["al2023", "x86_64"], account.subnets["us-east-1a"]
    return ec2.run_instances(ImageId=image, InstanceType="m5.large", SubnetId=subnet, MinCount=1, MaxCount=1)


def _template(ec2: Any, name: str) -> Any:
    return ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData={"ImageId": "ami-1"})


def _reservation(ec2: Any) -> Any:
    asked = {"InstanceType": "m5.large", "InstancePlatform": "Linux/UNIX", "AvailabilityZone": "us-east-1a"}
    return ec2.create_capacity_reservation(**asked, InstanceCount=1)


def _cr(**more: Any) -> dict[str, Any]:
    return {"CapacityReservationId": reserve("m5.large", "us-east-1a", 1), **more}


#: For each grafted action a call that has something to say, and the field that must come back.
ASKED = {
    "CreateFleet": (_plain_fleet, "Instances"),
    "RunInstances": (_one_machine, "Instances"),
    "DescribeInstances": (lambda ec2, a: (_machine(ec2, a), ec2.describe_instances())[1], "Reservations"),
    "TerminateInstances": (
        lambda ec2, a: ec2.terminate_instances(InstanceIds=[_machine(ec2, a)]),
        "TerminatingInstances",
    ),
    "RebootInstances": (lambda ec2, a: ec2.reboot_instances(InstanceIds=[_machine(ec2, a)]), "ResponseMetadata"),
    "DescribeInstanceStatus": (
        lambda ec2, a: (_machine(ec2, a), ec2.describe_instance_status())[1],
        "InstanceStatuses",
    ),
    "DescribeInstanceTypes": (lambda ec2, a: ec2.describe_instance_types(MaxResults=100), "InstanceTypes"),
    "DescribeInstanceTypeOfferings": (lambda ec2, a: ec2.describe_instance_type_offerings(), "InstanceTypeOfferings"),
    "DescribeSpotPriceHistory": (lambda ec2, a: ec2.describe_spot_price_history(), "SpotPriceHistory"),
    "CreatePlacementGroup": (
        lambda ec2, a: ec2.create_placement_group(GroupName="g", Strategy="partition", PartitionCount=3),
        "PlacementGroup",
    ),
    "DescribePlacementGroups": (
        lambda ec2, a: (ec2.create_placement_group(GroupName="g"), ec2.describe_placement_groups())[1],
        "PlacementGroups",
    ),
    "CreateCapacityReservation": (lambda ec2, a: _reservation(ec2), "CapacityReservation"),
    "DescribeCapacityReservations": (
        lambda ec2, a: (_reservation(ec2), ec2.describe_capacity_reservations())[1],
        "CapacityReservations",
    ),
    "CancelCapacityReservation": (lambda ec2, a: ec2.cancel_capacity_reservation(**_cr()), "Return"),
    "ModifyCapacityReservation": (lambda ec2, a: ec2.modify_capacity_reservation(**_cr(InstanceCount=2)), "Return"),
    "CreateLaunchTemplate": (lambda ec2, a: _template(ec2, "one"), "LaunchTemplate"),
    "DescribeLaunchTemplates": (
        lambda ec2, a: (_template(ec2, "one"), ec2.describe_launch_templates())[1],
        "LaunchTemplates",
    ),
    "DeleteLaunchTemplate": (
        lambda ec2, a: (_template(ec2, "one"), ec2.delete_launch_template(LaunchTemplateName="one"))[1],
        "LaunchTemplate",
    ),
}


@pytest.mark.parametrize("action", sorted(ASKED))
def test_every_grafted_action_answers_as_the_model_of_ec2_has_it(
    ec2: Any, aws_server: Any, aws_account: Any, action: str
) -> None:
    """The server writes answers from botocore's model and refuses fields it lacks; here the SDK reads them back."""
    aws_server.world.spot["m5.large", "us-east-1a"] = 0.03
    ask, field = ASKED[action]
    answer = ask(ec2, aws_account)
    assert answer[field]
    assert aws_server.world.calls[action] == 1


def test_no_grafted_action_is_without_such_a_test() -> None:
    assert set(ASKED) == set(grafted())


@pytest.mark.parametrize(
    "answer",
    [
        {"Instancess": []},
        {"Instances": [{"InstanceIds": [7]}]},
        {"Instances": [{"Lifecycle": True}]},
        {"Errors": ["InsufficientInstanceCapacity"]},
    ],
)
def test_an_answer_that_ec2_could_not_give_is_not_given(answer: dict[str, Any]) -> None:
    with pytest.raises(WrongAnswer):
        ec2_answer("CreateFleet", answer)


def test_types_come_in_pages_as_filtered(ec2: Any) -> None:
    wanted = [
        {"Name": "supported-virtualization-type", "Values": ["hvm"]},
        {"Name": "processor-info.supported-architecture", "Values": ["x86_64", "arm64"]},
    ]
    first = ec2.describe_instance_types(Filters=wanted, MaxResults=100)
    assert len(first["InstanceTypes"]) == 100
    second = ec2.describe_instance_types(Filters=wanted, MaxResults=100, NextToken=first["NextToken"])
    assert not {one["InstanceType"] for one in first["InstanceTypes"]} & {
        one["InstanceType"] for one in second["InstanceTypes"]
    }
    with pytest.raises(ClientError) as caught:
        ec2.describe_instance_types(DryRun=True)
    assert code(caught) == "DryRunOperation"


def test_a_type_nobody_has_heard_of_appears_and_can_be_bought(ec2: Any, aws_account: Any) -> None:
    sell_new_type("m99.large", "m5.large", ("us-east-1a",))
    (found,) = ec2.describe_instance_types(InstanceTypes=["m99.large"])["InstanceTypes"]
    assert found["VCpuInfo"]["DefaultVCpus"] == 2
    template(ec2, aws_account)
    assert fleet(ec2, {"plain": pools(aws_account, "m99.large")})["Instances"]


def test_prices_are_told_in_pages_and_by_part(aws_server: Any) -> None:
    pricing = client("pricing", aws_server.url)
    aws_server.world.on_demand.update({f"m5.{n}xlarge": n / 10 for n in range(1, 130)} | {"m5.metal": 5.0})
    shared = [{"Type": "TERM_MATCH", "Field": "productFamily", "Value": "Compute Instance"}]
    metal = [{"Type": "TERM_MATCH", "Field": "productFamily", "Value": "Compute Instance (bare metal)"}]
    first = pricing.get_products(ServiceCode="AmazonEC2", Filters=shared)
    assert len(first["PriceList"]) == 100
    rest = pricing.get_products(ServiceCode="AmazonEC2", Filters=shared, NextToken=first["NextToken"])
    assert len(rest["PriceList"]) == 29
    assert "NextToken" not in rest
    (only,) = pricing.get_products(ServiceCode="AmazonEC2", Filters=metal)["PriceList"]
    assert json.loads(only)["product"]["attributes"]["instanceType"] == "m5.metal"


def test_templates_keep_their_own_tags_to_themselves_and_have_limits(ec2: Any, aws_account: Any) -> None:
    tags = [{"ResourceType": "launch-template", "Tags": [{"Key": "a", "Value": "b"}]}]
    data = {"ImageId": aws_account.images["al2023", "x86_64"]}
    ec2.create_launch_template(LaunchTemplateName="one", LaunchTemplateData=data, TagSpecifications=tags)
    found = ec2.describe_launch_templates(Filters=[{"Name": "tag:a", "Values": ["b"]}])["LaunchTemplates"]
    assert [one["LaunchTemplateName"] for one in found] == ["one"]
    (version,) = ec2.describe_launch_template_versions(LaunchTemplateName="one")["LaunchTemplateVersions"]
    assert "TagSpecifications" not in version["LaunchTemplateData"]
    with pytest.raises(ClientError) as caught:
        ec2.create_launch_template(LaunchTemplateName="two", LaunchTemplateData={"UserData": "YQ==" * 6000})
    assert code(caught) == "InvalidUserData.Malformed"
    with pytest.raises(ClientError) as caught:
        ec2.delete_launch_template(LaunchTemplateName="none")
    assert code(caught) == "InvalidLaunchTemplateName.NotFoundException"


def test_node_images_are_named_by_public_parameters(aws_server: Any, aws_account: Any) -> None:
    ssm = client("ssm", aws_server.url)
    eks = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard/recommended/image_id"
    assert ssm.get_parameter(Name=eks)["Parameter"]["Value"] == aws_account.images["al2023", "arm64"]
    rocket = "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/latest/image_id"
    found = ssm.get_parameter(Name=rocket)["Parameter"]["Value"]
    assert found == aws_account.images["bottlerocket-nvidia", "x86_64"]


def test_profiles_are_listed_below_a_path(aws_server: Any, aws_account: Any) -> None:
    iam = client("iam", aws_server.url)
    iam.create_instance_profile(InstanceProfileName="mine", Path="/karpenter/us-east-1/test/")
    listed = iam.list_instance_profiles(PathPrefix="/karpenter/us-east-1/test/")["InstanceProfiles"]
    assert [one["InstanceProfileName"] for one in listed] == ["mine"]
    with pytest.raises(ClientError, match="role with name nobody cannot be found"):
        iam.add_role_to_instance_profile(InstanceProfileName="mine", RoleName="nobody")


def test_images_can_be_made_and_deprecated(ec2: Any, aws_account: Any) -> None:
    image = aws_account.add_image("custom", "arm64", {"team": "a"})
    aws_account.deprecate(image)
    (found,) = ec2.describe_images(Filters=[{"Name": "tag:team", "Values": ["a"]}])["Images"]
    assert (found["ImageId"], found["Architecture"]) == (image, "arm64")
    assert found["DeprecationTime"].endswith("Z")
