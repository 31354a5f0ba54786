"""JSON that comes in, made what its type says: checked, stripped of the unknown and the empty, values written one way.

The real server decodes into typed structures and encodes again; fields it has never heard of, nulls and empty values
get lost on the way, and quantities and times come out in one spelling. Here the same is done to the dict, in place.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

from dovetail.apiserver import builtin_types
from dovetail.apiserver.builtin_types import ListOf, MapOf, Message, MessageRef, Scalar, Type
from dovetail.core import quantity
from dovetail.core.errors import BadInput

_SECONDS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_MICROS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_ANY_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_ANY_MICROS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_QUANTITY_RULE: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_GO: Final = {"int": "int32", "bool": "bool", "string": "string", "float": "float64", "bytes": "[]uint8"}
_TYPE_META: Final = ("apiVersion", "kind")


class WrongType(Exception):
    """A value that is not of its field's type; the text is the real server's."""


def clean(obj: dict[str, Any], message: Message, path: str = "") -> list[str]:
    """Make an object what its type says; returns the paths of fields nobody defined, which are gone."""
    unknown: list[str] = []
    named = {name: obj.pop(name) for name in _TYPE_META if name in obj}
    try:
        _message(obj, message, path, unknown)
    finally:
        rest = dict(obj)
        obj.clear()
        obj.update(named | rest)
    return unknown


def _message(value: dict[str, Any], message: Message, path: str, unknown: list[str]) -> None:
    for name in list(value):
        known = message.fields.get(name)
        place = f"{path}.{name}" if path else name
        if known is None:
            unknown.append(place)
            del value[name]
            continue
        found = value[name]
        if found is not None:
            kind = known.type
            found = value[name] = (
                _scalar(found, kind.name, place) if isinstance(kind, Scalar) else _value(found, kind, place, unknown)
            )
        if found is None or (known.zero and not found and found in ("", [], {}, 0, False)):
            del value[name]


def _value(value: Any, kind: Type, path: str, unknown: list[str]) -> Any:
    match kind:
        case Scalar(name):
            return _scalar(value, name, path)
        case MessageRef(name):
            if not isinstance(value, dict):
                raise _wrong(value, path, name.partition(".")[2])
            if message := builtin_types.message(name):
                _message(value, message, path, unknown)
            return value
        case ListOf(element):
            if not isinstance(value, list):
                raise _wrong(value, path, "[]" + _shown(element))
            return [_value(one, element, f"{path}[{at}]", unknown) for at, one in enumerate(value)]
        case MapOf(element):
            if not isinstance(value, dict):
                raise _wrong(value, path, "map[string]" + _shown(element))
            return {name: _value(one, element, f"{path}.{name}", unknown) for name, one in value.items()}


def _shown(kind: Type) -> str:
    match kind:
        case Scalar(name):
            return _GO.get(name, name)
        case MessageRef(name):
            return name.partition(".")[2]
        case _:
            return "value"


def _scalar(value: Any, name: str, path: str) -> Any:
    match name:
        case "string" | "bytes":
            if isinstance(value, str):
                return value
        case "bool":
            if isinstance(value, bool):
                return value
        case "int":
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        case "float":
            if isinstance(value, int | float) and not isinstance(value, bool):
                return value
        case "quantity":
            return _quantity(value)
        case "time" | "microtime":
            return _time(value, name, path)
        case "intstr":
            if isinstance(value, int | str) and not isinstance(value, bool):
                return value
        case _:
            return value
    raise _wrong(value, path, _GO.get(name, name))


def _quantity(value: Any) -> str:
    try:
        return str(quantity.parse(value))
    except BadInput:
        raise WrongType(_QUANTITY_RULE) from None


def _time(value: Any, name: str, path: str) -> str | None:
    if not isinstance(value, str):
        raise _wrong(value, path, "Time")
    if (_SECONDS if name == "time" else _MICROS).fullmatch(value):
        return value
    if not value:
        return None
    if name == "microtime" and not _ANY_MICROS.fullmatch(value):
        raise WrongType(f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "{value}"')
    if not _ANY_TIME.fullmatch(value):
        raise WrongType(f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"')
    # Go writes nanoseconds, which Python does not read.
    whole, dot, rest = value.partition(".")
    digits = re.match(r"\d*", rest)
    text = f"{whole}.{digits[0][:6]:0<6}{rest[digits.end() :]}" if dot and digits else value
    then = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ" if name == "time" else "%Y-%m-%dT%H:%M:%S.%fZ")


def _wrong(value: Any, path: str, wanted: str) -> WrongType:
    kinds = {str: "string", bool: "bool", int: "number", float: "number", dict: "object", list: "array"}
    found = kinds.get(type(value), "null")
    return WrongType(f"json: cannot unmarshal {found} into Go struct field .{path} of type {wanted}")
