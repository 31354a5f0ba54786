"""Objects as they are kept: one version of one object is its JSON and the little that selectors ask for."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal
from weakref import WeakValueDictionary

import msgspec

Object = dict[str, Any]
Key = tuple[str, str]
ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
_NO_LABELS: Final[Mapping[str, str]] = {}

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class _Labels(dict[str, str]):
    """Labels that objects share."""

    __slots__ = ("__weakref__",)


#: Pods of one workload have the same labels, and a set of them is kept while one of its objects is.
_shared: Final[WeakValueDictionary[tuple[tuple[str, str], ...], _Labels]] = WeakValueDictionary()


def _shared_labels(labels: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    found = _shared.get(labels)
    if found is None:
        found = _shared[labels] = _Labels((sys.intern(key), value) for key, value in labels)
    return found


class Item:
    """One version of one object."""

    __slots__ = ("data", "fields", "labels", "name", "namespace", "revision", "uid")

    def __init__(self, obj: Object, data: bytes, revision: int, fields: tuple[str, ...]) -> None:
        metadata = obj["metadata"]
        self.data = data
        self.revision = revision
        self.fields = fields
        self.name: str = metadata["name"]
        self.namespace: str = metadata.get("namespace") or ""
        self.uid: str = metadata.get("uid") or ""
        self.labels = _shared_labels(tuple((metadata.get("labels") or _NO_LABELS).items()))

    @property
    def key(self) -> Key:
        return self.namespace, self.name

    def object(self) -> Object:
        """A dict of the caller's own."""
        found: Object = decode(self.data)
        return found


@dataclass(frozen=True, slots=True)
class Change:
    """One write. A deletion's item is the object's last state, with the deletion's own revision."""

    type: ChangeType
    item: Item
    previous: Item | None

    @property
    def revision(self) -> int:
        return self.item.revision


def text_at(obj: Object, path: Sequence[str]) -> str:
    """A field as a selector compares it: text, empty where it is missing."""
    value: Any = obj
    for step in path:
        if not isinstance(value, dict):
            return ""
        value = value.get(step)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    # Phases and nodes' names come up again and again.
    return sys.intern(value) if type(value) is str else str(value)
