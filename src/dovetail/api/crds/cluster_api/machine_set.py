"""MachineSet and MachineDeployment (cluster.x-k8s.io/v1beta2), for a cluster without Cluster API's own controllers."""

from __future__ import annotations

from typing import Annotated, Final

from dovetail.api.crds.cluster_api.contract import CATEGORY
from dovetail.api.crds.cluster_api.core_parts import (
    ORDERS,
    SELECTOR_RULE,
    ClusterName,
    Count,
    MachineTemplate,
    Replicas,
    Selector,
)
from dovetail.api.crds.cluster_api.machine import Conditions
from dovetail.api.crds.definition import AGE, Column, Definition, Scale
from dovetail.api.crds.metadata import Resource
from dovetail.api.crds.schema import Int64, IntOrString, Limits, Open, Rule, Wire
from dovetail.api.kinds import MACHINE_DEPLOYMENTS, MACHINE_SETS


class Deletion(Wire, frozen=True):
    """Who goes first."""

    order: Annotated[
        str | None, Limits(enum=ORDERS), "Which machine goes first when there are too many; Random if left out."
    ] = None


class Naming(Wire, frozen=True):
    """How machines are named."""

    template: Annotated[
        str | None,
        Limits(min_length=1, max_length=256),
        Rule("self.contains('.random')", "template must contain .random, or all machines were called alike"),
        "Name with {{ .machineSet.name }} and {{ .random }} in it.",
    ] = None


_SPEC_RULES: Final = (
    Rule("self.clusterName == self.template.spec.clusterName", "clusterName must be the same in the template"),
)


class MachineSetSpec(Wire, frozen=True):
    """How many machines of which kind there shall be."""

    cluster_name: ClusterName
    selector: Annotated[Selector, SELECTOR_RULE, "Which machines are its own."]
    template: MachineTemplate
    replicas: Annotated[Replicas, "How many there shall be; 1 if left out."] = None
    deletion: Deletion | None = None
    machine_naming: Naming | None = None


class MachineSetStatus(Wire, frozen=True):
    """How many there are."""

    replicas: Annotated[Count, "How many there are."] = None
    ready_replicas: Annotated[Count, "How many of them are ready."] = None
    available_replicas: Annotated[Count, "How many have been ready long enough."] = None
    up_to_date_replicas: Annotated[Count, "How many are what the template says."] = None
    selector: Annotated[str, "Its selector as text, for autoscalers."] = ""
    observed_generation: Annotated[Int64 | None, "Generation that was looked at."] = None
    conditions: Conditions = ()


class MachineSet(Resource, kw_only=True, frozen=True):
    """A MachineSet keeps so many machines of one kind."""

    api_version: str = MACHINE_SETS.api_version
    kind: str = MACHINE_SETS.name
    spec: Annotated[MachineSetSpec, *_SPEC_RULES]
    status: MachineSetStatus = MachineSetStatus()


Share = Annotated[int | str, IntOrString(), Limits(pattern=r"^[0-9]+%?$")]


class RollingUpdate(Wire, frozen=True):
    """How many machines may be too many or too few while others take their place."""

    max_surge: Annotated[Share | None, "Too many; 1 if left out."] = None
    max_unavailable: Annotated[Share | None, "Too few; 0 if left out."] = None


class Strategy(Wire, frozen=True):
    """How machines of an older kind are replaced."""

    type: Annotated[str, Limits(enum=("RollingUpdate", "OnDelete")), "By itself, or as they are deleted."]
    rolling_update: RollingUpdate | None = None


class Rollout(Wire, frozen=True):
    """How and when machines are replaced."""

    after: Annotated[str | None, Limits(format="date-time"), "Machines older than this are replaced."] = None
    strategy: Strategy | None = None


class Remediation(Wire, frozen=True):
    """How many unhealthy machines are replaced at once."""

    max_in_flight: Annotated[Share | None, "At most so many, or such a share."] = None


class MachineDeploymentSpec(Wire, frozen=True):
    """How many machines of which kind there shall be, and how they become another kind."""

    cluster_name: ClusterName
    selector: Annotated[Selector, SELECTOR_RULE, "Which machines are its own."]
    template: MachineTemplate
    replicas: Annotated[Replicas, "How many there shall be; 1 if left out."] = None
    rollout: Rollout | None = None
    deletion: Deletion | None = None
    remediation: Remediation | None = None
    machine_naming: Naming | None = None
    paused: Annotated[bool, "Whether it is to be left alone."] = False


class MachineDeploymentStatus(MachineSetStatus, frozen=True):
    """How many there are."""

    phase: Annotated[str, "How far it has come."] = ""
    rollout: Annotated[Open | None, "What becomes of the present change."] = None


class MachineDeployment(Resource, kw_only=True, frozen=True):
    """A MachineDeployment keeps so many machines, and changes them from one kind to the next."""

    api_version: str = MACHINE_DEPLOYMENTS.api_version
    kind: str = MACHINE_DEPLOYMENTS.name
    spec: Annotated[MachineDeploymentSpec, *_SPEC_RULES]
    status: MachineDeploymentStatus = MachineDeploymentStatus()


_SCALE: Final = Scale(wanted=".spec.replicas", present=".status.replicas", selector=".status.selector")
_COLUMNS: Final = (
    Column("Cluster", ".spec.clusterName"),
    Column("Desired", ".spec.replicas", "integer"),
    Column("Current", ".status.replicas", "integer"),
    Column("Ready", ".status.readyReplicas", "integer"),
    Column("Available", ".status.availableReplicas", "integer"),
    Column("Up-to-date", ".status.upToDateReplicas", "integer"),
    AGE,
    Column("Version", ".spec.template.spec.version"),
)
DEFINITIONS: Final = (
    Definition(
        kind=MACHINE_SETS,
        struct=MachineSet,
        categories=CATEGORY,
        short_names=("ms",),
        columns=_COLUMNS,
        scale=_SCALE,
    ),
    Definition(
        kind=MACHINE_DEPLOYMENTS,
        struct=MachineDeployment,
        categories=CATEGORY,
        short_names=("md",),
        columns=_COLUMNS,
        scale=_SCALE,
    ),
)
