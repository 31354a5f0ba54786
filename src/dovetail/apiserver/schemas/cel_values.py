"""An object as CEL rules see it.

Rules see members under identifiers CEL can spell (`my-name` is `my__dash__name`, `in` is `__in__`), see no member
that is null, see dates and durations as such, and numbers as doubles even where JSON had `1`. Keys of maps stay as
they are. Most schemas need none of this, so each node is marked once, and what needs nothing is handed on untouched.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dovetail.apiserver.schemas.nodes import Node
from dovetail.apiserver.schemas.old_values import key_of

_RESERVED: Final = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED: Final = re.compile(r"__|[-./]")
_IDENTIFIER: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_DURATION_PART: Final = re.compile(r"([0-9]*\.?[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def escaped(name: str) -> str | None:
    """The identifier rules use for a member, or None where there is none."""
    if name in _RESERVED:
        return f"__{name}__"
    if _IDENTIFIER.fullmatch(name) and "__" not in name:
        return name
    spelled = _ESCAPED.sub(lambda found: _ESCAPES[found[0]], name)
    return spelled if _IDENTIFIER.fullmatch(spelled) else None


def mark(node: Node) -> None:
    """Note whether values here have to be changed for rules; children must be marked already."""
    below = [*node.properties.values(), *(one for one in (node.additional, node.items) if one is not None)]
    node.converts = (
        node.type == "number"
        or (node.type == "string" and node.format.replace("-", "") in _FORMATS)
        or any(escaped(name) != name or child.nullable for name, child in node.properties.items())
        or any(one.converts for one in below)
    )


def to_cel(node: Node, value: Any) -> Any:
    """A value as rules see it."""
    if not node.converts or value is None:
        return value
    if isinstance(value, dict):
        if node.properties:
            return _object(node, value)
        return {name: to_cel(node.additional, one) if node.additional else one for name, one in value.items()}
    if isinstance(value, list):
        return [to_cel(node.items, one) for one in value] if node.items else value
    if isinstance(value, str):
        convert = _FORMATS.get(node.format.replace("-", "")) if node.format else None
        return convert(value) if convert else value
    return float(value) if node.type == "number" else value


def _object(node: Node, value: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, one in value.items():
        child = node.properties.get(name)
        if child is None:
            out[name] = one
        elif one is not None:
            out[escaped(name) or name] = to_cel(child, one)
    return out


def equal(node: Node | None, one: Any, other: Any) -> bool:
    """CEL's `==`: sets have no order, and items of lists of type map meet by key."""
    if one == other:
        return True
    if node is None or not node.has_list_types or type(one) is not type(other) or len(one) != len(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(node.child(name), one[name], other[name]) for name in one)
    if node.list_type == "map":
        theirs = {repr(key_of(node, item)): item for item in other}
        keys = [repr(key_of(node, item)) for item in one]
        return all(key in theirs and equal(node.items, item, theirs[key]) for key, item in zip(keys, one, strict=True))
    if node.list_type == "set":
        return all(item in other for item in one)
    return all(equal(node.items, mine, theirs) for mine, theirs in zip(one, other, strict=True))


def _timestamp(text: str) -> datetime:
    shortened = re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text)
    moment = datetime.fromisoformat(shortened)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _duration(text: str) -> timedelta:
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(text))
    return timedelta(seconds=-seconds if text.startswith("-") else seconds)


_FORMATS: Final[Mapping[str, Callable[[str], Any]]] = {
    "datetime": _timestamp,
    "date": _timestamp,
    "duration": _duration,
    "byte": base64.b64decode,
}
