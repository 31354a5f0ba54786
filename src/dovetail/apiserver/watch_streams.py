"""One watch over HTTP: from a position in a kind's history to lines of JSON, until somebody ends it.

A selector turns changes into others: an object that begins to match is ADDED, one that no longer does is DELETED, as
it last was. Lines that wait are sent as one piece, so a burst costs one write for each watcher, whatever its size.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.pages import Asked
from dovetail.apiserver.representations import Representation, Tabular
from dovetail.apiserver.resources import Resource
from dovetail.apiserver.storage import Change, Item, Lagged, Storage, Watch, encode

_HEADS: Final = {name: f'{{"type":"{name}","object":'.encode() for name in ("ADDED", "MODIFIED", "DELETED")}
_TAIL: Final = b"}\n"
_INITIAL_END: Final = "k8s.io/initial-events-end"
#: Three parts make a line. So many are some hundred kilobytes of pods; a client that does not read stops the rest.
_PARTS_AT_ONCE: Final = 3 * 128


class Sink(Protocol):
    """Where lines go."""

    async def write(self, data: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class WatchWish:
    """What a client wants to be told."""

    asked: Asked
    bookmarks: bool = False
    initial_events: bool = False
    #: From now on, from everything there is, or from after a revision.
    since: int | None = None
    from_scratch: bool = False


class WatchStream:
    """One client's watch."""

    def __init__(self, storage: Storage, resource: Resource, shown: Representation, wish: WatchWish) -> None:
        self._storage = storage
        self._resource = resource
        self._shown = shown
        self._wish = wish
        self._table = storage.table(resource.stored)
        self._chosen = self._table.chooser(wish.asked.namespace, wish.asked.labels, wish.asked.fields)
        self._watch: Watch = self._table.watch(wish.since)
        self._pushed: list[bytes] = []

    @property
    def resource(self) -> Resource:
        return self._resource

    def push(self, change: Change) -> None:
        """Say something out of turn, as a broken server might."""
        self._pushed += self._lines(change)
        self._table.wake()

    def end(self) -> None:
        self._watch.close()

    async def run(self, sink: Sink, bookmark_seconds: float) -> None:
        """Send until closed, overtaken or cancelled."""
        try:
            await self._send(sink, list(self._beginning()))
            while True:
                await self._send(sink, await self._next(bookmark_seconds))
        except (StopAsyncIteration, Lagged):
            return
        finally:
            self._watch.close()

    async def _next(self, bookmark_seconds: float) -> list[bytes]:
        try:
            async with asyncio.timeout(bookmark_seconds if self._wish.bookmarks else None):
                while True:
                    more = self._table.more
                    if lines := self._waiting():
                        return lines
                    await more.wait()
        except TimeoutError:
            # A change may have come in the same turn of the loop; a bookmark past it would hide it for ever.
            return self._waiting() or [self._bookmark()]

    def _waiting(self) -> list[bytes]:
        """What is to be sent at once."""
        changes = self._watch.ready()
        if self._watch.closed:
            raise StopAsyncIteration
        lines, self._pushed = self._pushed, []
        return lines + [line for change in changes for line in self._lines(change)]

    async def _send(self, sink: Sink, lines: list[bytes]) -> None:
        for at in range(0, len(lines), _PARTS_AT_ONCE):
            await sink.write(b"".join(lines[at : at + _PARTS_AT_ONCE]))

    def _beginning(self) -> Iterator[bytes]:
        wish = self._wish
        if wish.from_scratch or wish.initial_events:
            for item in self._table.select(wish.asked.namespace, wish.asked.labels, wish.asked.fields):
                yield from self._line("ADDED", self._shown.event(item))
        if wish.initial_events:
            yield self._bookmark({_INITIAL_END: "true"})

    def _lines(self, change: Change) -> Iterator[bytes]:
        now = change.type != "DELETED" and self._chosen(change.item)
        before = change.previous is not None and self._chosen(change.previous)
        if now:
            yield from self._line("MODIFIED" if before else "ADDED", self._shown.event(change.item))
        elif before:
            assert change.previous is not None
            gone = change.item if change.type == "DELETED" else self._last_seen(change.previous, change.revision)
            yield from self._line("DELETED", self._shown.event(gone))

    def _last_seen(self, item: Item, revision: int) -> Item:
        """An object as it was when it last matched, at the revision it left."""
        obj = item.object()
        obj["metadata"]["resourceVersion"] = str(revision)
        return Item(obj, encode(obj), revision, item.fields)

    def _line(self, name: str, shown: bytes) -> tuple[bytes, bytes, bytes]:
        return _HEADS[name], shown, _TAIL

    def _bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        kind = self._resource.kind
        metadata: dict[str, Any] = {"resourceVersion": str(self._storage.revision), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        obj: dict[str, Any] = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata}
        if isinstance(self._shown, Tabular):
            row = {
                "cells": [],
                "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata},
            }
            obj = {
                "kind": "Table",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": {},
                "columnDefinitions": None,
                "rows": [row],
            }
        return encode({"type": "BOOKMARK", "object": obj}) + b"\n"


def error_line(problem: ApiError) -> bytes:
    return encode({"type": "ERROR", "object": problem.status()}) + b"\n"
