"""MachineHealthCheck (cluster.x-k8s.io/v1beta2), with the back-off that a check of a barren market needs.

Machines that fail before they were ever nodes are replaced more and more slowly. How often that happened stands in the
check's status, so that a new process does not begin from nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from dovetail.api.crds.cluster_api.contract import CATEGORY
from dovetail.api.crds.cluster_api.core_parts import SELECTOR_RULE, ClusterName, ContractRef, Count, Seconds, Selector
from dovetail.api.crds.cluster_api.machine import Conditions
from dovetail.api.crds.definition import AGE, Column, Definition
from dovetail.api.crds.metadata import Resource
from dovetail.api.crds.schema import Int64, IntOrString, Limits, Rule, Wire
from dovetail.api.kinds import HEALTH_CHECKS

#: What the check and the machine's owner write themselves; a check that looked at them would look at itself.
OWN_CONDITIONS: Final = ("Ready", "Available", "HealthCheckSucceeded", "OwnerRemediated", "ExternallyRemediated")
_STATUSES: Final = ("True", "False", "Unknown")
_OWN: Final = "[" + ", ".join(f"'{one}'" for one in OWN_CONDITIONS) + "]"


class UnhealthyCondition(Wire, frozen=True):
    """A condition that, held this long, means a machine must go."""

    type: Annotated[str, Limits(min_length=1, max_length=316), "Type of the condition."]
    status: Annotated[str, Limits(enum=_STATUSES), "Its status."]
    timeout_seconds: Annotated[int, Limits(format="int32", minimum=0), "How long it must have held."]


class UnhealthyMachineCondition(Wire, frozen=True):
    """A condition of the Machine that, held this long, means it must go."""

    type: Annotated[
        str,
        Limits(min_length=1, max_length=316),
        Rule(f"!(self in {_OWN})", "type may not be a condition that health checks themselves write"),
        "Type of the condition.",
    ]
    status: Annotated[str, Limits(enum=_STATUSES), "Its status."]
    timeout_seconds: Annotated[int, Limits(format="int32", minimum=0), "How long it must have held."]


class Checks(Wire, frozen=True):
    """What makes a machine unhealthy."""

    node_startup_timeout_seconds: Annotated[
        Seconds,
        Rule("self == 0 || self >= 30", "nodeStartupTimeoutSeconds must be 30 or more, or 0 for never"),
        "How long a machine may take to become a node; 600 if left out, 0 for ever.",
    ] = None
    unhealthy_node_conditions: Annotated[
        tuple[UnhealthyCondition, ...], Limits(max_items=100), "Conditions of the Node, any of which will do."
    ] = ()
    unhealthy_machine_conditions: Annotated[
        tuple[UnhealthyMachineCondition, ...], Limits(max_items=100), "Conditions of the Machine, any of which will do."
    ] = ()


Bound = Annotated[int | str, IntOrString(), Limits(pattern=r"^((100|[0-9]{1,2})%|[0-9]+)$")]


class TriggerIf(Wire, frozen=True):
    """When machines may be replaced."""

    unhealthy_less_than_or_equal_to: Annotated[
        Bound | None, "While so many, or such a share, are unhealthy; 100% if left out."
    ] = None
    unhealthy_in_range: Annotated[
        str | None,
        Limits(pattern=r"^\[[0-9]+-[0-9]+\]$", max_length=32),
        "While so many are unhealthy, such as [3-5]; goes before the other.",
    ] = None


class Backoff(Wire, frozen=True):
    """How much more slowly failed machines are replaced each time."""

    base_seconds: Annotated[int | None, Limits(format="int32", minimum=1), "First delay; 30 if left out."] = None
    cap_seconds: Annotated[int | None, Limits(format="int32", minimum=1), "Longest delay; 1800 if left out."] = None
    min_healthy_seconds: Annotated[
        int | None, Limits(format="int32", minimum=0), "How long a machine must be well to end it; 3600 if left out."
    ] = None


class CheckRemediation(Wire, frozen=True):
    """What is done about unhealthy machines."""

    trigger_if: TriggerIf | None = None
    template_ref: Annotated[ContractRef | None, "Somebody else replaces them, with objects made from this."] = None
    backoff: Backoff | None = None


class HealthCheckSpec(Wire, frozen=True):
    """Which machines are looked after, and how."""

    cluster_name: ClusterName
    selector: Annotated[Selector, SELECTOR_RULE, "Which machines are looked after."]
    checks: Checks | None = None
    remediation: CheckRemediation | None = None


class BackoffStatus(Wire, frozen=True):
    """How often failed machines were replaced in a row."""

    failures: Annotated[Count, "How often."] = None
    last: Annotated[datetime | None, "When the last of them was."] = None


class HealthCheckStatus(Wire, frozen=True):
    """How the machines are."""

    expected_machines: Annotated[Count, "How many are looked after."] = None
    current_healthy: Annotated[Count, "How many of them are well."] = None
    remediations_allowed: Annotated[Count, "How many more may become unhealthy."] = None
    targets: Annotated[tuple[str, ...], "Names of those looked after."] = ()
    observed_generation: Annotated[Int64 | None, "Generation that was looked at."] = None
    backoff: BackoffStatus | None = None
    conditions: Conditions = ()


class HealthCheck(Resource, kw_only=True, frozen=True):
    """A MachineHealthCheck has machines replaced that do not become nodes, or whose nodes are not well."""

    api_version: str = HEALTH_CHECKS.api_version
    kind: str = HEALTH_CHECKS.name
    spec: HealthCheckSpec
    status: HealthCheckStatus = HealthCheckStatus()


DEFINITIONS: Final = (
    Definition(
        kind=HEALTH_CHECKS,
        struct=HealthCheck,
        categories=CATEGORY,
        short_names=("mhc", "mhcs"),
        columns=(
            Column("Cluster", ".spec.clusterName"),
            Column("Expected", ".status.expectedMachines", "integer"),
            Column("Healthy", ".status.currentHealthy", "integer"),
            Column("Allowed", ".status.remediationsAllowed", "integer"),
            AGE,
        ),
    ),
)
