"""How objects are shown: in full, as metadata alone, or as rows of a table. The `Accept` header chooses.

In full costs nothing: what is stored is what is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from dovetail.apiserver import errors, tables
from dovetail.apiserver.resources import Resource
from dovetail.apiserver.storage import Item, Object, decode, encode

JSON: Final = "application/json"


class Representation(Protocol):
    """One way to show objects of one resource."""

    def one(self, item: Item) -> bytes:
        """An object by itself."""

    def fresh(self, obj: Object) -> bytes:
        """An object that is not stored as it is shown: a dry run's."""

    def many(self, items: Iterable[Item], metadata: dict[str, Any]) -> Iterator[bytes]:
        """A list, in pieces."""

    def event(self, item: Item) -> bytes:
        """An object within a watch."""


def chosen(accept: str, resource: Resource, include: str = "Metadata") -> Representation:
    """The first of a client's wishes that can be met."""
    for wish in accept.split(",") if accept else (JSON,):
        media, *parameters = (part.strip() for part in wish.split(";"))
        if media not in (JSON, "application/*", "*/*"):
            continue
        named = dict(part.split("=", 1) for part in parameters if "=" in part)
        match named.get("as", ""):
            case "Table" if named.get("v") == "v1":
                return Tabular(resource, include)
            case "PartialObjectMetadata" | "PartialObjectMetadataList":
                return Partial(resource)
            case "":
                return Full(resource)
    raise errors.not_acceptable()


@dataclass(slots=True)
class Full:
    resource: Resource

    def one(self, item: Item) -> bytes:
        return item.data if self.resource.as_stored else encode(self.resource.serve(item.object()))

    def fresh(self, obj: Object) -> bytes:
        return encode(obj)

    event = one

    def many(self, items: Iterable[Item], metadata: dict[str, Any]) -> Iterator[bytes]:
        kind = self.resource.kind
        shown: Sequence[bytes] = [self.one(item) for item in items]
        if self.resource.definition is None:
            shown = _unnamed(shown, encode({"kind": kind.name, "apiVersion": kind.api_version}))
        yield from _listed(f"{kind.name}List", kind.api_version, metadata, shown)


def _unnamed(items: Sequence[bytes], named: bytes) -> Sequence[bytes]:
    """Items of a list of a built-in kind do not repeat what they are: the list says so."""
    head = named[:-1] + b","
    return [b"{" + item[len(head) :] if item.startswith(head) else item for item in items]


@dataclass(slots=True)
class Partial:
    resource: Resource

    def one(self, item: Item) -> bytes:
        return self.fresh(item.object())

    def fresh(self, obj: Object) -> bytes:
        return encode(tables.partial(obj))

    event = one

    def many(self, items: Iterable[Item], metadata: dict[str, Any]) -> Iterator[bytes]:
        shown = [self.one(item) for item in items]
        yield from _listed("PartialObjectMetadataList", "meta.k8s.io/v1", metadata, shown)


class Tabular:
    """Rows. Within a watch, only the first event says what the columns are."""

    def __init__(self, resource: Resource, include: str) -> None:
        self._resource = resource
        self._include = include
        self._told = False

    def one(self, item: Item) -> bytes:
        return self.fresh(self._resource.serve(item.object()))

    def fresh(self, obj: Object) -> bytes:
        version = obj["metadata"].get("resourceVersion", "")
        return encode(tables.table(self._resource, [obj], {"resourceVersion": version}, self._include))

    def many(self, items: Iterable[Item], metadata: dict[str, Any]) -> Iterator[bytes]:
        found = [self._resource.serve(item.object()) for item in items]
        yield encode(tables.table(self._resource, found, metadata, self._include))

    def event(self, item: Item) -> bytes:
        found: dict[str, Any] = decode(self.one(item))
        if self._told:
            found["columnDefinitions"] = None
        self._told = True
        return encode(found)


def _listed(kind: str, api_version: str, metadata: dict[str, Any], items: Sequence[bytes]) -> Iterator[bytes]:
    head = encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    yield head[:-1] + b',"items":['
    # Joined in slices: one piece of a hundred megabytes would be held twice.
    for at in range(0, len(items), _SLICE):
        yield (b"," if at else b"") + b",".join(items[at : at + _SLICE])
    yield b"]}"


#: A few hundred pods make a megabyte.
_SLICE: Final = 256
