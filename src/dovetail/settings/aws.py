"""The options that only AWS has, under the names Karpenter's chart sets: a flag wins over the environment."""

from __future__ import annotations

import os
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from dovetail.core import timestamps
from dovetail.core.errors import BadValue
from dovetail.settings import AWS_GATES_VARIABLE, NODE_CLASS_CEL, REBOOTS, aws_gates_on
from dovetail.settings.options import Chosen, Option, switch


@dataclass(frozen=True, slots=True)
class AwsSettings:
    """What holds for one run against AWS. What is left out is found: the region as every AWS tool finds it, the
    cluster's endpoint from EKS, its certificate authority from the kubeconfig."""

    region: str = ""
    cluster_endpoint: str = ""
    cluster_authority: str = ""
    queue: str = ""
    reserved_interfaces: int = 0
    by_interface: bool = True
    prefix_delegation: bool = False
    isolated: bool = False
    dry_runs: bool = True
    zonal_shift: bool = False
    reboots: bool = False
    formulas: bool = False
    image_seconds: float = 60.0
    subnet_seconds: float = 60.0
    group_seconds: float = 60.0


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise BadValue(f"{text[:80]!r} is no whole address; write one such as https://example.eks.amazonaws.com")
    return text


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 5):
        raise BadValue(f"{text[:40]!r} is not a whole number, 0 to 9999")
    return int(text)


def _interval(text: str) -> float:
    seconds = timestamps.duration(text)
    if seconds < _SHORTEST:
        raise BadValue(f"{text[:40]!r} is less than a minute, which is the least")
    return seconds


_SHORTEST: Final = 60.0
_GATES: Final = Option(
    "aws-feature-gates",
    AWS_GATES_VARIABLE,
    str,
    f"aws: {REBOOTS}=true has machines restarted where that may repair them, {NODE_CLASS_CEL}=true lets the kubelet "
    "block of an EC2NodeClass have expressions (both false)",
    "LIST",
)
OPTIONS: Final = (
    Option("aws-region", "AWS_REGION", str, "aws: which region (as every AWS tool finds it)", "NAME"),
    Option("cluster-endpoint", "CLUSTER_ENDPOINT", _url, "aws: where nodes find the cluster (as EKS says)", "URL"),
    Option(
        "cluster-ca-bundle",
        "CLUSTER_CA_BUNDLE",
        str,
        "aws: what nodes trust the cluster by, in base64 (as the kubeconfig says)",
        "TEXT",
    ),
    Option(
        "interruption-queue",
        "INTERRUPTION_QUEUE",
        str,
        "aws: the SQS queue where interruptions are told (none)",
        "NAME",
    ),
    Option("reserved-enis", "RESERVED_ENIS", _count, "aws: network interfaces of each node that are not for pods (0)"),
    Option(
        "aws-eni-limited-pod-density",
        "AWS_ENI_LIMITED_POD_DENSITY",
        switch,
        "aws: every pod takes an address of the node's interfaces; if false a node runs 110 pods (true)",
    ),
    Option(
        "prefix-delegation",
        "ENABLE_PREFIX_DELEGATION",
        switch,
        "aws: the VPC's plugin gives nodes blocks of addresses, so that more pods fit (false)",
    ),
    Option("isolated-vpc", "ISOLATED_VPC", switch, "aws: the Pricing service is out of reach, IAM maybe (false)"),
    Option("disable-dry-run", "DISABLE_DRY_RUN", switch, "aws: do not try node classes with dry runs (false)"),
    Option(
        "enable-zonal-shift",
        "ENABLE_ZONAL_SHIFT",
        switch,
        "aws: buy nothing in zones that ARC has shifted away from, and leave machines there alone (false)",
    ),
    Option(
        "ami-refresh-interval",
        "AMI_REFRESH_INTERVAL",
        _interval,
        "aws: ask EC2 for the images of a node class at most so often (5m, which is the least)",
        "DURATION",
    ),
    Option(
        "subnet-refresh-interval",
        "SUBNET_REFRESH_INTERVAL",
        _interval,
        "aws: and for its subnets and their free addresses (1m, which is the least)",
        "DURATION",
    ),
    Option(
        "security-group-refresh-interval",
        "SECURITY_GROUP_REFRESH_INTERVAL",
        _interval,
        "aws: and for its security groups (5m, which is the least)",
        "DURATION",
    ),
    _GATES,
)


def add_flags(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("options of --cloud aws", "each may also be set in the environment")
    for one in OPTIONS:
        one.add_to(group)
    # Read with the settings that every verb shares.
    told = "aws: the share of a machine's memory its hypervisor keeps (less of larger ones; VM_MEMORY_OVERHEAD_PERCENT)"
    group.add_argument("--vm-memory-overhead-percent", metavar="SHARE", default=SUPPRESS, help=told)


def read(flags: Namespace, environment: Mapping[str, str] | None = None) -> AwsSettings:
    """Settle every option; a bad one names the flag or variable it stands in."""
    found = os.environ if environment is None else environment
    option = Chosen(OPTIONS, flags, found)
    gates = aws_gates_on(flags, found)
    return AwsSettings(
        region=option("aws-region", ""),
        cluster_endpoint=option("cluster-endpoint", ""),
        cluster_authority=option("cluster-ca-bundle", ""),
        queue=option("interruption-queue", ""),
        reserved_interfaces=option("reserved-enis", 0),
        by_interface=option("aws-eni-limited-pod-density", True),
        prefix_delegation=option("prefix-delegation", False),
        isolated=option("isolated-vpc", False),
        dry_runs=not option("disable-dry-run", False),
        zonal_shift=option("enable-zonal-shift", False),
        reboots=REBOOTS in gates,
        formulas=NODE_CLASS_CEL in gates,
        image_seconds=option("ami-refresh-interval", _SHORTEST),
        subnet_seconds=option("subnet-refresh-interval", _SHORTEST),
        group_seconds=option("security-group-refresh-interval", _SHORTEST),
    )
