"""Cluster, Machine, MachineSet and MachineHealthCheck as an API server or a file has them → core values.

The two versions differ in where things stand: durations became seconds, references lost their version, conditions
moved. Where both places could hold a value, the newer one is looked at first.
"""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from dovetail.api.affinities import read_selector
from dovetail.api.fields import Fields
from dovetail.core import timestamps
from dovetail.core.conditions import Condition, Conditions, Status
from dovetail.core.errors import BadInput
from dovetail.core.machines import names
from dovetail.core.machines.objects import (
    Address,
    Backoff,
    Cluster,
    Counts,
    EndTimes,
    Failure,
    Failures,
    Gate,
    HealthCheck,
    Machine,
    MachineSet,
    Meta,
    ObjectRef,
    Order,
    Owner,
    Phase,
    Sign,
    Tally,
    Timeouts,
)

_STATUSES: Final = {str(one): one for one in Status}
_ORDERS: Final = {str(one): one for one in Order}
_PHASES: Final = {str(one): one for one in Phase}
_RANGE: Final = re.compile(r"\[(\d{1,6})-(\d{1,6})\]", re.ASCII)
_BOUND: Final = re.compile(r"\d{1,6}%?", re.ASCII)
_MOST: Final = 2**31 - 1
_SLOW: Final = Backoff()


def meta(whole: Fields) -> Meta:
    about = whole.map("metadata")
    owners = tuple(
        Owner(
            one.text("apiVersion") or "",
            one.text("kind") or "",
            one.text("name") or "",
            one.text("uid") or "",
            one.flag("controller"),
        )
        for one in about.items("ownerReferences")
    )
    return Meta(
        name=about.required("name"),
        namespace=about.text("namespace") or "",
        uid=about.text("uid") or "",
        version=about.text("resourceVersion") or "",
        generation=about.whole("generation", 0, 2**53) or 0,
        created=time(about, "creationTimestamp") or 0.0,
        deleting=time(about, "deletionTimestamp"),
        labels=MappingProxyType(about.labels("labels")),
        annotations=MappingProxyType(about.labels("annotations")),
        finalizers=texts(about, "finalizers"),
        owners=owners,
    )


def texts(parent: Fields, name: str) -> tuple[str, ...]:
    value: Any = parent.wire.get(name) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        if value == ():
            return ()
        raise parent.bad(name, "expected a list of texts")
    return tuple(value)


def time(parent: Fields, name: str) -> float | None:
    written = parent.text(name)
    if not written:
        return None
    try:
        return timestamps.seconds(written)
    except BadInput as bad:
        raise parent.bad(name, str(bad)) from None


def conditions(status: Fields) -> Conditions:
    """Both versions' conditions; one whose status nobody knows is unknown."""
    return tuple(
        Condition(
            one.required("type"),
            _STATUSES.get(one.text("status") or "", Status.UNKNOWN),
            one.text("reason") or "",
            one.text("message") or "",
            time(one, "lastTransitionTime") or 0.0,
            one.whole("observedGeneration", 0, 2**53) or 0,
        )
        for one in status.items("conditions")
    )


def addresses(status: Fields) -> tuple[Address, ...]:
    return tuple(Address(one.text("type") or "", one.text("address") or "") for one in status.items("addresses"))


def reference(parent: Fields, name: str) -> ObjectRef | None:
    if not parent.has(name):
        return None
    ref = parent.map(name)
    group = ref.text("apiGroup") or (ref.text("apiVersion") or "").rpartition("/")[0]
    return ObjectRef(group, ref.required("kind"), ref.required("name"))


def seconds(parent: Fields, new: str, old: str, default: float) -> float:
    """Seconds in the newer version, a duration such as 10m in the older."""
    found = parent.whole(new, 0, _MOST)
    if found is not None:
        return float(found)
    written = parent.text(old)
    if not written:
        return default
    try:
        return timestamps.duration(written)
    except BadInput as bad:
        raise parent.bad(old, str(bad)) from None


# ------------------------------------------------------------------------------------------------ Cluster


def cluster(whole: Fields) -> Cluster:
    about, spec, status = meta(whole), whole.map("spec"), whole.map("status")
    begun = status.map("initialization")
    held = conditions(status)
    infrastructure = begun.flag("infrastructureProvisioned") or status.flag("infrastructureReady")
    control_plane = begun.flag("controlPlaneInitialized") or status.flag("controlPlaneReady")
    zones: Any = status.wire.get("failureDomains") or ()
    several = zones if isinstance(zones, list) else ()
    listed = zones if isinstance(zones, dict) else [one.get("name", "") for one in several if isinstance(one, dict)]
    return Cluster(
        meta=about,
        paused=spec.flag("paused"),
        infrastructure=_since(held, names.INFRASTRUCTURE_READY, about, infrastructure),
        control_plane=_since(held, names.CONTROL_PLANE_INITIALIZED, about, control_plane),
        zones=tuple(sorted(str(one) for one in listed if one)),
    )


def _since(held: Conditions, type_: str, about: Meta, told: bool) -> float | None:
    one = next((one for one in held if one.type == type_), None)
    if one is not None:
        return one.since if one.status is Status.TRUE else None
    return about.created if told else None


# ------------------------------------------------------------------------------------------------ Machine


def machine(whole: Fields) -> Machine:
    status = whole.map("status")
    one = _machine_spec(whole.map("spec"), meta(whole))
    begun, ends = status.map("initialization"), status.map("deletion")
    old = status.map("deprecated").map("v1beta1")
    failed = old if old.has("failureReason") else status
    reason = failed.text("failureReason")
    node = status.map("nodeRef").text("name") or ""
    return replace(
        one,
        node=node,
        phase=_PHASES.get(status.text("phase") or "", Phase.PENDING),
        addresses=addresses(status),
        stands_in=status.text("failureDomain") or "",
        provisioned=begun.flag("infrastructureProvisioned") or status.flag("infrastructureReady"),
        bootstrapped=begun.flag("bootstrapDataSecretCreated") or status.flag("bootstrapReady"),
        ends=EndTimes(
            time(ends, "nodeDrainStartTime"),
            time(ends, "waitForNodeVolumeDetachStartTime"),
            time(ends, "waitForPreDrainHookStartTime"),
            time(ends, "waitForPreTerminateHookStartTime"),
        ),
        failure=Failure(reason, failed.text("failureMessage") or "") if reason else None,
        conditions=conditions(status),
    )


def _machine_spec(spec: Fields, about: Meta) -> Machine:
    infrastructure = reference(spec, "infrastructureRef")
    if infrastructure is None:
        raise spec.bad("infrastructureRef", "is missing")
    bootstrap, end = spec.map("bootstrap"), spec.map("deletion")
    end = end if end.wire else spec
    return Machine(
        meta=about,
        cluster=spec.text("clusterName") or "",
        infrastructure=infrastructure,
        bootstrap=reference(bootstrap, "configRef"),
        secret=bootstrap.text("dataSecretName") or "",
        zone=spec.text("failureDomain") or "",
        min_ready=float(spec.whole("minReadySeconds", 0, _MOST) or 0),
        gates=tuple(
            Gate(one.required("conditionType"), one.text("polarity") == "Negative")
            for one in spec.items("readinessGates")
        ),
        timeouts=Timeouts(
            seconds(end, "nodeDrainTimeoutSeconds", "nodeDrainTimeout", 0.0),
            seconds(end, "nodeVolumeDetachTimeoutSeconds", "nodeVolumeDetachTimeout", 0.0),
            seconds(end, "nodeDeletionTimeoutSeconds", "nodeDeletionTimeout", 10.0),
        ),
        provider_id=spec.text("providerID") or "",
    )


# ------------------------------------------------------------------------------------------------ MachineSet


def machine_set(whole: Fields) -> MachineSet:
    spec, status = whole.map("spec"), whole.map("status")
    template = spec.map("template")
    about = template.map("metadata")
    like = Meta(
        name="",
        labels=MappingProxyType(about.labels("labels")),
        annotations=MappingProxyType(about.labels("annotations")),
    )
    order = spec.map("deletion").text("order") or spec.text("deletePolicy") or ""
    return MachineSet(
        meta=meta(whole),
        cluster=spec.text("clusterName") or "",
        selector=read_selector(spec, "selector"),
        replicas=spec.whole("replicas", 0, _MOST),
        order=_ORDERS.get(order, Order.RANDOM),
        naming=spec.map("machineNaming").text("template") or "",
        template=_machine_spec(template.map("spec"), like),
        counts=Counts(
            replicas=_count(status, "replicas"),
            ready=_count(status, "readyReplicas"),
            available=_count(status, "availableReplicas"),
            up_to_date=_count(status, "upToDateReplicas"),
        ),
        conditions=conditions(status),
    )


# ------------------------------------------------------------------------------------------------ MachineHealthCheck


def health_check(whole: Fields) -> HealthCheck:
    spec, status = whole.map("spec"), whole.map("status")
    checks, remedy = spec.map("checks"), spec.map("remediation")
    trigger, slow = remedy.map("triggerIf"), remedy.map("backoff")
    begun = checks if checks.wire else spec
    row = status.map("backoff")
    return HealthCheck(
        meta=meta(whole),
        cluster=spec.text("clusterName") or "",
        selector=read_selector(spec, "selector"),
        startup=seconds(begun, "nodeStartupTimeoutSeconds", "nodeStartupTimeout", 600.0),
        node_signs=_signs(checks, "unhealthyNodeConditions") or _signs(spec, "unhealthyConditions"),
        machine_signs=_signs(checks, "unhealthyMachineConditions") or _signs(spec, "unhealthyMachineConditions"),
        most=_bound(trigger, "unhealthyLessThanOrEqualTo") or _bound(spec, "maxUnhealthy") or "100%",
        span=_span(trigger, "unhealthyInRange") or _span(spec, "unhealthyRange"),
        template=reference(remedy, "templateRef") or reference(spec, "remediationTemplate"),
        backoff=Backoff(
            float(slow.whole("baseSeconds", 1, _MOST) or _SLOW.base),
            float(slow.whole("capSeconds", 1, _MOST) or _SLOW.cap),
            float(_given(slow.whole("minHealthySeconds", 0, _MOST), _SLOW.min_healthy)),
        ),
        failures=Failures(row.whole("failures", 0, _MOST) or 0, time(row, "last") or 0.0),
        tally=_tally(status),
        conditions=conditions(status),
    )


def _given(value: float | None, default: float) -> float:
    return default if value is None else value


def _tally(status: Fields) -> Tally:
    return Tally(
        expected=_count(status, "expectedMachines"),
        healthy=_count(status, "currentHealthy"),
        allowed=_count(status, "remediationsAllowed"),
        targets=texts(status, "targets"),
    )


def _count(status: Fields, name: str) -> int:
    return status.whole(name, 0, _MOST) or 0


def _signs(parent: Fields, name: str) -> tuple[Sign, ...]:
    return tuple(
        Sign(one.required("type"), one.text("status") or "Unknown", seconds(one, "timeoutSeconds", "timeout", 0.0))
        for one in parent.items(name)
    )


def _bound(parent: Fields, name: str) -> int | str | None:
    """A count or a share; as text also where it is a number, since 0 is a bound too."""
    value = parent.wire.get(name)
    if value is None:
        return None
    written = str(value)
    if isinstance(value, bool) or _BOUND.fullmatch(written) is None:
        raise parent.bad(name, "expected a count or a share, such as 3 or 40%")
    return written


def _span(parent: Fields, name: str) -> tuple[int, int] | None:
    written = parent.text(name)
    if not written:
        return None
    found = _RANGE.fullmatch(written)
    if found is None:
        raise parent.bad(name, "expected a range, such as [3-5]")
    return int(found[1]), int(found[2])
