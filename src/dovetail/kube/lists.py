"""Lists on the wire: pages, their items, and the item that cannot be decoded.

A page is decoded in one go, straight into the type the caller wants. Where that fails, and only then, its items are
taken one by one, and those that cannot be decoded are told to the caller by name: one broken object costs itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Generic, TypedDict, TypeVar

import msgspec

from dovetail.kube.errors import BadAnswer, Invalid

T = TypeVar("T")
#: Told of an item that cannot be decoded: its namespace/name, and a sentence.
OnBad = Callable[[str, str], None]
_NAMELESS: Final = "(an object without a name)"


class Selection(TypedDict, total=False):
    """Which objects of a kind, how many a page (500), and who hears of those that cannot be decoded."""

    labels: str
    fields: str
    limit: int
    on_bad: OnBad | None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list. Where `first`, the pages before this one, if there were any, are void: the list began anew."""

    items: list[T]
    resource_version: str
    first: bool
    last: bool


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """A whole list, and the version from which a watch goes on."""

    items: list[T]
    resource_version: str


class ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "token": "continue"}):
    resource_version: str = ""
    token: str = ""


class WireList(msgspec.Struct, Generic[T]):
    """A list as it arrives; Go writes an empty one as null."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[T] | None = None


class _Names(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class Named(msgspec.Struct):
    """Just enough of any object to say which one it is."""

    metadata: _Names = msgspec.field(default_factory=_Names)


_named: Final = msgspec.json.Decoder(Named)
_raw: Final = msgspec.json.Decoder(WireList[msgspec.Raw])


@lru_cache(maxsize=256)
def decoder_of(into: Any) -> msgspec.json.Decoder[Any]:
    """Making a decoder costs far more than using one."""
    return msgspec.json.Decoder(into)


@lru_cache(maxsize=256)
def _list_decoder(into: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(WireList[into])


def decoded(body: bytes, into: Any, asked: str) -> Any:
    try:
        return decoder_of(into).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise BadAnswer(f"{asked}: the answer cannot be read: {problem}", status=200) from None


def decoded_list(body: bytes, into: Any, on_bad: OnBad | None, asked: str) -> WireList[Any]:
    """A page; without anybody to tell of bad items, a bad item makes the whole page bad."""
    try:
        found: WireList[Any] = _list_decoder(into).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        if on_bad is None:
            raise BadAnswer(f"{asked}: the answer cannot be read: {problem}", status=200) from None
        return _one_by_one(body, into, on_bad, asked)
    return found


def _one_by_one(body: bytes, into: Any, on_bad: OnBad, asked: str) -> WireList[Any]:
    try:
        page = _raw.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise BadAnswer(f"{asked}: the answer cannot be read: {problem}", status=200) from None
    decode = decoder_of(into).decode
    items: list[Any] = []
    for raw in page.items or ():
        try:
            items.append(decode(raw))
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            on_bad(name_of(raw), str(problem))
    return WireList(page.metadata, items)


def name_of(raw: bytes | msgspec.Raw) -> str:
    """What an object calls itself, `default/web`, as far as it can be read at all."""
    try:
        found = _named.decode(raw).metadata
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _NAMELESS
    return "/".join(part for part in (found.namespace, found.name) if part) or _NAMELESS


def names_of(encoded: bytes) -> tuple[str, str]:
    """Namespace and name of an object about to be sent."""
    try:
        found = _named.decode(encoded).metadata
    except msgspec.DecodeError as problem:
        raise Invalid(f"an object that cannot be sent: {problem}") from None
    return found.namespace, found.name
