"""Something to launch into: a VPC with a subnet in each zone, security groups, node images, a role and a cluster.

Everything for `cluster` carries the tag `karpenter.sh/discovery`, as the documentation of the peer has it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moto.ec2.models import ec2_backends
from moto.ec2.models.amis import Ami
from moto.ec2.utils import random_ami_id
from moto.eks import models as eks_models
from moto.iam.models import iam_backends
from tools.aws_server.parameters import ACCOUNT, image_parameters, put_parameters
from tools.aws_server.wire import instant
from tools.aws_server.world import WORLD

REGION: Final = "us-east-1"
DISCOVERY: Final = "karpenter.sh/discovery"
VERSION: Final = "1.35"
_IMAGES: Final = (
    ("al2023", "x86_64"),
    ("al2023", "arm64"),
    ("al2023-nvidia", "x86_64"),
    ("al2023-nvidia", "arm64"),
    ("al2023-neuron", "x86_64"),
    ("bottlerocket", "x86_64"),
    ("bottlerocket", "arm64"),
    ("bottlerocket-nvidia", "x86_64"),
    ("windows2022", "x86_64"),
)


@dataclass(frozen=True, slots=True)
class Account:
    """What was made. `subnets` and `zone_ids` are by zone, `images` by kind and architecture."""

    region: str
    cluster: str
    vpc: str
    subnets: Mapping[str, str]
    zone_ids: Mapping[str, str]
    security_groups: tuple[str, ...]
    images: Mapping[tuple[str, str], str]
    role: str
    profile: str

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(self.subnets)

    def add_subnet(self, zone: str, cidr: str, tags: Mapping[str, str] | None = None) -> str:
        """One more, such as one of sixteen addresses, of which EC2 keeps five."""
        return _subnet(
            ec2_backends[ACCOUNT][self.region], self.vpc, zone, cidr, {DISCOVERY: self.cluster, **(tags or {})}
        )

    def add_image(self, name: str, architecture: str = "x86_64", tags: Mapping[str, str] | None = None) -> str:
        return _image(ec2_backends[ACCOUNT][self.region], name, architecture, tags or {})

    def deprecate(self, image_id: str, at: float | None = None) -> None:
        """The owner advises against an image, from now on or from some other time."""
        moment = instant(WORLD.now if at is None else at)
        ec2_backends[ACCOUNT][self.region].amis[image_id].deprecation_time = moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def furnish(region: str, cluster: str) -> Account:
    ec2, tags = ec2_backends[ACCOUNT][region], {DISCOVERY: cluster}
    vpc = ec2.create_vpc("10.0.0.0/16")
    ranges = ipaddress.ip_network("10.0.0.0/16").subnets(new_prefix=19)
    zones = {one.name: one.zone_id for one in ec2.describe_availability_zones()}
    subnets = {zone: _subnet(ec2, vpc.id, zone, str(next(ranges)), tags) for zone in zones}
    groups = [ec2.create_security_group(f"{cluster}-{name}", name, vpc.id, dict(tags)) for name in ("nodes", "cluster")]
    images = {key: _image(ec2, f"{'-'.join(key)}-{VERSION}-v20261101", key[1], {}) for key in _IMAGES}
    put_parameters(region, image_parameters(VERSION, images))
    role, profile = f"{cluster}-nodes", f"{cluster}-profile"
    _iam(role, profile)
    _eks(region, cluster, list(subnets.values()))
    return Account(region, cluster, vpc.id, subnets, zones, tuple(one.id for one in groups), images, role, profile)


def _subnet(ec2: Any, vpc: str, zone: str, cidr: str, tags: Mapping[str, str]) -> str:
    made = ec2.create_subnet(vpc, cidr, availability_zone=zone)
    made.add_tags(dict(tags))
    return str(made.id)


def _image(ec2: Any, name: str, architecture: str, tags: Mapping[str, str]) -> str:
    made = Ami(
        ec2,
        random_ami_id(),
        name=name,
        description=name,
        architecture=architecture,
        virtualization_type="hvm",
        hypervisor="xen",
        state="available",
        root_device_name="/dev/xvda",
        root_device_type="ebs",
        owner_id=ACCOUNT,
        tags=dict(tags),
        region_name=ec2.region_name,
    )
    ec2.amis[made.id] = made
    return str(made.id)


def _iam(role: str, profile: str) -> None:
    iam = iam_backends[ACCOUNT]["aws"]
    iam.create_role(role, "{}", "/", None, "", [], "3600")
    iam.create_instance_profile(profile, "/", [role])


def _eks(region: str, cluster: str, subnets: list[str]) -> None:
    # To check a role's ARN moto makes a whole SDK session, which takes longer than everything else here.
    eks_models.validate_role_arn = lambda arn: None
    eks_models.eks_backends[ACCOUNT][region].create_cluster(
        cluster,
        f"arn:aws:iam::{ACCOUNT}:role/{cluster}",
        {"subnetIds": subnets},
        version=VERSION,
        kubernetes_network_config={"serviceIpv4Cidr": "10.100.0.0/16"},
    )
