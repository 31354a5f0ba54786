"""Large dumps: the items of a `kubectl get -o json` List, one at a time.

The file is mapped into memory and cut into its items without decoding them; each is decoded when its turn comes and
forgotten afterwards. What it costs is what is kept of the objects, not the size of the file. A key given twice is not
looked for here: machines do not write that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from dovetail.api import documents
from dovetail.api.documents import Document
from dovetail.core.errors import BadField, Place


class _List(msgspec.Struct):
    kind: str = ""
    apiVersion: str = ""  # noqa: N815  (the wire's own spelling)
    items: list[msgspec.Raw] | None = None


_HEAD: Final = msgspec.json.Decoder(_List)
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_ITEM: Final = msgspec.json.Decoder(Any)


def read(buffer: Any, filename: str) -> Iterator[Document | BadField]:
    """Every object of a JSON file that is a List, or that is one object."""
    try:
        head = _List(items=_ITEMS.decode(buffer)) if bytes(buffer[:1]) == b"[" else _HEAD.decode(buffer)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        yield BadField(Place(filename), f"not JSON: {_told(problem)}")
        return
    except RecursionError:
        yield BadField(Place(filename), f"is nested deeper than {documents.MAX_DEPTH} levels")
        return
    if head.items is None:
        yield from _one(buffer, (filename,), head)
        return
    for at, raw in enumerate(head.items):
        yield from _one(raw, (filename, f"items[{at}]"), head)


def _one(raw: Any, place: tuple[str, ...], head: _List) -> Iterator[Document | BadField]:
    try:
        value = _ITEM.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        yield BadField(Place(*place), f"not JSON: {_told(problem)}")
        return
    except RecursionError:
        yield BadField(Place(*place), f"is nested deeper than {documents.MAX_DEPTH} levels")
        return
    yield Document(place, documents.with_kind(value, head.kind, head.apiVersion))


def _told(problem: Exception) -> str:
    return str(problem)[:200]
