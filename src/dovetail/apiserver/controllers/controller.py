"""What a controller is here: it hears of changes, names what to look at again, and looks.

Hearing is cheap and happens inside the write that made the change: a controller only names keys. Looking happens
later, one key at a time, and starts from what is stored now, never from what was heard; so events may be merged,
doubled or late, and a look that finds nothing to do does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

from dovetail.api.kinds import Kind
from dovetail.apiserver.controllers.index import controller_of
from dovetail.apiserver.storage import Change, ChangeType, Object
from dovetail.apiserver.writes import Write

Key = tuple[str, ...]

#: In whose name controllers write.
MANAGER: Final = Write("kube-controller-manager")


class Seen:
    """One change of one object, decoded when somebody asks for it."""

    def __init__(self, kind: Kind, change: Change) -> None:
        self.kind = kind
        self.type: ChangeType = change.type
        self.item = change.item
        self.previous = change.previous

    @cached_property
    def obj(self) -> Object:
        """The object as it is now, or, deleted, as it was last; not to be changed."""
        return self.item.object()

    @cached_property
    def old(self) -> Object | None:
        return self.previous.object() if self.previous is not None else None

    @cached_property
    def controllers(self) -> frozenset[tuple[str, str]]:
        """Kind and name of the controller the object belongs to, and of the one it belonged to before."""
        items = (self.item, self.previous)
        return frozenset(controller_of(one) for one in items if one is not None)

    @property
    def key(self) -> Key:
        return self.item.namespace, self.item.name

    @property
    def gone(self) -> bool:
        return self.type == "DELETED"


class Controller(Protocol):
    """One duty."""

    #: Kinds whose changes it wants to hear of; None for all.
    hears: tuple[Kind, ...] | None

    def heard(self, seen: Seen) -> Iterable[Key]:
        """What to look at because of a change."""

    def look(self, key: Key) -> float | None:
        """Put one thing right; says after how many seconds to look again, if at all."""


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner reference, read."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    blocks: bool = False


def owners_of(obj: Object) -> list[Owner]:
    return [
        Owner(
            one.get("apiVersion", ""),
            one.get("kind", ""),
            one.get("name", ""),
            one.get("uid", ""),
            bool(one.get("controller")),
            bool(one.get("blockOwnerDeletion")),
        )
        for one in obj["metadata"].get("ownerReferences") or ()
    ]


def controller_reference(owner: Object) -> dict[str, Any]:
    """The reference by which an object belongs to its controller."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_going(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def with_condition(conditions: list[dict[str, Any]] | None, new: dict[str, Any], now: str) -> list[dict[str, Any]]:
    """Conditions with one set; its time moves only when its status does."""
    kept = list(conditions or ())
    for at, one in enumerate(kept):
        if one.get("type") == new["type"]:
            moved = now if one.get("status") != new["status"] else one.get("lastTransitionTime", now)
            kept[at] = {**one, **new, "lastTransitionTime": moved}
            return kept
    return [*kept, {**new, "lastTransitionTime": now}]
