"""EC2NodeClass (karpenter.k8s.aws/v1): machines of AWS, as version 1.14 of its provider takes them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import msgspec

from dovetail.api.crds.definition import AGE, READY, Column, Definition
from dovetail.api.crds.ec2_kubelet import KUBELET_RULES, Kubelet
from dovetail.api.crds.ec2_machines import (
    BlockDeviceMappings,
    ConnectionTracking,
    CpuOptions,
    EnclaveOptions,
    MetadataOptions,
    NetworkInterfaces,
)
from dovetail.api.crds.ec2_selectors import (
    Account,
    AmiTerms,
    MatchCriteria,
    PlacementGroup,
    ReservationId,
    ReservationTerms,
    SecurityGroupTerms,
    SubnetTerms,
)
from dovetail.api.crds.metadata import Resource
from dovetail.api.crds.parts import Condition, not_empty
from dovetail.api.crds.schema import ATOMIC_LIST, Filled, Kept, Limits, Rule, Wire
from dovetail.api.kinds import EC2_NODE_CLASSES

FAMILIES: Final = {
    "al2": "AL2",
    "al2023": "AL2023",
    "bottlerocket": "Bottlerocket",
    "windows2019": "Windows2019",
    "windows2022": "Windows2022",
    "windows2025": "Windows2025",
}


def _family_of_alias(alias: str, family: str) -> Rule:
    return Rule(
        "!has(self.amiFamily) || (self.amiSelectorTerms.exists(x, has(x.alias) && "
        f"x.alias.find('^[^@]+') == '{alias}') ? "
        f"(self.amiFamily == 'Custom' || self.amiFamily == '{family}') : true)",
        f"amiFamily beside an alias of {alias} must be {family} or Custom",
    )


_SPEC_RULES: Final = (
    Rule(
        "(has(self.role) && !has(self.instanceProfile)) || (!has(self.role) && has(self.instanceProfile))",
        "role or instanceProfile must be set, and not both",
    ),
    *(_family_of_alias(alias, family) for alias, family in FAMILIES.items()),
    Rule(
        "self.amiSelectorTerms.exists(x, has(x.alias)) ? true : has(self.amiFamily)",
        "amiFamily must be set where amiSelectorTerms have no alias",
    ),
)
_TAG_RULES: Final = (
    Rule("self.all(k, k != '')", "tags may not have an empty key"),
    Rule("self.all(k, k !='eks:eks-cluster-name')", "tags may not have the reserved key eks:eks-cluster-name"),
    Rule(
        "self.all(k, !k.startsWith('kubernetes.io/cluster') )",
        "tags may not have a reserved key that begins with kubernetes.io/cluster",
    ),
    Rule("self.all(k, k != 'karpenter.sh/nodepool')", "tags may not have the reserved key karpenter.sh/nodepool"),
    Rule("self.all(k, k !='karpenter.sh/nodeclaim')", "tags may not have the reserved key karpenter.sh/nodeclaim"),
    Rule(
        "self.all(k, k !='karpenter.k8s.aws/ec2nodeclass')",
        "tags may not have the reserved key karpenter.k8s.aws/ec2nodeclass",
    ),
)


class Ec2NodeClassSpec(Wire, frozen=True):
    """What machines are asked for."""

    ami_selector_terms: AmiTerms
    subnet_selector_terms: SubnetTerms
    security_group_selector_terms: SecurityGroupTerms
    ami_family: Annotated[
        str | None,
        Limits(enum=("AL2", "AL2023", "Bottlerocket", "Custom", "Windows2019", "Windows2022", "Windows2025")),
        "How nodes are brought up.",
    ] = None
    capacity_reservation_selector_terms: ReservationTerms = ()
    placement_group_selector: PlacementGroup = None
    role: Annotated[str | None, not_empty("role"), "IAM role of the nodes."] = None
    instance_profile: Annotated[str | None, not_empty("instanceProfile"), "IAM instance profile of the nodes."] = None
    tags: Annotated[dict[str, str], *_TAG_RULES, "Tags everything made for a node gets."] = msgspec.field(
        default_factory=dict
    )
    associate_public_ip_address: Annotated[bool | None, "Whether nodes get a public address."] = msgspec.field(
        default=None, name="associatePublicIPAddress"
    )
    detailed_monitoring: Annotated[bool | None, "Whether machines are monitored in detail."] = None
    context: Annotated[str | None, "Context of the launch, as AWS defines it."] = None
    user_data: Annotated[str | None, "What machines run when they start."] = None
    instance_store_policy: Annotated[str | None, Limits(enum=("RAID0",)), "How local disks are used."] = None
    ip_prefix_count: Annotated[
        int | None, Limits(format="int32", minimum=0), "How many blocks of addresses a node begins with."
    ] = None
    cpu_options: CpuOptions | None = None
    enclave_options: EnclaveOptions | None = None
    connection_tracking: ConnectionTracking = None
    metadata_options: Annotated[
        MetadataOptions,
        Filled(
            {
                "httpEndpoint": "enabled",
                "httpProtocolIPv6": "disabled",
                "httpPutResponseHopLimit": 1,
                "httpTokens": "required",
            }
        ),
    ] = MetadataOptions()
    block_device_mappings: BlockDeviceMappings = ()
    network_interfaces: NetworkInterfaces = ()
    kubelet: Annotated[Kubelet | None, *KUBELET_RULES, Kept()] = None


class AmiRequirement(Wire, frozen=True):
    """A label of nodes that may run an image."""

    key: Annotated[str, "Key of the label."]
    operator: Annotated[str, "How the label's value relates to the values given."]
    values: Annotated[tuple[str, ...], ATOMIC_LIST, "Values."] = ()


class Ami(Wire, frozen=True):
    """An image that was found."""

    id: Annotated[str, "Its id."]
    requirements: Annotated[tuple[AmiRequirement, ...], "Which nodes may run it."]
    name: Annotated[str, "Its name."] = ""
    deprecated: Annotated[bool | None, "Whether its owner advises against it."] = None


class Subnet(Wire, frozen=True):
    """A subnet that was found."""

    id: Annotated[str, "Its id."]
    zone: Annotated[str, "The zone it is in."]
    zone_id: Annotated[str, "Id of that zone."] = msgspec.field(default="", name="zoneID")


class SecurityGroup(Wire, frozen=True):
    """A security group that was found."""

    id: Annotated[str, "Its id."]
    name: Annotated[str, "Its name."] = ""


class CapacityReservation(Wire, frozen=True):
    """A capacity reservation that was found."""

    id: ReservationId
    availability_zone: Annotated[str, "The zone it is in."]
    instance_type: Annotated[str, "The type of machine it holds."]
    owner_id: Account = msgspec.field(name="ownerID")
    instance_match_criteria: MatchCriteria
    #: Ours, beside the peer's (S3.2).
    available_instance_count: Annotated[int | None, Limits(format="int64", minimum=0), "How many of it were free."] = (
        None
    )
    total_instance_count: Annotated[int | None, Limits(format="int64", minimum=0), "How many it holds."] = None
    end_time: Annotated[datetime | None, "When it ends."] = None
    interruptible: Annotated[bool | None, "Whether its owner may take it back."] = None
    reservation_type: Annotated[str, Limits(enum=("default", "capacity-block")), "What kind it is."] = "default"
    state: Annotated[str, Limits(enum=("active", "expiring")), "Whether it is about to end."] = "active"


class Ec2NodeClassStatus(Wire, frozen=True):
    """What was found for the class."""

    amis: Annotated[tuple[Ami, ...], "Images."] = ()
    subnets: Annotated[tuple[Subnet, ...], "Subnets."] = ()
    security_groups: Annotated[tuple[SecurityGroup, ...], "Security groups."] = ()
    capacity_reservations: Annotated[tuple[CapacityReservation, ...], "Capacity reservations."] = ()
    instance_profile: Annotated[str, "The instance profile nodes get."] = ""
    conditions: Annotated[tuple[Condition, ...], "What holds of it."] = ()


class Ec2NodeClass(Resource, kw_only=True, frozen=True):
    """An EC2NodeClass describes machines of AWS."""

    api_version: str = EC2_NODE_CLASSES.api_version
    kind: str = EC2_NODE_CLASSES.name
    spec: Annotated[Ec2NodeClassSpec | None, *_SPEC_RULES] = None
    status: Ec2NodeClassStatus = Ec2NodeClassStatus()


DEFINITION: Final = Definition(
    kind=EC2_NODE_CLASSES,
    struct=Ec2NodeClass,
    short_names=("ec2nc", "ec2ncs"),
    columns=(READY, AGE, Column("Role", ".spec.role", priority=1)),
)
