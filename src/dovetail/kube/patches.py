"""The four ways to change a part of an object.

Preconditions travel in the body: `metadata.uid` and `metadata.resourceVersion` in a merge patch or an apply make the
server answer with a conflict where the object is not the one meant; a JSON patch says the same with `test` steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

import msgspec

#: An object or a part of one: a plain dict, or a struct that msgspec encodes.
Body = Mapping[str, Any] | msgspec.Struct

_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class MergePatch:
    """RFC 7396: what is given replaces, null removes, lists are replaced whole."""

    body: Body


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """RFC 6902: steps carried out in order, all or none."""

    ops: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class StrategicPatch:
    """Kubernetes' own: lists are merged by their keys. For built-in kinds only."""

    body: Body


@dataclass(frozen=True, slots=True)
class Apply:
    """Server-side apply: these fields are `manager`'s to decide. `force` takes them from others."""

    body: Body
    manager: str
    force: bool = False


Patch = MergePatch | JsonPatch | StrategicPatch | Apply


def content_type(patch: Patch) -> str:
    match patch:
        case MergePatch():
            return "application/merge-patch+json"
        case JsonPatch():
            return "application/json-patch+json"
        case StrategicPatch():
            return "application/strategic-merge-patch+json"
        case Apply():
            # JSON is YAML; the server knows apply by this name in every version.
            return "application/apply-patch+yaml"
        case _:
            assert_never(patch)


def encoded(patch: Patch) -> bytes:
    return _encode(patch.ops if isinstance(patch, JsonPatch) else patch.body)


def query(patch: Patch) -> dict[str, str]:
    """What a patch adds to the address."""
    if not isinstance(patch, Apply):
        return {}
    return {"fieldManager": patch.manager, **({"force": "true"} if patch.force else {})}


def repeatable(patch: Patch) -> bool:
    """Whether carrying it out twice is the same as once, seen by the one who asked.

    A patch with a version as its precondition is not: the second time it meets the version the first time made. Nor
    is a JSON patch, which may append.
    """
    if isinstance(patch, JsonPatch):
        return False
    metadata = patch.body.get("metadata") if isinstance(patch.body, Mapping) else getattr(patch.body, "metadata", None)
    if isinstance(metadata, Mapping):
        return not metadata.get("resourceVersion")
    return metadata is None
