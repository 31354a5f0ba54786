"""Patches: what becomes of an object under each kind of them. Pure: dict in, new dict out."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, assert_never

from dovetail.apiserver import errors, json_patch, shapes, strategic_patch
from dovetail.apiserver.resources import Resource
from dovetail.apiserver.writes import ApplyPatch, JsonPatch, MergePatch, Patch, StrategicPatch


def patched(resource: Resource, obj: dict[str, Any], patch: Patch) -> dict[str, Any]:
    """The object after the patch; the one given is left alone."""
    match patch:
        case MergePatch(body):
            found = merged(obj, body)
        case JsonPatch(operations):
            found = json_patch.patched(obj, operations)
        case StrategicPatch(body):
            if resource.definition is not None:
                raise errors.unsupported_media(
                    ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
                )
            found = strategic_patch.merged(obj, body, shapes.of(resource))
        case ApplyPatch():
            raise AssertionError("applied where field owners are known")
        case _ as never:
            assert_never(never)
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        raise errors.bad_request("the patch does not leave an object")
    return found


def merged(value: Any, patch: Any) -> Any:
    """RFC 7386: maps are merged, null takes away, everything else is replaced."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    found = dict(value) if isinstance(value, dict) else {}
    for name, wanted in patch.items():
        if wanted is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), wanted)
    return found
