"""What all objects have in common: metadata, conditions, taints."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from dovetail.core import timestamps
from dovetail.core.conditions import Condition, Conditions, Status
from dovetail.core.errors import BadValue
from dovetail.core.nodeclaims import NO_LABELS, Meta, Owner
from dovetail.core.taints import Effect, Taint

Body = dict[str, Any]
_STATUSES: Final = {str(one): one for one in Status}
_EFFECTS: Final = {str(one): one for one in Effect}
#: Most texts say the same of a thousand nodes, and are kept once.
_same: Final = sys.intern


class OwnerWire(msgspec.Struct, rename="camel", gc=False):
    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""


class MetaWire(msgspec.Struct, rename="camel", gc=False):
    name: str
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerWire] | None = None


class ConditionWire(msgspec.Struct, rename="camel", gc=False):
    type: str
    status: str = "Unknown"
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None
    observed_generation: int | None = None


class TaintWire(msgspec.Struct, rename="camel", gc=False):
    key: str
    effect: str = ""
    value: str | None = None
    time_added: str | None = None


def read_meta(wire: MetaWire) -> Meta:
    return Meta(
        name=wire.name,
        uid=wire.uid,
        version=wire.resource_version,
        generation=wire.generation,
        created=_time(wire.creation_timestamp) or 0.0,
        deleting=_time(wire.deletion_timestamp),
        labels=_texts(wire.labels),
        annotations=_texts(wire.annotations),
        finalizers=tuple(wire.finalizers or ()),
        owners=tuple(Owner(one.kind, one.name, one.uid, one.api_version) for one in wire.owner_references or ()),
    )


def _texts(said: dict[str, str] | None) -> Mapping[str, str]:
    """Labels or annotations."""
    return MappingProxyType({_same(key): _same(text) for key, text in said.items()}) if said else NO_LABELS


def _time(text: str | None) -> float | None:
    return timestamps.seconds(text) if text else None


def read_conditions(wires: list[ConditionWire] | None) -> Conditions:
    return tuple(
        Condition(
            _same(one.type),
            _STATUSES.get(one.status, Status.UNKNOWN),
            _same(one.reason or ""),
            _same(one.message or ""),
            _time(one.last_transition_time) or 0.0,
            one.observed_generation or 0,
        )
        for one in wires or ()
    )


def read_taints(wires: list[TaintWire] | None, *path: str) -> tuple[Taint, ...]:
    found = []
    for at, one in enumerate(wires or ()):
        effect = _EFFECTS.get(one.effect)
        if effect is None:
            raise BadValue(f"{one.effect[:40]!r} is no effect").at(*path, f"taints[{at}]", "effect")
        found.append(Taint(one.key, effect, one.value or "", one.time_added or ""))
    return tuple(found)


def taint_body(taint: Taint) -> Body:
    body: Body = {"key": taint.key, "effect": str(taint.effect)}
    if taint.value:
        body["value"] = taint.value
    if taint.added:
        body["timeAdded"] = taint.added
    return body


def condition_body(one: Condition) -> Body:
    body: Body = {
        "type": one.type,
        "status": str(one.status),
        "reason": one.reason or one.type,
        "message": one.message,
        "lastTransitionTime": timestamps.text(one.since),
    }
    if one.generation:
        body["observedGeneration"] = one.generation
    return body


def owner_body(owner: Owner) -> Body:
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "blockOwnerDeletion": True,
    }


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """A merge patch from one map to another: what is new or differs, and None for what is to go."""
    changed: dict[str, str | None] = {key: value for key, value in after.items() if before.get(key) != value}
    changed.update((key, None) for key in before if key not in after)
    return changed
