"""CapacityBuffers of a live cluster, with what they say of themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from dovetail.api import buffers
from dovetail.api.buffers import Buffer
from dovetail.api.fields import Fields
from dovetail.api.live.meta import Body, ConditionWire, MetaWire, condition_body, read_conditions, read_meta
from dovetail.core.conditions import Conditions
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.nodeclaims import Meta


@dataclass(frozen=True, slots=True)
class Told:
    """What a buffer's status says."""

    conditions: Conditions = ()
    replicas: int | None = None
    template: str = ""
    generation: int | None = None
    strategy: str = ""


@dataclass(frozen=True, slots=True)
class BufferRecord:
    """A buffer, or why it cannot be read, and its status."""

    meta: Meta
    namespace: str
    buffer: Buffer | None
    told: Told = field(default_factory=Told)
    problem: str = ""


def read(wire: Fields) -> BufferRecord:
    status = wire.map("status")
    try:
        meta = read_meta(msgspec.convert(wire.map("metadata").wire, MetaWire))
        held = read_conditions(msgspec.convert(status.wire.get("conditions") or [], list[ConditionWire]))
    except msgspec.ValidationError as bad:
        raise BadValue(str(bad)).at("metadata") from None
    told = Told(
        held,
        status.whole("replicas", 0, 2**31),
        status.map("podTemplateRef").text("name") or "",
        status.whole("podTemplateGeneration", 0, 2**53),
        status.text("provisioningStrategy") or "",
    )
    namespace = wire.map("metadata").text("namespace") or "default"
    try:
        return BufferRecord(meta, namespace, buffers.read(wire), told)
    except BadInput as bad:
        return BufferRecord(meta, namespace, None, told, str(bad))


def status_patch(before: Told, after: Told) -> Body | None:
    """What to merge into the status, None for nothing."""
    body: Body = {}
    if before.conditions != after.conditions:
        body["conditions"] = [condition_body(one) for one in after.conditions]
    if before.replicas != after.replicas:
        body["replicas"] = after.replicas
    if before.template != after.template:
        body["podTemplateRef"] = {"name": after.template} if after.template else None
    if before.generation != after.generation:
        body["podTemplateGeneration"] = after.generation
    if before.strategy != after.strategy:
        body["provisioningStrategy"] = after.strategy
    return {"status": body} if body else None
