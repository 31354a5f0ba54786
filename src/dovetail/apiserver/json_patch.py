"""RFC 6902: a list of operations, carried out one by one or not at all."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.apiserver import errors


class _Fails(Exception):
    """An operation that cannot be carried out: its test failed, or its path leads nowhere."""


def patched(obj: dict[str, Any], operations: Sequence[Mapping[str, Any]]) -> Any:
    """The object after all operations."""
    found: Any = copy.deepcopy(obj)
    try:
        for one in operations:
            found = _carried_out(found, one)
    except (_Fails, KeyError, IndexError, ValueError, TypeError, AttributeError):
        raise errors.unprocessable() from None
    return found


def _carried_out(root: Any, one: Mapping[str, Any]) -> Any:
    path = _steps(one["path"])
    match one["op"]:
        case "test":
            if not _same(_at(root, path), one.get("value")):
                raise _Fails
            return root
        case "add":
            return _added(root, path, copy.deepcopy(one["value"]))
        case "replace":
            return _replaced(root, path, copy.deepcopy(one["value"]))
        case "remove":
            return _removed(root, path)
        case "copy":
            return _added(root, path, copy.deepcopy(_at(root, _steps(one["from"]))))
        case "move":
            source = _steps(one["from"])
            value = _at(root, source)
            return _added(_removed(root, source), path, value)
        case _:
            raise _Fails


def _steps(pointer: str) -> list[str]:
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise _Fails
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _at(root: Any, path: list[str]) -> Any:
    value = root
    for step in path:
        value = value[step] if isinstance(value, dict) else value[_index(value, step)]
    return value


def _index(items: Any, step: str) -> int:
    if not isinstance(items, list) or not step.isdigit() or int(step) >= len(items):
        raise _Fails
    return int(step)


def _added(root: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _at(root, path[:-1])
    last = path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif last == "-":
        parent.append(value)
    else:
        if not last.isdigit() or int(last) > len(parent):
            raise _Fails
        parent.insert(int(last), value)
    return root


def _replaced(root: Any, path: list[str], value: Any) -> Any:
    """The real server lets a key be replaced that is not there; an item it does not."""
    if not path:
        return value
    parent = _at(root, path[:-1])
    if isinstance(parent, dict):
        parent[path[-1]] = value
    else:
        parent[_index(parent, path[-1])] = value
    return root


def _removed(root: Any, path: list[str]) -> Any:
    parent = _at(root, path[:-1])
    if isinstance(parent, dict):
        del parent[path[-1]]
    else:
        del parent[_index(parent, path[-1])]
    return root


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON is: true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
