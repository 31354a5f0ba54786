"""What changed of a Machine, an infrastructure machine, a set or a check → merge patches: the object, then its status.

Lists are replaced whole by a merge patch, so a patch that has one insists on the version it was made from: whoever
wrote in between wins, and the object is judged again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dovetail.api.cluster_api.infra_reading import STATES
from dovetail.api.kinds import Kind
from dovetail.api.live.meta import changes, condition_body
from dovetail.core import timestamps
from dovetail.core.machines.infra_objects import InfraMachine
from dovetail.core.machines.objects import Address, HealthCheck, Machine, MachineSet, Meta, Owner

Body = dict[str, Any]
_ENDS: Final = {
    "drain": "nodeDrainStartTime",
    "detach": "waitForNodeVolumeDetachStartTime",
    "pre_drain": "waitForPreDrainHookStartTime",
    "pre_terminate": "waitForPreTerminateHookStartTime",
}


@dataclass(frozen=True, slots=True)
class Patches:
    """Either is empty where there is nothing to write."""

    whole: Body
    status: Body


def owner_body(owner: Owner) -> Body:
    body: Body = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
    return body | ({"controller": True, "blockOwnerDeletion": True} if owner.controller else {})


def _meta(before: Meta, after: Meta) -> Body:
    body: Body = {}
    for name, old, new in (
        ("labels", before.labels, after.labels),
        ("annotations", before.annotations, after.annotations),
    ):
        if differing := changes(old, new):
            body[name] = differing
    if before.finalizers != after.finalizers:
        body["finalizers"] = list(after.finalizers)
    if before.owners != after.owners:
        body["ownerReferences"] = [owner_body(one) for one in after.owners]
    return body


def _whole(before: Meta, after: Meta, spec: Body) -> Body:
    body: Body = {"spec": spec} if spec else {}
    if about := _meta(before, after):
        body["metadata"] = about
    return body


def _addresses(held: tuple[Address, ...]) -> list[Body]:
    return [{"type": one.type, "address": one.address} for one in held]


def _time(moment: float | None) -> str | None:
    return None if moment is None else timestamps.text(moment)


def machine(before: Machine, after: Machine, now: float) -> Patches:
    spec: Body = {}
    if before.provider_id != after.provider_id:
        spec["providerID"] = after.provider_id
    if before.secret != after.secret:
        spec["bootstrap"] = {"dataSecretName": after.secret}
    if before.timeouts != after.timeouts:
        ends = after.timeouts
        spec["deletion"] = {
            "nodeDrainTimeoutSeconds": int(ends.drain),
            "nodeVolumeDetachTimeoutSeconds": int(ends.detach),
            "nodeDeletionTimeoutSeconds": int(ends.node),
        }
    if before.min_ready != after.min_ready:
        spec["minReadySeconds"] = int(after.min_ready)
    if before.gates != after.gates:
        spec["readinessGates"] = [
            {"conditionType": one.condition, "polarity": "Negative" if one.negative else "Positive"}
            for one in after.gates
        ]
    return Patches(_whole(before.meta, after.meta, spec), _machine_status(before, after, now))


def _machine_status(before: Machine, after: Machine, now: float) -> Body:
    status: Body = {}
    if before.phase is not after.phase:
        status |= {"phase": str(after.phase), "lastUpdated": timestamps.text(now)}
    if before.node != after.node:
        status["nodeRef"] = {"name": after.node}
    if before.addresses != after.addresses:
        status["addresses"] = _addresses(after.addresses)
    if before.stands_in != after.stands_in:
        status["failureDomain"] = after.stands_in
    begun: Body = {}
    if before.provisioned != after.provisioned:
        begun["infrastructureProvisioned"] = after.provisioned
    if before.bootstrapped != after.bootstrapped:
        begun["bootstrapDataSecretCreated"] = after.bootstrapped
    if begun:
        status["initialization"] = begun
    ends = {
        wire: _time(getattr(after.ends, name))
        for name, wire in _ENDS.items()
        if getattr(before.ends, name) != getattr(after.ends, name)
    }
    if ends:
        status["deletion"] = ends
    if before.failure != after.failure and after.failure is not None:
        told = {"failureReason": after.failure.reason, "failureMessage": after.failure.message}
        status["deprecated"] = {"v1beta1": told}
    if before.conditions != after.conditions:
        status["conditions"] = [condition_body(one) for one in after.conditions]
        status["observedGeneration"] = after.meta.generation
    return status


def infra(kind: Kind, before: InfraMachine, after: InfraMachine) -> Patches:
    spec: Body = {"providerID": after.provider_id} if before.provider_id != after.provider_id else {}
    status: Body = {}
    if before.ready != after.ready:
        status["ready"] = after.ready
    if before.provisioned != after.provisioned:
        status["initialization"] = {"provisioned": after.provisioned}
    if before.interruptible != after.interruptible:
        status["interruptible"] = bool(after.interruptible)
    if before.addresses != after.addresses:
        status["addresses"] = _addresses(after.addresses)
    if before.zone != after.zone:
        status["failureDomain"] = after.zone
    if before.state != after.state:
        status[STATES[kind]] = after.state
    if before.failure != after.failure and after.failure is not None:
        status |= {"failureReason": after.failure.reason, "failureMessage": after.failure.message}
    if before.conditions != after.conditions:
        status["conditions"] = [condition_body(one) for one in after.conditions]
    return Patches(_whole(before.meta, after.meta, spec), status)


def machine_set(before: MachineSet, after: MachineSet, selector: str = "") -> Patches:
    status: Body = {}
    if before.counts != after.counts:
        held = after.counts
        status |= {
            "replicas": held.replicas,
            "readyReplicas": held.ready,
            "availableReplicas": held.available,
            "upToDateReplicas": held.up_to_date,
        }
    if selector and status:
        status["selector"] = selector
    if before.conditions != after.conditions:
        status["conditions"] = [condition_body(one) for one in after.conditions]
        status["observedGeneration"] = after.meta.generation
    return Patches(_whole(before.meta, after.meta, {}), status)


def health_check(before: HealthCheck, after: HealthCheck) -> Patches:
    status: Body = {}
    if before.tally != after.tally:
        held = after.tally
        status |= {
            "expectedMachines": held.expected,
            "currentHealthy": held.healthy,
            "remediationsAllowed": held.allowed,
            "targets": list(held.targets),
        }
    if before.failures != after.failures:
        row = after.failures
        status["backoff"] = {"failures": row.count, "last": _time(row.last)} if row.count else None
    if before.conditions != after.conditions:
        status["conditions"] = [condition_body(one) for one in after.conditions]
        status["observedGeneration"] = after.meta.generation
    return Patches(_whole(before.meta, after.meta, {}), status)
