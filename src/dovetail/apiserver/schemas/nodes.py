"""A structural schema, compiled: one `Node` for each place a value may stand.

A schema is read once, when its CRD is; what is wrong with it is said then, as a `BadField` whose place is the path
within the schema. Afterwards every question about an object (what to prune, to fill in, to refuse) is a walk down
these nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dovetail.apiserver.schemas import formats, patterns
from dovetail.core.errors import BadField, BadInput, BadValue, shown

if TYPE_CHECKING:
    from dovetail.apiserver.schemas.rules import Scope


class Missing:
    """Nothing, where None would be a value."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()

INTEGER_OR_STRING: Final = ("integer", "string")
_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean"})
_NUMBER_FORMATS: Final = {"integer": frozenset({"int32", "int64"}), "number": frozenset({"float", "double"})}


@dataclass(slots=True)
class Node:
    """What a schema demands of one value. Absent demands are None or empty."""

    types: tuple[str, ...] = ()
    nullable: bool = False
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded: bool = False
    default: Any = MISSING

    properties: dict[str, Node] = field(default_factory=dict)
    additional: Node | None = None
    forbids_additional: bool = False
    allows_additional: bool = False
    required: tuple[str, ...] = ()
    min_properties: int | None = None
    max_properties: int | None = None

    items: Node | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    list_type: str = ""
    list_map_keys: tuple[str, ...] = ()

    format: str = ""
    accepts_format: Callable[[str], bool] | None = None
    pattern: re.Pattern[str] | None = None
    pattern_text: str = ""
    min_length: int | None = None
    max_length: int | None = None

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None

    enum: tuple[Any, ...] | None = None
    all_of: tuple[Node, ...] = ()
    any_of: tuple[Node, ...] = ()
    one_of: tuple[Node, ...] = ()
    none_of: Node | None = None

    #: CEL rules as written; `rules.attach` compiles them into `scope`.
    rules: tuple[Mapping[str, Any], ...] = ()
    scope: Scope | None = None
    #: Whether values here look different to rules; see `cel_values`.
    converts: bool = False
    #: Whether any rule stands here or further down, and whether any of those compares with the old value.
    has_rules: bool = False
    has_transitions: bool = False
    #: Whether defaults, or list types, are asked about here or further down; walks skip what has none.
    has_defaults: bool = False
    has_list_types: bool = False

    @property
    def type(self) -> str:
        """The type as rules and their messages call it; empty for int-or-string."""
        return self.types[0] if len(self.types) == 1 else ""

    def child(self, name: str) -> Node | None:
        """The node for a member of an object, if the schema has one."""
        return self.properties.get(name, self.additional)


def node_of(schema: Mapping[str, Any]) -> Node:
    """Compile one schema with everything below it; a `BadField` tells what in it cannot be used."""
    if not isinstance(schema, Mapping):
        raise BadValue(f"expected a schema, got {shown(schema)}")
    node = Node()
    _read_type(node, schema)
    _read_children(node, schema)
    _read_limits(node, schema)
    _read_junctors(node, schema)
    node.embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    node.preserve_unknown = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    node.list_type = schema.get("x-kubernetes-list-type") or ""
    node.list_map_keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    node.default = schema.get("default", MISSING)
    node.rules = tuple(schema.get("x-kubernetes-validations") or ())
    _note_what_is_below(node)
    return node


def _read_type(node: Node, schema: Mapping[str, Any]) -> None:
    kind = schema.get("type") or ""
    node.int_or_string = bool(schema.get("x-kubernetes-int-or-string"))
    if kind and kind not in _TYPES:
        raise BadValue(f"{shown(kind)} is not a type; use one of {', '.join(sorted(_TYPES))}").at("type")
    node.types = INTEGER_OR_STRING if node.int_or_string else (kind,) if kind else ()
    node.nullable = bool(schema.get("nullable"))
    wanted = schema.get("format") or ""
    if kind in _NUMBER_FORMATS:
        node.format = wanted if wanted in _NUMBER_FORMATS[kind] else ""
    elif kind in ("", "string") and wanted:
        node.accepts_format = formats.string_format(wanted)
        node.format = wanted if node.accepts_format else ""


def _read_children(node: Node, schema: Mapping[str, Any]) -> None:
    for name, one in (schema.get("properties") or {}).items():
        node.properties[name] = _below(one, "properties", name)
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        node.additional = _below(additional, "additionalProperties")
    elif additional is False:
        node.forbids_additional = True
    node.allows_additional = additional is True
    if schema.get("items") is not None:
        node.items = _below(schema["items"], "items")
    node.required = tuple(schema.get("required") or ())


def _read_limits(node: Node, schema: Mapping[str, Any]) -> None:
    node.min_properties, node.max_properties = schema.get("minProperties"), schema.get("maxProperties")
    node.min_items, node.max_items = schema.get("minItems"), schema.get("maxItems")
    node.unique_items = bool(schema.get("uniqueItems"))
    node.min_length, node.max_length = schema.get("minLength"), schema.get("maxLength")
    node.minimum, node.maximum = schema.get("minimum"), schema.get("maximum")
    node.exclusive_minimum = bool(schema.get("exclusiveMinimum"))
    node.exclusive_maximum = bool(schema.get("exclusiveMaximum"))
    node.multiple_of = schema.get("multipleOf")
    node.enum = tuple(schema["enum"]) if schema.get("enum") else None
    if schema.get("pattern"):
        node.pattern_text = schema["pattern"]
        try:
            node.pattern = patterns.compiled(node.pattern_text)
        except BadValue as problem:
            raise problem.at("pattern") from None


def _read_junctors(node: Node, schema: Mapping[str, Any]) -> None:
    node.all_of = tuple(_below(one, "allOf", at) for at, one in enumerate(schema.get("allOf") or ()))
    node.any_of = tuple(_below(one, "anyOf", at) for at, one in enumerate(schema.get("anyOf") or ()))
    node.one_of = tuple(_below(one, "oneOf", at) for at, one in enumerate(schema.get("oneOf") or ()))
    if schema.get("not") is not None:
        node.none_of = _below(schema["not"], "not")


def _below(schema: Mapping[str, Any], *place: str | int) -> Node:
    try:
        return node_of(schema)
    except BadInput as problem:
        raise located(problem, *place) from None


def located(problem: BadInput, *place: str | int) -> BadField:
    """The same problem, seen from one step further out."""
    if isinstance(problem, BadField):
        return problem.within(*place)
    return BadValue(str(problem)).at(*place)


def _note_what_is_below(node: Node) -> None:
    below = [*node.properties.values(), *node.all_of]
    below += [one for one in (node.additional, node.items) if one is not None]
    node.has_rules = bool(node.rules) or any(one.has_rules for one in below)
    node.has_transitions = any("oldSelf" in (one.get("rule") or "") for one in node.rules) or any(
        one.has_transitions for one in below
    )
    node.has_defaults = node.default is not MISSING or any(one.has_defaults for one in below)
    node.has_list_types = node.list_type in ("set", "map") or any(one.has_list_types for one in below)
