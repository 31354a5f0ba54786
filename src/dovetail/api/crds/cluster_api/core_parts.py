"""What the core's kinds are made of: references, bootstrap data, how a machine ends."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from dovetail.api.crds.cluster_api.contract import TemplateMetadata
from dovetail.api.crds.parts import Taints
from dovetail.api.crds.schema import ATOMIC_MAP, Limits, Rule, Wire

CLUSTER_NAME_RULE: Final = Rule("self == oldSelf", "clusterName cannot be changed")
ClusterName = Annotated[
    str, Limits(min_length=1, max_length=63), CLUSTER_NAME_RULE, "Name of the Cluster it belongs to."
]
Seconds = Annotated[int | None, Limits(format="int32", minimum=0)]
Replicas = Annotated[int | None, Limits(format="int32", minimum=0)]
Count = Annotated[int | None, Limits(format="int32")]
ORDERS: Final = ("Random", "Newest", "Oldest")


class ContractRef(Wire, frozen=True):
    """An object of a provider, in the namespace of whoever refers to it. Its version is found by the contract."""

    api_group: Annotated[str, Limits(min_length=1, max_length=253), "API group of the object."]
    kind: Annotated[str, Limits(min_length=1, max_length=63), "Kind of the object."]
    name: Annotated[str, Limits(min_length=1, max_length=253), "Name of the object."]


class Bootstrap(Wire, frozen=True):
    """Where the data comes from that makes a machine into a node."""

    config_ref: Annotated[ContractRef | None, "Who makes it."] = None
    data_secret_name: Annotated[str | None, Limits(max_length=253), "Secret it lies in, under the key `value`."] = None


class MachineDeletion(Wire, frozen=True):
    """How long each part of a machine's end may take; 0 is without end."""

    order: Annotated[str | None, Limits(enum=ORDERS), "Which machine goes first when there are too many."] = None
    node_drain_timeout_seconds: Annotated[Seconds, "How long the node may be drained."] = None
    node_volume_detach_timeout_seconds: Annotated[Seconds, "How long its volumes may take to let go."] = None
    node_deletion_timeout_seconds: Annotated[Seconds, "How long the Node may take to go; 10 if left out."] = None


class ReadinessGate(Wire, frozen=True):
    """A further condition a machine must meet to be ready."""

    condition_type: Annotated[str, Limits(min_length=1, max_length=316), "Type of the condition."]
    polarity: Annotated[str | None, Limits(enum=("Positive", "Negative")), "Whether True is good."] = None


_BOOTSTRAP: Final = Rule(
    "has(self.configRef) || has(self.dataSecretName)", "bootstrap needs configRef or dataSecretName"
)


class MachineSpec(Wire, frozen=True):
    """Which machine is wanted."""

    cluster_name: ClusterName
    bootstrap: Annotated[Bootstrap, _BOOTSTRAP]
    infrastructure_ref: ContractRef
    version: Annotated[str | None, Limits(min_length=1, max_length=256), "Version of Kubernetes, such as v1.34.0."] = (
        None
    )
    provider_id: Annotated[str | None, Limits(max_length=512), "How the cloud calls the machine."] = msgspec.field(
        default=None, name="providerID"
    )
    failure_domain: Annotated[str | None, Limits(max_length=256), "Zone the machine is to stand in."] = None
    min_ready_seconds: Annotated[Seconds, "How long it must be ready to be available."] = None
    readiness_gates: Annotated[tuple[ReadinessGate, ...], Limits(max_items=32), "What else it must meet."] = ()
    deletion: MachineDeletion | None = None
    taints: Annotated[Taints, "Taints of the node."] = ()


class MachineTemplate(Wire, frozen=True):
    """What machines are made from; the references in it are to templates."""

    spec: MachineSpec
    metadata: TemplateMetadata | None = None


class SelectorTerm(Wire, frozen=True):
    """One demand on labels."""

    key: Annotated[str, "Key of the label."]
    operator: Annotated[str, "In, NotIn, Exists or DoesNotExist."]
    values: Annotated[tuple[str, ...], "Values for In and NotIn."] = ()


class LabelSelector(Wire, frozen=True):
    """Which labels will do."""

    match_labels: Annotated[dict[str, str], "Labels that must be there as they are."] = msgspec.field(
        default_factory=dict
    )
    match_expressions: Annotated[tuple[SelectorTerm, ...], "Further demands."] = ()


Selector = Annotated[LabelSelector, ATOMIC_MAP]
SELECTOR_RULE: Final = Rule(
    "(has(self.matchLabels) && size(self.matchLabels) > 0) || "
    "(has(self.matchExpressions) && size(self.matchExpressions) > 0)",
    "selector must demand something",
)
