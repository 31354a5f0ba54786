"""Server-side apply's two movements, along an object's shape: laying what is wanted over what is there, and taking
fields out again.
"""

from __future__ import annotations

import copy
from typing import Any

from dovetail.apiserver.field_sets import Paths, step_to
from dovetail.apiserver.shapes import Keyed, Shape, Struct, Unordered
from dovetail.apiserver.storage import encode


def merged(live: Any, wanted: Any, shape: Shape) -> Any:
    """What is there with what is wanted on top."""
    if isinstance(shape, Struct) and isinstance(wanted, dict):
        found = dict(live) if isinstance(live, dict) else {}
        for name, value in wanted.items():
            found[name] = merged(found.get(name), value, shape.child(name))
        return found
    if isinstance(shape, Keyed) and isinstance(wanted, list):
        return _merged_items(live if isinstance(live, list) else [], wanted, shape)
    if isinstance(shape, Unordered) and isinstance(wanted, list):
        before = live if isinstance(live, list) else []
        return [*before, *(one for one in wanted if one not in before)]
    return copy.deepcopy(wanted)


def _merged_items(live: list[Any], wanted: list[Any], shape: Keyed) -> list[Any]:
    laid = {step_to(item, shape): item for item in wanted}
    found = []
    for item in live:
        step = step_to(item, shape)
        found.append(merged(item, laid.pop(step), shape.element) if step in laid else item)
    return [*found, *(merged(None, item, shape.element) for item in laid.values())]


def without(obj: Any, paths: Paths, shape: Shape) -> Any:
    """The object less some fields; maps that lose all they had go with them."""
    if not paths:
        return obj
    whole = {path[0] for path in paths if len(path) == 1}
    below: dict[str, Paths] = {}
    for path in paths:
        if len(path) > 1 and path[0] not in whole:
            below.setdefault(path[0], set()).add(path[1:])
    if isinstance(obj, dict):
        return _map_without(obj, whole, below, shape)
    if isinstance(obj, list):
        return _list_without(obj, whole, below, shape)
    return obj


def _map_without(obj: dict[str, Any], whole: set[str], below: dict[str, Paths], shape: Shape) -> dict[str, Any]:
    found = {}
    for name, value in obj.items():
        step = f"f:{name}"
        if step in whole:
            continue
        if step in below:
            child = shape.child(name) if isinstance(shape, Struct) else shape
            left = without(value, below[step], child)
            if left in ({}, []) and value:
                continue
            value = left
        found[name] = value
    return found


def _list_without(items: list[Any], whole: set[str], below: dict[str, Paths], shape: Shape) -> list[Any]:
    found = []
    for item in items:
        step = step_to(item, shape) if isinstance(shape, Keyed) else f"v:{encode(item).decode()}"
        if step in whole:
            continue
        element = shape.element if isinstance(shape, Keyed) else shape
        found.append(without(item, below[step], element) if step in below else item)
    return found
