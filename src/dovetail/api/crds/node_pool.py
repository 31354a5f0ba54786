"""NodePool (karpenter.sh/v1): which nodes may be bought, how many, and when they may be taken away again."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from dovetail.api.crds.definition import AGE, READY, Column, Definition, Scale
from dovetail.api.crds.metadata import Resource
from dovetail.api.crds.parts import (
    LABEL_VALUE,
    VALUE_LENGTH,
    Condition,
    Duration,
    DurationOrNever,
    NodeClassRef,
    ResourceList,
    Taints,
)
from dovetail.api.crds.requirements import (
    AWS_DOMAIN,
    AWS_PLACE_KEYS,
    AWS_TYPE_KEYS,
    CORE_DOMAIN,
    CORE_KEYS,
    PoolRequirements,
    reserved_domain_of_all,
)
from dovetail.api.crds.schema import (
    ATOMIC_LIST,
    ATOMIC_MAP,
    BY_TYPE,
    GRANULAR_MAP,
    SET,
    Filled,
    Int64,
    Limits,
    Required,
    Rule,
    Wire,
)
from dovetail.api.kinds import NODE_POOLS

_LABEL: Final = "label"
_LABEL_RULES: Final = (
    reserved_domain_of_all(CORE_DOMAIN, CORE_KEYS, _LABEL),
    Rule('self.all(x, x != "karpenter.sh/nodepool")', "label karpenter.sh/nodepool is set by the pool itself"),
    Rule('self.all(x, x != "kubernetes.io/hostname")', "label kubernetes.io/hostname is each node's own"),
    reserved_domain_of_all(AWS_DOMAIN, (*AWS_TYPE_KEYS, *AWS_PLACE_KEYS), _LABEL),
)
_CRON: Final = r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$"
REASONS: Final = ("Underutilized", "Empty", "Drifted", "Unhealthy")
POLICIES: Final = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")

Labels = Annotated[
    dict[str, Annotated[str, Limits(max_length=VALUE_LENGTH, pattern=LABEL_VALUE)]],
    ATOMIC_MAP,
    Limits(max_properties=100),
    *_LABEL_RULES,
    "Labels the nodes get.",
]


class TemplateMetadata(Wire, frozen=True):
    """What the nodes of the pool are marked with."""

    labels: Labels = msgspec.field(default_factory=dict)
    annotations: Annotated[dict[str, str], GRANULAR_MAP, "Annotations the nodes get."] = msgspec.field(
        default_factory=dict
    )


class TemplateSpec(Wire, frozen=True):
    """What the nodes of the pool are like."""

    node_class_ref: Annotated[
        NodeClassRef,
        Rule("self.group == oldSelf.group", "nodeClassRef.group cannot be changed; make another pool"),
        Rule("self.kind == oldSelf.kind", "nodeClassRef.kind cannot be changed; make another pool"),
    ]
    requirements: Annotated[PoolRequirements, "Labels the nodes must have or not have; [] asks for none."]
    taints: Annotated[Taints, "Taints the nodes get."] = ()
    startup_taints: Annotated[Taints, "Taints the nodes begin with; somebody else takes them away."] = ()
    expire_after: Annotated[DurationOrNever, "How old a node may become, such as 720h, or Never."] = "720h"
    termination_grace_period: Annotated[
        Duration | None, "How long a node that goes may wait for its pods before they are deleted."
    ] = None


class Template(Wire, frozen=True):
    """How a node of the pool is made."""

    spec: TemplateSpec
    metadata: TemplateMetadata = TemplateMetadata()


class Budget(Wire, frozen=True):
    """How many nodes may be taken away at once, for which reasons, and when."""

    nodes: Annotated[
        str, Required(), Limits(pattern=r"^((100|[0-9]{1,2})%|[0-9]+)$"), "A number of nodes or a percentage."
    ] = "10%"
    reasons: Annotated[
        tuple[Annotated[str, Limits(enum=REASONS)], ...],
        SET,
        Limits(max_items=50),
        "For which reasons; all of them if left out.",
    ] = ()
    schedule: Annotated[
        str | None, Limits(pattern=_CRON), "When the budget begins to hold, as cron writes it, in UTC."
    ] = None
    duration: Annotated[
        str | None, Limits(pattern=r"^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$"), "How long it holds each time."
    ] = None


_DEFAULT_BUDGET: Final = Budget()


class Disruption(Wire, frozen=True):
    """When nodes may be taken away."""

    consolidate_after: Annotated[
        DurationOrNever, "How long after its last pod change a node may be consolidated, or Never."
    ] = "0s"
    consolidation_policy: Annotated[str, Limits(enum=POLICIES), "Which nodes consolidation looks at."] = (
        "WhenEmptyOrUnderutilized"
    )
    budgets: Annotated[
        tuple[Budget, ...],
        ATOMIC_LIST,
        Limits(max_items=50),
        Filled([{"nodes": _DEFAULT_BUDGET.nodes}]),
        Rule("self.all(x, has(x.schedule) == has(x.duration))", "budgets must have schedule and duration, or neither"),
        "The strictest budget that holds decides.",
    ] = (_DEFAULT_BUDGET,)


_ONLY_NODES: Final = (
    "!has(self.replicas) || (!has(self.limits) || size(self.limits) == 0 || "
    "(size(self.limits) == 1 && 'nodes' in self.limits))"
)
_SPEC_RULES: Final = (
    Rule(
        "has(self.replicas) == has(oldSelf.replicas)",
        "replicas can be neither added to nor removed from an existing pool; make another pool",
    ),
    Rule(_ONLY_NODES, "limits of a pool with replicas may name nodes only"),
    Rule("!has(self.replicas) || !has(self.weight)", "weight may not be set on a pool with replicas"),
)


class NodePoolSpec(Wire, frozen=True):
    """What a pool asks for."""

    template: Template
    disruption: Annotated[Disruption, Filled({"consolidateAfter": "0s"})] = Disruption()
    limits: Annotated[ResourceList, "What all nodes of the pool may have together."] = msgspec.field(
        default_factory=dict
    )
    weight: Annotated[int | None, Limits(format="int32", minimum=1, maximum=100), "Heavier pools are tried first."] = (
        None
    )
    replicas: Annotated[
        int | None, Limits(format="int64", minimum=0), "Keep exactly so many nodes, whatever pods ask for."
    ] = None


class NodePoolStatus(Wire, frozen=True):
    """What became of a pool."""

    resources: Annotated[ResourceList, "What its nodes have together."] = msgspec.field(default_factory=dict)
    nodes: Annotated[Int64, Filled(0), "How many nodes it has."] = 0
    node_class_observed_generation: Annotated[Int64 | None, "Generation of the node class that was looked at."] = None
    conditions: Annotated[tuple[Condition, ...], BY_TYPE, "What holds of it."] = ()


class NodePool(Resource, kw_only=True, frozen=True):
    """A NodePool says which nodes may be bought, how many, and when they may be taken away again."""

    api_version: str = NODE_POOLS.api_version
    kind: str = NODE_POOLS.name
    spec: Annotated[NodePoolSpec, *_SPEC_RULES]
    status: NodePoolStatus = NodePoolStatus()


DEFINITION: Final = Definition(
    kind=NODE_POOLS,
    struct=NodePool,
    scale=Scale(wanted=".spec.replicas", present=".status.nodes"),
    columns=(
        Column("NodeClass", ".spec.template.spec.nodeClassRef.name"),
        Column("Nodes", ".status.nodes"),
        READY,
        AGE,
        Column("Weight", ".spec.weight", "integer", 1),
        Column("CPU", ".status.resources.cpu", priority=1),
        Column("Memory", ".status.resources.memory", priority=1),
    ),
)
