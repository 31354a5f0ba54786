"""Lists, whole and in pages.

A page's continue token names the revision its list began at and the key after which to go on, so all pages together
are the cluster at one moment. When that moment is forgotten the token has expired (410); the refusal carries another
token, with which a client that does not mind gets the rest as it is now.
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from dovetail.api.kinds import Kind
from dovetail.apiserver import errors
from dovetail.apiserver.errors import ApiError, Cause
from dovetail.apiserver.selectors import EVERYTHING, Fields, Labels
from dovetail.apiserver.storage import Item, Storage

_OPTIONS: Final = Kind("meta.k8s.io", "v1", "ListOptions", "listoptions")
_LIST_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
#: In a token, stands for "whatever is there now".
_NOW: Final = -1


@dataclass(frozen=True, slots=True)
class Asked:
    """Which objects, and as of when."""

    namespace: str = ""
    labels: Labels = EVERYTHING
    fields: Fields = EVERYTHING
    limit: int = 0
    token: str = ""
    revision: str = ""
    match: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    items: Sequence[Item]
    revision: int
    token: str = ""
    remaining: int | None = None


class _Token(msgspec.Struct):
    v: str
    rv: int
    start: tuple[str, str]


def page(storage: Storage, kind: Kind, asked: Asked) -> Page:
    """One page of a list, or all of it without a limit."""
    _check(asked, storage.revision)
    table = storage.table(kind)
    token = _read(asked.token) if asked.token else None
    revision = _revision(asked, token, storage.revision)
    keys, items = table.keys(), table.items
    if revision < storage.revision:
        items = _as_of(storage, kind, revision, token)
        keys = sorted(items)
    else:
        revision = storage.revision
    chosen = table.chooser(asked.namespace, asked.labels, asked.fields)
    at = bisect_left(keys, tuple(token.start)) if token else 0
    if asked.namespace:
        # All of a namespace stand together, so nothing outside of it need be looked at.
        at = max(at, bisect_left(keys, (asked.namespace, "")))
        keys = keys[: bisect_left(keys, (asked.namespace + "\0", ""))]
    found, end = _gather([items[key] for key in keys[at:]], chosen, asked.limit)
    if at + end >= len(keys):
        return Page(found, revision)
    remaining = None if asked.labels or asked.fields else len(keys) - at - end
    return Page(found, revision, _written(revision, keys[at + end]), remaining)


def _gather(items: list[Item], chosen: Callable[[Item], bool], limit: int) -> tuple[list[Item], int]:
    """The first `limit` that match, and how many were looked at to find them."""
    found: list[Item] = []
    for number, item in enumerate(items):
        if chosen(item):
            if limit and len(found) == limit:
                return found, number
            found.append(item)
    return found, len(items)


def _as_of(storage: Storage, kind: Kind, revision: int, token: _Token | None) -> dict[tuple[str, str], Item]:
    try:
        return storage.table(kind).at(revision)
    except ApiError:
        if token is None:
            raise errors.expired(f"The resourceVersion for the provided list is too old: {revision}") from None
        refused = errors.expired(_LIST_EXPIRED)
        refused.continue_token = _written(_NOW, (token.start[0], token.start[1]))
        raise refused from None


def _revision(asked: Asked, token: _Token | None, current: int) -> int:
    """As of which revision to answer."""
    if token is not None:
        return current if token.rv == _NOW else token.rv
    if not asked.revision.isdigit() or asked.revision == "0":
        return current
    exact = asked.match == "Exact" or (asked.limit and not asked.match)
    return int(asked.revision) if exact else current


def _check(asked: Asked, current: int) -> None:
    causes: list[Cause] = []
    if asked.match:
        if not asked.revision:
            causes.append(
                errors.field_forbidden(
                    "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
                )
            )
        if asked.token:
            causes.append(
                errors.field_forbidden(
                    "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"
                )
            )
        if asked.match not in ("Exact", "NotOlderThan"):
            causes.append(errors.unsupported("resourceVersionMatch", asked.match, ("Exact", "NotOlderThan")))
        if asked.match == "Exact" and asked.revision == "0":
            causes.append(
                errors.field_forbidden(
                    "resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
                )
            )
    if causes:
        raise errors.invalid(_OPTIONS, "", causes)
    if asked.token and asked.revision not in ("", "0"):
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    if asked.revision and not asked.revision.isdigit():
        raise errors.bad_request(f"invalid resource version: {asked.revision!r}")
    if asked.revision and int(asked.revision) > current:
        raise errors.too_new(int(asked.revision), current)


def _written(revision: int, start: tuple[str, str]) -> str:
    text = msgspec.json.encode(_Token("meta.k8s.io/v1", revision, start))
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _read(text: str) -> _Token:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(data, type=_Token)
    except (binascii.Error, msgspec.DecodeError, ValueError):
        raise errors.bad_request("continue key is not valid: invalid continue token") from None
