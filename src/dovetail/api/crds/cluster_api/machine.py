"""Cluster and Machine (cluster.x-k8s.io/v1beta2), for a cluster that does not run Cluster API's own controllers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import msgspec

from dovetail.api.crds.cluster_api.contract import CATEGORY, FAILURES, Address, Endpoint
from dovetail.api.crds.cluster_api.core_parts import ContractRef, MachineSpec
from dovetail.api.crds.definition import AGE, Column, Definition, condition_column
from dovetail.api.crds.metadata import Resource
from dovetail.api.crds.parts import Condition
from dovetail.api.crds.schema import BY_TYPE, Int64, Limits, Open, Wire
from dovetail.api.kinds import CLUSTERS, MACHINES

CLUSTER_PHASES: Final = ("Pending", "Provisioning", "Provisioned", "Deleting", "Failed", "Unknown")
PHASES: Final = (
    *("Pending", "Provisioning", "Provisioned", "Running", "Updating", "Deleting", "Deleted", "Failed", "Unknown"),
)
Conditions = Annotated[tuple[Condition, ...], BY_TYPE, "What holds of it."]


class ClusterSpec(Wire, frozen=True):
    """What a cluster is made of. Its parts are made by others; what is not looked into is kept."""

    paused: Annotated[bool, "Whether everything in the cluster is to be left alone."] = False
    control_plane_endpoint: Endpoint | None = None
    control_plane_ref: Annotated[ContractRef | None, "Who runs the control plane."] = None
    infrastructure_ref: Annotated[ContractRef | None, "Where its machines are bought."] = None
    cluster_network: Annotated[Open | None, "Ranges of addresses."] = None
    availability_gates: Annotated[tuple[Open, ...], "What else it must meet to be available."] = ()
    topology: Annotated[Open | None, "A description others make it from."] = None


class ClusterInitialization(Wire, frozen=True):
    """How far a cluster has come for the first time."""

    infrastructure_provisioned: Annotated[bool | None, "Whether machines can be bought."] = None
    control_plane_initialized: Annotated[bool | None, "Whether there has been a control plane."] = None


class ClusterFailureDomain(Wire, frozen=True):
    """A zone machines may stand in."""

    name: Annotated[str, Limits(min_length=1, max_length=256), "Name of the zone."]
    control_plane: Annotated[bool | None, "Whether control planes may stand here."] = None
    attributes: Annotated[dict[str, str], "What else is known of it."] = msgspec.field(default_factory=dict)


class ClusterStatus(Wire, frozen=True):
    """What became of a cluster."""

    phase: Annotated[str | None, Limits(enum=CLUSTER_PHASES), "How far it has come."] = None
    initialization: ClusterInitialization | None = None
    failure_domains: Annotated[tuple[ClusterFailureDomain, ...], "Zones machines may stand in."] = ()
    observed_generation: Annotated[Int64 | None, "Generation that was looked at."] = None
    conditions: Conditions = ()


class Cluster(Resource, kw_only=True, frozen=True):
    """A Cluster is what Machines belong to."""

    api_version: str = CLUSTERS.api_version
    kind: str = CLUSTERS.name
    spec: ClusterSpec = ClusterSpec()
    status: ClusterStatus = ClusterStatus()


class NodeRef(Wire, frozen=True):
    """The Node a machine became."""

    name: Annotated[str, Limits(min_length=1, max_length=253), "Name of the Node."]


class MachineInitialization(Wire, frozen=True):
    """How far a machine has come for the first time; what is true here stays true."""

    infrastructure_provisioned: Annotated[bool | None, "Whether the machine has been there."] = None
    bootstrap_data_secret_created: Annotated[bool | None, "Whether its bootstrap data has been there."] = None


class MachineDeletionStatus(Wire, frozen=True):
    """When each part of a machine's end began."""

    node_drain_start_time: Annotated[datetime | None, "When draining began."] = None
    wait_for_node_volume_detach_start_time: Annotated[datetime | None, "When waiting for volumes began."] = None
    wait_for_pre_drain_hook_start_time: Annotated[datetime | None, "When waiting for pre-drain hooks began."] = None
    wait_for_pre_terminate_hook_start_time: Annotated[
        datetime | None, "When waiting for pre-terminate hooks began."
    ] = None


class Failure(Wire, frozen=True):
    """Why a machine failed for good."""

    failure_reason: Annotated[str | None, Limits(enum=FAILURES), "As one word."] = None
    failure_message: Annotated[str, "As a sentence."] = ""


class MachineDeprecated(Wire, frozen=True):
    """What older clients look for."""

    v1beta1: Annotated[Failure | None, "As the version before had it."] = None


class MachineStatus(Wire, frozen=True):
    """What became of a machine."""

    phase: Annotated[str | None, Limits(enum=PHASES), "How far it has come."] = None
    node_ref: Annotated[NodeRef | None, "The Node it became."] = None
    node_info: Annotated[Open | None, "What that Node says of itself."] = None
    addresses: Annotated[tuple[Address, ...], "Its addresses."] = ()
    failure_domain: Annotated[str, "Zone it stands in."] = ""
    initialization: MachineInitialization | None = None
    deletion: MachineDeletionStatus | None = None
    last_updated: Annotated[datetime | None, "When its phase changed last."] = None
    observed_generation: Annotated[Int64 | None, "Generation that was looked at."] = None
    deprecated: MachineDeprecated | None = None
    conditions: Conditions = ()


class Machine(Resource, kw_only=True, frozen=True):
    """A Machine is one instance of a cloud and the Node it becomes."""

    api_version: str = MACHINES.api_version
    kind: str = MACHINES.name
    spec: MachineSpec
    status: MachineStatus = MachineStatus()


DEFINITIONS: Final = (
    Definition(
        kind=CLUSTERS,
        struct=Cluster,
        categories=CATEGORY,
        short_names=("cl",),
        columns=(Column("Phase", ".status.phase"), condition_column("Available"), AGE),
    ),
    Definition(
        kind=MACHINES,
        struct=Machine,
        categories=CATEGORY,
        short_names=("ma",),
        columns=(
            Column("Cluster", ".spec.clusterName"),
            Column("Node", ".status.nodeRef.name"),
            condition_column("Ready"),
            condition_column("Available"),
            Column("Phase", ".status.phase"),
            AGE,
            Column("Version", ".spec.version"),
            Column("ProviderID", ".spec.providerID", priority=1),
        ),
    ),
)
