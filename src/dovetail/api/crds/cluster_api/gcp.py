"""GCPMachine, GCPMachineTemplate and GCPCluster (infrastructure.cluster.x-k8s.io/v1beta1).

There are two ways to ask for a machine that may be taken away: `preemptible`, which never lives longer than a day, and
`provisioningModel: Spot`, which may. The price is GCP's own. The fields in which other clouds are told what to pay at
most are there only to be refused: one that is not there would be dropped without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
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
from dovetail.api.crds.parts import Duration
from dovetail.api.crds.schema import Int64, IntOrString, Limits, Merge, Open, Rule, Wire
from dovetail.api.kinds import GCP_CLUSTERS, GCP_MACHINES, GCP_TEMPLATES

_RULES: Final = (
    Rule(
        "!has(self.instanceTerminationAction) || (has(self.provisioningModel) && self.provisioningModel == 'Spot')",
        "instanceTerminationAction needs provisioningModel Spot beside it; a preemptible machine is always stopped",
    ),
)
#: What is said to whoever names a price or asks for spot in another cloud's words, by the field it was written in; of
#: `maxPrice` the planner says the same.
NO_BIDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "maxPrice": "maxPrice cannot be given: GCP has one price for machines that may be taken away; leave it out",
        "spotMarketOptions": "spotMarketOptions cannot be given: GCP has one price for machines that may be taken "
        "away; write provisioningModel: Spot",
        "marketType": "marketType cannot be given: it is a field of AWS's; write provisioningModel: Spot",
        "spotVMOptions": "spotVMOptions cannot be given: it is a field of Azure's, and GCP has one price for machines "
        "that may be taken away; write provisioningModel: Spot",
    }
)


def _refused(field: str) -> Rule:
    return Rule("false", NO_BIDS[field])


class MetadataItem(Wire, frozen=True):
    """An entry of the machine's metadata."""

    key: Annotated[str, "Key of the entry."]
    value: Annotated[str | None, "Value of the entry."] = None


class ServiceAccount(Wire, frozen=True):
    """In whose name the machine asks GCP for things."""

    email: Annotated[str, "Address of the account."] = ""
    scopes: Annotated[tuple[str, ...], "What it may ask for."] = ()


class Disk(Wire, frozen=True):
    """A further disk of the machine."""

    device_type: Annotated[str | None, "What kind it is, such as pd-ssd."] = None
    size: Annotated[Int64 | None, "How large it is, in GB."] = None
    encryption_key: Annotated[Open | None, "Key it is encrypted with."] = None


class GcpMachineSpec(Wire, frozen=True):
    """Which machine is bought."""

    instance_type: Annotated[str, Limits(min_length=1), "Machine type, such as n2-standard-4."]
    provider_id: Annotated[str | None, "How the cloud calls the machine."] = msgspec.field(
        default=None, name="providerID"
    )
    preemptible: Annotated[bool, "Whether the machine may be taken away, and is, before a day is over."] = False
    provisioning_model: Annotated[
        str | None, Limits(enum=("Standard", "Spot")), "Spot: the machine may be taken away; no limit to its age."
    ] = None
    instance_termination_action: Annotated[
        str | None,
        Limits(enum=("STOP", "DELETE")),
        "What becomes of a Spot machine that is taken away; STOP if left out.",
    ] = None
    max_price: Annotated[
        int | str | None, IntOrString(), _refused("maxPrice"), "Cannot be given: GCP has one price."
    ] = None
    spot_market_options: Annotated[
        Open | None, _refused("spotMarketOptions"), "Cannot be given: GCP says provisioningModel, and has one price."
    ] = None
    market_type: Annotated[str | None, _refused("marketType"), "Cannot be given: GCP says provisioningModel."] = None
    spot_vm_options: Annotated[
        Open | None, _refused("spotVMOptions"), "Cannot be given: GCP says provisioningModel, and has one price."
    ] = msgspec.field(default=None, name="spotVMOptions")
    max_run_duration: Annotated[Duration | None, "How long the machine may run at most."] = None
    on_host_maintenance: Annotated[
        str | None, Limits(enum=("Migrate", "Terminate")), "What becomes of it when its host is worked on."
    ] = None
    image: Annotated[str | None, "Image it starts from."] = None
    image_family: Annotated[str | None, "Family whose newest image it starts from."] = None
    subnet: Annotated[str | None, "Subnet it stands in."] = None
    public_ip: Annotated[bool | None, "Whether it has a public address."] = msgspec.field(default=None, name="publicIP")
    additional_network_tags: Annotated[tuple[str, ...], "Further network tags."] = ()
    additional_labels: Annotated[dict[str, str], "Further labels."] = msgspec.field(default_factory=dict)
    additional_metadata: Annotated[
        tuple[MetadataItem, ...], Merge(list_type="map", keys=("key",)), "Further metadata."
    ] = ()
    service_account: Annotated[ServiceAccount | None, "In whose name it asks GCP for things."] = msgspec.field(
        default=None, name="serviceAccounts"
    )
    root_device_size: Annotated[Int64 | None, "How large its first disk is, in GB."] = None
    root_device_type: Annotated[str | None, "What kind its first disk is."] = None
    additional_disks: Annotated[tuple[Disk, ...], "Its other disks."] = ()
    ip_forwarding: Annotated[str | None, Limits(enum=("Enabled", "Disabled")), "Whether it may route for others."] = (
        None
    )
    alias_ip_ranges: Annotated[tuple[Open, ...], "Further addresses."] = msgspec.field(default=(), name="aliasIPRanges")
    resource_manager_tags: Annotated[tuple[Open, ...], "Tags of the resource manager."] = ()
    guest_accelerators: Annotated[tuple[Open, ...], "Accelerators it has."] = ()
    shielded_instance_config: Annotated[Open | None, "How its start is guarded."] = None
    confidential_compute: Annotated[str | None, "How its memory is guarded."] = None
    root_disk_encryption_key: Annotated[Open | None, "Key its first disk is encrypted with."] = None


class GcpMachineStatus(InfraMachineStatus, frozen=True):
    """What became of a GCPMachine."""

    instance_state: Annotated[str, "What GCP calls the machine's state."] = ""


class GcpMachine(Resource, kw_only=True, frozen=True):
    """A GCPMachine is one Compute Engine instance, made once and never replaced."""

    api_version: str = GCP_MACHINES.api_version
    kind: str = GCP_MACHINES.name
    spec: Annotated[
        GcpMachineSpec,
        *_RULES,
        kept(("instanceType",), ("preemptible", "provisioningModel", "instanceTerminationAction")),
    ]
    status: GcpMachineStatus = GcpMachineStatus()


class GcpTemplateResource(Wire, frozen=True):
    """What every machine made from the template is."""

    spec: Annotated[GcpMachineSpec, *_RULES]
    metadata: TemplateMetadata | None = None


class GcpTemplateSpec(Wire, frozen=True):
    """What is made from the template."""

    template: GcpTemplateResource


class GcpMachineTemplate(Resource, kw_only=True, frozen=True):
    """A GCPMachineTemplate is what GCPMachines are copied from; it never changes."""

    api_version: str = GCP_TEMPLATES.api_version
    kind: str = GCP_TEMPLATES.name
    spec: Annotated[GcpTemplateSpec, IMMUTABLE]
    status: TemplateStatus = TemplateStatus()


class GcpClusterSpec(Wire, frozen=True):
    """Where machines of a cluster are made. What only makers of networks read is kept as it is."""

    project: Annotated[str, "Project of the cluster."]
    region: Annotated[str, "Region of the cluster."]
    control_plane_endpoint: Endpoint | None = None
    failure_domains: Annotated[tuple[str, ...], "Zones machines may stand in."] = ()
    additional_labels: Annotated[dict[str, str], "Labels of everything in the cluster."] = msgspec.field(
        default_factory=dict
    )
    network: Annotated[Open | None, "Networks and subnets."] = None
    credentials_ref: Annotated[Open | None, "In whose name machines are made."] = None
    resource_manager_tags: Annotated[tuple[Open, ...], "Tags of the resource manager."] = ()
    load_balancer: Annotated[Open | None, "The control plane's load balancer."] = None


class GcpClusterStatus(InfraClusterStatus, frozen=True):
    """What became of a GCPCluster."""

    network: Annotated[Open | None, "Networks and subnets that were found."] = None


class GcpCluster(Resource, kw_only=True, frozen=True):
    """A GCPCluster says where machines of a cluster are made."""

    api_version: str = GCP_CLUSTERS.api_version
    kind: str = GCP_CLUSTERS.name
    spec: GcpClusterSpec
    status: GcpClusterStatus = GcpClusterStatus()


DEFINITIONS: Final = (
    infrastructure(GCP_MACHINES, GcpMachine, machine_columns(".status.instanceState", ".spec.instanceType")),
    infrastructure(GCP_TEMPLATES, GcpMachineTemplate),
    infrastructure(GCP_CLUSTERS, GcpCluster, CLUSTER_COLUMNS),
)
