"""NodeClaim (karpenter.sh/v1): one machine, asked for and followed through its life."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import msgspec

from dovetail.api.crds.definition import AGE, READY, Column, Definition, condition_column
from dovetail.api.crds.metadata import Resource
from dovetail.api.crds.parts import ClaimCondition, Duration, DurationOrNever, NodeClassRef, ResourceList, Taints
from dovetail.api.crds.requirements import ClaimRequirements
from dovetail.api.crds.schema import BY_TYPE, Rule, Wire
from dovetail.api.kinds import NODE_CLAIMS


class ClaimResources(Wire, frozen=True):
    """What the pods meant for the machine ask for."""

    requests: Annotated[ResourceList, "The sum of the pods' requests."] = msgspec.field(default_factory=dict)


class NodeClaimSpec(Wire, frozen=True):
    """What machine is asked for."""

    node_class_ref: NodeClassRef
    requirements: Annotated[ClaimRequirements, "Labels the node must have or not have."]
    resources: ClaimResources = ClaimResources()
    taints: Annotated[Taints, "Taints the node gets."] = ()
    startup_taints: Annotated[Taints, "Taints the node begins with; somebody else takes them away."] = ()
    expire_after: Annotated[DurationOrNever, "How old the node may become, such as 720h, or Never."] = "720h"
    termination_grace_period: Annotated[
        Duration | None, "How long a node that goes may wait for its pods before they are deleted."
    ] = None


class NodeClaimStatus(Wire, frozen=True):
    """What machine came of it."""

    node_name: Annotated[str, "Name of the node."] = ""
    provider_id: Annotated[str, "How the cloud calls the machine."] = msgspec.field(default="", name="providerID")
    image_id: Annotated[str, "Which image it runs."] = msgspec.field(default="", name="imageID")
    capacity: Annotated[ResourceList, "What it has."] = msgspec.field(default_factory=dict)
    allocatable: Annotated[ResourceList, "What pods may use of it."] = msgspec.field(default_factory=dict)
    last_pod_event_time: Annotated[datetime | None, "When a pod came or went last."] = None
    conditions: Annotated[tuple[ClaimCondition, ...], BY_TYPE, "What holds of it."] = ()


class NodeClaim(Resource, kw_only=True, frozen=True):
    """A NodeClaim asks for one machine and tells what became of it."""

    api_version: str = NODE_CLAIMS.api_version
    kind: str = NODE_CLAIMS.name
    spec: Annotated[NodeClaimSpec, Rule("self == oldSelf", "spec cannot be changed; delete the NodeClaim instead")]
    status: NodeClaimStatus = NodeClaimStatus()


def _label(name: str, key: str, priority: int = 0) -> Column:
    escaped = key.replace(".", r"\.")
    return Column(name, f".metadata.labels.{escaped}", priority=priority)


DEFINITION: Final = Definition(
    kind=NODE_CLAIMS,
    struct=NodeClaim,
    columns=(
        _label("Type", "node.kubernetes.io/instance-type"),
        _label("Capacity", "karpenter.sh/capacity-type"),
        _label("Zone", "topology.kubernetes.io/zone"),
        Column("Node", ".status.nodeName"),
        READY,
        AGE,
        Column("ImageID", ".status.imageID", priority=1),
        Column("ID", ".status.providerID", priority=1),
        _label("NodePool", "karpenter.sh/nodepool", 1),
        Column("NodeClass", ".spec.nodeClassRef.name", priority=1),
        condition_column("Drifted", 1),
    ),
)
