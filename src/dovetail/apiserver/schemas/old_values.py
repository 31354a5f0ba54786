"""Which part of an old object corresponds to a part of the new one, and whether it is still the same.

Members correspond by name; items of a list of type map by their keys; items of any other list to nothing, because an
insertion would pair strangers.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail.apiserver.schemas.nodes import MISSING, Node


def same(value: Any, other: Any) -> bool:
    """Equal in value and in type. Python takes true for 1 and 1 for 1.0, and JSON schemas do not."""
    if value != other:
        return False
    if type(value) is not type(other):
        return False
    if isinstance(value, dict | list):
        return _canonical(value) == _canonical(other)
    return True


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def old_member(old: Any, name: str) -> Any:
    return old.get(name, MISSING) if isinstance(old, dict) else MISSING


def old_item(node: Node, item: Any, old: Any) -> Any:
    """The old item with the same keys, or MISSING."""
    if node.list_type != "map" or not isinstance(old, list) or not isinstance(item, dict):
        return MISSING
    wanted = key_of(node, item)
    return next((one for one in old if isinstance(one, dict) and key_of(node, one) == wanted), MISSING)


def key_of(node: Node, item: dict[str, Any]) -> tuple[Any, ...]:
    """The key of an item of a list of type map; a key left out stands for its default."""
    return tuple(item.get(name, _default_of(node, name)) for name in node.list_map_keys)


def _default_of(node: Node, name: str) -> Any:
    child = node.items.properties.get(name) if node.items is not None else None
    return child.default if child is not None and child.default is not MISSING else None
