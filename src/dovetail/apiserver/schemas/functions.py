"""The functions Kubernetes adds to CEL: strings, regular expressions, lists, sets, optionals.

The library calls any Python function both as `f(x, a)` and as `x.f(a)`. Strings, sets and lists come from the
library's own collection; what is here is what that lacks, or what one name must do for several types. Functions raise
to make a rule fail, as a real server's do. Those with types of their own (quantities, addresses, versions) are in
`type_functions`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from cel import OptionalValue, stdlib

from dovetail.apiserver.schemas import patterns
from dovetail.apiserver.schemas.causes import go_number
from dovetail.apiserver.schemas.type_functions import TYPE_FUNCTIONS

Function = Callable[..., Any]

#: Beyond this many pieces or matches the limit is no limit.
_ALL: Final = -1


def find(text: str, pattern: str) -> str:
    """The first match, or nothing."""
    found = patterns.compiled(pattern).search(text)
    return found[0] if found else ""


def find_all(text: str, pattern: str, limit: int = _ALL) -> list[str]:
    found = [one[0] for one in patterns.compiled(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]


def matches(text: str, pattern: str) -> bool:
    return patterns.compiled(pattern).search(text) is not None


def index_of(where: str | list[Any], what: Any, start: int = 0) -> int:
    if isinstance(where, str):
        return int(stdlib.index_of(where, what, start))
    return next((at for at, one in enumerate(where) if one == what), -1)


def last_index_of(where: str | list[Any], what: Any, *limit: int) -> int:
    if isinstance(where, str):
        return int(stdlib.last_index_of(where, what, *limit))
    return next((at for at in range(len(where) - 1, -1, -1) if where[at] == what), -1)


def is_sorted(items: list[Any]) -> bool:
    return all(one <= another for one, another in itertools.pairwise(items))


def smallest(items: list[Any]) -> Any:
    if not items:
        raise ValueError("min called on empty list")
    return min(items)


def largest(items: list[Any]) -> Any:
    if not items:
        raise ValueError("max called on empty list")
    return max(items)


def total(items: list[Any]) -> Any:
    if items and isinstance(items[0], timedelta):
        return sum(items, timedelta())
    return sum(items)


def formatted(text: str, values: list[Any] | Mapping[str, Any]) -> str:
    """`"%s of %d".format([a, b])`: %s, %d, %f, %e, %b, %x, %X, %o and %%."""
    pieces, rest = [], list(values)
    at = 0
    while at < len(text):
        one = text[at]
        at += 1
        if one != "%":
            pieces.append(one)
            continue
        verb = text[at : at + 1]
        precision = ""
        if verb == ".":
            end = at + 1
            while text[end : end + 1].isdigit():
                end += 1
            precision, verb, at = text[at:end], text[end : end + 1], end
        at += 1
        pieces.append("%" if verb == "%" else _verb(verb, precision, rest.pop(0)))
    return "".join(pieces)


def _verb(verb: str, precision: str, value: Any) -> str:
    match verb:
        case "s":
            return _as_text(value)
        case "f" | "e":
            return f"{float(value):{precision or '.6'}{verb}}"
        case "b" | "d" | "o" | "x" | "X" if isinstance(value, int):
            return ("true" if value else "false") if isinstance(value, bool) else f"{value:{verb}}"
        case "x" | "X" if isinstance(value, str | bytes):
            digits = (value.encode() if isinstance(value, str) else value).hex()
            return digits.upper() if verb == "X" else digits
    raise ValueError(f"%{verb} cannot print a {type(value).__name__}")


def _as_text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case int() | float():
            return go_number(value)
        case list():
            return f"[{', '.join(_as_text(one) for one in value)}]"
        case dict():
            pairs = sorted((_as_text(key), _as_text(one)) for key, one in value.items())
            return f"{{{', '.join(f'{key}: {one}' for key, one in pairs)}}}"
    return str(value)


def _held(value: Any) -> tuple[bool, Any]:
    if isinstance(value, OptionalValue):
        return (True, value.value()) if value.has_value() else (False, None)
    return True, value


def optional_field(value: Any, name: str) -> OptionalValue:
    known, held = _held(value)
    if not known or not isinstance(held, dict) or name not in held:
        return OptionalValue.none()
    return OptionalValue.of(held[name])


def optional_index(value: Any, key: Any) -> OptionalValue:
    known, held = _held(value)
    if known and isinstance(held, list) and isinstance(key, int):
        return OptionalValue.of(held[key]) if 0 <= key < len(held) else OptionalValue.none()
    return optional_field(value, key)


def optional_list(value: OptionalValue) -> list[Any]:
    return [value.value()] if value.has_value() else []


def optional_of_one(items: list[Any]) -> OptionalValue:
    return OptionalValue.of(items[0]) if items else OptionalValue.none()


def optional_flat(items: list[Any]) -> Any:
    return items[0] if items else OptionalValue.none()


def entries(value: dict[Any, Any] | list[Any]) -> list[list[Any]]:
    """Pairs of key and value, or of position and item; see `rewriting`."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return [list(pair) for pair in pairs]


def from_entries(pairs: list[list[Any]]) -> dict[Any, Any]:
    return {key: value for key, value in pairs}  # noqa: C416 - pairs are lists


def merged_maps(maps: list[dict[Any, Any]]) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    for one in maps:
        out.update(one)
    return out


FUNCTIONS: Final[Mapping[str, Function]] = {
    **{name: one for name, one in stdlib.EXTENSIONS["lists"].items() if name != "contains"},
    **stdlib.EXTENSIONS["strings"],
    **stdlib.EXTENSIONS["sets"],
    "bool": stdlib.bool_,
    "find": find,
    "findAll": find_all,
    "matchesPattern": matches,
    "indexOf": index_of,
    "lastIndexOf": last_index_of,
    "isSorted": is_sorted,
    "min": smallest,
    "max": largest,
    "sum": total,
    "format": formatted,
    "optField": optional_field,
    "optIndex": optional_index,
    "optList": optional_list,
    "optOne": optional_of_one,
    "optFlat": optional_flat,
    "entries": entries,
    "fromEntries": from_entries,
    "mergeMaps": merged_maps,
    "countCharacters": len,
    **TYPE_FUNCTIONS,
}

#: What the library brings along.
NATIVE: Final = frozenset(
    [
        "size",
        "contains",
        "startsWith",
        "endsWith",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "timestamp",
        "duration",
        "type",
        "dyn",
        "bool",
        "getFullYear",
        "getMonth",
        "getDate",
        "getDayOfMonth",
        "getDayOfWeek",
        "getDayOfYear",
        "getHours",
        "getMinutes",
        "getSeconds",
        "getMilliseconds",
        "hasValue",
        "value",
        "orValue",
        "or",
        "optional.of",
        "optional.none",
        "optional.ofNonZeroValue",
        "of",
        "none",
        "ofNonZeroValue",
    ]
)
