"""Where objects are kept: bytes, one global counter, and a bounded history per kind.

Every object is held once, as the JSON it is served as; whoever wants a dict decodes its own, so nobody can change what
another reads. Beside the bytes stand only what selectors ask for: labels and a few fields. A write takes the next
revision of one counter shared by all kinds, as etcd's does, and appends a `Change` to its table's history.

The history serves three purposes with one structure. A *watch* is a position in it that moves forward: it costs an
integer, replays and waits with the same code, and is cut when the history's tail overtakes it. A *list at an older
revision* is today's table with the changes since then undone, which keeps the pages of one list consistent. And what
is older than the tail is *expired* (410), for both.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dovetail.api.kinds import Kind
from dovetail.apiserver.errors import too_old
from dovetail.apiserver.expiry import EVENT_LIFETIME, Expiry
from dovetail.apiserver.items import Change, ChangeType, Item, Key, Object, decode, encode, text_at
from dovetail.apiserver.selectors import EVERYTHING, Fields, Labels

__all__ = [
    "Bounds",
    "Change",
    "ChangeType",
    "Item",
    "Key",
    "Lagged",
    "Object",
    "Storage",
    "Table",
    "Watch",
    "decode",
    "encode",
]

#: Enough for a client that was away for a moment; a busy kind is bounded by bytes long before.
MAX_CHANGES: Final = 10_000
MAX_HISTORY_BYTES: Final = 8 * 2**20


class Lagged(Exception):
    """A watch was overtaken by the end of the history: changes are lost to it, and it must list again."""


class Table:
    """All objects of one kind."""

    def __init__(self, kind: Kind, fields: Mapping[str, tuple[str, ...]], bounds: Bounds) -> None:
        self.kind = kind
        self.fields = fields
        self.items: dict[Key, Item] = {}
        self.watches: set[Watch] = set()
        #: Who says when an object's time is over; None for what stays until it is deleted.
        self.expiry: Expiry | None = None
        self._bounds = bounds
        self._changes: list[Change] = []
        self._bytes = 0
        self._dropped = 0
        #: Changes up to this revision are forgotten.
        self.floor = 0
        self._keys: list[Key] | None = []
        self.more = asyncio.Event()

    def keys(self) -> list[Key]:
        """All keys in order; not to be changed by the caller."""
        if self._keys is None:
            self._keys = sorted(self.items)
        return self._keys

    def select(self, namespace: str, labels: Labels = EVERYTHING, fields: Fields = EVERYTHING) -> Iterator[Item]:
        """The objects of a namespace (or, empty, of all) that match, in order of namespace and name."""
        chosen = self.chooser(namespace, labels, fields)
        for key in self.keys():
            item = self.items[key]
            if chosen(item):
                yield item

    def chooser(self, namespace: str, labels: Labels, fields: Fields) -> Callable[[Item], bool]:
        """Whether an object is one of those a request is about."""
        if not namespace and not labels and not fields:
            return lambda item: True
        places = [(term, self._place(term.key)) for term in fields]

        def chosen(item: Item) -> bool:
            if namespace and item.namespace != namespace:
                return False
            if labels and not all(term.admits(item.labels.get(term.key)) for term in labels):
                return False
            return all(term.admits(place(item)) for term, place in places)

        return chosen

    def _place(self, label: str) -> Callable[[Item], str]:
        if label == "metadata.name":
            return lambda item: item.name
        if label == "metadata.namespace":
            return lambda item: item.namespace
        index = list(self.fields).index(label)
        return lambda item: item.fields[index]

    def at(self, revision: int) -> dict[Key, Item]:
        """The objects as they were; `Expired` when that is no longer known."""
        if revision < self.floor:
            raise too_old(revision, self.floor)
        found = dict(self.items)
        seen: set[Key] = set()
        for change in self._changes[self._after(revision) - self._dropped :]:
            key = change.item.key
            if key in seen:
                continue
            seen.add(key)
            if change.previous is None:
                found.pop(key, None)
            else:
                found[key] = change.previous
        return found

    def watch(self, since: int | None = None) -> Watch:
        """A position in the history: after revision `since`, or now."""
        if since is not None and since < self.floor:
            raise too_old(since, self.floor)
        watch = Watch(self, self._end if since is None else self._after(since))
        self.watches.add(watch)
        return watch

    def record(self, change: Change) -> None:
        """Make one change and tell whoever waits."""
        if change.type == "DELETED":
            del self.items[change.item.key]
        else:
            self.items[change.item.key] = change.item
        if self.expiry is not None:
            self.expiry.note(change)
        if change.type != "MODIFIED":
            self._keys = None
        self._changes.append(change)
        self._bytes += len(change.item.data)
        if len(self._changes) > self._bounds.changes or self._bytes > self._bounds.size:
            self._shorten()
        self.wake()

    def wake(self) -> None:
        self.more.set()
        self.more = asyncio.Event()

    def forget(self, revision: int) -> None:
        """Expire the whole history up to a revision."""
        self._dropped += len(self._changes)
        self._changes.clear()
        self._bytes = 0
        self.floor = max(self.floor, revision)

    def history(self) -> Sequence[Change]:
        """What is still remembered, oldest first."""
        return self._changes

    def since(self, position: int) -> list[Change]:
        if position < self._dropped:
            raise Lagged
        return self._changes[position - self._dropped :]

    @property
    def _end(self) -> int:
        return self._dropped + len(self._changes)

    def _after(self, revision: int) -> int:
        return self._dropped + bisect_right(self._changes, revision, key=lambda change: change.revision)

    def _shorten(self) -> None:
        """Drop the older quarter, so that dropping is rare and its cost is spread."""
        drop = max(1, len(self._changes) // 4)
        self.floor = self._changes[drop - 1].revision
        self._bytes -= sum(len(change.item.data) for change in self._changes[:drop])
        del self._changes[:drop]
        self._dropped += drop


class Watch:
    """A position in a table's history that moves forward. Used as an asynchronous iterator of batches."""

    __slots__ = ("_closed", "_position", "_table")

    def __init__(self, table: Table, position: int) -> None:
        self._table = table
        self._position = position
        self._closed = False

    def ready(self) -> list[Change]:
        """What happened since the last call, at once; raises `Lagged`."""
        found = self._table.since(self._position)
        self._position += len(found)
        return found

    async def __anext__(self) -> list[Change]:
        """What happened since; waits until something did. Ends when closed; raises `Lagged` when cut off."""
        while True:
            if self._closed:
                raise StopAsyncIteration
            more = self._table.more
            if found := self.ready():
                return found
            await more.wait()

    def __aiter__(self) -> Watch:
        return self

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        self._table.watches.discard(self)
        self._table.wake()


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much history each table keeps, and how long Events are kept."""

    changes: int = MAX_CHANGES
    size: int = MAX_HISTORY_BYTES
    event_lifetime: timedelta = EVENT_LIFETIME


class Storage:
    """All tables, and the counter they share. Everything here happens at once, on one event loop."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.revision = 1
        #: Called after every change, in order; for what must follow at once, such as a definition and its kind.
        self.listeners: list[Callable[[Kind, Change], None]] = []
        self._bounds = bounds or Bounds()
        self._tables: dict[tuple[str, str], Table] = {}

    def open(self, kind: Kind, fields: Mapping[str, tuple[str, ...]] | None = None) -> Table:
        """The table of a kind, made if need be. `fields` are selectable: label and path, `spec.nodeName`."""
        found = self._tables.get((kind.group, kind.plural))
        if found is None:
            found = Table(kind, fields or {}, self._bounds)
            found.floor = self.revision if self._tables else 0
            self._tables[kind.group, kind.plural] = found
        return found

    def table(self, kind: Kind) -> Table:
        """The objects of a kind, without those whose time is over."""
        table = self._table(kind)
        if table.expiry is not None:
            for key in table.expiry.overdue():
                self.remove(kind, table.items[key].object())
        return table

    def tables(self) -> Sequence[Table]:
        return list(self._tables.values())

    def drop(self, kind: Kind) -> None:
        """Forget a kind and its objects; watches end."""
        table = self._tables.pop((kind.group, kind.plural), None)
        for watch in list(table.watches) if table else ():
            watch.close()

    def get(self, kind: Kind, name: str, namespace: str = "") -> Item | None:
        return self.table(kind).items.get((namespace, name))

    def list(
        self, kind: Kind, namespace: str = "", labels: Labels = EVERYTHING, fields: Fields = EVERYTHING
    ) -> list[Item]:
        return list(self.table(kind).select(namespace, labels, fields))

    def put(self, kind: Kind, obj: Object) -> Item:
        """Write an object, new or changed; it is given its revision here."""
        table = self._table(kind)
        self.revision += 1
        item = self._item(table, obj, self.revision)
        previous = table.items.get(item.key)
        self._record(table, Change("ADDED" if previous is None else "MODIFIED", item, previous))
        return item

    def remove(self, kind: Kind, obj: Object) -> Item:
        """Take an object away; `obj` is its last state."""
        table = self._table(kind)
        self.revision += 1
        item = self._item(table, obj, self.revision)
        self._record(table, Change("DELETED", item, table.items[item.key]))
        return item

    def watch(self, kind: Kind, since: int | None = None) -> Watch:
        return self.table(kind).watch(since)

    def forget_history(self) -> None:
        """Expire every history: a watch or a page from before gets 410."""
        self.revision += 1
        for table in self._tables.values():
            table.forget(self.revision)

    def _table(self, kind: Kind) -> Table:
        """As it is: what a writer has just read must not expire before it is written."""
        return self._tables[kind.group, kind.plural]

    def _record(self, table: Table, change: Change) -> None:
        table.record(change)
        for listener in self.listeners:
            listener(table.kind, change)

    def _item(self, table: Table, obj: Object, revision: int) -> Item:
        obj["metadata"]["resourceVersion"] = str(revision)
        # What an object is comes first, so that lists can leave it out without looking.
        obj = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], **obj}
        fields = tuple(text_at(obj, path) for path in table.fields.values())
        return Item(obj, encode(obj), revision, fields)
