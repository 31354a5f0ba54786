"""Whether a value is what its schema demands: types, limits, enumerations, alternatives. CEL rules come later.

On an update an old value may be given. What is equal to the old value at the same place is not looked at: a schema that
became stricter must not keep anybody from changing something else (*ratcheting*). Places correspond by name in objects
and by key in lists of type map; items of other lists correspond to nothing.
"""

from __future__ import annotations

from operator import ge, gt, le, lt
from typing import Any, Final

from dovetail.apiserver.errors import Cause
from dovetail.apiserver.schemas import causes
from dovetail.apiserver.schemas.causes import NOWHERE, go_number, go_quote
from dovetail.apiserver.schemas.formats import INTEGER_RANGES
from dovetail.apiserver.schemas.nodes import MISSING, Node
from dovetail.apiserver.schemas.old_values import old_item, old_member, same

#: Seen alike in old and new by every writer, so a fault in them is never an old one.
_NEVER_RATCHETED: Final = frozenset({"apiVersion", "kind"})


def check(node: Node, value: Any, path: str, old: Any, found: list[Cause]) -> None:
    """Add what is wrong with a value to `found`."""
    if old is not MISSING and same(value, old):
        return
    if node.types or node.format:
        _check_type(node, value, path, found)
    if value is not None:
        if node.any_of or node.one_of or node.all_of or node.none_of is not None:
            _check_junctors(node, value, path, old, found)
        if isinstance(value, str):
            _check_string(node, value, path, found)
        elif isinstance(value, dict):
            _check_object(node, value, path, old, found)
        elif isinstance(value, list):
            _check_list(node, value, path, old, found)
        elif not isinstance(value, bool):
            _check_number(node, value, path, found)
    if node.enum is not None and not any(same(value, one) or _same_number(value, one) for one in node.enum):
        found.append(causes.not_supported(path, value, node.enum))


def _same_number(value: Any, other: Any) -> bool:
    return not isinstance(value, bool | str) and not isinstance(other, bool) and bool(value == other)


def _type_of(value: Any) -> tuple[str, str]:
    """JSON's name for the type of a value, and the format Go's libraries find in it."""
    match value:
        case bool():
            return "boolean", ""
        case str():
            return "string", ""
        case int():
            return "integer", "int64"
        case float():
            return "number", "float64"
        case list():
            return "array", ""
        case None:
            return "null", ""
    return "object", ""


def _check_type(node: Node, value: Any, path: str, found: list[Cause]) -> None:
    kind, number_format = _type_of(value)
    types = node.types
    if kind in types or (value is None and (node.nullable or not types)):
        return
    if kind == "integer" and "number" in types:
        return
    if kind == "number" and "integer" in types and value.is_integer():
        return
    expected = ",".join(types)
    if node.format and value is not None:
        if kind not in ("string", "array"):
            expected, kind = node.format, number_format
        elif "number" not in types and "integer" not in types:
            return  # As a real server does: with a string's format, a list passes for a string.
    found.append(causes.wrong_type(path, expected, kind))


def _check_string(node: Node, value: str, path: str, found: list[Cause]) -> None:
    """The first fault only, but a format is looked at whatever the rest says."""
    if node.max_length is not None and len(value) > node.max_length:
        found.append(causes.too_long(path, node.max_length))
    elif node.min_length is not None and len(value) < node.min_length:
        found.append(causes.invalid(path, value, f"{path} in body should be at least {node.min_length} chars long"))
    elif node.pattern is not None and node.pattern.search(value) is None:
        found.append(causes.invalid(path, value, f"{path} in body should match '{node.pattern_text}'"))
    if node.accepts_format is not None and not node.accepts_format(value):
        found.append(causes.wrong_type(path, node.format, value))


def _check_number(node: Node, value: int | float, path: str, found: list[Cause]) -> None:
    if node.type == "integer":
        low, high = INTEGER_RANGES[node.format or "int64"]
        if not low <= value <= high or not float(value).is_integer():
            kept = f"with format {node.format}" if node.format else "(default format)"
            found.append(causes.invalid(NOWHERE, "", f"Checked value must be of type integer {kept} in {path}"))
    for bound, broken, words in (
        (node.multiple_of, _is_no_multiple, "a multiple of"),
        (node.minimum, le if node.exclusive_minimum else lt, _MORE[node.exclusive_minimum]),
        (node.maximum, ge if node.exclusive_maximum else gt, _LESS[node.exclusive_maximum]),
    ):
        if bound is None:
            continue
        # A whole number is compared with a whole bound, as a real server does: 1 is not less than 1.5.
        bound = int(bound) if isinstance(value, int) else bound
        if broken(value, bound):
            found.append(causes.invalid(path, value, f"{path} in body should be {words} {go_number(bound)}"))


_MORE: Final = {True: "greater than", False: "greater than or equal to"}
_LESS: Final = {True: "less than", False: "less than or equal to"}


def _is_no_multiple(value: int | float, factor: int | float) -> bool:
    if not factor:
        return False
    if isinstance(value, int):
        return value % factor != 0
    times = value / factor
    return abs(times - round(times)) >= 1e-9 * max(1.0, abs(times))


def _check_list(node: Node, value: list[Any], path: str, old: Any, found: list[Cause]) -> None:
    if node.items is not None:
        for at, one in enumerate(value):
            check(node.items, one, f"{path}[{at}]", old_item(node, one, old), found)
    size = len(value)
    if node.min_items is not None and size < node.min_items:
        found.append(causes.invalid(path, size, f"{path} in body should have at least {node.min_items} items"))
    if node.max_items is not None and size > node.max_items:
        found.append(causes.too_many(path, size, node.max_items))
    if node.unique_items and any(same(value[i], value[j]) for i in range(size) for j in range(i)):
        found.append(causes.invalid(path, "", f"{path} in body shouldn't contain duplicates"))


def _check_object(node: Node, value: dict[str, Any], path: str, old: Any, found: list[Cause]) -> None:
    size = len(value)
    if node.min_properties is not None and size < node.min_properties:
        found.append(
            causes.invalid(path, size, f"{path} in body should have at least {node.min_properties} properties")
        )
    if node.max_properties is not None and size > node.max_properties:
        found.append(causes.too_many(path, size, node.max_properties))
    properties = node.properties
    if node.forbids_additional:
        found += [
            causes.invalid(path, name, f"{path}.{name} in body is a forbidden property")
            for name in value
            if name not in properties
        ]
    for name, one in value.items():
        child = properties.get(name, node.additional)
        if child is not None:
            before = MISSING if not path and name in _NEVER_RATCHETED else old_member(old, name)
            check(child, one, f"{path}.{name}" if path else name, before, found)
    required = {**dict.fromkeys(node.required), "apiVersion": None, "kind": None} if node.embedded else node.required
    found += [causes.required(f"{path}.{name}" if path else name) for name in required if name not in value]


def _check_junctors(node: Node, value: Any, path: str, old: Any, found: list[Cause]) -> None:
    if node.any_of:
        tried = _tries(node.any_of, value, path, old)
        if all(tried):
            found.append(_composite(path, "must validate at least one schema (anyOf)"))
            _add_new(found, tried[0])
    if node.one_of:
        tried = _tries(node.one_of, value, path, old)
        fitting = sum(not faults for faults in tried)
        if fitting != 1:
            how = "Found none valid" if not fitting else f"Found {fitting} valid alternatives"
            found.append(_composite(path, f"must validate one and only one schema (oneOf). {how}"))
            _add_new(found, tried[0] if not fitting else [])
    if node.all_of:
        tried = _tries(node.all_of, value, path, old)
        for faults in tried:
            _add_new(found, faults)
        if any(tried):
            none = ". None validated" if all(tried) else ""
            found.append(_composite(path, f"must validate all the schemas (allOf){none}"))
    if node.none_of is not None and not _tries((node.none_of,), value, path, old)[0]:
        found.append(_composite(path, "must not validate the schema (not)"))


def _tries(nodes: tuple[Node, ...], value: Any, path: str, old: Any) -> list[list[Cause]]:
    tried: list[list[Cause]] = []
    for one in nodes:
        faults: list[Cause] = []
        check(one, value, path, old, faults)
        tried.append(faults)
    return tried


def _composite(path: str, words: str) -> Cause:
    return causes.invalid(NOWHERE, "", f"{go_quote(path)} {words}")


def _add_new(found: list[Cause], more: list[Cause]) -> None:
    found += [one for one in more if one not in found]
