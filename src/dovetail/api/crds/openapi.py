"""From a wire struct to the structural schema an API server enforces.

Structural means: every value has exactly one type, and what is not named is dropped. So the translation is a walk over
the struct's fields: the Python type gives the OpenAPI type, the annotations give the keywords. A plain default of the
struct (a text, a number) is the server's default too, so that reading an object nobody defaulted and reading one from
the server give the same. An empty default (None, "", 0, no entries) only means that the field was left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from dovetail.api.crds.schema import Filled, IntOrString, Json, Kept, Keywords, Limits, Merge, Required, Rule, Wire

Schema = dict[str, Json]

_SCALARS: Final[Mapping[object, Schema]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    datetime: {"type": "string", "format": "date-time"},
}
_MARKS: Final = (Limits, Merge, Filled, IntOrString, Kept)


def schema_of(annotated: object) -> Schema:
    """The schema of a type with its annotations."""
    bare, marks = _split(annotated)
    found = _typed(bare)
    rules: list[Json] = []
    for mark in marks:
        if isinstance(mark, str):
            found["description"] = mark
        elif isinstance(mark, Rule):
            rules.append(mark.schema)
        elif isinstance(mark, _MARKS):
            _add(found, mark)
    if rules:
        found["x-kubernetes-validations"] = rules
    return found


def _add(found: Schema, mark: Keywords) -> None:
    found.update(mark.keywords)


def _split(annotated: object) -> tuple[object, tuple[object, ...]]:
    """The type without `None`, and its annotations, innermost first."""
    if get_origin(annotated) is Annotated:
        bare, *outer = get_args(annotated)
        inner_type, inner = _split(bare)
        return inner_type, (*inner, *outer)
    if isinstance(annotated, UnionType) or get_origin(annotated) is Union:
        left = [one for one in get_args(annotated) if one is not NoneType]
        if len(left) == 1:
            return _split(left[0])
        if left == [int, str]:
            return int | str, ()
    return annotated, ()


def _typed(bare: object) -> Schema:
    if bare in _SCALARS:
        return dict(_SCALARS[bare])
    if bare == int | str:
        return {}  # IntOrString says what it is
    origin, inner = get_origin(bare), get_args(bare)
    if origin is tuple:
        return {"type": "array", "items": schema_of(inner[0])}
    if origin is dict and inner[1] is Any:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(inner[1])}
    if isinstance(bare, type) and issubclass(bare, Wire):
        return _struct(bare)
    raise TypeError(f"{bare!r} has no place in a schema")


def _struct(kind: type[Wire]) -> Schema:
    hints: dict[str, Any] = get_type_hints(kind, include_extras=True)
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for field in msgspec.structs.fields(kind):
        annotated = hints[field.name]
        schema = schema_of(annotated)
        if isinstance(field.default, str | int) and field.default and "default" not in schema:
            schema["default"] = field.default
        properties[field.encode_name] = schema
        if field.required or any(isinstance(mark, Required) for mark in _split(annotated)[1]):
            required.append(field.encode_name)
    found: Schema = {"type": "object"}
    if kind.__doc__:
        found["description"] = " ".join(kind.__doc__.split())
    found["properties"] = dict(sorted(properties.items()))
    if required:
        found["required"] = sorted(required, key=str)
    return found
