"""What the server serves: one `Resource` for each kind and version, and the registry that finds them.

Built-in kinds come from the table in `builtin_resources`; custom ones are added and taken away as their definitions
are. Versions of one kind share a table: `stored` is the kind objects are kept as.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dovetail.api.kinds import Kind
from dovetail.apiserver.errors import nothing_served

if TYPE_CHECKING:
    from dovetail.apiserver.custom import Definition

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind, served in one version."""

    kind: Kind
    stored: Kind
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    #: Field selectors beyond name and namespace: how each is called, and where it stands.
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Whether `metadata.generation` counts changes of the spec.
    generation: bool = False
    #: Whether a replacement may leave out the version it replaces.
    unconditional: bool = True
    definition: Definition | None = None
    #: From the stored form to this version and back, where they differ by more than their name.
    read: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    write: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources

    @property
    def as_stored(self) -> bool:
        return self.kind == self.stored

    def serve(self, obj: dict[str, Any]) -> dict[str, Any]:
        """A stored object as this version shows it."""
        if self.as_stored:
            return obj
        shown = self.read(obj) if self.read else obj
        return shown | {"apiVersion": self.kind.api_version, "kind": self.kind.name}

    def keep(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object of this version as it is stored."""
        if self.as_stored:
            return obj
        kept = self.write(obj) if self.write else obj
        return kept | {"apiVersion": self.stored.api_version, "kind": self.stored.name}


class Registry:
    """Every resource, by where it is served."""

    def __init__(self) -> None:
        self._served: dict[tuple[str, str, str], Resource] = {}

    def add(self, resource: Resource) -> None:
        kind = resource.kind
        self._served[kind.group, kind.version, kind.plural] = resource

    def remove(self, kind: Kind) -> None:
        self._served.pop((kind.group, kind.version, kind.plural), None)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._served.get((group, version, plural))

    def of(self, kind: Kind) -> Resource:
        """The resource of a kind; 404 when nobody defined it (yet)."""
        found = self._served.get((kind.group, kind.version, kind.plural))
        if found is None:
            raise nothing_served()
        return found

    def by_name(self, api_version: str, name: str) -> Resource | None:
        """The resource an object's own `apiVersion` and `kind` name."""
        group, _, version = api_version.rpartition("/")
        for resource in self._served.values():
            kind = resource.kind
            if kind.name == name and kind.group == group and kind.version == version:
                return resource
        return None

    def all(self) -> Iterator[Resource]:
        yield from list(self._served.values())

    def groups(self) -> dict[str, dict[str, list[Resource]]]:
        """Resources by group and version, in the order they were added."""
        found: dict[str, dict[str, list[Resource]]] = {}
        for resource in self._served.values():
            found.setdefault(resource.kind.group, {}).setdefault(resource.kind.version, []).append(resource)
        return found
