"""AzureMachine, AzureMachineTemplate and AzureCluster (infrastructure.cluster.x-k8s.io/v1beta1).

`spotVMOptions`, be it empty, makes a Spot machine. Its price is a quantity: more than nothing, or -1, which is never to
be taken away for the price.
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
from dovetail.api.crds.parts import Quantity
from dovetail.api.crds.schema import Limits, Open, Rule, Wire
from dovetail.api.kinds import AZURE_CLUSTERS, AZURE_MACHINES, AZURE_TEMPLATES

_PRICE: Final = Rule(
    "type(self) == int ? (self > 0 || self == -1) : "
    "(quantity(self).isGreaterThan(quantity('0')) || quantity(self).compareTo(quantity('-1')) == 0)",
    "maxPrice must be more than 0, or -1 for the on-demand price",
)


class SpotVmOptions(Wire, frozen=True):
    """The machine is a Spot one."""

    max_price: Annotated[Quantity | None, _PRICE, "Dollars an hour at most; -1, the on-demand price, if left out."] = (
        None
    )
    eviction_policy: Annotated[
        str | None,
        Limits(enum=("Deallocate", "Delete")),
        "What becomes of it when it is taken away; Deallocate if left out, Delete where its first disk is ephemeral.",
    ] = None


class DiffDiskSettings(Wire, frozen=True):
    """A disk on the host itself."""

    option: Annotated[str, Limits(enum=("Local",)), "Local: the disk goes with the machine."]
    placement: Annotated[str | None, "Where on the host it lies."] = None


class OsDisk(Wire, frozen=True):
    """The machine's first disk."""

    os_type: Annotated[str, Limits(enum=("Linux", "Windows")), "What system it holds."]
    disk_size_gb: Annotated[int | None, Limits(format="int32", minimum=1), "How large it is, in GB."] = msgspec.field(
        default=None, name="diskSizeGB"
    )
    diff_disk_settings: Annotated[DiffDiskSettings | None, "Given, the disk is ephemeral."] = None
    caching_type: Annotated[str, Limits(enum=("None", "ReadOnly", "ReadWrite")), "How it is cached."] = ""
    managed_disk: Annotated[Open | None, "What kind of disk it is."] = None


class AzureMachineSpec(Wire, frozen=True):
    """Which machine is bought."""

    vm_size: Annotated[str, Limits(min_length=1), "Size, such as Standard_D4s_v5."]
    os_disk: OsDisk
    provider_id: Annotated[str | None, "How the cloud calls the machine."] = msgspec.field(
        default=None, name="providerID"
    )
    failure_domain: Annotated[str | None, "Zone the machine stands in."] = None
    spot_vm_options: Annotated[SpotVmOptions | None, "Given, even if empty, the machine is a Spot one."] = (
        msgspec.field(default=None, name="spotVMOptions")
    )
    image: Annotated[Open | None, "Which image it starts from."] = None
    data_disks: Annotated[tuple[Open, ...], "Its other disks."] = ()
    ssh_public_key: Annotated[str, "Key to log in with, in base64."] = ""
    identity: Annotated[
        str, Limits(enum=("None", "SystemAssigned", "UserAssigned")), "In whose name it asks Azure for things."
    ] = "None"
    user_assigned_identities: Annotated[tuple[Open, ...], "Identities it is given."] = ()
    system_assigned_identity_role: Annotated[Open | None, "What its own identity may do."] = None
    network_interfaces: Annotated[tuple[Open, ...], "Network interfaces; the first is the main one."] = ()
    subnet_name: Annotated[str, "Subnet it stands in."] = ""
    accelerated_networking: Annotated[bool | None, "Whether its network goes past the host."] = None
    allocate_public_ip: Annotated[bool, "Whether it has a public address."] = msgspec.field(
        default=False, name="allocatePublicIP"
    )
    enable_ip_forwarding: Annotated[bool, "Whether it may route for others."] = msgspec.field(
        default=False, name="enableIPForwarding"
    )
    dns_servers: Annotated[tuple[str, ...], "Name servers it asks."] = msgspec.field(default=(), name="dnsServers")
    additional_tags: Annotated[dict[str, str], "Further tags."] = msgspec.field(default_factory=dict)
    capacity_reservation_group_id: Annotated[str | None, "Reservation it is bought from."] = msgspec.field(
        default=None, name="capacityReservationGroupID"
    )
    additional_capabilities: Annotated[Open | None, "What else it can do."] = None
    diagnostics: Annotated[Open | None, "What is recorded of its start."] = None
    security_profile: Annotated[Open | None, "How it is guarded."] = None
    vm_extensions: Annotated[tuple[Open, ...], "What is put on it."] = ()
    disable_extension_operations: Annotated[bool | None, "Whether nothing may be put on it."] = None


class LongRunning(Wire, frozen=True):
    """Something Azure was asked for and is still doing; with it a new process goes on where the old one stopped."""

    type: Annotated[str, Limits(enum=("PUT", "PATCH", "DELETE")), "What was asked."]
    name: Annotated[str, "Name of the resource."]
    service_name: Annotated[str, "Whose resource it is."]
    data: Annotated[str, "What Azure wants to be shown when it is asked again."]
    resource_group: Annotated[str, "Resource group of the resource."] = ""


class AzureMachineStatus(InfraMachineStatus, frozen=True):
    """What became of an AzureMachine."""

    vm_state: Annotated[str, "What Azure calls the machine's state."] = ""
    long_running: Annotated[tuple[LongRunning, ...], "What Azure is still doing."] = msgspec.field(
        default=(), name="longRunningOperationStates"
    )


_SPOT: Final = "spotVMOptions"


class AzureMachine(Resource, kw_only=True, frozen=True):
    """An AzureMachine is one virtual machine, made once and never replaced."""

    api_version: str = AZURE_MACHINES.api_version
    kind: str = AZURE_MACHINES.name
    spec: Annotated[AzureMachineSpec, kept(("vmSize",), (_SPOT, "failureDomain"))]
    status: AzureMachineStatus = AzureMachineStatus()


class AzureTemplateResource(Wire, frozen=True):
    """What every machine made from the template is."""

    spec: AzureMachineSpec
    metadata: TemplateMetadata | None = None


class AzureTemplateSpec(Wire, frozen=True):
    """What is made from the template."""

    template: AzureTemplateResource


class AzureMachineTemplate(Resource, kw_only=True, frozen=True):
    """An AzureMachineTemplate is what AzureMachines are copied from; it never changes."""

    api_version: str = AZURE_TEMPLATES.api_version
    kind: str = AZURE_TEMPLATES.name
    spec: Annotated[AzureTemplateSpec, IMMUTABLE]
    status: TemplateStatus = TemplateStatus()


class AzureClusterSpec(Wire, frozen=True):
    """Where machines of a cluster are made. What only makers of networks read is kept as it is."""

    location: Annotated[str, Limits(min_length=1), "Region of the cluster."]
    subscription_id: Annotated[str, "Subscription of the cluster."] = msgspec.field(default="", name="subscriptionID")
    resource_group: Annotated[str, "Resource group of the cluster; its own name if left out."] = ""
    control_plane_endpoint: Endpoint | None = None
    additional_tags: Annotated[dict[str, str], "Tags of everything in the cluster."] = msgspec.field(
        default_factory=dict
    )
    azure_environment: Annotated[str, "Which of Azure's clouds."] = ""
    network_spec: Annotated[Open | None, "Networks, subnets and load balancers."] = None
    identity_ref: Annotated[Open | None, "In whose name machines are made."] = None
    bastion_spec: Annotated[Open | None, "A way in."] = None
    cloud_provider_config_overrides: Annotated[Open | None, "How often Azure may be asked."] = None
    extended_location: Annotated[Open | None, "A place at the edge."] = None
    failure_domains: Annotated[dict[str, Open], "Zones machines may stand in."] = msgspec.field(default_factory=dict)


class AzureClusterStatus(InfraClusterStatus, frozen=True):
    """What became of an AzureCluster."""

    long_running: Annotated[tuple[LongRunning, ...], "What Azure is still doing."] = msgspec.field(
        default=(), name="longRunningOperationStates"
    )


class AzureCluster(Resource, kw_only=True, frozen=True):
    """An AzureCluster says where machines of a cluster are made."""

    api_version: str = AZURE_CLUSTERS.api_version
    kind: str = AZURE_CLUSTERS.name
    spec: AzureClusterSpec
    status: AzureClusterStatus = AzureClusterStatus()


DEFINITIONS: Final = (
    infrastructure(AZURE_MACHINES, AzureMachine, machine_columns(".status.vmState", ".spec.vmSize")),
    infrastructure(AZURE_TEMPLATES, AzureMachineTemplate),
    infrastructure(AZURE_CLUSTERS, AzureCluster, CLUSTER_COLUMNS),
)
