"""The types of the built-in kinds, from a table of facts about the wire.

`builtin_types.json.gz` lists every type's fields: the name in JSON, the number in protobuf, the type, and how it is
merged. `tools/builtin_types` makes it. One table serves four readers: JSON that comes in is checked against it and
stripped of what nobody defined (below), protobuf is decoded by it (`protobuf`), merges go along it (`shapes`), and
`kubectl explain` is shown it (`openapi`).
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec

from dovetail.api.kinds import Kind

#: Groups whose types live in a package not named after them.
_PACKAGES: Final = {("", "v1"): "core", ("autoscaling", "v2"): "autoscaling2"}


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value: string, bool, int, float, bytes, quantity, time, microtime, duration, intstr, any."""

    name: str


@dataclass(frozen=True, slots=True)
class ListOf:
    element: Type
    #: In protobuf a list with a name of its own is a message around its items.
    wrapped: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    element: Type


@dataclass(frozen=True, slots=True)
class MessageRef:
    """A message by name; looked up when it is needed, since messages refer to one another."""

    name: str


Type = Scalar | ListOf | MapOf | MessageRef
ANY: Final = Scalar("any")


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    number: int
    type: Type
    #: Left out when it is empty, as the real server does.
    zero: bool = False
    inline: bool = False
    #: Whether a message can be missing; others are there even when empty.
    pointer: bool = False
    #: `map`, `set` or `atomic`, where lists say so.
    list_type: str = ""
    keys: tuple[str, ...] = ()
    whole: bool = False
    #: How a strategic patch merges a list: by this key; None: not at all; empty: as values.
    merge_key: str | None = None
    default: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    name: str
    #: By their names in JSON; fields of inlined messages among them.
    fields: dict[str, Field]
    #: By their numbers in protobuf.
    numbers: dict[int, Field] = field(repr=False)
    whole: bool = False


class _Document(msgspec.Struct):
    source: str
    whole: set[str]
    types: dict[str, list[list[Any]]]


@cache
def _document() -> _Document:
    packed = resources.files("dovetail.apiserver").joinpath("builtin_types.json.gz").read_bytes()
    return msgspec.json.decode(gzip.decompress(packed), type=_Document)


def message_of(kind: Kind) -> Message | None:
    """The type of a kind's objects; None for a kind the table does not know."""
    package = _PACKAGES.get((kind.group, kind.version)) or kind.group.partition(".")[0]
    return message(f"{package}.{kind.name}")


@cache
def message(name: str) -> Message | None:
    rows = _document().types.get(name)
    if rows is None:
        return None
    own = [_field(row) for row in rows]
    named: dict[str, Field] = {}
    for one in own:
        if one.inline and isinstance(one.type, MessageRef):
            inlined = message(one.type.name)
            named.update(inlined.fields if inlined else {})
        else:
            named[one.name] = one
    return Message(name, named, {one.number: one for one in own}, name in _document().whole)


def _field(row: list[Any]) -> Field:
    name, number, text, *rest = row
    more: dict[str, Any] = rest[0] if rest else {}
    return Field(
        name=name,
        number=number,
        type=_type(text),
        zero=bool(more.get("zero")),
        inline=bool(more.get("inline")),
        pointer=bool(more.get("pointer")),
        list_type=more.get("list", ""),
        keys=tuple(more.get("keys", ())),
        whole=bool(more.get("whole")),
        merge_key=more.get("merge"),
        default=more.get("default", ""),
    )


@cache
def _type(text: str) -> Type:
    match text[:1]:
        case "%":
            inner = _type(text[3:])
            return ListOf(inner, wrapped=True)
        case "[":
            return ListOf(_type(text[2:]))
        case "{":
            return MapOf(_type(text[2:]))
        case "@":
            return MessageRef(text[1:])
        case _:
            return Scalar(text)
