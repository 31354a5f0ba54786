"""Nodes of a live cluster: what of them the lifecycle looks at, and JSON patches that change only what they name.

A kubelet writes its Node all the time. A patch that insisted on the version it saw would lose that race again and
again, so ours insists only on the lists it replaces being as they were.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dovetail.api.live.meta import (
    Body,
    ConditionWire,
    MetaWire,
    TaintWire,
    owner_body,
    read_conditions,
    read_meta,
    read_taints,
    taint_body,
)
from dovetail.api.live.shared import Shared
from dovetail.core import resources
from dovetail.core.errors import BadValue
from dovetail.core.nodeclaims import NodeObject
from dovetail.core.resources import Resources


class _Spec(msgspec.Struct, rename={"provider_id": "providerID"}, gc=False):
    provider_id: str = ""
    taints: list[TaintWire] | None = None
    unschedulable: bool = False


class _Info(msgspec.Struct, rename={"boot_id": "bootID"}, gc=False):
    boot_id: str = ""


class _Status(msgspec.Struct, rename="camel", gc=False):
    capacity: dict[str, Any] | None = None
    allocatable: dict[str, Any] | None = None
    conditions: list[ConditionWire] | None = None
    node_info: _Info | None = None


class NodeWire(msgspec.Struct, gc=False):
    metadata: MetaWire
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_DECODER: Final = msgspec.json.Decoder(NodeWire)


class NodeReader:
    """Reads Nodes; machines of one type have the same capacity, which is kept once."""

    def __init__(self) -> None:
        self._amounts: Shared[Resources] = Shared()

    def read(self, raw: bytes | msgspec.Raw) -> NodeObject:
        """One Node; what cannot be read is a `BadInput` that names the field."""
        try:
            return self.of(_DECODER.decode(raw))
        except msgspec.MsgspecError as problem:
            raise BadValue(str(problem)) from None

    def of(self, wire: NodeWire) -> NodeObject:
        status = wire.status
        capacity = self._resources(status.capacity, "status", "capacity")
        return NodeObject(
            meta=read_meta(wire.metadata),
            provider_id=wire.spec.provider_id,
            taints=read_taints(wire.spec.taints, "spec"),
            unschedulable=wire.spec.unschedulable,
            capacity=capacity,
            allocatable=capacity
            if status.allocatable is None
            else self._resources(status.allocatable, "status", "allocatable"),
            conditions=read_conditions(status.conditions),
            boot_id=status.node_info.boot_id if status.node_info is not None else "",
        )

    def _resources(self, wire: object, *path: str) -> Resources:
        return self._amounts.of(resources.parse(wire, *path))


def patch_operations(before: NodeObject, after: NodeObject) -> list[Body]:
    """A JSON patch from one to the other."""
    return [
        *_map_operations("labels", dict(before.meta.labels), dict(after.meta.labels)),
        *_map_operations("annotations", dict(before.meta.annotations), dict(after.meta.annotations)),
        *_list_operations("/metadata/finalizers", list(before.meta.finalizers), list(after.meta.finalizers)),
        *_owner_operations(before, after),
        *_list_operations(
            "/spec/taints", [taint_body(one) for one in before.taints], [taint_body(one) for one in after.taints]
        ),
    ]


def _map_operations(name: str, before: dict[str, str], after: dict[str, str]) -> list[Body]:
    if before == after:
        return []
    path = f"/metadata/{name}"
    if not before:
        return [{"op": "add", "path": path, "value": after}]
    found: list[Body] = [
        {"op": "add", "path": f"{path}/{_escaped(key)}", "value": value}
        for key, value in sorted(after.items())
        if before.get(key) != value
    ]
    return found + [{"op": "remove", "path": f"{path}/{_escaped(key)}"} for key in sorted(before) if key not in after]


def _list_operations(path: str, before: list[Any], after: list[Any]) -> list[Body]:
    if before == after:
        return []
    if not before:
        return [{"op": "add", "path": path, "value": after}]
    return [{"op": "test", "path": path, "value": before}, {"op": "replace", "path": path, "value": after}]


def _owner_operations(before: NodeObject, after: NodeObject) -> list[Body]:
    """Owners are only ever added; those of others are left as they are."""
    held = {one.uid for one in before.meta.owners}
    new = [owner_body(one) for one in after.meta.owners if one.uid not in held]
    if not new:
        return []
    path = "/metadata/ownerReferences"
    if not held:
        return [{"op": "add", "path": path, "value": new}]
    return [{"op": "add", "path": f"{path}/-", "value": one} for one in new]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
