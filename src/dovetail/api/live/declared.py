"""Overlays and instance types of a live cluster: one that cannot be read is still there, and has to be told why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from dovetail.api.fields import Fields
from dovetail.api.live.meta import ConditionWire, MetaWire, read_conditions, read_meta
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.lifecycle.declared import Declared

T = TypeVar("T")


def reader(read: Callable[[Fields, str], T]) -> Callable[[Fields], Declared[T]]:
    """A reader of one kind, of a reader of its spec."""
    return lambda wire: _read(wire, read)


def _read(wire: Fields, read: Callable[[Fields, str], T]) -> Declared[T]:
    try:
        meta = read_meta(msgspec.convert(wire.map("metadata").wire, MetaWire))
        told = wire.map("status").wire.get("conditions") or []
        held = read_conditions(msgspec.convert(told, list[ConditionWire]))
    except msgspec.ValidationError as bad:
        raise BadValue(str(bad)).at("metadata") from None
    try:
        return Declared(meta, held, read(wire, meta.name))
    except BadInput as bad:
        return Declared(meta, held, None, str(bad))
