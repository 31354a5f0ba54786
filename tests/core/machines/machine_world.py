"""Machines for tests: everything boring has a default."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from dovetail.core.conditions import Condition, Status, found
from dovetail.core.machines import names
from dovetail.core.machines.effects import Buy, SaveInfra, Step
from dovetail.core.machines.infra import Seen
from dovetail.core.machines.infra_objects import Found, InfraMachine, Market, State, Wanted
from dovetail.core.machines.objects import Cluster, HealthCheck, Machine, MachineSet, Meta, ObjectRef, Owner, Phase
from dovetail.core.nodeclaims import Meta as NodeMeta
from dovetail.core.nodeclaims import NodeObject
from dovetail.core.requirements import Requirements
from dovetail.core.selectors import Selector

NOW = 1_800_000_000.0
INFRA_FINALIZER = "awsmachine.infrastructure.cluster.x-k8s.io"
ID = "aws:///us-east-1a/i-1"


def meta(name: str = "m", **changes: Any) -> Meta:
    for key in ("labels", "annotations"):
        if key in changes:
            changes[key] = MappingProxyType(changes[key])
    return Meta(**{"name": name, "namespace": "default", "uid": f"uid-{name}", "created": NOW - 3600.0} | changes)


def cluster(**changes: Any) -> Cluster:
    defaults = {"meta": meta("c"), "infrastructure": NOW - 7200.0, "control_plane": NOW - 7200.0, "zones": ("b", "a")}
    return Cluster(**defaults | changes)


def machine(name: str = "m", about: dict[str, Any] | None = None, **changes: Any) -> Machine:
    ref = ObjectRef("infrastructure.cluster.x-k8s.io", "AWSMachine", name)
    defaults = {"meta": meta(name, **about or {}), "cluster": "c", "infrastructure": ref, "secret": "boot"}
    return Machine(**defaults | changes)


def infra(name: str = "m", about: dict[str, Any] | None = None, **changes: Any) -> InfraMachine:
    defaults: dict[str, Any] = {
        "meta": meta(name, **{"finalizers": (INFRA_FINALIZER,)} | (about or {})),
        "kind": "AWSMachine",
        "wanted": Wanted("aws", "m5.large"),
        "finalizer": INFRA_FINALIZER,
    }
    return InfraMachine(**defaults | changes)


def spot(**changes: Any) -> Wanted:
    return Wanted(**{"cloud": "aws", "instance_type": "m5.large", "market": Market.SPOT} | changes)


def instance(state: State = State.RUNNING, **changes: Any) -> Found:
    return Found(**{"provider_id": ID, "name": "m", "state": state, "zone": "us-east-1a", "created": NOW} | changes)


def node(name: str = "n", about: dict[str, Any] | None = None, **changes: Any) -> NodeObject:
    found = {"labels": {}, "annotations": {}} | (about or {})
    for key in ("labels", "annotations"):
        found[key] = MappingProxyType(found[key])
    return NodeObject(
        **{"meta": NodeMeta(name, uid=f"uid-{name}", **found), "provider_id": ID, "conditions": WELL} | changes
    )


def said(type_: str, status: str = "True", since: float = NOW - 600.0, reason: str = "") -> Condition:
    return Condition(type_, Status(status), reason or type_, "", since, 1)


WELL = (
    said("Ready"),
    said("MemoryPressure", "False"),
    said("DiskPressure", "False"),
    said("PIDPressure", "False"),
)


def up(name: str = "m", about: dict[str, Any] | None = None, **changes: Any) -> Machine:
    """A machine that is a node and well."""
    held = (said(names.READY), said(names.NODE_HEALTHY), said(names.INFRASTRUCTURE_READY))
    defaults = {
        "provider_id": ID,
        "node": f"node-{name}",
        "provisioned": True,
        "phase": Phase.RUNNING,
        "conditions": held,
    }
    return machine(name, about, **defaults | changes)


def of_set(name: str = "s", uid: str = "uid-s") -> Owner:
    return Owner("cluster.x-k8s.io/v1beta2", "MachineSet", name, uid, controller=True)


def labelled(**labels: str) -> Selector:
    return Selector(Requirements.of_labels(labels))


def machine_set(**changes: Any) -> MachineSet:
    defaults: dict[str, Any] = {
        "meta": meta("s", finalizers=(names.SET_FINALIZER,)),
        "cluster": "c",
        "selector": labelled(app="a"),
        "replicas": 2,
        "template": machine("template", {"labels": {"app": "a"}}),
    }
    return MachineSet(**defaults | changes)


def mine(name: str, **changes: Any) -> Machine:
    """A machine of that set, up."""
    about = {"labels": {"app": "a", names.SET_NAME: "s"}, "owners": (of_set(),)} | changes.pop("about", {})
    return up(name, about, **changes)


def check(**changes: Any) -> HealthCheck:
    return HealthCheck(**{"meta": meta("h"), "cluster": "c", "selector": labelled(app="a")} | changes)


def with_notes(one: Machine, **notes: str) -> Machine:
    return replace(one, meta=replace(one.meta, annotations=MappingProxyType(notes)))


def seen(one: InfraMachine | None = None, **changes: Any) -> Seen:
    return Seen(**{"infra": one or infra(), "machine": machine(), "cluster": cluster(), "bootstrap": True} | changes)


def written(step: Step) -> InfraMachine:
    """The machine as the step leaves it."""
    return next(one.after for one in reversed(step.effects) if isinstance(one, SaveInfra))


def bought(step: Step) -> bool:
    return any(isinstance(one, Buy) for one in step.effects)


def reason(one: InfraMachine) -> str:
    held = found(one.conditions, names.INSTANCE_READY)
    return held.reason if held is not None else ""
