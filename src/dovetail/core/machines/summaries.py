"""What a Machine says of itself: its conditions and its phase, worked out in one go at the end of every look."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Conditions, Status
from dovetail.core.machines import names
from dovetail.core.machines.infra_objects import InfraMachine
from dovetail.core.machines.objects import Machine, Phase, put
from dovetail.core.nodeclaims import NodeObject

#: What must not hold of a healthy node; Ready must.
_PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")
#: Of bootstrap data that only Cluster API's own controllers make.
INSTEAD: Final = (
    "put the data into a Secret and name it in bootstrap.dataSecretName, or install Cluster API's own controllers and "
    "run with --core upstream"
)


def phase(machine: Machine) -> Phase:
    """Later wins, and a failure before all but the end (R38, R39)."""
    if machine.is_deleting:
        return Phase.DELETING
    if machine.failure is not None:
        return Phase.FAILED
    if machine.node and machine.provisioned:
        return Phase.RUNNING
    if machine.provider_id:
        return Phase.PROVISIONED
    return Phase.PROVISIONING if machine.bootstrapped else Phase.PENDING


def bootstrap(machine: Machine, *, read: bool) -> Condition:
    """`read` is whether its bootstrap config, if it names one, is looked at here."""
    if machine.bootstrapped:
        return Condition(names.BOOTSTRAP_READY, Status.TRUE, "Ready")
    if machine.bootstrap is None or read:
        return Condition(names.BOOTSTRAP_READY, Status.FALSE, "NotReady", "bootstrap data has not been made yet")
    ref = machine.bootstrap
    said = f"spec.bootstrap.configRef: nobody here makes bootstrap data from {ref.kind} {ref.name}; {INSTEAD}"
    return Condition(names.BOOTSTRAP_READY, Status.FALSE, "BootstrapConfigNotRead", said)


def infrastructure(machine: Machine, infra: InfraMachine | None) -> Condition:
    """What the infrastructure says of itself, under our name for it; a failure under a reason of its own (R40)."""
    if infra is None:
        reason, said = ("Deleted", "is gone") if machine.provisioned else ("DoesNotExist", "does not exist")
        return Condition(names.INFRASTRUCTURE_READY, Status.FALSE, reason, f"{_shown(machine)} {said}")
    if infra.is_anothers(machine):
        owner = infra.meta.controller.name if infra.meta.controller is not None else ""
        said = f"{_shown(machine)} belongs to Machine {owner}; one machine is one instance"
        return Condition(names.INFRASTRUCTURE_READY, Status.FALSE, "OwnedByAnother", said)
    if infra.failure is not None:
        message = f"{_shown(machine)}: {infra.failure.message}"
        return Condition(names.INFRASTRUCTURE_READY, Status.FALSE, f"{infra.failure.reason}Failed", message)
    told = conditions.found(infra.conditions, names.READY)
    if told is not None:
        return Condition(names.INFRASTRUCTURE_READY, told.status, told.reason or "NotReportedReady", told.message)
    status, reason = (Status.TRUE, "Ready") if infra.provisioned else (Status.FALSE, "NotReady")
    return Condition(names.INFRASTRUCTURE_READY, status, reason)


def _shown(machine: Machine) -> str:
    return f"{machine.infrastructure.kind} {machine.infrastructure.name}"


def node(machine: Machine, found: NodeObject | None, bound: NodeObject | None) -> tuple[Condition, Condition]:
    """NodeReady and NodeHealthy. `bound` is the Node the machine had become, if it is still there."""
    current = found or bound
    if current is None:
        reason = "NodeDeleted" if machine.node else "NodeDoesNotExist"
        status = Status.FALSE if machine.node else Status.UNKNOWN
        said = f"Node {machine.node} is gone" if machine.node else "waiting for a Node with the machine's provider id"
        return (
            Condition(names.NODE_READY, status, reason, said),
            Condition(names.NODE_HEALTHY, status, reason, said),
        )
    held = current.conditions
    ready = conditions.found(held, "Ready")
    status = ready.status if ready is not None else Status.UNKNOWN
    reasons = {Status.TRUE: "NodeReady", Status.FALSE: "NodeNotReady", Status.UNKNOWN: "NodeReadyUnknown"}
    told = ready.message if ready is not None and status is not Status.TRUE else ""
    return Condition(names.NODE_READY, status, reasons[status], told), _healthy(held)


def _healthy(held: Conditions) -> Condition:
    """Ready, and under no pressure; one that is not told of makes it unknown."""
    bad, unknown = [], []
    for type_ in ("Ready", *_PRESSURES):
        good = Status.TRUE if type_ == "Ready" else Status.FALSE
        one = conditions.found(held, type_)
        if one is None or one.status is Status.UNKNOWN:
            unknown.append(f"{type_}: Unknown")
        elif one.status is not good:
            bad.append(f"{type_}: {one.status}")
    if bad:
        return Condition(names.NODE_HEALTHY, Status.FALSE, "NodeNotHealthy", ", ".join(bad + unknown))
    if unknown:
        return Condition(names.NODE_HEALTHY, Status.UNKNOWN, "NodeHealthyUnknown", ", ".join(unknown))
    return Condition(names.NODE_HEALTHY, Status.TRUE, "NodeHealthy")


def summed(machine: Machine, now: float) -> Machine:
    """Ready and Available from the rest, and the phase."""
    generation = machine.meta.generation
    held = put(machine.conditions, _ready(machine), now, generation)
    held = put(held, _available(machine, held, now), now, generation)
    return replace(machine, conditions=held, phase=phase(machine))


def _ready(machine: Machine) -> Condition:
    if machine.is_deleting:
        return Condition(names.READY, Status.FALSE, "NotReady", "Deleting: the machine is on its way out")
    bad, unknown = [], []
    always = (names.BOOTSTRAP_READY, names.INFRASTRUCTURE_READY, names.NODE_HEALTHY)
    for type_, negative in (
        *((one, False) for one in always),
        *((one.condition, one.negative) for one in machine.gates),
    ):
        one = conditions.found(machine.conditions, type_)
        wrong = Status.TRUE if negative else Status.FALSE
        if one is None or one.status is Status.UNKNOWN:
            unknown.append(f"{type_}: {one.message if one else 'not told yet'}")
        elif one.status is wrong:
            bad.append(f"{type_}: {one.message or one.reason}")
    if machine.is_false(names.HEALTH_CHECK_SUCCEEDED):
        bad.append(f"{names.HEALTH_CHECK_SUCCEEDED}: a health check found it unhealthy")
    if bad:
        return Condition(names.READY, Status.FALSE, "NotReady", "; ".join(bad + unknown))
    if unknown:
        return Condition(names.READY, Status.UNKNOWN, "ReadyUnknown", "; ".join(unknown))
    return Condition(names.READY, Status.TRUE, "Ready")


def _available(machine: Machine, held: Conditions, now: float) -> Condition:
    """Ready for long enough."""
    ready = conditions.found(held, names.READY)
    if ready is None or ready.status is not Status.TRUE:
        return Condition(names.AVAILABLE, Status.FALSE, "NotReady")
    if now - ready.since < machine.min_ready:
        return Condition(names.AVAILABLE, Status.FALSE, "WaitingForMinReadySeconds")
    return Condition(names.AVAILABLE, Status.TRUE, "Available")


def again(machine: Machine, now: float) -> float | None:
    """When time alone makes it available; None where something has to happen first."""
    ready = conditions.found(machine.conditions, names.READY)
    if ready is None or ready.status is not Status.TRUE or machine.is_true(names.AVAILABLE):
        return None
    return max(machine.min_ready - (now - ready.since), 0.0)
