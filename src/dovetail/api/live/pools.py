"""NodePools of a live cluster: the pool as planning sees it, and what its claims and its status need besides.

A pool that cannot be read is still there: its claims live on, and it has to be told what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

import msgspec

from dovetail.api import node_pools, taints
from dovetail.api.fields import Fields
from dovetail.api.live.claims import NEVER
from dovetail.api.live.meta import Body, ConditionWire, MetaWire, condition_body, read_conditions, read_meta
from dovetail.core import resources, timestamps
from dovetail.core.conditions import Conditions
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.lifecycle import hashes
from dovetail.core.lifecycle.hashes import Template
from dovetail.core.lifecycle.pools import DEFAULT_EXPIRY, PoolRecord
from dovetail.core.nodeclaims import Meta
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.taints import Taint

T = TypeVar("T")


def read(wire: Fields) -> PoolRecord:
    """One pool; only one without a name is refused."""
    meta = _meta(wire)
    status = wire.map("status")
    conditions = read_conditions(_converted(status.wire.get("conditions") or [], list[ConditionWire], "status"))
    try:
        return _whole(wire, meta, conditions)
    except BadInput as bad:
        nothing = NodeClassRef("", "", "")
        pool = NodePool(meta.name, nothing, ready=False, problem=str(bad))
        said = _disruption(wire)
        return PoolRecord(meta, pool, Template(nothing), problem=str(bad), conditions=conditions, disruption=said)


def _whole(wire: Fields, meta: Meta, conditions: Conditions) -> PoolRecord:
    found = node_pools.read(wire, meta.name)
    template = wire.map("spec").map("template")
    spec, status = template.map("spec"), wire.map("status")
    notes = template.map("metadata").labels("annotations")
    grace, expiry = _duration(spec, "terminationGracePeriod"), _duration(spec, "expireAfter")
    return PoolRecord(
        meta=meta,
        pool=found.pool,
        template=_template(template, found.pool),
        annotations=MappingProxyType(notes),
        grace=grace,
        expire_after=expiry if spec.has("expireAfter") else DEFAULT_EXPIRY,
        own_kubelet=found.own_kubelet,
        conditions=conditions,
        nodes=status.whole("nodes", 0, 2**53) or 0,
        resources=resources.parse(status.wire.get("resources"), "status", "resources", allow_negative=True),
        class_generation=status.whole("nodeClassObservedGeneration", 0, 2**53) or 0,
        disruption=_disruption(wire),
    )


def _disruption(wire: Fields) -> Mapping[str, object]:
    """Left as it is: a budget that cannot be read costs itself, not the pool."""
    spec = wire.wire.get("spec")
    return {"disruption": spec.get("disruption")} if isinstance(spec, Mapping) else {}


def _meta(wire: Fields) -> Meta:
    return read_meta(_converted(wire.map("metadata").wire, MetaWire, "metadata"))


def _converted(value: object, into: type[T], *path: str) -> T:
    try:
        return msgspec.convert(value, into)
    except msgspec.ValidationError as bad:
        raise BadValue(str(bad)).at(*path) from None


def _duration(spec: Fields, name: str) -> float | None:
    text = spec.text(name)
    if text is None or text == NEVER:
        return None
    try:
        return timestamps.duration(text)
    except BadInput as bad:
        raise spec.bad(name, str(bad)) from None


def _template(template: Fields, pool: NodePool) -> Template:
    """What the drift hash is taken over: as it was written, before anything is put in order."""
    about, spec = template.map("metadata"), template.map("spec")
    grace, expiry = _duration(spec, "terminationGracePeriod"), _duration(spec, "expireAfter")
    return Template(
        pool.node_class,
        about.labels("labels") if about.has("labels") else None,
        about.labels("annotations") if about.has("annotations") else None,
        _taints(spec, "taints"),
        _taints(spec, "startupTaints"),
        None if grace is None else round(grace * hashes.NANOSECONDS),
        None if expiry is None else round(expiry * hashes.NANOSECONDS),
    )


def _taints(spec: Fields, name: str) -> tuple[Taint, ...] | None:
    return taints.read_taints(spec, name) if spec.has(name) else None


def status_patch(before: PoolRecord, after: PoolRecord) -> Body | None:
    """What to merge into a pool's status, None for nothing."""
    body: Body = {}
    if before.conditions != after.conditions:
        body["conditions"] = [condition_body(one) for one in after.conditions]
    if before.nodes != after.nodes:
        body["nodes"] = after.nodes
    if before.resources != after.resources:
        gone = {name: None for name in before.resources if name not in after.resources}
        body["resources"] = {**gone, **after.resources.quantities()}
    if before.class_generation != after.class_generation:
        body["nodeClassObservedGeneration"] = after.class_generation
    return {"status": body} if body else None
