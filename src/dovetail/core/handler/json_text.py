"""JSON that somebody else wrote: an object or a list of them, or a sentence about what came instead."""

from __future__ import annotations

import json
from typing import Any

from dovetail.core.errors import BadValue


def parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadValue(f"{what}: {text[:60]!r} is not JSON") from None


def an_object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadValue(f"{what}: expected an object, found {type(value).__name__}")
    return value


def a_list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadValue(f"{what}: expected a list, found {type(value).__name__}")
    return value


def text_of(fields: dict[str, Any], name: str) -> str:
    """A field that is a text; anything else counts as none."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""
