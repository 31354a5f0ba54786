"""InstanceType (karpenter.sh/v1alpha1): what a user knows about a type better than its cloud (S2.1–S2.5).

The object is named after the type. Object names are lower case and know no underscore, so a type the cloud spells
otherwise (`Standard_D4s_v5`) is named in `spec.instanceType` instead.

The rules refuse what can only be a mistake: a negative amount, an offering with a price that is no number or a capacity
type nobody sells, a name no node label could have.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from dovetail.api.crds.definition import AGE, READY, Column, Definition
from dovetail.api.crds.metadata import Resource
from dovetail.api.crds.parts import LABEL_VALUE, VALUE_LENGTH, Condition, ResourceList
from dovetail.api.crds.schema import ATOMIC_LIST, ATOMIC_MAP, BY_TYPE, Limits, Rule, Wire
from dovetail.api.kinds import INSTANCE_TYPES

MAX_RESOURCES: Final = 64
MAX_OFFERINGS: Final = 256
MAX_LABELS: Final = 16


def _no_negative(field: str) -> Rule:
    return Rule(
        "self.all(k, type(self[k]) == int ? self[k] >= 0 : !self[k].startsWith('-'))", f"{field} may not be negative"
    )


def _named(field: str) -> Rule:
    return Rule("self.all(k, k != '')", f"{field} may not have an empty name")


_RESOURCES: Final = Limits(max_properties=MAX_RESOURCES)
_OFFERING_RULES: Final = (
    Rule(
        "self.all(k, k in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool', 'karpenter.sh/price'] || "
        "!(k.startsWith('karpenter.sh/') || k.contains('.karpenter.sh/')))",
        "offerings may use karpenter.sh/capacity-type, karpenter.sh/nodepool and karpenter.sh/price "
        "of the reserved domain karpenter.sh only",
    ),
    Rule("!('kubernetes.io/hostname' in self)", "offerings may not name kubernetes.io/hostname, each node's own"),
    Rule("self.all(k, k != '')", "offerings may not have an empty label key"),
    Rule(
        f"self.all(k, k == 'karpenter.sh/price' || self[k].matches('{LABEL_VALUE}'))",
        "offerings must have a label value for each key: letters, digits, '-', '_' or '.'",
    ),
    Rule(
        "!('karpenter.sh/capacity-type' in self) || "
        "self['karpenter.sh/capacity-type'] in ['reserved', 'spot', 'on-demand']",
        "offerings' karpenter.sh/capacity-type must be reserved, spot or on-demand",
    ),
    Rule(
        "!('karpenter.sh/price' in self) || "
        "self['karpenter.sh/price'].matches('^([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$')",
        "offerings' karpenter.sh/price must be a number of dollars an hour, 0 or more",
    ),
)
Offering = Annotated[
    dict[str, Annotated[str, Limits(max_length=VALUE_LENGTH)]],
    ATOMIC_MAP,
    Limits(max_properties=MAX_LABELS),
    *_OFFERING_RULES,
]


class InstanceTypeSpec(Wire, frozen=True):
    """What is different from what the cloud says."""

    instance_type: Annotated[
        str | None,
        Limits(min_length=1, max_length=VALUE_LENGTH, pattern=LABEL_VALUE),
        "Name of the type as the cloud spells it; metadata.name if left out.",
    ] = None
    resources: Annotated[
        ResourceList,
        _RESOURCES,
        _no_negative("resources"),
        _named("resources"),
        "Merged over the known capacity: devices, pods, cpu, memory, ephemeral-storage.",
    ] = msgspec.field(default_factory=dict)
    overhead: Annotated[
        ResourceList | None,
        _RESOURCES,
        _no_negative("overhead"),
        _named("overhead"),
        "Replaces what the machine itself is taken to need.",
    ] = None
    offerings: Annotated[
        tuple[Offering, ...] | None,
        ATOMIC_LIST,
        Limits(max_items=MAX_OFFERINGS),
        "Replaces everything the cloud offers of this type. Each is a map of labels, one value each; "
        "a label left out may have any value. karpenter.sh/price is the price an hour.",
    ] = None


class InstanceTypeStatus(Wire, frozen=True):
    """What became of the settings."""

    conditions: Annotated[tuple[Condition, ...], BY_TYPE, "What holds of it."] = ()


class InstanceType(Resource, kw_only=True, frozen=True):
    """An InstanceType says what a user knows about a type of machine better than its cloud."""

    api_version: str = INSTANCE_TYPES.api_version
    kind: str = INSTANCE_TYPES.name
    spec: InstanceTypeSpec
    status: InstanceTypeStatus = InstanceTypeStatus()


DEFINITION: Final = Definition(
    kind=INSTANCE_TYPES,
    struct=InstanceType,
    short_names=("it",),
    rules=(
        Rule(
            f"has(self.spec.instanceType) || self.metadata.name.size() <= {VALUE_LENGTH}",
            f"metadata.name may not be longer than {VALUE_LENGTH} characters, as it is the value of a node label",
        ),
    ),
    columns=(
        READY,
        AGE,
        Column("Type", ".spec.instanceType", priority=1),
        Column("CPU", ".spec.resources.cpu", priority=1),
        Column("Memory", ".spec.resources.memory", priority=1),
        Column("Pods", ".spec.resources.pods", priority=1),
    ),
)
