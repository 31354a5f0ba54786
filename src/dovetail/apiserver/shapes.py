"""How the parts of an object are put together, for whoever merges them.

A *shape* says of a place whether it is merged by name (a struct or map), by key (a list whose items have an identity),
as a set, or only as a whole. Strategic patches, server-side apply and field ownership all walk objects along their
shape. Custom kinds get theirs from the schema's `x-kubernetes-*` marks, built-in ones from the
table of `builtin_types`.
Where nothing is said, maps are merged and lists are replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from dovetail.api.kinds import Kind
from dovetail.apiserver import builtin_types
from dovetail.apiserver.builtin_types import Field, ListOf, MapOf, Message, MessageRef, Type

if TYPE_CHECKING:
    from dovetail.apiserver.resources import Resource


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """Merged by field. Fields it does not name are of the shape `rest`, or, without one, of no known shape."""

    fields: Mapping[str, Shape] = field(default_factory=dict)
    rest: Shape | None = None
    #: Whether it can be missing as such: a map, or any object of a custom kind.
    is_map: bool = False

    def child(self, name: str) -> Shape:
        return self.fields.get(name) or self.rest or ANY


@dataclass(frozen=True, slots=True, eq=False)
class Keyed:
    """A list whose items are told apart by `keys`; strategic patches know only `merge_key`."""

    keys: tuple[str, ...]
    element: Shape
    #: Empty where strategic patches replace the list.
    merge_key: str = ""
    #: What a key is when an item leaves it out.
    otherwise: Mapping[str, str] = field(default_factory=dict)
    #: Whether it can be missing as such, and is then owned as such by whoever makes it.
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Unordered:
    """A list of values that is a set; `merges` says whether strategic patches treat it as one, too."""

    merges: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """Owned and applied as one value. A strategic patch still merges it if it is a map."""


Shape = Struct | Keyed | Unordered | Whole
ANY: Final = Struct()
WHOLE: Final = Whole()
SET: Final = Unordered()


def of(resource: Resource) -> Struct:
    """The shape of a resource's objects."""
    if resource.definition is not None:
        return resource.definition.shape
    return _builtin(resource.kind)


def of_schema(schema: Mapping[str, Any]) -> Shape:
    """The shape a structural schema describes."""
    if schema.get("x-kubernetes-map-type") == "atomic":
        return WHOLE
    if "items" in schema or schema.get("type") == "array":
        return _list_of_schema(schema)
    fields = {name: of_schema(one) for name, one in (schema.get("properties") or {}).items()}
    further = schema.get("additionalProperties")
    return Struct(fields, of_schema(further) if isinstance(further, Mapping) else None, is_map=True)


def _list_of_schema(schema: Mapping[str, Any]) -> Shape:
    match schema.get("x-kubernetes-list-type"):
        case "map":
            items = schema.get("items") or {}
            keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
            properties = items.get("properties") or {}
            otherwise = {key: properties[key]["default"] for key in keys if "default" in properties.get(key, {})}
            return Keyed(keys, of_schema(items), otherwise=otherwise, optional=True) if keys else WHOLE
        case "set":
            return SET
        case _:
            return WHOLE


def of_custom(schema: Mapping[str, Any]) -> Struct:
    """The shape of a custom kind's objects: what its schema says, with the metadata all objects share."""
    found = of_schema(schema)
    fields = dict(found.fields) if isinstance(found, Struct) else {}
    return Struct({**fields, "metadata": _metadata()})


# --- built-in kinds ------------------------------------------------------------------------------------------------


def of_message(message: Message) -> Struct:
    """The shape of a built-in type."""
    return Struct({name: _of_field(one) for name, one in message.fields.items()})


def _of_field(one: Field) -> Shape:
    if one.whole:
        return WHOLE
    match one.type:
        case ListOf(element):
            return _of_list(one, element)
        case MapOf(element):
            return Struct(rest=_of_type(element), is_map=True)
        case kind:
            found = _of_type(kind)
            return replace(found, is_map=True) if one.pointer and isinstance(found, Struct) else found


def _of_list(one: Field, element: Type) -> Shape:
    if one.list_type == "map" and one.keys:
        return Keyed(one.keys, _of_element(element), one.merge_key or "", _defaults(element, one.keys), one.zero)
    if one.list_type == "set":
        return Unordered(merges=one.merge_key is not None)
    if one.merge_key:
        # Lists the older patches merge although nobody marked them for apply.
        return Keyed((one.merge_key,), _of_element(element), one.merge_key)
    return WHOLE


def _of_element(kind: Type) -> Shape:
    """An item's own shape. That its type is elsewhere owned as a whole does not matter for an item with a key."""
    message = builtin_types.message(kind.name) if isinstance(kind, MessageRef) else None
    if message is None:
        return WHOLE
    return WHOLE if message.whole and len(message.fields) > 2 else _cached(message.name)


def _of_type(kind: Type) -> Shape:
    if not isinstance(kind, MessageRef):
        return ANY
    message = builtin_types.message(kind.name)
    if message is None:
        return ANY
    return WHOLE if message.whole else _cached(message.name)


def _defaults(element: Type, keys: tuple[str, ...]) -> dict[str, str]:
    message = builtin_types.message(element.name) if isinstance(element, MessageRef) else None
    fields = message.fields if message else {}
    return {key: fields[key].default for key in keys if key in fields and fields[key].default}


@cache
def _cached(name: str) -> Struct:
    message = builtin_types.message(name)
    assert message is not None
    return of_message(message)


@cache
def _builtin(kind: Kind) -> Struct:
    message = builtin_types.message_of(kind)
    return of_message(message) if message else Struct({"metadata": _metadata()})


def _metadata() -> Struct:
    return _cached("meta.ObjectMeta")
