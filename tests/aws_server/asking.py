"""A plain SDK client for the server, with nothing of ours between: it is the server that is under test."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import boto3
from botocore.config import Config


@lru_cache(maxsize=16)
def client(service: str, url: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}),
    )


def template(ec2: Any, account: Any, name: str = "plain", **more: Any) -> str:
    data = {
        "ImageId": account.images["al2023", "x86_64"],
        "IamInstanceProfile": {"Name": account.profile},
        "NetworkInterfaces": [{"DeviceIndex": 0, "Groups": list(account.security_groups)}],
        **more,
    }
    ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
    return name


def fleet(ec2: Any, overrides: dict[str, list[dict[str, Any]]], **more: Any) -> dict[str, Any]:
    """An instant fleet of overrides by template name; `more` has `count`, `kind`, `strategy` and fields of the call."""
    count, kind, strategy = more.pop("count", 1), more.pop("kind", "on-demand"), more.pop("strategy", None)
    if strategy:
        more["SpotOptions" if kind == "spot" else "OnDemandOptions"] = {"AllocationStrategy": strategy}
    configs = [
        {"LaunchTemplateSpecification": {"LaunchTemplateName": name, "Version": "$Latest"}, "Overrides": held}
        for name, held in overrides.items()
    ]
    target = {"TotalTargetCapacity": count, "DefaultTargetCapacityType": kind}
    return ec2.create_fleet(Type="instant", LaunchTemplateConfigs=configs, TargetCapacitySpecification=target, **more)


def pools(account: Any, *types: str, zones: tuple[str, ...] = ("us-east-1a",)) -> list[dict[str, Any]]:
    return [{"InstanceType": name, "SubnetId": account.subnets[zone]} for name in types for zone in zones]


def ids(answer: dict[str, Any]) -> list[str]:
    return [one for entry in answer["Instances"] for one in entry["InstanceIds"]]


def bought(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Types and zones, as often as they were bought."""
    return [
        (entry["InstanceType"], entry["LaunchTemplateAndOverrides"]["Overrides"]["AvailabilityZone"])
        for entry in answer["Instances"]
        for _ in entry["InstanceIds"]
    ]


def described(ec2: Any, **request: Any) -> list[dict[str, Any]]:
    answer = ec2.describe_instances(**request)
    return [one for held in answer["Reservations"] for one in held["Instances"]]


def code(caught: Any) -> str:
    return str(caught.value.response["Error"]["Code"])
