"""Built-in types as OpenAPI schemas: names and types of fields, nested to where kubectl looks."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from dovetail.apiserver import builtin_types
from dovetail.apiserver.builtin_types import Field, ListOf, MapOf, Message, MessageRef, Scalar, Type

_SCALARS: Final[dict[str, dict[str, Any]]] = {
    "string": {"type": "string"},
    "bytes": {"type": "string", "format": "byte"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "quantity": {"type": "string"},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time"},
    "duration": {"type": "string"},
    "intstr": {"x-kubernetes-int-or-string": True},
    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


_HOMES: Final = {
    "meta": "io.k8s.apimachinery.pkg.apis.meta.v1",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
    "autoscaling2": "io.k8s.api.autoscaling.v2",
}


def reference(name: str) -> str:
    """What the real server calls a type: `core.Pod` is `io.k8s.api.core.v1.Pod`."""
    package, _, kind = name.partition(".")
    return f"{_HOMES.get(package, f'io.k8s.api.{package}.v1')}.{kind}"


def of_message(message: Message) -> dict[str, Any]:
    return {"type": "object", "properties": {name: _of_field(one) for name, one in message.fields.items()}}


def below(message: Message) -> dict[str, Message]:
    """All messages a message is made of, by the name others refer to them."""
    found: dict[str, Message] = {}
    todo = [message]
    while todo:
        for one in todo.pop().fields.values():
            inner = _message_in(one.type)
            if inner is not None and reference(inner.name) not in found:
                found[reference(inner.name)] = inner
                todo.append(inner)
    return found


def _message_in(kind: Type) -> Message | None:
    match kind:
        case MessageRef(name):
            return builtin_types.message(name)
        case ListOf(element) | MapOf(element):
            return _message_in(element)
        case _:
            return None


def _of_field(one: Field) -> dict[str, Any]:
    found = dict(_of_type(one.type))
    if one.list_type:
        found["x-kubernetes-list-type"] = one.list_type
    if one.keys:
        found["x-kubernetes-list-map-keys"] = list(one.keys)
    if one.merge_key is not None:
        found["x-kubernetes-patch-strategy"] = "merge"
    if one.merge_key:
        found["x-kubernetes-patch-merge-key"] = one.merge_key
    return found


@cache
def _of_type(kind: Type) -> dict[str, Any]:
    match kind:
        case Scalar(name):
            return _SCALARS[name]
        case ListOf(element):
            return {"type": "array", "items": _of_type(element)}
        case MapOf(element):
            return {"type": "object", "additionalProperties": _of_type(element)}
        case MessageRef(name):
            return {"$ref": f"#/components/schemas/{reference(name)}"}
