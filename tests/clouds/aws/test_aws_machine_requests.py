"""What EC2 is asked for: one order, one request, the same each time (R7, R11, R15–R18)."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from botocore.loaders import create_loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator
from tests.clouds.aws.single import BOOT, order

from dovetail.api.fields import dotted
from dovetail.clouds.aws.machines import marks, requests, specs
from dovetail.clouds.aws.machines.disks import Image
from dovetail.clouds.aws.machines.places import Place
from dovetail.clouds.machines import UserData
from dovetail.core.errors import BadField, BadInput
from dovetail.core.machines.infra_objects import Purchase

IMAGE = Image("ami-1", "/dev/xvda", ("/dev/xvda",))
PLACE = Place("subnet-1", ("sg-1", "sg-2"))
#: Every field at once, but for those that exclude each other.
EVERYTHING = {
    "ami": {"id": "ami-1"},
    "instanceType": "m5.large",
    "subnet": {"id": "subnet-1"},
    "additionalSecurityGroups": [{"id": "sg-1"}],
    "securityGroupOverrides": {"node": "sg-2"},
    "publicIP": False,
    "iamInstanceProfile": "nodes",
    "sshKeyName": "key",
    "rootVolume": {"size": 30, "type": "gp3", "iops": 3000, "throughput": 125, "encrypted": True},
    "nonRootVolumes": [{"size": 100, "deviceName": "/dev/xvdb", "encryptionKey": "arn:key"}],
    "additionalTags": {"team": "a"},
    "networkInterfaceType": "efa",
    "tenancy": "dedicated",
    "placementGroupName": "near",
    "placementGroupPartition": 2,
    "capacityReservationId": "cr-1",
    "instanceMetadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 2, "httpEndpoint": "enabled"},
    "privateDnsName": {"hostnameType": "resource-name", "enableResourceNameDnsARecord": True},
    "cpuOptions": {"confidentialCompute": "AMDEncryptedVirtualizationNestedPaging"},
}


def asked(wire: dict[str, Any], boot: UserData = BOOT, **more: Any) -> dict[str, Any]:
    purchase: Purchase = more.pop("purchase", None) or order(wire, **more)
    return requests.run_instances(purchase, specs.read(wire), requests.Setting(IMAGE, PLACE), boot)


def least(**more: Any) -> dict[str, Any]:
    return {"instanceType": "m5.large", "ami": {"id": "ami-1"}, **more}


@cache
def shape() -> Any:
    return ServiceModel(create_loader().load_service_model("ec2", "service-2")).operation_model("RunInstances")


def ec2_takes(request: dict[str, Any]) -> None:
    """User data is encoded by the SDK itself, before it is looked at."""
    report = ParamValidator().validate({**request, "UserData": ""}, shape().input_shape)
    assert not report.has_errors(), report.generate_report()


def test_everything_that_can_be_asked_for_is_what_ec2_takes() -> None:
    request = asked(EVERYTHING)
    ec2_takes(request)
    (first,) = request["NetworkInterfaces"]
    assert first == {
        "DeviceIndex": 0,
        "SubnetId": "subnet-1",
        "DeleteOnTermination": True,
        "Groups": ["sg-1", "sg-2"],
        "AssociatePublicIpAddress": False,
        "InterfaceType": "efa",
    }
    root, further = request["BlockDeviceMappings"]
    assert root["DeviceName"] == "/dev/xvda"
    assert root["Ebs"] == {
        "DeleteOnTermination": True,
        "VolumeSize": 30,
        "VolumeType": "gp3",
        "Iops": 3000,
        "Throughput": 125,
        "Encrypted": True,
    }
    assert further["Ebs"]["KmsKeyId"] == "arn:key"
    assert further["Ebs"]["Encrypted"] is True
    assert request["Placement"] == {"Tenancy": "dedicated", "GroupName": "near", "PartitionNumber": 2}
    assert request["CapacityReservationSpecification"]["CapacityReservationTarget"]["CapacityReservationId"] == "cr-1"
    assert request["MetadataOptions"] == {
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 2,
        "HttpEndpoint": "enabled",
    }
    assert request["CpuOptions"] == {"AmdSevSnp": "enabled"}
    assert (request["KeyName"], request["IamInstanceProfile"]) == ("key", {"Name": "nodes"})


def test_R7_one_machine_of_just_the_type_that_was_named() -> None:
    request = asked(least())
    assert (request["InstanceType"], request["MinCount"], request["MaxCount"]) == ("m5.large", 1, 1)


def test_R8_R15_what_is_not_asked_for_is_not_sent() -> None:
    request = asked(least())
    ec2_takes(request)
    assert not {"InstanceMarketOptions", "MetadataOptions", "Placement", "KeyName", "CpuOptions"} & set(request)
    assert not {"CapacityReservationSpecification", "IamInstanceProfile", "PrivateDnsNameOptions"} & set(request)


@pytest.mark.parametrize("price", ["", "0.05", "0.0500"])
def test_R11_R16_R17_R18_spot_is_asked_for_once_and_ends_in_termination(price: str) -> None:
    request = asked(least(spotMarketOptions={}), price=price)
    options = request["InstanceMarketOptions"]["SpotOptions"]
    assert request["InstanceMarketOptions"]["MarketType"] == "spot"
    assert options["SpotInstanceType"] == "one-time"
    assert options["InstanceInterruptionBehavior"] == "terminate"
    # R16: as it is written, and not at all where nothing is.
    assert options.get("MaxPrice", "") == price
    assert set(options) <= {"SpotInstanceType", "InstanceInterruptionBehavior", "MaxPrice"}
    ec2_takes(request)


def test_a_capacity_block_is_a_market_of_its_own() -> None:
    request = asked(least(marketType="CapacityBlock", capacityReservationId="cr-1"))
    assert request["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    ec2_takes(request)


def test_a_preference_for_reservations_is_told_in_ec2s_words() -> None:
    request = asked(least(capacityReservationPreference="CapacityReservationsOnly"))
    wish = request["CapacityReservationSpecification"]
    assert wish == {"CapacityReservationPreference": "capacity-reservations-only"}
    ec2_takes(request)


def test_interfaces_that_are_there_are_used_as_they_are() -> None:
    request = asked(least(networkInterfaces=["eni-1", "eni-2"]))
    assert request["NetworkInterfaces"] == [
        {"DeviceIndex": 0, "NetworkInterfaceId": "eni-1"},
        {"DeviceIndex": 1, "NetworkInterfaceId": "eni-2"},
    ]
    assert [one["ResourceType"] for one in request["TagSpecifications"]] == ["instance", "volume"]
    ec2_takes(request)


def test_R9_the_same_order_is_the_same_request_to_the_byte() -> None:
    assert asked(EVERYTHING) == asked(dict(reversed(EVERYTHING.items())))


# ------------------------------------------------------------------------------------------------ tags


def tags(request: dict[str, Any], kind: str) -> dict[str, str]:
    (found,) = [one["Tags"] for one in request["TagSpecifications"] if one["ResourceType"] == kind]
    return {one["Key"]: one["Value"] for one in found}


def test_everything_that_is_made_says_whose_it_is() -> None:
    request = asked(least(additionalTags={"team": "a"}), price="")
    told = tags(request, "instance")
    assert told == {
        "Name": "m",
        "MachineName": "ns/m-owner",
        "kubernetes.io/cluster/c": "owned",
        "sigs.k8s.io/cluster-api-provider-aws/cluster/c": "owned",
        "sigs.k8s.io/cluster-api-provider-aws/role": "node",
        "dovetail.dev/machine-token": request["ClientToken"],
        "team": "a",
    }
    for kind in ("volume", "network-interface", "spot-instances-request"):
        assert tags(request, kind) == told
    assert len(request["ClientToken"]) <= 64


def test_a_control_plane_says_so() -> None:
    purchase = replace(order(least()), control_plane=True)
    assert tags(asked(least(), purchase=purchase), "instance")[marks.ROLE] == "control-plane"


@pytest.mark.parametrize(
    ("further", "told"),
    [
        ({"Name": "mine"}, "spec.additionalTags.Name: is set to 'm' here"),
        ({"aws:mine": "x"}, "spec.additionalTags.aws:mine: begins with aws:"),
        ({"k": "v" * 257}, "spec.additionalTags.k: is too long"),
        ({f"k{number}": "v" for number in range(45)}, "spec.additionalTags: are too many"),
    ],
)
def test_tags_that_cannot_be_are_refused(further: dict[str, str], told: str) -> None:
    with pytest.raises(BadField) as caught:
        asked(least(additionalTags=further))
    assert told in str(dotted(caught.value))


def test_a_tag_that_says_what_is_said_anyway_is_no_trouble() -> None:
    assert tags(asked(least(additionalTags={"Name": "m"})), "instance")["Name"] == "m"


# ------------------------------------------------------------------------------------------------ disks


def test_R29_every_disk_goes_with_its_machine_whatever_the_image_says() -> None:
    image = Image("ami-1", "/dev/xvda", ("/dev/xvda", "/dev/xvdz"))
    wire = least(nonRootVolumes=[{"size": 8, "deviceName": "/dev/xvdb"}])
    request = requests.run_instances(order(wire), specs.read(wire), requests.Setting(image, PLACE), BOOT)
    found = {one["DeviceName"]: one["Ebs"] for one in request["BlockDeviceMappings"]}
    assert list(found) == ["/dev/xvda", "/dev/xvdz", "/dev/xvdb"]
    assert all(one["DeleteOnTermination"] is True for one in found.values())


def test_two_disks_cannot_have_one_name() -> None:
    wire = least(rootVolume={"size": 8}, nonRootVolumes=[{"size": 8, "deviceName": "/dev/xvda"}])
    with pytest.raises(BadInput, match="/dev/xvda is the name of two disks"):
        asked(wire)


# ------------------------------------------------------------------------------------------------ bootstrap data


def test_bootstrap_data_is_sent_as_it_is() -> None:
    assert asked(least(), UserData(b"\x00raw"))["UserData"] == b"\x00raw"


def test_long_data_is_packed_where_it_may_be_and_refused_in_a_sentence_where_not() -> None:
    long = b"#cloud-config\n" + b"x" * 20_000
    assert gzip.decompress(asked(least(), UserData(long))["UserData"]) == long
    assert asked(least(), UserData(long)) == asked(least(), UserData(long))
    for wire, form in ((least(uncompressedUserData=True), "cloud-config"), (least(), "ignition")):
        with pytest.raises(BadInput, match=r"bootstrap data is 20014 bytes long, and EC2 takes 16384; shorten it"):
            asked(wire, UserData(long, form))


def test_data_that_stays_too_long_when_packed_is_refused_without_showing_it() -> None:
    noise = b"".join(hashlib.sha256(bytes([number % 256, number // 256])).digest() for number in range(1000))
    with pytest.raises(BadInput) as caught:
        asked(least(), UserData(noise))
    assert "packed, and EC2 takes 16384" in str(caught.value)
    assert repr(noise[:8]) not in str(caught.value)
