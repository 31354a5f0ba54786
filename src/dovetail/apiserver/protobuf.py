"""Bodies in protobuf, which typed Go clients send: decoded to the dict their JSON would be.

Only reading: answers are always JSON, which the same clients accept.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from dovetail.apiserver import builtin_types, errors
from dovetail.apiserver.builtin_types import ListOf, MapOf, Message, MessageRef, Scalar, Type

MEDIA: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIGN: Final = 1 << 63
_DEEPEST: Final = 100
#: How reading fails where the bytes are not what the types say: a number for a text, an end too soon.
_NO_MESSAGE: Final = (IndexError, ValueError, TypeError, AttributeError, OverflowError, msgspec.DecodeError, OSError)


def decode(body: bytes) -> dict[str, Any]:
    """An object, with its `apiVersion` and `kind`."""
    try:
        return _object(body)
    except _NO_MESSAGE as problem:
        raise errors.bad_request(f"error decoding protobuf: {problem}") from None


def _object(body: bytes) -> dict[str, Any]:
    if not body.startswith(_MAGIC):
        raise ValueError("provided data does not appear to be a protobuf message")
    envelope = dict(_fields(body[len(_MAGIC) :]))
    named = dict(_fields(envelope.get(1, b"")))
    api_version, kind = named.get(1, b"").decode(), named.get(2, b"").decode()
    message = _message_for(api_version, kind)
    if message is None:
        raise ValueError(f"no kind {kind!r} is known for version {api_version!r}")
    return {"apiVersion": api_version, "kind": kind, **_message(envelope.get(2, b""), message, 0)}


def _message_for(api_version: str, kind: str) -> Message | None:
    group, _, version = api_version.rpartition("/")
    package = {("", "v1"): "core", ("autoscaling", "v2"): "autoscaling2"}.get((group, version))
    if kind == "DeleteOptions":
        package = "meta"
    return builtin_types.message(f"{package or group.partition('.')[0]}.{kind}")


def _message(data: bytes, message: Message, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise ValueError("nested too deep")
    found: dict[str, Any] = {}
    for number, raw in _fields(data):
        known = message.numbers.get(number)
        if known is None:
            continue
        value = _value(raw, known.type, depth + 1)
        if known.inline:
            found.update(value)
        elif isinstance(known.type, ListOf) and not known.type.wrapped:
            found.setdefault(known.name, []).append(value)
        elif isinstance(known.type, MapOf):
            found.setdefault(known.name, {}).update(value)
        elif value is not None:
            found[known.name] = value
    return found


def _value(raw: Any, kind: Type, depth: int) -> Any:
    match kind:
        case MessageRef(name):
            message = builtin_types.message(name)
            return _message(raw, message, depth) if message else {}
        case ListOf(element, wrapped):
            return [_value(one, element, depth) for _, one in _fields(raw)] if wrapped else _value(raw, element, depth)
        case MapOf(element):
            entry = dict(_fields(raw))
            return {entry.get(1, b"").decode(): _value(entry.get(2, b""), element, depth)}
        case Scalar(name):
            return _scalar(raw, name)


def _scalar(raw: Any, name: str) -> Any:
    match name:
        case "string":
            return raw.decode()
        case "bytes":
            return base64.b64encode(raw).decode()
        case "bool":
            return bool(raw)
        case "int":
            return raw - (1 << 64) if raw >= _SIGN else raw
        case "quantity":
            return dict(_fields(raw)).get(1, b"0").decode() or "0"
        case "time" | "microtime":
            return _time(dict(_fields(raw)), name)
        case "intstr":
            parts = dict(_fields(raw))
            return parts.get(3, b"").decode() if parts.get(1) else _scalar(parts.get(2, 0), "int")
        case "any":
            inner = dict(_fields(raw)).get(1, b"")
            return msgspec.json.decode(inner) if inner else None
        case _:
            raise ValueError(f"{name} values are not read")


def _time(parts: dict[int, Any], name: str) -> str | None:
    if not parts:
        return None
    seconds = _scalar(parts.get(1, 0), "int")
    then = datetime.fromtimestamp(seconds, UTC).replace(microsecond=int(parts.get(2, 0)) // 1000)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ" if name == "time" else "%Y-%m-%dT%H:%M:%S.%fZ")


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The numbers and raw values of a message, in order."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value: Any
            value, at = _varint(data, at)
        elif wire == _BYTES:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
            if at > len(data):
                raise ValueError("unexpected EOF")
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
            value, at = data[at : at + size], at + size
        else:
            raise ValueError(f"wire type {wire} is not read")
        yield number, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")
