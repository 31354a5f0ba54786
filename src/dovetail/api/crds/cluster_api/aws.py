"""AWSMachine, AWSMachineTemplate and AWSCluster (infrastructure.cluster.x-k8s.io/v1beta2).

Spot is asked for by `spotMarketOptions`, be it empty, or by `marketType: Spot`. There is no field for another
interruption behaviour than termination, nor for a persistent request: neither may be had.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from dovetail.api.crds.cluster_api.contract import (
    CLUSTER_COLUMNS,
    IMMUTABLE,
    Endpoint,
    InfraClusterStatus,
    InfraMachineStatus,
    TemplateMetadata,
    TemplateStatus,
    infrastructure,
    kept,
    machine_columns,
)
from dovetail.api.crds.metadata import Resource
from dovetail.api.crds.schema import Int64, Limits, Open, Rule, Wire
from dovetail.api.kinds import AWS_CLUSTERS, AWS_MACHINES, AWS_TEMPLATES

#: A decimal number; nothing at all is the same as leaving the field out.
MAX_PRICE: Final = r"^([0-9]+(\.[0-9]+)?)?$"
_RULES: Final = (
    Rule(
        "!has(self.spotMarketOptions) || !has(self.marketType) || self.marketType == 'Spot'",
        "spotMarketOptions needs marketType Spot, or none",
    ),
    Rule(
        "!has(self.capacityReservationId) || "
        "(!has(self.spotMarketOptions) && (!has(self.marketType) || self.marketType != 'Spot'))",
        "capacityReservationId cannot be had on spot",
    ),
    Rule(
        "!has(self.marketType) || self.marketType != 'CapacityBlock' || has(self.capacityReservationId)",
        "marketType CapacityBlock needs a capacityReservationId",
    ),
)


class SpotMarketOptions(Wire, frozen=True):
    """The machine is bought on the spot market: once, and terminated when AWS wants it back."""

    max_price: Annotated[
        str | None, Limits(pattern=MAX_PRICE), "Dollars an hour at most, such as 0.05; the on-demand price if left out."
    ] = None


class Ami(Wire, frozen=True):
    """Which image the machine starts from."""

    id: Annotated[str | None, "Id of the image."] = None
    eks_lookup_type: Annotated[str | None, "Which of Amazon's images is looked up."] = msgspec.field(
        default=None, name="eksLookupType"
    )


class Filter(Wire, frozen=True):
    """What a resource must look like."""

    name: Annotated[str, "Name of the filter."]
    values: Annotated[tuple[str, ...], "Values, one of which must hold."]


class ResourceReference(Wire, frozen=True):
    """A subnet or security group, by id or by what it looks like."""

    id: Annotated[str | None, "Id of the resource."] = None
    filters: Annotated[tuple[Filter, ...], "What it must look like."] = ()


class Volume(Wire, frozen=True):
    """A disk of the machine."""

    size: Annotated[int, Limits(format="int64", minimum=8), "How large it is, in GiB."]
    device_name: Annotated[str, "Name of the device."] = ""
    type: Annotated[str, "What kind it is, such as gp3."] = ""
    iops: Annotated[Int64 | None, "Operations a second."] = None
    throughput: Annotated[Int64 | None, "Throughput in MiB a second."] = None
    encrypted: Annotated[bool | None, "Whether it is encrypted."] = None
    encryption_key: Annotated[str, "Key it is encrypted with."] = ""


class AwsMachineSpec(Wire, frozen=True):
    """Which machine is bought."""

    instance_type: Annotated[str, Limits(min_length=2), "Instance type, such as m5.large."]
    provider_id: Annotated[str | None, "How the cloud calls the machine."] = msgspec.field(
        default=None, name="providerID"
    )
    instance_id: Annotated[str | None, "Id of the instance."] = msgspec.field(default=None, name="instanceID")
    ami: Annotated[Ami | None, "Which image it starts from."] = None
    image_lookup_format: Annotated[str, "How the names of images are made up."] = ""
    image_lookup_org: Annotated[str, "Who owns the images."] = ""
    image_lookup_base_os: Annotated[str, "What system the images have."] = msgspec.field(
        default="", name="imageLookupBaseOS"
    )
    spot_market_options: Annotated[SpotMarketOptions | None, "Given, even if empty, the machine is on spot."] = None
    market_type: Annotated[
        str | None, Limits(enum=("OnDemand", "Spot", "CapacityBlock")), "How the machine is bought."
    ] = None
    capacity_reservation_id: Annotated[str | None, "Reservation it is bought from."] = None
    subnet: Annotated[ResourceReference | None, "Which subnet it stands in."] = None
    additional_security_groups: Annotated[tuple[ResourceReference, ...], "Further security groups."] = ()
    security_group_overrides: Annotated[dict[str, str], "Security groups instead of the cluster's, by role."] = (
        msgspec.field(default_factory=dict)
    )
    public_ip: Annotated[bool | None, "Whether it has a public address."] = msgspec.field(default=None, name="publicIP")
    iam_instance_profile: Annotated[str, "Instance profile it runs with."] = ""
    ssh_key_name: Annotated[str | None, "Key to log in with."] = None
    root_volume: Annotated[Volume | None, "Its first disk."] = None
    non_root_volumes: Annotated[tuple[Volume, ...], "Its other disks."] = ()
    additional_tags: Annotated[dict[str, str], "Further tags."] = msgspec.field(default_factory=dict)
    network_interfaces: Annotated[tuple[str, ...], Limits(max_items=2), "Network interfaces it is given."] = ()
    network_interface_type: Annotated[
        str | None, Limits(enum=("interface", "efa")), "What kind of network interface it has."
    ] = None
    tenancy: Annotated[str | None, Limits(enum=("default", "dedicated", "host")), "Whose hardware it runs on."] = None
    placement_group_name: Annotated[str, "Placement group it stands in."] = ""
    placement_group_partition: Annotated[
        int | None, Limits(format="int64", minimum=1, maximum=7), "Partition of the placement group."
    ] = None
    uncompressed_user_data: Annotated[bool | None, "Whether user data is sent as it is."] = None
    instance_metadata_options: Annotated[Open | None, "How the metadata service is set up."] = None
    cloud_init: Annotated[Open | None, "How cloud-init is fed."] = None
    ignition: Annotated[Open | None, "How Ignition is fed."] = None
    private_dns_name: Annotated[Open | None, "How the machine is named."] = None
    elastic_ip_pool: Annotated[Open | None, "Where its public address comes from."] = None
    cpu_options: Annotated[Open | None, "How its processors are set up."] = msgspec.field(
        default=None, name="cpuOptions"
    )


class AwsMachineStatus(InfraMachineStatus, frozen=True):
    """What became of an AWSMachine."""

    instance_state: Annotated[str, "What EC2 calls the machine's state."] = ""


class AwsMachine(Resource, kw_only=True, frozen=True):
    """An AWSMachine is one EC2 instance, bought once and never replaced."""

    api_version: str = AWS_MACHINES.api_version
    kind: str = AWS_MACHINES.name
    spec: Annotated[
        AwsMachineSpec, *_RULES, kept(("instanceType",), ("spotMarketOptions", "marketType", "capacityReservationId"))
    ]
    status: AwsMachineStatus = AwsMachineStatus()


class AwsTemplateResource(Wire, frozen=True):
    """What every machine made from the template is."""

    spec: Annotated[AwsMachineSpec, *_RULES]
    metadata: TemplateMetadata | None = None


class AwsTemplateSpec(Wire, frozen=True):
    """What is made from the template."""

    template: AwsTemplateResource


class AwsMachineTemplate(Resource, kw_only=True, frozen=True):
    """An AWSMachineTemplate is what AWSMachines are copied from; it never changes."""

    api_version: str = AWS_TEMPLATES.api_version
    kind: str = AWS_TEMPLATES.name
    spec: Annotated[AwsTemplateSpec, IMMUTABLE]
    status: TemplateStatus = TemplateStatus()


class AwsClusterSpec(Wire, frozen=True):
    """Where machines of a cluster are bought. What only makers of networks read is kept as it is."""

    region: Annotated[str, "Region of the cluster."] = ""
    control_plane_endpoint: Endpoint | None = None
    additional_tags: Annotated[dict[str, str], "Tags of everything in the cluster."] = msgspec.field(
        default_factory=dict
    )
    ssh_key_name: Annotated[str | None, "Key to log in with."] = None
    image_lookup_format: Annotated[str, "How the names of images are made up."] = ""
    image_lookup_org: Annotated[str, "Who owns the images."] = ""
    image_lookup_base_os: Annotated[str, "What system the images have."] = msgspec.field(
        default="", name="imageLookupBaseOS"
    )
    network: Annotated[Open | None, "Networks, subnets and security groups."] = None
    identity_ref: Annotated[Open | None, "In whose name machines are bought."] = None
    bastion: Annotated[Open | None, "A way in."] = None
    control_plane_load_balancer: Annotated[Open | None, "The control plane's load balancer."] = None
    s3_bucket: Annotated[Open | None, "Where bootstrap data lies."] = msgspec.field(default=None, name="s3Bucket")
    partition: Annotated[str, "Partition of the region."] = ""


class AwsClusterStatus(InfraClusterStatus, frozen=True):
    """What became of an AWSCluster."""

    network: Annotated[Open | None, "Networks, subnets and security groups that were found."] = msgspec.field(
        default=None, name="networkStatus"
    )


class AwsCluster(Resource, kw_only=True, frozen=True):
    """An AWSCluster says where machines of a cluster are bought."""

    api_version: str = AWS_CLUSTERS.api_version
    kind: str = AWS_CLUSTERS.name
    spec: AwsClusterSpec = AwsClusterSpec()
    status: AwsClusterStatus = AwsClusterStatus()


DEFINITIONS: Final = (
    infrastructure(AWS_MACHINES, AwsMachine, machine_columns(".status.instanceState", ".spec.instanceType"), ("awsm",)),
    infrastructure(AWS_TEMPLATES, AwsMachineTemplate, short_names=("awsmt",)),
    infrastructure(AWS_CLUSTERS, AwsCluster, CLUSTER_COLUMNS, ("awsc",)),
)
