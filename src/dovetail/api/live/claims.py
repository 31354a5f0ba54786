"""NodeClaims of a live cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import msgspec

from dovetail.api.live.meta import (
    Body,
    ConditionWire,
    MetaWire,
    TaintWire,
    changes,
    condition_body,
    owner_body,
    read_conditions,
    read_meta,
    read_taints,
    taint_body,
)
from dovetail.api.live.shared import Shared
from dovetail.core import labels, resources, timestamps
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.nodeclaims import Meta, NodeClaim
from dovetail.core.nodepools import NodeClassRef
from dovetail.core.requirements import Requirement, Requirements, requirement
from dovetail.core.resources import Resources

NEVER: Final = "Never"
API_VERSION: Final = "karpenter.sh/v1"
KIND: Final = "NodeClaim"


class _Requirement(msgspec.Struct, rename="camel", gc=False):
    key: str
    operator: str
    values: list[str] | None = None
    min_values: int | None = None


class _Class(msgspec.Struct, gc=False):
    group: str = ""
    kind: str = ""
    name: str = ""


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_class_ref: _Class = msgspec.field(default_factory=_Class)
    requirements: list[_Requirement] = msgspec.field(default_factory=list)
    resources: dict[str, Any] | None = None
    taints: list[TaintWire] | None = None
    startup_taints: list[TaintWire] | None = None
    termination_grace_period: str | None = None
    expire_after: str | None = None


class _Status(
    msgspec.Struct,
    rename={
        "provider_id": "providerID",
        "image_id": "imageID",
        "node_name": "nodeName",
        "last_pod_event_time": "lastPodEventTime",
    },
    gc=False,
):
    provider_id: str = ""
    image_id: str = ""
    node_name: str = ""
    capacity: dict[str, Any] | None = None
    allocatable: dict[str, Any] | None = None
    conditions: list[ConditionWire] | None = None
    last_pod_event_time: str | None = None


class ClaimWire(msgspec.Struct, gc=False):
    metadata: MetaWire
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_DECODER: Final = msgspec.json.Decoder(ClaimWire)


class ClaimReader:
    """Reads claims. Those of one plan list the same hundreds of types, so equal requirements are kept once."""

    def __init__(self) -> None:
        self._known: Shared[Requirement] = Shared()
        self._amounts: Shared[Resources] = Shared()

    def read(self, raw: bytes | msgspec.Raw) -> NodeClaim:
        """One claim; what cannot be read is a `BadInput` that names the field."""
        try:
            return self.of(_DECODER.decode(raw))
        except msgspec.MsgspecError as problem:
            raise BadValue(str(problem)) from None

    def of(self, wire: ClaimWire, before: NodeClaim | None = None) -> NodeClaim:
        """One claim; of the spec nothing is read again if it is that of the claim as it was `before`."""
        meta, status = read_meta(wire.metadata), wire.status
        if before is None or before.meta.uid != meta.uid or before.meta.generation != meta.generation:
            before = self._ordered(meta, wire.spec)
        return replace(
            before,
            meta=meta,
            provider_id=status.provider_id,
            image_id=status.image_id,
            node_name=status.node_name,
            capacity=self._resources(status.capacity, "status", "capacity"),
            allocatable=self._resources(status.allocatable, "status", "allocatable"),
            conditions=read_conditions(status.conditions),
            last_pod_event=timestamps.seconds(status.last_pod_event_time) if status.last_pod_event_time else None,
        )

    def _ordered(self, meta: Meta, spec: _Spec) -> NodeClaim:
        """What a claim asks for, before anything became of it."""
        ref = spec.node_class_ref
        return NodeClaim(
            meta=meta,
            node_class=NodeClassRef(ref.group, ref.kind, ref.name),
            requirements=self._requirements(spec.requirements),
            requests=self._resources((spec.resources or {}).get("requests"), "spec", "resources", "requests"),
            taints=read_taints(spec.taints, "spec"),
            startup_taints=read_taints(spec.startup_taints, "spec"),
            grace=_seconds(spec.termination_grace_period, "terminationGracePeriod"),
            expire_after=_seconds(spec.expire_after, "expireAfter"),
        )

    def _requirements(self, wires: list[_Requirement]) -> Requirements:
        found = []
        for at, one in enumerate(wires):
            try:
                made = requirement(one.key, one.operator, one.values or (), one.min_values)
            except BadInput as problem:
                raise BadValue(str(problem)).at("spec", f"requirements[{at}]") from None
            found.append(self._known.of(made))
        return Requirements(found)

    def _resources(self, wire: object, *path: str) -> Resources:
        return self._amounts.of(resources.parse(wire, *path))


def _seconds(text: str | None, name: str) -> float | None:
    if text is None or text == NEVER:
        return None
    try:
        return timestamps.duration(text)
    except BadInput as problem:
        raise BadValue(str(problem)).at("spec", name) from None


# ---- writing


def new_body(claim: NodeClaim, generate_name: str = "", types: Iterable[str] = ()) -> Body:
    """A claim to be created. `types` are the instance types in their order, cheapest first."""
    about: Body = {
        "labels": dict(claim.meta.labels),
        "annotations": dict(claim.meta.annotations),
        "finalizers": list(claim.meta.finalizers),
        "ownerReferences": [owner_body(one) for one in claim.meta.owners],
    }
    about |= {"generateName": generate_name} if generate_name else {"name": claim.name}
    ref = claim.node_class
    spec: Body = {
        "nodeClassRef": {"group": ref.group, "kind": ref.kind, "name": ref.name},
        "requirements": list(_bodies(claim.requirements, tuple(types))),
        "expireAfter": NEVER if claim.expire_after is None else duration_text(claim.expire_after),
    }
    if claim.requests:
        spec["resources"] = {"requests": claim.requests.quantities()}
    if claim.taints:
        spec["taints"] = [taint_body(one) for one in claim.taints]
    if claim.startup_taints:
        spec["startupTaints"] = [taint_body(one) for one in claim.startup_taints]
    if claim.grace is not None:
        spec["terminationGracePeriod"] = duration_text(claim.grace)
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": about, "spec": spec}


def _bodies(requirements: Requirements, types: tuple[str, ...]) -> Iterable[Body]:
    for one in sorted(requirements, key=lambda each: each.key):
        least: Body = {} if one.min_values is None else {"minValues": one.min_values}
        for operator, values in one.expressions():
            ordered = types if one.key == labels.INSTANCE_TYPE and set(types) == set(values) else values
            body: Body = {"key": one.key, "operator": str(operator)}
            yield {**body, **({"values": list(ordered)} if ordered else {}), **least}
            least = {}


def duration_text(seconds: float) -> str:
    """A duration as the API takes it: hours, minutes, seconds."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    parts = ((hours, "h"), (minutes, "m"), (rest, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def metadata_patch(before: NodeClaim, after: NodeClaim, locked: bool = False) -> Body | None:
    """What to merge into the claim's metadata, None for nothing. Finalizers are only changed on the version seen."""
    old, new = before.meta, after.meta
    body: Body = {}
    if labels_changed := changes(old.labels, new.labels):
        body["labels"] = labels_changed
    if notes_changed := changes(old.annotations, new.annotations):
        body["annotations"] = notes_changed
    if old.finalizers != new.finalizers:
        body["finalizers"] = list(new.finalizers)
        locked = True
    if not body:
        return None
    if locked:
        body["resourceVersion"] = old.version
    return {"metadata": body}


def status_patch(before: NodeClaim, after: NodeClaim, version: str = "") -> Body | None:
    """What to merge into the claim's status, None for nothing; with a version, only into that one."""
    body: Body = {}
    for name, wire in (("provider_id", "providerID"), ("image_id", "imageID"), ("node_name", "nodeName")):
        if getattr(before, name) != getattr(after, name):
            body[wire] = getattr(after, name)
    if before.capacity != after.capacity:
        body["capacity"] = after.capacity.quantities()
    if before.allocatable != after.allocatable:
        body["allocatable"] = after.allocatable.quantities()
    if before.conditions != after.conditions:
        body["conditions"] = [condition_body(one) for one in after.conditions]
    if before.last_pod_event != after.last_pod_event and after.last_pod_event is not None:
        body["lastPodEventTime"] = timestamps.text(after.last_pod_event)
    if not body:
        return None
    return {"metadata": {"resourceVersion": version}, "status": body} if version else {"status": body}
