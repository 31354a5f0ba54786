"""Namespaces: what is in them goes before they do, and each has a service account to begin with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.controllers.controller import MANAGER, Key, Seen, is_going
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.writes import Deletion, Propagation

_FINALIZER: Final = "kubernetes"
_ACCOUNT: Final = "default"


class Namespaces:
    """Empties a namespace that is going, and lets it go when it is empty."""

    hears: tuple[Kind, ...] | None = None

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._going: set[str] = set()

    def heard(self, seen: Seen) -> Iterable[Key]:
        if seen.kind == kinds.NAMESPACES:
            if seen.gone:
                self._going.discard(seen.item.name)
            elif b'"deletionTimestamp"' in seen.item.data:
                self._going.add(seen.item.name)
                yield (seen.item.name,)
        elif seen.gone and seen.item.namespace in self._going:
            yield (seen.item.namespace,)

    def look(self, key: Key) -> float | None:
        (name,) = key
        found = self._objects.find(kinds.NAMESPACES, name)
        if found is None or not is_going(found):
            return None
        if self._empty(name):
            return None
        kept = [one for one in found["spec"].get("finalizers") or () if one != _FINALIZER]
        if kept != found["spec"].get("finalizers"):
            found["spec"]["finalizers"] = kept
            self._objects.store_as_is(kinds.NAMESPACES, found, MANAGER)
        return None

    def _empty(self, name: str) -> bool:
        """Delete what is there; says whether anything is left."""
        left = False
        for table in self._objects.storage.tables():
            if not table.kind.namespaced:
                continue
            for item in list(table.select(name)):
                if b'"deletionTimestamp"' not in item.data:
                    self._delete(table.kind, item.name, name)
            left = left or next(table.select(name), None) is not None
        return left

    def _delete(self, kind: Kind, name: str, namespace: str) -> None:
        try:
            self._objects.delete(kind, name, namespace, Deletion(propagation=Propagation.BACKGROUND))
        except ApiError as refusal:
            if refusal.code not in (404, 409):
                raise


class ServiceAccounts:
    """Every namespace has an account called default."""

    hears: tuple[Kind, ...] | None = (kinds.NAMESPACES, kinds.SERVICE_ACCOUNTS)

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def heard(self, seen: Seen) -> Iterable[Key]:
        if seen.kind == kinds.NAMESPACES and not seen.gone:
            yield (seen.item.name,)
        elif seen.kind == kinds.SERVICE_ACCOUNTS and seen.gone and seen.item.name == _ACCOUNT:
            yield (seen.item.namespace,)

    def look(self, key: Key) -> float | None:
        (name,) = key
        namespace = self._objects.find(kinds.NAMESPACES, name)
        if namespace is None or is_going(namespace) or self._objects.find(kinds.SERVICE_ACCOUNTS, _ACCOUNT, name):
            return None
        self._objects.create(kinds.SERVICE_ACCOUNTS, {"metadata": {"name": _ACCOUNT}}, name, MANAGER)
        return None
