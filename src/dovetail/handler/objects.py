"""Nodes and pods on the wire, as far as a handler reads and writes them.

A Node's taints are one list that is replaced whole, so a change to it insists on the version it was made from. Its
conditions are merged one by one by the server: that patch can never take away what a kubelet wrote.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dovetail.core import timestamps
from dovetail.core.errors import BadInput
from dovetail.core.handler import marks
from dovetail.core.handler.drain import DEFAULT_GRACE, PodFacts
from dovetail.core.handler.marks import NodeFacts, NodeTaint
from dovetail.kube.patches import MergePatch, StrategicPatch

_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_MIRROR: Final = "kubernetes.io/config.mirror"
_MANAGED: Final = (marks.EXCLUDED,)


class _Owner(msgspec.Struct):
    kind: str = ""


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None


class _Taint(msgspec.Struct, rename="camel"):
    key: str
    effect: str = ""
    value: str | None = None
    time_added: str | None = None


class _NodeSpec(msgspec.Struct, rename={"provider_id": "providerID"}):
    provider_id: str = ""
    unschedulable: bool = False
    taints: list[_Taint] | None = None


class _Condition(msgspec.Struct):
    type: str
    status: str = ""
    reason: str = ""


class _NodeStatus(msgspec.Struct):
    conditions: list[_Condition] | None = None


class NodeWire(msgspec.Struct):
    metadata: _Meta
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


class _PodSpec(msgspec.Struct, rename="camel"):
    priority: int | None = None
    priority_class_name: str = ""
    termination_grace_period_seconds: float | None = None


class _PodStatus(msgspec.Struct):
    phase: str = ""


class PodWire(msgspec.Struct):
    metadata: _Meta
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


def node_facts(wire: NodeWire) -> NodeFacts:
    about, spec = wire.metadata, wire.spec
    held = next((one for one in wire.status.conditions or () if one.type == marks.TERMINATING), None)
    return NodeFacts(
        about.name,
        about.uid,
        about.resource_version,
        spec.provider_id,
        unschedulable=spec.unschedulable,
        taints=tuple(
            NodeTaint(one.key, one.effect, one.value or "", one.time_added or "") for one in spec.taints or ()
        ),
        labels=about.labels or {},
        annotations=about.annotations or {},
        terminating=held.reason or "?" if held is not None and held.status == "True" else "",
    )


def pod_facts(wire: PodWire) -> PodFacts:
    about, spec = wire.metadata, wire.spec
    owners = {one.kind for one in about.owner_references or ()}
    grace = spec.termination_grace_period_seconds
    return PodFacts(
        about.name,
        about.namespace,
        about.uid,
        priority=spec.priority or 0,
        priority_class=spec.priority_class_name,
        grace=DEFAULT_GRACE if grace is None else grace,
        daemon="DaemonSet" in owners,
        mirror="Node" in owners or _MIRROR in (about.annotations or {}),
        finished=wire.status.phase in _FINISHED,
        deleting=_time(about.deletion_timestamp),
    )


def _time(written: str | None) -> float | None:
    """A time that cannot be read still means that the pod is going."""
    if written is None:
        return None
    try:
        return timestamps.seconds(written)
    except BadInput:
        return 0.0


def node_patch(before: NodeFacts, after: NodeFacts) -> MergePatch | None:
    """What turns the one into the other, conditions aside; None for nothing."""
    metadata: dict[str, Any] = {}
    spec: dict[str, Any] = {}
    if before.labels != after.labels:
        metadata["labels"] = {key: after.labels.get(key) for key in _MANAGED}
    if before.annotations != after.annotations:
        metadata["annotations"] = {marks.NOTE: after.annotations.get(marks.NOTE)}
    if before.taints != after.taints:
        spec["taints"] = [_taint(one) for one in after.taints] or None
    if before.unschedulable != after.unschedulable:
        spec["unschedulable"] = after.unschedulable or None
    if not metadata and not spec:
        return None
    metadata |= {"resourceVersion": before.version, "uid": before.uid}
    return MergePatch({"metadata": metadata, **({"spec": spec} if spec else {})})


def _taint(one: NodeTaint) -> dict[str, str]:
    fields = {"key": one.key, "value": one.value, "effect": one.effect, "timeAdded": one.added}
    return {name: value for name, value in fields.items() if value}


def condition_patch(before: NodeFacts, after: NodeFacts, message: str, now: float) -> StrategicPatch | None:
    """The condition a health check looks at, where it changes."""
    if bool(before.terminating) == bool(after.terminating) or before.terminating not in ("", marks.REQUESTED):
        return None
    moment = timestamps.text(now)
    held = {
        "type": marks.TERMINATING,
        "status": "True" if after.terminating else "False",
        "reason": after.terminating or marks.WITHDRAWN,
        "message": message,
        "lastHeartbeatTime": moment,
        "lastTransitionTime": moment,
    }
    return StrategicPatch({"status": {"conditions": [held]}})
