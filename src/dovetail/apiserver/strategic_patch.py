"""Strategic merge patches: a merge patch that knows which lists have items with identity.

Besides nulls, a patch may hold directives: `$patch: delete | replace | merge` in a map or list item, `$retainKeys` in
a map, and beside a list `$deleteFromPrimitiveList/<list>` and `$setElementOrder/<list>`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from dovetail.apiserver import errors
from dovetail.apiserver.shapes import ANY, Keyed, Shape, Struct, Unordered

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"


def merged(value: Mapping[str, Any] | None, patch: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """A map after the patch."""
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return copy.deepcopy({name: one for name, one in patch.items() if name != _DIRECTIVE})
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise errors.bad_request(f"Unknown patch type: {directive}")
    found = dict(value or {})
    if _RETAIN in patch:
        found = {name: one for name, one in found.items() if name in patch[_RETAIN]}
    for name, wanted in patch.items():
        if name.startswith(_DELETE_FROM):
            listed = name.removeprefix(_DELETE_FROM)
            found[listed] = [one for one in found.get(listed) or [] if one not in wanted]
        elif not name.startswith("$"):
            _merge_field(found, name, wanted, shape.child(name) if isinstance(shape, Struct) else ANY)
    for name, order in patch.items():
        if name.startswith(_ORDER):
            listed = name.removeprefix(_ORDER)
            child = shape.child(listed) if isinstance(shape, Struct) else ANY
            if isinstance(found.get(listed), list):
                found[listed] = _ordered(found[listed], order, child)
    return found


def _merge_field(found: dict[str, Any], name: str, wanted: Any, shape: Shape) -> None:
    if wanted is None:
        found.pop(name, None)
    elif isinstance(wanted, Mapping):
        before = found.get(name)
        if wanted.get(_DIRECTIVE) == "delete":
            found.pop(name, None)
        else:
            found[name] = merged(before if isinstance(before, dict) else None, wanted, shape)
    elif isinstance(wanted, list) and isinstance(shape, Keyed) and shape.merge_key:
        found[name] = _merged_list(found.get(name) or [], wanted, shape)
    elif isinstance(wanted, list) and isinstance(shape, Unordered) and shape.merges:
        before = found.get(name) or []
        found[name] = [*before, *(one for one in wanted if one not in before)]
    else:
        found[name] = copy.deepcopy(wanted)


def _merged_list(items: list[Any], patch: list[Any], shape: Keyed) -> list[Any]:
    key = shape.merge_key
    replaces = [one for one in patch if one == {_DIRECTIVE: "replace"}]
    if replaces:
        return copy.deepcopy([one for one in patch if one not in replaces])
    found = list(items)
    for wanted in patch:
        if not isinstance(wanted, Mapping) or key not in wanted:
            raise errors.bad_request(f"map: {wanted!r} does not contain declared merge key: {key}")
        at = next((place for place, one in enumerate(found) if one.get(key) == wanted[key]), None)
        if wanted.get(_DIRECTIVE) == "delete":
            found = [one for one in found if one.get(key) != wanted[key]]
        elif at is None:
            found.append(merged(None, wanted, shape.element))
        else:
            found[at] = merged(found[at], wanted, shape.element)
    return found


def _ordered(items: list[Any], order: list[Any], shape: Shape) -> list[Any]:
    """The items a client knows take its order, in the places they hold; those it does not know stay put."""
    key = shape.merge_key if isinstance(shape, Keyed) else ""
    ranks = [one.get(key) if isinstance(one, Mapping) and key else one for one in order]

    def identity(item: Any) -> Any:
        return item.get(key) if key and isinstance(item, Mapping) else item

    known = sorted((one for one in items if identity(one) in ranks), key=lambda one: ranks.index(identity(one)))
    line = iter(known)
    return [next(line) if identity(one) in ranks else one for one in items]
