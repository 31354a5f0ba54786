"""Sets of fields, as `managedFields` writes them down.

A field is a path of steps: `f:name` into a map, `k:{"name":"web"}` to a list's item by its keys, `v:"x"` to a value of
a set. A set of fields is a plain set of such paths; `wire` and `read` turn it into the nested form objects carry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.apiserver.shapes import Keyed, Shape, Struct, Unordered
from dovetail.apiserver.storage import decode, encode

Path = tuple[str, ...]
Paths = set[Path]


class _Missing:
    """Where one side has nothing."""


MISSING: Final = _Missing()
#: What the server keeps for itself; nobody owns these.
_UNOWNED: Final = frozenset(
    {("f:apiVersion",), ("f:kind",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    }
)
_UNOWNED_DEPTH: Final = 3


@dataclass(slots=True)
class Difference:
    """Which fields one object has, lacks, or has otherwise than another."""

    added: Paths = field(default_factory=set)
    changed: Paths = field(default_factory=set)
    removed: Paths = field(default_factory=set)
    #: Maps that came to be, as such; whoever makes one owns it, apart from what it holds.
    maps: Paths = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def of(obj: Mapping[str, Any], shape: Shape) -> Paths:
    """All fields of an object."""
    return between({}, obj, shape).added


def between(old: Mapping[str, Any], new: Mapping[str, Any], shape: Shape) -> Difference:
    found = Difference()
    _compare(old, new, shape, (), found)
    return found


def _compare(old: Any, new: Any, shape: Shape, path: Path, found: Difference) -> None:
    if old is MISSING or new is MISSING:
        kind = type(new if old is MISSING else old)
    elif old == new:
        return
    else:
        kind = type(new) if type(old) is type(new) else object
    if len(path) < _UNOWNED_DEPTH and path in _UNOWNED:
        return
    if kind is dict and isinstance(shape, Struct) and (_filled(old) or _filled(new)):
        _compare_maps(old, new, shape, path, found)
    elif kind is list and isinstance(shape, Keyed):
        if shape.optional and old is MISSING and new:
            found.maps.add(path)
        _compare_items(_by_key(old, shape), _by_key(new, shape), shape, path, found)
    elif kind is list and isinstance(shape, Unordered):
        had, has = _values(old), _values(new)
        found.added |= {(*path, step) for step in has - had}
        found.removed |= {(*path, step) for step in had - has}
    elif path:
        _leaf(old, new, path, found)


def _compare_maps(old: Any, new: Any, shape: Struct, path: Path, found: Difference) -> None:
    if old is MISSING:
        found.maps.add(path)
    elif new is MISSING:
        found.removed.add(path)
    before: dict[str, Any] = {} if old is MISSING else old
    after: dict[str, Any] = {} if new is MISSING else new
    for name in {**before, **after} if before else after:
        child, now = shape.child(name), after.get(name, MISSING)
        # What cannot be missing is there, if only empty, as soon as what it stands in is.
        is_part = type(now) is dict and isinstance(child, Struct) and not child.is_map
        was = before.get(name, {} if is_part and old is not MISSING else MISSING)
        _compare(was, now, child, (*path, f"f:{name}"), found)


def _compare_items(before: dict[str, Any], after: dict[str, Any], shape: Keyed, path: Path, found: Difference) -> None:
    for step in {**before, **after}:
        place = (*path, step)
        if step not in before:
            found.added.add(place)
        elif step not in after:
            found.removed.add(place)
        _compare(before.get(step, MISSING), after.get(step, MISSING), shape.element, place, found)


def _values(items: Any) -> set[str]:
    return {f"v:{encode(one).decode()}" for one in items} if isinstance(items, list) else set()


def _leaf(old: Any, new: Any, path: Path, found: Difference) -> None:
    if old is MISSING:
        found.added.add(path)
    elif new is MISSING:
        found.removed.add(path)
    else:
        found.changed.add(path)


def _filled(value: Any) -> bool:
    return value is not MISSING and bool(value)


def _by_key(items: Any, shape: Keyed) -> dict[str, Any]:
    return {step_to(item, shape): item for item in items} if isinstance(items, list) else {}


def step_to(item: Any, shape: Keyed) -> str:
    """The step to an item of a keyed list."""
    if not isinstance(item, Mapping):
        return f"v:{encode(item).decode()}"
    keys = {key: item.get(key, shape.otherwise.get(key)) for key in sorted(shape.keys)}
    return f"k:{encode({key: value for key, value in keys.items() if value is not None}).decode()}"


def read(tree: Mapping[str, Any], path: Path = ()) -> Paths:
    """The set a `fieldsV1` tree stands for."""
    found: Paths = set()
    for step, below in tree.items():
        if step == ".":
            found.add(path)
        elif below:
            found |= read(below, (*path, step))
        else:
            found.add((*path, step))
    return found


def wire(paths: Iterable[Path]) -> dict[str, Any]:
    """The `fieldsV1` tree of a set; steps in order, so that equal sets are equal text."""
    tree: dict[str, Any] = {}
    for path in sorted(paths):
        below = tree
        for step in path:
            below = below.setdefault(step, {})
        below.setdefault(".", {})
    return _trimmed(tree)


def _trimmed(tree: dict[str, Any]) -> dict[str, Any]:
    """A leaf need not say that it is itself a member."""
    return {step: {} if below == {".": {}} or step == "." else _trimmed(below) for step, below in tree.items()}


def text(path: Path) -> str:
    """A path as people read it: `.spec.containers[name="web"].image`."""
    shown = []
    for step in path:
        what, rest = step[:2], step[2:]
        if what == "f:":
            shown.append(f".{rest}")
        elif what == "v:":
            shown.append(f"[={rest}]")
        else:
            keys: dict[str, Any] = decode(rest)
            shown.append("[" + ",".join(f"{key}={encode(value).decode()}" for key, value in keys.items()) + "]")
    return "".join(shown)
