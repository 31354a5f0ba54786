"""CapacityBuffer (autoscaling.x-k8s.io/v1beta1): room kept warm for pods that are still to come."""

from __future__ import annotations

from typing import Annotated, Final

from dovetail.api.crds.definition import AGE, Column, Definition
from dovetail.api.crds.metadata import Resource
from dovetail.api.crds.parts import Condition, ResourceList
from dovetail.api.crds.schema import BY_TYPE, Int32, Int64, Limits, Rule, Wire
from dovetail.api.kinds import CAPACITY_BUFFERS

ACTIVE_CAPACITY: Final = "buffer.x-k8s.io/active-capacity"
_SPEC_RULES: Final = (
    Rule(
        "!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",
        "podTemplateRef needs replicas or limits beside it",
    ),
    Rule("!(has(self.podTemplateRef) && has(self.scalableRef))", "podTemplateRef and scalableRef exclude each other"),
)
Count = Annotated[int | None, Limits(format="int32", minimum=0)]


class PodTemplateRef(Wire, frozen=True):
    """A PodTemplate in the buffer's namespace."""

    name: Annotated[str, Limits(min_length=1), "Name of the PodTemplate."]


class ScalableRef(Wire, frozen=True):
    """A workload in the buffer's namespace whose pods the buffer is made of."""

    kind: Annotated[str, Limits(min_length=1), "Kind of the workload."]
    name: Annotated[str, Limits(min_length=1), "Name of the workload."]
    api_group: Annotated[str, "API group of the workload; apps if left out."] = ""


class CapacityBufferSpec(Wire, frozen=True):
    """How much room is kept, and for what pods."""

    provisioning_strategy: Annotated[str, "How the room is kept."] = ACTIVE_CAPACITY
    pod_template_ref: PodTemplateRef | None = None
    scalable_ref: ScalableRef | None = None
    replicas: Annotated[Count, "Room for so many pods."] = None
    percentage: Annotated[Count, "Room for so many percent of the workload's pods."] = None
    limits: Annotated[ResourceList | None, "What the room may take together."] = None


class CapacityBufferStatus(Wire, frozen=True):
    """What room is kept."""

    pod_template_ref: PodTemplateRef | None = None
    pod_template_generation: Annotated[Int64 | None, "Generation of the template that was looked at."] = None
    replicas: Annotated[Int32 | None, "How many pods there is room for."] = None
    provisioning_strategy: Annotated[str, "How the room is kept."] = ""
    conditions: Annotated[tuple[Condition, ...], BY_TYPE, "What holds of it."] = ()


class CapacityBuffer(Resource, kw_only=True, frozen=True):
    """A CapacityBuffer keeps room warm for pods that are still to come."""

    api_version: str = CAPACITY_BUFFERS.api_version
    kind: str = CAPACITY_BUFFERS.name
    spec: Annotated[CapacityBufferSpec, *_SPEC_RULES]
    status: CapacityBufferStatus = CapacityBufferStatus()


DEFINITION: Final = Definition(
    kind=CAPACITY_BUFFERS,
    struct=CapacityBuffer,
    categories=("autoscaling",),
    short_names=("cb",),
    columns=(
        Column("Strategy", ".spec.provisioningStrategy"),
        Column("PodTemplate", ".status.podTemplateRef.name"),
        Column("Replicas", ".status.replicas", "integer"),
        Column("ConditionsType", ".status.conditions[*].type"),
        Column("ConditionsStatus", ".status.conditions[*].status"),
        Column("ConditionsReason", ".status.conditions[*].reason"),
        AGE,
    ),
)
