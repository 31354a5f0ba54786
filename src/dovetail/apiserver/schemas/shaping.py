"""What a server changes in an object before it looks at it: unknown members go, nulls go, defaults come.

All of it happens in place. The order is a real server's: prune, then drop the nulls nobody allows, then fill in
defaults from the top down, so that a default that is an object is completed by the defaults of its members.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from dovetail.apiserver.schemas.nodes import MISSING, Node

META: Final = frozenset({"apiVersion", "kind", "metadata"})
_METADATA: Final = frozenset(
    {
        *(
            "name",
            "generateName",
            "namespace",
            "labels",
            "annotations",
            "finalizers",
            "ownerReferences",
            "managedFields",
        ),
        *("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "selfLink"),
        "deletionGracePeriodSeconds",
    }
)


def prune(node: Node, value: Any, path: str, gone: list[str], *, resource: bool = False) -> None:
    """Take away what the schema does not know; the paths of what went are added to `gone`."""
    if isinstance(value, dict):
        _prune_object(node, value, path, gone, resource or node.embedded)
    elif isinstance(value, list) and node.items is not None:
        for at, one in enumerate(value):
            prune(node.items, one, f"{path}[{at}]", gone)
    elif isinstance(value, list) and not node.preserve_unknown:
        for at, one in enumerate(value):
            prune(_KNOWS_NOTHING, one, f"{path}[{at}]", gone)


def _prune_object(node: Node, value: dict[str, Any], path: str, gone: list[str], resource: bool) -> None:
    open_object = node.preserve_unknown or node.allows_additional
    unknown: list[str] = []
    for name, one in value.items():
        if resource and name in META:
            if path and name == "metadata" and isinstance(one, dict):
                _prune_metadata(one, f"{path}.{name}", gone)
            continue
        child = node.child(name)
        if child is None:
            if not open_object:
                unknown.append(name)
        elif isinstance(one, dict | list):
            prune(child, one, f"{path}.{name}" if path else name, gone)
    for name in unknown:
        del value[name]
        gone.append(f"{path}.{name}" if path else name)


def _prune_metadata(value: dict[str, Any], path: str, gone: list[str]) -> None:
    """The metadata of an object within an object; that of the outer one is not this schema's business."""
    for name in [one for one in value if one not in _METADATA]:
        del value[name]
        gone.append(f"{path}.{name}")


_KNOWS_NOTHING: Final = Node()


def drop_nulls(node: Node, value: Any) -> None:
    """Take away nulls where null is no value and no default stands in for it."""
    if isinstance(value, dict):
        for name in list(value):
            child = node.child(name)
            if child is None:
                continue
            one = value[name]
            if one is None:
                if not child.nullable and child.default is MISSING:
                    del value[name]
            elif isinstance(one, dict | list):
                drop_nulls(child, one)
    elif isinstance(value, list) and node.items is not None:
        for one in value:
            drop_nulls(node.items, one)


def fill_in(node: Node, value: Any) -> None:
    """Put defaults where nothing stands, or a null nobody allows."""
    if not node.has_defaults:
        return
    if isinstance(value, dict):
        for name, child in node.properties.items():
            if child.has_defaults:
                _fill_in_member(child, value, name)
        if node.additional is not None and node.additional.has_defaults:
            for name in [one for one in value if one not in node.properties]:
                if value[name] is None:
                    _fill_in_member(node.additional, value, name)
                fill_in(node.additional, value[name])
    elif isinstance(value, list) and node.items is not None:
        for at, one in enumerate(value):
            if one is None and not node.items.nullable and node.items.default is not MISSING:
                value[at] = copy.deepcopy(node.items.default)
            fill_in(node.items, value[at])


def _fill_in_member(child: Node, value: dict[str, Any], name: str) -> None:
    held = value.get(name, MISSING)
    if child.default is not MISSING and (held is MISSING or (held is None and not child.nullable)):
        held = value[name] = copy.deepcopy(child.default)
    if held is not MISSING:
        fill_in(child, held)
