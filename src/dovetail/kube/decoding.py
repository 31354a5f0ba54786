"""From the lines of a watch and the items of a list to what a store keeps.

A `Codec` knows one kind. It decodes an event in one pass, type and object together, straight into what is kept; only an
object that does not fit is looked at again, with `peek`, to say which one it was. Three codecs are here: plain maps for
kinds of which everything may matter, structs, and values read by one of the readers of `api`. Pods have their own
(`pod_store`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from dovetail.api.fields import Fields, fields
from dovetail.api.pod_stream import version_of
from dovetail.core.errors import BadInput
from dovetail.kube.answers import Status
from dovetail.kube.store import Key, Version

BOOKMARK: Final = "BOOKMARK"
DELETED: Final = "DELETED"
ERROR: Final = "ERROR"
#: Events without an object to keep.
NO_OBJECT: Final = frozenset({BOOKMARK, ERROR})
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

V = TypeVar("V")
T_co = TypeVar("T_co", covariant=True)
#: What decoding something that arrived whole, and does not fit, raises.
MISFITS: Final = (msgspec.ValidationError, BadInput, RecursionError)


#: One line of a watch: its type, the version it brings the reader to, and the object where there is one.
Event = tuple[str, str, V | None]


class Codec(Protocol[T_co]):
    """Both raise one of `MISFITS` for an object that cannot be kept, and msgspec.DecodeError for half a line."""

    def item(self, raw: bytes | Raw) -> T_co: ...
    def event(self, line: bytes) -> Event[T_co]: ...


class Stored(Struct, Generic[V], frozen=True, gc=False):
    """Anything, with what a store needs to know of it."""

    key: Key
    uid: str
    version: Version
    value: V


# ---- looking at what does not fit


class PeekedMetadata(Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class PeekedObject(Struct, frozen=True):
    metadata: PeekedMetadata = PeekedMetadata()

    @property
    def key(self) -> Key:
        return (self.metadata.namespace, self.metadata.name)


class PeekedEvent(Struct, frozen=True):
    type: str
    object: Raw


_EVENT: Final = msgspec.json.Decoder(PeekedEvent)
_OBJECT: Final = msgspec.json.Decoder(PeekedObject)
_STATUS: Final = msgspec.json.Decoder(Status)


def peek(line: bytes) -> PeekedEvent:
    return _EVENT.decode(line)


def peek_object(raw: bytes | Raw) -> PeekedObject:
    """Who an object is; nobody, where even that cannot be read."""
    try:
        return _OBJECT.decode(raw)
    except (msgspec.ValidationError, RecursionError):
        return PeekedObject()


def status_of(raw: bytes | Raw) -> Status:
    try:
        return _STATUS.decode(raw)
    except msgspec.ValidationError:
        return Status(message="an error that cannot be read", code=500)


# ---- plain maps, and what is read of them


class WireEvent(Struct, Generic[V], gc=False):
    type: str
    object: V


_MAPS: Final = msgspec.json.Decoder(WireEvent[dict[str, Any]])
_MAP: Final = msgspec.json.Decoder(dict[str, Any])


class Plain(Generic[V]):
    """Objects as plain maps, without what nobody here reads, handed to `read`."""

    def __init__(self, read: Callable[[Fields], V]) -> None:
        self._read = read

    def item(self, raw: bytes | Raw) -> Stored[V]:
        return self._stored(_MAP.decode(raw))

    def event(self, line: bytes) -> Event[Stored[V]]:
        found = _MAPS.decode(line)
        if found.type == ERROR:
            return ERROR, "", None
        version = str(fields(found.object).map("metadata").wire.get("resourceVersion") or "")
        return found.type, version, None if found.type == BOOKMARK else self._stored(found.object)

    def _stored(self, wire: dict[str, Any]) -> Stored[V]:
        whole = fields(wire)
        about = whole.map("metadata")
        if isinstance(about.wire, dict):
            _drop_noise(about.wire)
        key = (about.text("namespace") or "", about.required("name"))
        version = version_of(about.text("resourceVersion") or "")
        return Stored(key, about.text("uid") or "", version, self._read(whole))


def _drop_noise(about: dict[str, Any]) -> None:
    about.pop("managedFields", None)
    notes = about.get("annotations")
    if isinstance(notes, dict):
        notes.pop(_LAST_APPLIED, None)


def _as_it_is(wire: Fields) -> Fields:
    return wire


#: Everything an object says, to be read field by field later.
WHOLE: Final[Plain[Fields]] = Plain(_as_it_is)


# ---- structs


class Identified(Protocol):
    """A struct with the metadata that names an object."""

    @property
    def metadata(self) -> Any: ...


S = TypeVar("S", bound=Identified)


class Typed(Generic[S, V]):
    """Objects as one struct, which skips what it does not name; `keep` makes of it what is kept.

    `known` is asked for what is kept already of this very version, by the object's metadata: a write of our own comes
    back with the watch, and need not be made anything of twice.
    """

    def __init__(
        self, struct: type[S], keep: Callable[[S], V], known: Callable[[Any], V | None] = lambda metadata: None
    ) -> None:
        self._items = msgspec.json.Decoder(struct)
        self._events: msgspec.json.Decoder[WireEvent[S]] = msgspec.json.Decoder(_event_of(struct))
        self._keep, self._known = keep, known

    def item(self, raw: bytes | Raw) -> V:
        return self._keep(self._items.decode(raw))

    def event(self, line: bytes) -> Event[V]:
        found = self._events.decode(line)
        version = found.object.metadata.resource_version
        if found.type in NO_OBJECT:
            return found.type, version, None
        kept = self._known(found.object.metadata)
        return found.type, version, self._keep(found.object) if kept is None else kept


def _event_of(struct: Any) -> Any:
    return WireEvent[struct]
