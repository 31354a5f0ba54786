"""What an API server enforces of one value, written beside the value's type.

A field of a wire struct is annotated with what the server must know of it:

    weight: Annotated[int | None, Limits(minimum=1, maximum=100), "Heavier pools are tried first."] = None

A bare string is the field's description, `Limits` are keywords of OpenAPI, and a `Rule` is a CEL expression with the
sentence a person reads when it fails. msgspec ignores all of them: what is stored was judged when it was written, and
reading it again must not fail because a rule became stricter since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, Literal, Protocol

import msgspec

Json = bool | int | str | list["Json"] | dict[str, "Json"]


class Wire(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """An object on the wire. Names are camelCase there; what equals its default is left out."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL expression that must hold, and what to say when it does not."""

    expression: str
    message: str

    @property
    def schema(self) -> dict[str, Json]:
        return {"rule": self.expression, "message": self.message}


class Keywords(Protocol):
    """Anything that adds keywords to a schema."""

    @property
    def keywords(self) -> Mapping[str, Json]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Keywords of one value. Of several on one value the later one wins, keyword by keyword."""

    format: Literal["int32", "int64", "date-time", ""] = ""
    pattern: str = ""
    enum: tuple[str, ...] = ()
    min_length: int | None = None
    max_length: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    max_properties: int | None = None

    @property
    def keywords(self) -> Mapping[str, Json]:
        found: dict[str, Json] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None and value != "" and value != ():
                head, *tail = one.name.split("_")
                name = head + "".join(word.capitalize() for word in tail)
                found[name] = list(value) if isinstance(value, tuple) else value
        return found


@dataclass(frozen=True, slots=True)
class Merge:
    """How two writers of one list or map are brought together: `keys` tell the entries of a list apart."""

    list_type: Literal["atomic", "set", "map", ""] = ""
    map_type: Literal["atomic", "granular", ""] = ""
    keys: tuple[str, ...] = ()

    @property
    def keywords(self) -> Mapping[str, Json]:
        found: dict[str, Json] = {}
        if self.list_type:
            found["x-kubernetes-list-type"] = self.list_type
        if self.map_type:
            found["x-kubernetes-map-type"] = self.map_type
        if self.keys:
            found["x-kubernetes-list-map-keys"] = list(self.keys)
        return found


@dataclass(frozen=True, slots=True)
class Filled:
    """What the server writes where the field is left out, if that is more than the plain default of the struct."""

    default: Json

    @property
    def keywords(self) -> Mapping[str, Json]:
        return {"default": self.default}


@dataclass(frozen=True, slots=True)
class IntOrString:
    """A value that may be written as a number or as text."""

    @property
    def keywords(self) -> Mapping[str, Json]:
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


@dataclass(frozen=True, slots=True)
class Kept:
    """Fields of an object that its schema does not name are kept, and not pruned."""

    @property
    def keywords(self) -> Mapping[str, Json]:
        return {"x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True, slots=True)
class Required:
    """A field that must be there although the struct has a default for it (the server fills it in first)."""


ATOMIC_LIST: Final = Merge(list_type="atomic")
ATOMIC_MAP: Final = Merge(map_type="atomic")
GRANULAR_MAP: Final = Merge(map_type="granular")
SET: Final = Merge(list_type="set")
BY_TYPE: Final = Merge(list_type="map", keys=("type",))

#: A block that is kept as it is written and that nobody here looks into.
Open = dict[str, Any]

Int32 = Annotated[int, Limits(format="int32")]
Int64 = Annotated[int, Limits(format="int64")]
