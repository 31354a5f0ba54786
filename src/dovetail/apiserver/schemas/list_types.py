"""Lists that are really sets or maps: no item, or no key, may be there twice."""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail.apiserver.errors import Cause
from dovetail.apiserver.schemas import causes
from dovetail.apiserver.schemas.nodes import Node


def check(node: Node, value: Any, path: str, found: list[Cause]) -> None:
    """Add one cause for each item that repeats an earlier one."""
    if not node.has_list_types:
        return
    if isinstance(value, dict):
        for name, one in value.items():
            if name in node.properties:
                check(node.properties[name], one, f"{path}.{name}" if path else name, found)
            elif node.additional is not None:
                check(node.additional, one, f"{path}[{name}]", found)
    elif isinstance(value, list):
        if node.list_type == "set":
            found += [causes.duplicate(f"{path}[{at}]", value[at]) for at in _repeated(value)]
        elif node.list_type == "map":
            _check_map(node, value, path, found)
        if node.items is not None:
            for at, one in enumerate(value):
                check(node.items, one, f"{path}[{at}]", found)


def _check_map(node: Node, value: list[Any], path: str, found: list[Cause]) -> None:
    for at, one in enumerate(value):
        if one is not None and not isinstance(one, dict):
            found.append(causes.invalid(f"{path}[{at}]", one, "must be an object for an array of list-type map"))
            return
    keys = [{name: one[name] for name in node.list_map_keys if name in one} if one else {} for one in value]
    found += [causes.duplicate(f"{path}[{at}]", keys[at]) for at in _repeated(keys)]


def _repeated(items: list[Any]) -> list[int]:
    """Where each item that occurs more than once occurs the second time."""
    seen: dict[bytes, int] = {}
    repeated: list[int] = []
    for at, one in enumerate(items):
        key = msgspec.json.encode(one, order="sorted")
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 2:
            repeated.append(at)
    return repeated
