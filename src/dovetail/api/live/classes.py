"""What can be seen of a node class without knowing its cloud: its metadata, and what holds of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from dovetail.api.live.meta import ConditionWire, MetaWire, read_conditions, read_meta
from dovetail.core.conditions import Conditions
from dovetail.core.errors import BadInput
from dovetail.core.nodeclaims import Meta


@dataclass(frozen=True, slots=True)
class ClassRecord:
    meta: Meta
    conditions: Conditions = ()


class _Status(msgspec.Struct, frozen=True):
    conditions: list[ConditionWire] | None = None


def read(wire: Mapping[str, Any]) -> ClassRecord:
    """Conditions that make no sense are as good as none."""
    about = read_meta(msgspec.convert(wire.get("metadata") or {}, MetaWire))
    try:
        status = msgspec.convert(wire.get("status") or {}, _Status)
        return ClassRecord(about, read_conditions(status.conditions))
    except (msgspec.ValidationError, BadInput):
        return ClassRecord(about)
