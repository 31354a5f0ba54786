"""The verbs, with their rules and without HTTP: what the server's routes and its own controllers both call.

A write goes through the same steps whoever asks: name and namespace, defaults, rules, admission, field ownership,
storage. Everything happens at once on the event loop, so what was read is still true when it is written; conflicts
arise only from what a client read earlier.

Objects handed in are copied first, objects handed out are the caller's own. Refusals are `ApiError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver import defaults, deletion, errors, event_versions, managed_fields, metadata, patches, rules
from dovetail.apiserver.managed_fields import Manager
from dovetail.apiserver.resources import Registry, Resource
from dovetail.apiserver.selectors import Fields, Term, parse_fields, parse_labels
from dovetail.apiserver.storage import Item, Object, Storage, Watch, decode, encode
from dovetail.apiserver.writes import DELETE, PLAIN, ApplyPatch, Deletion, Patch, Write

#: Parts of the metadata that are looked at before its types are checked.
_NAMES: Final = ("name", "namespace", "generateName", "uid", "resourceVersion")
#: Looks at an object about to be written, with what it replaces; may change it, or refuse it with an `ApiError`.
Admit = Callable[[Kind, Object, Object | None], None]


class Objects:
    """All objects of a cluster, through the verbs of its API."""

    def __init__(self, storage: Storage, registry: Registry, clock: Callable[[], datetime] | None = None) -> None:
        self.storage = storage
        self.registry = registry
        self.admission: list[Admit] = []
        self.now: Callable[[], datetime] = clock or (lambda: datetime.now(UTC))

    # --- reading ---------------------------------------------------------------------------------------------------

    def item(self, kind: Kind, name: str, namespace: str = "") -> Item:
        resource = self.registry.of(kind)
        found = self.storage.get(resource.stored, name, namespace if kind.namespaced else "")
        if found is None:
            raise errors.not_found(kind, name)
        return found

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        return self.registry.of(kind).serve(self.item(kind, name, namespace).object())

    def find(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """The object, or None where there is none."""
        resource = self.registry.of(kind)
        found = self.storage.get(resource.stored, name, namespace if kind.namespaced else "")
        return resource.serve(found.object()) if found else None

    def list(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Sequence[Object]:
        """All that match, in order of namespace and name."""
        resource = self.registry.of(kind)
        chosen = self.storage.list(resource.stored, namespace, parse_labels(labels), self.field_terms(resource, fields))
        return [resource.serve(item.object()) for item in chosen]

    def watch(self, kind: Kind, since: int | None = None) -> Watch:
        """Every change after a revision (or from now on), in batches: `async for changes in objects.watch(PODS)`."""
        return self.storage.watch(self.registry.of(kind).stored, since)

    def field_terms(self, resource: Resource, text: str) -> Fields:
        """The field selector, checked against what the kind lets one select by."""
        found = []
        for term in parse_fields(text):
            if term.key not in ("metadata.name", "metadata.namespace") and term.key not in resource.fields:
                raise errors.bad_request(_not_selectable(resource, term.key))
            key = term.key if resource.as_stored or resource.definition else event_versions.older_label(term.key)
            found.append(Term(key, term.operator, term.values))
        return tuple(found)

    # --- writing ---------------------------------------------------------------------------------------------------

    def create(self, kind: Kind, obj: Object, namespace: str = "", write: Write = PLAIN) -> Object:
        resource = self.registry.of(kind)
        new = _copied(obj)
        self._place(resource, new, namespace)
        metadata.fill_name(new["metadata"])
        if new["metadata"].get("name") and self.storage.get(resource.stored, *_named(new)):
            raise errors.already_exists(kind, new["metadata"]["name"])
        self._check_namespace(resource, new)
        metadata.birth(resource, new["metadata"], self.now())
        named = {name: new[name] for name in ("kind", "apiVersion", "metadata")}
        return self._finish(resource, named | new, None, Manager(write.manager), write)

    def update(self, kind: Kind, obj: Object, *, subresource: str = "", write: Write = PLAIN) -> Object:
        """Replace an object, or through `status` that part of it."""
        resource = self.registry.of(kind)
        new = _copied(obj)
        self._place(resource, new, new.get("metadata", {}).get("namespace") or "")
        old = self.get(kind, *_named(new))
        return self._replace(resource, new, old, Manager(write.manager, subresource), write)

    def patch(
        self, kind: Kind, name: str, patch: Patch, namespace: str = "", *, subresource: str = "", write: Write = PLAIN
    ) -> Object:
        """Change an object by a patch. An `ApplyPatch` makes the object where there is none."""
        resource = self.registry.of(kind)
        if isinstance(patch, ApplyPatch):
            return self._apply(resource, (name, namespace), patch, subresource, write)
        old = self.get(kind, name, namespace)
        new = patches.patched(resource, old, patch)
        if (new.get("metadata") or {}).get("name") != name:
            raise errors.bad_request("the name of the object does not match the name on the URL")
        if new["metadata"].get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            cause = errors.bad_value("metadata.uid", new["metadata"]["uid"], "field is immutable")
            raise errors.invalid(kind, name, [cause])
        return self._replace(resource, new, old, Manager(write.manager, subresource), write)

    def store_as_is(self, kind: Kind, obj: Object, write: Write = PLAIN) -> Object:
        """Replace an object with no rule but ownership asked: for what only the server itself may change."""
        resource = self.registry.of(kind)
        new = _copied(obj)
        old = self.get(kind, *_named(new))
        self._check_preconditions(resource, new["metadata"], old["metadata"])
        metadata.carry_over(new["metadata"], old["metadata"])
        managed_fields.track(resource, new, old, Manager(write.manager), self.now())
        return self._commit(resource, new, old, write)

    def delete(self, kind: Kind, name: str, namespace: str = "", how: Deletion = DELETE) -> Object | None:
        """Delete an object, or begin to: what still stands is returned, None when it is gone."""
        resource = self.registry.of(kind)
        old = self.item(kind, name, namespace).object()
        outcome = deletion.begin(resource, old, how, self.now())
        if outcome.gone:
            if not how.dry_run:
                self.storage.remove(resource.stored, outcome.obj)
            return None
        if outcome.changed and not how.dry_run:
            self.storage.put(resource.stored, outcome.obj)
        return resource.serve(outcome.obj)

    def delete_collection(
        self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "", how: Deletion = DELETE
    ) -> Sequence[Object]:
        """Delete all that match; what matched is returned."""
        found = self.list(kind, namespace, labels=labels, fields=fields)
        for obj in found:
            try:
                self.delete(kind, obj["metadata"]["name"], obj["metadata"].get("namespace", ""), how)
            except errors.ApiError as gone:  # an Event's hour may end between the list and its turn
                if gone.code != HTTPStatus.NOT_FOUND:
                    raise
        return found

    # --- the steps -------------------------------------------------------------------------------------------------

    def _place(self, resource: Resource, obj: Object, namespace: str) -> None:
        """An object says what it is and where it stands; what it leaves out the request says."""
        kind = resource.kind
        if (
            obj.setdefault("apiVersion", kind.api_version) != kind.api_version
            or obj.setdefault("kind", kind.name) != kind.name
        ):
            got = f"{obj['apiVersion']}, Kind={obj.get('kind', '')}"
            raise errors.bad_request(f"the object provided is unrecognized (must be of type {kind.name}): got {got}")
        found = obj.setdefault("metadata", {})
        if not isinstance(found, dict) or any(not isinstance(found.get(name, ""), str | None) for name in _NAMES):
            raise rules.undecodable(resource, "json: cannot unmarshal its metadata, or a name in it, into a string")
        if kind.namespaced:
            found["namespace"] = found.get("namespace") or namespace
            if namespace and found["namespace"] != namespace:
                raise errors.bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
        elif not found.get("namespace"):
            found.pop("namespace", None)

    def _check_namespace(self, resource: Resource, obj: Object) -> None:
        namespace = obj["metadata"].get("namespace")
        if not resource.kind.namespaced or not namespace:
            return
        found = self.storage.get(kinds.NAMESPACES, namespace)
        if found is None:
            raise errors.not_found(kinds.NAMESPACES, namespace)
        if found.fields == ("Terminating",):
            raise errors.terminating(resource.kind, obj["metadata"].get("name", ""), namespace)

    def _replace(self, resource: Resource, new: Object, old: Object, manager: Manager, write: Write) -> Object:
        name = old["metadata"]["name"]
        self._check_preconditions(resource, new["metadata"], old["metadata"])
        metadata.carry_over(new["metadata"], old["metadata"])
        if new["metadata"].get("namespace", "") != old["metadata"].get("namespace", ""):
            raise errors.bad_request("the namespace of the object does not match the namespace on the URL")
        assert name == new["metadata"]["name"]
        new = rules.narrow(resource, new, old, manager.subresource)
        return self._finish(resource, new, old, manager, write)

    def _check_preconditions(self, resource: Resource, new: dict[str, Any], old: dict[str, Any]) -> None:
        name = old["name"]
        if new.get("uid") and new["uid"] != old["uid"]:
            why = f"Precondition failed: UID in precondition: {new['uid']}, UID in object meta: {old['uid']}"
            raise errors.conflict(resource.kind, name, why)
        if new.get("resourceVersion") in (None, "", "0"):
            if not resource.unconditional:
                cause = errors.bad_value("metadata.resourceVersion", 0, "must be specified for an update")
                raise errors.invalid(resource.kind, name, [cause])
        elif new["resourceVersion"] != old["resourceVersion"]:
            raise errors.conflict(resource.kind, name)

    def _finish(self, resource: Resource, new: Object, old: Object | None, manager: Manager, write: Write) -> Object:
        """Defaults, ownership, admission, rules, storage: what the server adds after the second is nobody's."""
        rules.prepare(self, resource, new, old, write)
        managed_fields.track(resource, new, old, manager, self.now())
        if resource.definition is None:
            defaults.admit(self, resource.kind, new, old)
        for admit in self.admission:
            admit(resource.kind, new, old)
        rules.check(resource, new, old, manager.subresource)
        if old is not None:
            metadata.count_generation(resource, new, old)
        return self._commit(resource, new, old, write)

    def _commit(self, resource: Resource, new: Object, old: Object | None, write: Write) -> Object:
        if old is not None and deletion.is_over(new):
            if not write.dry_run:
                self.storage.remove(resource.stored, resource.keep(new))
            return new
        if (old is not None and new == old) or write.dry_run:
            return new
        kept = resource.keep(new)
        self.storage.put(resource.stored, kept)
        new["metadata"]["resourceVersion"] = kept["metadata"]["resourceVersion"]
        return new

    def _apply(
        self, resource: Resource, where: tuple[str, str], patch: ApplyPatch, subresource: str, write: Write
    ) -> Object:
        name, namespace = where
        wanted = _copied(dict(patch.body))
        self._place(resource, wanted, namespace)
        if wanted["metadata"].setdefault("name", name) != name:
            raise errors.bad_request("the name of the object does not match the name on the URL")
        old = self.find(resource.kind, name, namespace)
        if old is None and subresource:
            raise errors.not_found(resource.kind, name)
        manager = Manager(write.manager, subresource, applies=True)
        if old is None:
            self._check_namespace(resource, wanted)
        new, owners = managed_fields.applied(resource, wanted, old, manager, force=patch.force)
        new["metadata"]["managedFields"] = owners
        if old is None:
            metadata.birth(resource, new["metadata"], self.now())
            return self._finish(resource, new, None, manager, write)
        return self._replace(resource, new, old, manager, write)


def _named(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("name") or "", obj["metadata"].get("namespace") or ""


def _copied(obj: Object) -> Object:
    found: Object = decode(encode(obj))
    return found


def _not_selectable(resource: Resource, label: str) -> str:
    if resource.fields or resource.definition:
        return f"field label not supported: {label}"
    return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'
