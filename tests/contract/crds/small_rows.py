"""NodeClaim, NodeOverlay, KWOKNodeClass and CapacityBuffer, row by row (contract §§2, 3, 4, 6)."""

from __future__ import annotations

from typing import Final

from tests.contract.crds.pool_rows import CLASS
from tests.contract.crds.rows import GONE, Table
from tests.contract.crds.shared_rows import (
    AWS_KEYS,
    AWS_PLACES,
    LEAST,
    MOST,
    PATTERN,
    REQUIRED,
    RESERVED,
    TYPE,
    conditions,
    domains,
    durations,
    node_class_refs,
    quantities,
    requirement,
    requirements,
    taints,
)

from dovetail.api.kinds import CAPACITY_BUFFERS, KWOK_NODE_CLASSES, NODE_CLAIMS, NODE_OVERLAYS

REQUIREMENTS: Final = "spec.requirements"
CLAIMS: Final = Table(NODE_CLAIMS, {"nodeClassRef": CLASS, "requirements": []})
OVERLAYS: Final = Table(NODE_OVERLAYS, {"requirements": []})
KWOK_CLASSES: Final = Table(KWOK_NODE_CLASSES, {})
BUFFERS: Final = Table(CAPACITY_BUFFERS, {})


def _claims() -> None:
    CLAIMS.accepts("what is left out is filled in", {}, {"spec.expireAfter": "720h", "spec.resources": GONE})
    CLAIMS.refuses("no spec", {"spec": GONE}, "spec", REQUIRED)
    node_class_refs(CLAIMS, "spec.nodeClassRef")
    requirements(CLAIMS, REQUIREMENTS, min_values=True)
    domains(CLAIMS, REQUIREMENTS)
    CLAIMS.accepts("the pool may be asked for", {REQUIREMENTS: [requirement("karpenter.sh/nodepool")]})
    quantities(CLAIMS, "spec.resources.requests")
    taints(CLAIMS, "spec.taints")
    taints(CLAIMS, "spec.startupTaints")
    durations(CLAIMS, "spec.expireAfter", never=True)
    durations(CLAIMS, "spec.terminationGracePeriod", never=False)
    changes = {"expireAfter": "1h", "nodeClassRef.name": "b", "requirements": [requirement()]}
    for name, value in changes.items():
        CLAIMS.refuses_change(f"C1: {name} changed", {}, {f"spec.{name}": value}, "spec", "spec cannot be changed")
    CLAIMS.accepts_change("C1: labels may change", {}, {"metadata.labels": {"a": "b"}})
    conditions(CLAIMS, loose=True)
    status = {"imageID": "i", "nodeName": "n", "providerID": "p", "lastPodEventTime": "2026-01-01T00:00:00Z"}
    CLAIMS.accepts_status("all of a status", status | {"capacity": {"cpu": 1}, "allocatable": {"cpu": "900m"}})
    for name in ("capacity", "allocatable"):
        CLAIMS.refuses_status(f"{name} that is none", {name: {"cpu": "x"}}, f"status.{name}.cpu", PATTERN)
    CLAIMS.refuses_status(
        "a time that is none at all", {"lastPodEventTime": "x"}, "status.lastPodEventTime", "date-time"
    )


def _overlays() -> None:
    OVERLAYS.refuses("no spec", {"spec": GONE}, "spec", REQUIRED)
    requirements(OVERLAYS, REQUIREMENTS, min_values=False)
    OVERLAYS.accepts("the pool may be asked for", {REQUIREMENTS: [requirement("karpenter.sh/nodepool")]})
    not_in = {REQUIREMENTS: [requirement(operator="NotIn", values=[])]}
    OVERLAYS.refuses("O2: NotIn with no value", not_in, REQUIREMENTS, "operator NotIn must")
    known = [requirement(f"karpenter.k8s.aws/{name}") for name in AWS_KEYS]
    OVERLAYS.accepts("every key of AWS that tells types apart", {REQUIREMENTS: known})
    for name in (*AWS_PLACES, "x"):
        wire = {REQUIREMENTS: [requirement(f"karpenter.k8s.aws/{name}")]}
        OVERLAYS.refuses(f"[Q] karpenter.k8s.aws/{name} is reserved", wire, f"{REQUIREMENTS}[0].key", RESERVED)
    OVERLAYS.accepts("kwok's domain is not judged", {REQUIREMENTS: [requirement("karpenter.kwok.sh/x")]})
    for good in ("0", "1", "0.05", "12.5"):
        OVERLAYS.accepts(f"price {good}", {"spec.price": good})
    for bad in ("-1", "+1", "", ".5", "1.", "1e3", "10%"):
        OVERLAYS.refuses(f"price {bad!r}", {"spec.price": bad}, "spec.price", PATTERN)
    OVERLAYS.refuses("a price that is a number", {"spec.price": 1}, "spec.price", TYPE)
    adjustment = "spec.priceAdjustment"
    for good in ("+1", "-1", "+.5", "-0.5", "+10%", "+150.5%", "-10%", "-99.9%", "-100%", "-0%"):
        OVERLAYS.accepts(f"priceAdjustment {good}", {adjustment: good})
    for bad in ("10%", "1", "", "-101%", "-100.5%", "+", "+1%%", "-.5%"):
        OVERLAYS.refuses(f"priceAdjustment {bad!r}", {adjustment: bad}, adjustment, PATTERN)
    both = {"spec.price": "1", adjustment: "+1"}
    OVERLAYS.refuses("O1: price and priceAdjustment", both, "spec", "exclude each other")
    quantities(OVERLAYS, "spec.capacity", "example")
    for name in ("cpu", "memory", "ephemeral-storage", "pods"):
        OVERLAYS.refuses(f"O3: capacity {name}", {"spec.capacity": {name: 1}}, "spec.capacity", "may not name cpu")
    for good in (1, 10000):
        OVERLAYS.accepts(f"weight {good}", {"spec.weight": good})
    OVERLAYS.refuses("weight 0", {"spec.weight": 0}, "spec.weight", LEAST)
    OVERLAYS.refuses("weight 10001", {"spec.weight": 10001}, "spec.weight", MOST)
    conditions(OVERLAYS)


def _kwok_classes() -> None:
    KWOK_CLASSES.accepts(
        "no spec, and a status that is ready",
        {"spec": GONE},
        {"spec": GONE, "status.conditions.0.type": "Ready", "status.conditions.0.status": "True"},
    )
    durations(KWOK_CLASSES, "spec.nodeRegistrationDelay", never=False)
    conditions(KWOK_CLASSES, by_type=False)


def _buffers() -> None:
    BUFFERS.accepts("[Q] neither reference", {}, {"spec.provisioningStrategy": "buffer.x-k8s.io/active-capacity"})
    BUFFERS.refuses("no spec", {"spec": GONE}, "spec", REQUIRED)
    BUFFERS.accepts("any strategy", {"spec.provisioningStrategy": "x"})
    template = {"spec.podTemplateRef": {"name": "t"}}
    BUFFERS.accepts("B1: a template with replicas", template | {"spec.replicas": 0})
    BUFFERS.accepts("B1: a template with limits", template | {"spec.limits": {"cpu": 1}})
    BUFFERS.refuses("B1: a template alone", template, "spec", "needs replicas or limits")
    BUFFERS.refuses("B1: a template with a percentage", template | {"spec.percentage": 5}, "spec", "needs replicas")
    scalable = {"spec.scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "d"}}
    BUFFERS.accepts("a workload", scalable | {"spec.percentage": 500})
    BUFFERS.accepts("a workload without its group", {"spec.scalableRef": {"kind": "Deployment", "name": "d"}})
    BUFFERS.refuses("B2: both references", template | scalable | {"spec.replicas": 1}, "spec", "exclude each other")
    short = "should be at least 1 chars long"
    BUFFERS.refuses("no name of the template", {"spec.podTemplateRef": {}}, "spec.podTemplateRef.name", REQUIRED)
    empty = {"spec.podTemplateRef": {"name": ""}, "spec.replicas": 1}
    BUFFERS.refuses("an empty name of the template", empty, "spec.podTemplateRef.name", short)
    for name in ("kind", "name"):
        field = f"spec.scalableRef.{name}"
        BUFFERS.refuses(f"no {name} of the workload", scalable | {field: GONE}, field, REQUIRED)
        BUFFERS.refuses(f"an empty {name} of the workload", scalable | {field: ""}, field, short)
    for name in ("replicas", "percentage"):
        BUFFERS.refuses(f"{name} -1", {f"spec.{name}": -1}, f"spec.{name}", LEAST)
    quantities(BUFFERS, "spec.limits")
    conditions(BUFFERS)
    status = {"podTemplateRef": {"name": "t"}, "podTemplateGeneration": 1, "replicas": 2, "provisioningStrategy": "x"}
    BUFFERS.accepts_status("all of a status", status)
    BUFFERS.refuses_status("a reference without a name", {"podTemplateRef": {}}, "status.podTemplateRef.name", REQUIRED)
    BUFFERS.refuses_status("an empty reference", {"podTemplateRef": {"name": ""}}, "status.podTemplateRef.name", short)


_claims()
_overlays()
_kwok_classes()
_buffers()
