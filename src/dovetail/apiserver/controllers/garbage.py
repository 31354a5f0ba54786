"""The garbage collector: what belongs to nobody any more goes.

An object goes when all its owners are gone. An owner deleted in the *foreground* waits, held by a finalizer, until
its dependents that insist (`blockOwnerDeletion`) have gone; one that *orphans* them first has its name struck from
their references.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.controllers.controller import Key, Owner, Seen, is_going, owners_of
from dovetail.apiserver.controllers.index import Dependent, Index
from dovetail.apiserver.deletion import FOREGROUND, ORPHAN
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import Deletion, MergePatch, Propagation, Write

_COLLECTOR: Final = Write("garbage-collector")


class Garbage:
    hears: tuple[Kind, ...] | None = None

    def __init__(self, objects: Objects, index: Index) -> None:
        self._objects = objects
        self._index = index

    def heard(self, seen: Seen) -> Iterable[Key]:
        if seen.kind == kinds.CORE_EVENTS:
            return
        if seen.gone:
            for one in self._index.dependents(seen.item.uid):
                yield _key(one)
            if b'"ownerReferences"' in seen.item.data:
                yield from self._owner_keys(seen)
            return
        if b'"ownerReferences"' in seen.item.data or b'"deletionTimestamp"' in seen.item.data:
            yield _key(Dependent(seen.kind, seen.item.namespace, seen.item.name))

    def _owner_keys(self, seen: Seen) -> Iterable[Key]:
        for owner in owners_of(seen.obj):
            kind = self._kind_of(owner)
            if kind is not None:
                yield _key(Dependent(kind, seen.item.namespace if kind.namespaced else "", owner.name))

    def _kind_of(self, owner: Owner) -> Kind | None:
        resource = self._objects.registry.by_name(owner.api_version, owner.kind)
        return resource.stored if resource is not None else None

    def look(self, key: Key) -> float | None:
        group, version, plural, namespace, name = key
        resource = self._objects.registry.find(group, version, plural)
        obj = self._objects.find(resource.kind, name, namespace) if resource is not None else None
        if resource is None or obj is None:
            return None
        if is_going(obj):
            self._finish(resource.kind, obj)
        elif obj["metadata"].get("ownerReferences"):
            self._judge(resource.kind, obj)
        return None

    # --- an object that may have lost its owners -------------------------------------------------------------------

    def _judge(self, kind: Kind, obj: Object) -> None:
        owners = owners_of(obj)
        if any(self._kind_of(one) is None for one in owners):
            return  # A kind nobody serves (yet) may well have that owner.
        standing = [(one, found) for one in owners if (found := self._owner(one, obj)) is not None]
        waiting = [one for one, found in standing if is_going(found) and _held_by(found, FOREGROUND)]
        if not standing:
            self._delete(kind, obj, Propagation.BACKGROUND)
        elif len(waiting) == len(standing):
            again = bool(self._index.dependents(obj["metadata"]["uid"]))
            self._delete(kind, obj, Propagation.FOREGROUND if again else Propagation.BACKGROUND)
        elif len(standing) < len(owners):
            self._strike(kind, obj, {one.uid for one in owners} - {one.uid for one, _ in standing})

    def _owner(self, owner: Owner, dependent: Object) -> Object | None:
        """The owner itself, if it stands; one of the same name with another uid is somebody else."""
        kind = self._kind_of(owner)
        if kind is None:
            return None
        namespace = dependent["metadata"].get("namespace", "") if kind.namespaced else ""
        found = self._objects.find(kind, owner.name, namespace)
        return found if found is not None and found["metadata"]["uid"] == owner.uid else None

    def _delete(self, kind: Kind, obj: Object, how: Propagation) -> None:
        about = obj["metadata"]
        try:
            wanted = Deletion(propagation=how, uid=about["uid"])
            self._objects.delete(kind, about["name"], about.get("namespace", ""), wanted)
        except ApiError as refusal:
            if refusal.code not in (404, 409):
                raise

    def _strike(self, kind: Kind, obj: Object, uids: set[str]) -> None:
        about = obj["metadata"]
        kept = [one for one in about.get("ownerReferences") or () if one.get("uid") not in uids]
        patch = MergePatch({"metadata": {"uid": about["uid"], "ownerReferences": kept or None}})
        self._objects.patch(kind, about["name"], patch, about.get("namespace", ""), write=_COLLECTOR)

    # --- an owner that is going ------------------------------------------------------------------------------------

    def _finish(self, kind: Kind, obj: Object) -> None:
        if _held_by(obj, ORPHAN):
            self._orphan_dependents(obj)
            self._release(kind, obj, ORPHAN)
        elif _held_by(obj, FOREGROUND) and not self._chase_dependents(obj):
            self._release(kind, obj, FOREGROUND)

    def _orphan_dependents(self, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        for one in self._index.dependents(uid):
            found = self._objects.find(one.kind, one.name, one.namespace)
            if found is not None:
                self._strike(one.kind, found, {uid})

    def _chase_dependents(self, obj: Object) -> bool:
        """Send dependents away; says whether one that insists is still there."""
        uid, blocked = obj["metadata"]["uid"], False
        for one in self._index.dependents(uid):
            found = self._objects.find(one.kind, one.name, one.namespace)
            if found is None:
                continue
            if not is_going(found):
                self._judge(one.kind, found)
                found = self._objects.find(one.kind, one.name, one.namespace)
            insists = found is not None and any(one.uid == uid and one.blocks for one in owners_of(found))
            blocked = blocked or insists
        return blocked

    def _release(self, kind: Kind, obj: Object, finalizer: str) -> None:
        about = obj["metadata"]
        kept = [one for one in about.get("finalizers") or () if one != finalizer]
        patch = MergePatch({"metadata": {"uid": about["uid"], "finalizers": kept or None}})
        self._objects.patch(kind, about["name"], patch, about.get("namespace", ""), write=_COLLECTOR)


def _key(one: Dependent) -> Key:
    return one.kind.group, one.kind.version, one.kind.plural, one.namespace, one.name


def _held_by(obj: Object, finalizer: str) -> bool:
    return finalizer in (obj["metadata"].get("finalizers") or ())
