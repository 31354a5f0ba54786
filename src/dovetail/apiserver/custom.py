"""CustomResourceDefinitions: installing one makes its kinds served at once, removing it removes their objects.

A definition is *admitted* (names, conditions, a compilable schema) before it is stored and *followed* after: storage
tells of every change of a definition, and the registry is brought in line before anybody else can ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver import errors, shapes
from dovetail.apiserver.items import decode, encode
from dovetail.apiserver.metadata import stamp
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.resources import Resource
from dovetail.apiserver.storage import Change, Object
from dovetail.core.errors import BadInput

if TYPE_CHECKING:
    from dovetail.apiserver.schemas import Schema

_CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
#: A schema is free-form JSON until it is compiled; what is no schema at all fails there in one of these ways.
_UNUSABLE: Final = (BadInput, TypeError, ValueError, AttributeError, KeyError, RecursionError)
#: Twice as many definitions as there are with every cloud's.
_COMPILED: Final = 64
_AGE_COLUMN: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


# A definition is compiled before it is stored, to see whether it can be, and again where it is served, and whoever
# starts one server after another has the same definitions in each. What is compiled is never written to.


@lru_cache(maxsize=_COMPILED)
def _compiled(openapi: bytes) -> Schema:
    # The rule language takes a moment to load, and a server without custom kinds never needs it.
    from dovetail.apiserver import schemas

    return schemas.compile(decode(openapi))


@lru_cache(maxsize=_COMPILED)
def _shaped(openapi: bytes) -> shapes.Struct:
    return shapes.of_custom(decode(openapi))


@dataclass(frozen=True)
class Definition:
    """One version of one custom kind, as its definition describes it."""

    version: Mapping[str, Any]

    @cached_property
    def schema(self) -> Schema:
        return _compiled(encode(self.openapi))

    @property
    def openapi(self) -> dict[str, Any]:
        found: dict[str, Any] = (self.version.get("schema") or {}).get("openAPIV3Schema") or {}
        return found

    @cached_property
    def shape(self) -> shapes.Struct:
        return _shaped(encode(self.openapi))

    @property
    def columns(self) -> list[dict[str, Any]]:
        return list(self.version.get("additionalPrinterColumns") or [_AGE_COLUMN])

    @property
    def scale(self) -> Mapping[str, str] | None:
        found: Mapping[str, str] | None = (self.version.get("subresources") or {}).get("scale")
        return found


class Definitions:
    """Keeps the registry in line with the definitions that are stored."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._served: dict[str, tuple[Resource, ...]] = {}
        objects.admission.append(self.admit)
        objects.storage.listeners.append(self.follow)

    # --- before a definition is stored -----------------------------------------------------------------------------

    def admit(self, kind: Kind, new: Object, old: Object | None) -> None:
        if kind != kinds.CRDS:
            self._refuse_while_terminating(kind, old)
            return
        if old is None:
            held = new["metadata"].get("finalizers") or []
            new["metadata"]["finalizers"] = [*held, *([_CLEANUP] if _CLEANUP not in held else ())]
        if old is None or old.get("spec") != new.get("spec"):
            self._compile(new)
            self._accept(new)

    def _refuse_while_terminating(self, kind: Kind, old: Object | None) -> None:
        name = f"{kind.plural}.{kind.group}"
        if old is None and name in self._served:
            definition = self._objects.find(kinds.CRDS, name)
            if definition and "deletionTimestamp" in definition["metadata"]:
                raise errors.ApiError(
                    405,
                    "MethodNotAllowed",
                    "create not allowed while custom resource definition is terminating",
                    errors.about(kind),
                )

    def _compile(self, new: Object) -> None:
        """A schema that cannot be used is refused here, not when the first object arrives."""
        for number, version in enumerate(new["spec"].get("versions") or ()):
            found = Definition(version)
            try:
                _ = found.schema, found.shape
            except _UNUSABLE as problem:
                field = f"spec.versions[{number}].schema.openAPIV3Schema"
                cause = errors.Cause(field, "FieldValueInvalid", f"Invalid value: {problem}")
                raise errors.invalid(kinds.CRDS, new["metadata"].get("name") or "", [cause]) from None

    def _accept(self, new: Object) -> None:
        spec, now = new["spec"], stamp(self._objects.now())
        status = new.get("status") or {}
        stored = [one.get("name") for one in spec.get("versions") or () if one.get("storage")]
        before = status.get("storedVersions") or []
        new["status"] = {
            "conditions": status.get("conditions")
            or [
                _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
            ],
            "acceptedNames": dict(spec.get("names") or {}),
            "storedVersions": [*before, *(one for one in stored if one not in before)],
        }

    # --- after -----------------------------------------------------------------------------------------------------

    def follow(self, kind: Kind, change: Change) -> None:
        if kind == kinds.CRDS:
            definition = change.item.object()
            if change.type == "DELETED":
                self._unserve(change.item.name)
            elif "deletionTimestamp" in definition["metadata"]:
                self._clean_up(definition)
            else:
                self._serve(definition)
        elif change.type == "DELETED" and f"{kind.plural}.{kind.group}" in self._served:
            self._let_go(f"{kind.plural}.{kind.group}")

    def _serve(self, definition: Object) -> None:
        name = definition["metadata"]["name"]
        before = self._served.get(name, ())
        now = _resources(definition["spec"])
        for one in before:
            self._objects.registry.remove(one.kind)
        for one in now:
            self._objects.registry.add(one)
        if not now:
            return
        table = self._objects.storage.open(now[0].stored, now[0].fields)
        self._served[name] = now
        moved = bool(before) and before[0].stored != now[0].stored
        if moved or table.fields != now[0].fields:
            table.fields = now[0].fields
            for item in list(table.items.values()):
                self._objects.storage.put(now[0].stored, item.object() | {"apiVersion": now[0].stored.api_version})

    def _unserve(self, name: str) -> None:
        for one in self._served.pop(name, ()):
            self._objects.registry.remove(one.kind)
            self._objects.storage.drop(one.stored)

    def _clean_up(self, definition: Object) -> None:
        """Delete every object; the definition goes when the last of them has."""
        name = definition["metadata"]["name"]
        served = self._served.get(name)
        if served:
            for item in list(self._objects.storage.table(served[0].stored).items.values()):
                self._objects.delete(served[0].kind, item.name, item.namespace)
        self._let_go(name)

    def _let_go(self, name: str) -> None:
        definition = self._objects.find(kinds.CRDS, name)
        served = self._served.get(name)
        if definition is None or "deletionTimestamp" not in definition["metadata"]:
            return
        if served and self._objects.storage.table(served[0].stored).items:
            return
        held = definition["metadata"].get("finalizers") or []
        if _CLEANUP in held:
            definition["metadata"]["finalizers"] = [one for one in held if one != _CLEANUP]
            self._objects.update(kinds.CRDS, definition)


def _condition(name: str, reason: str, message: str, now: str) -> dict[str, str]:
    return {"type": name, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}


def _resources(spec: Mapping[str, Any]) -> tuple[Resource, ...]:
    """One resource for each version that is served."""
    names = spec["names"]
    namespaced = spec.get("scope") == "Namespaced"

    def kind(version: str) -> Kind:
        return Kind(spec["group"], version, names["kind"], names["plural"], namespaced)

    stored = next(kind(one["name"]) for one in spec["versions"] if one.get("storage"))
    found = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        paths = [one["jsonPath"].lstrip(".") for one in version.get("selectableFields") or ()]
        resource = Resource(
            kind=kind(version["name"]),
            stored=stored,
            singular=names.get("singular") or names["kind"].lower(),
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=tuple(version.get("subresources") or ()),
            fields={path: tuple(path.split(".")) for path in paths},
            generation=True,
            unconditional=False,
            definition=Definition(version),
        )
        found.append(resource)
    return tuple(found)
