"""Keeping a store equal to what the API server has, whatever the server's day is like.

    no position ──list──▶ position ──watch──▶ position, further on ──watch──▶ …
         ▲                                        │
         └───────── 410: that far back is forgotten ┘

A list gives everything and the version it is as of; a watch from that version gives every change after it, in order,
each with a later version. The *position* is the last version seen, on an object or on a bookmark. A stream that ends or
breaks off, in the middle of an object too, goes on from there: nothing is lost, nothing comes twice. An event at or
before the position is a replay and is not looked at. When the server no longer has the history, everything is listed
anew, and the store tells its listeners of differences only.

An object that cannot be decoded is kept out, and so is its older self; it is counted, named once in the log, and told
to whoever set `on_refused`. A kind that is not served has no objects, as far as anybody can see: its store is empty and
in sync, and is asked for again now and then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar, Unpack

import msgspec
from msgspec import Raw

from dovetail.api.kinds import Kind
from dovetail.api.pod_stream import version_of
from dovetail.kube import decoding, retry
from dovetail.kube.answers import error_of_status
from dovetail.kube.clock import Clock
from dovetail.kube.decoding import BOOKMARK, DELETED, ERROR, MISFITS, Codec
from dovetail.kube.errors import Expired, KubeError, StreamCut, UnknownKind
from dovetail.kube.lists import Page, Selection
from dovetail.kube.retry import Patience
from dovetail.kube.store import Kept, Key, Version

T = TypeVar("T", bound=Kept)
T_contra = TypeVar("T_contra", bound=Kept, contravariant=True)
_log: Final = logging.getLogger(__name__)

#: A watch is ended by the server after so many seconds, or up to twice as many, lest all watches end together.
WATCH_SECONDS: Final = 300.0
#: A watch this long that brought nothing had nothing to bring; a shorter one may be a server that hangs up.
_LONG_ENOUGH: Final = 5.0
#: How often a kind that is not served is asked for.
_UNSERVED_SECONDS: Final = 10.0
#: A server that starts may not know its custom resources yet; what was served is not given up sooner than this.
_GIVEN_UP_AFTER: Final = 30.0
#: So many lines in a row that are not JSON, from the same position: the position itself is in doubt.
_UNREADABLE: Final = 3
_FROM_THE_FUTURE: Final = "Too large resource version"


class Source(Protocol):
    """The part of the client that is needed here."""

    def pages(
        self, kind: Kind, namespace: str = "", *, into: type[Raw], **selection: Unpack[Selection]
    ) -> AsyncGenerator[Page[Raw], None]: ...

    def watch_batches(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        resource_version: str,
        labels: str = "",
        fields: str = "",
        timeout: float = WATCH_SECONDS,
    ) -> AsyncGenerator[list[bytes], None]: ...


class Sink(Protocol[T_contra]):
    """Where objects go: a `Store`, usually. A sink ignores what is no news to it."""

    def replace(self, items: Iterable[T_contra]) -> None: ...
    def put(self, item: T_contra) -> object: ...
    def remove(self, key: Key, uid: str = "") -> object: ...


def _nobody(key: Key, problem: str | None) -> None:
    """Told of refusals when nobody asked to be."""


@dataclass(frozen=True, slots=True)
class Options:
    """Which objects, and how to go about it. `on_refused` hears why an object is kept out, and None when it is not."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    page: int = 500
    clock: Clock = field(default_factory=Clock)
    patience: Patience = field(default_factory=lambda: Patience(first=0.25, longest=15.0))
    on_refused: Callable[[Key, str | None], None] = _nobody


@dataclass(slots=True)
class Counts:
    """How it went so far."""

    lists: int = 0
    watches: int = 0
    events: int = 0
    stale: int = 0
    refused: int = 0
    failures: int = 0


class Reflector(Generic[T]):
    """Lists and watches one kind, for as long as `run` runs.

    `synced` is set once the sink has been filled for the first time; `trouble` is a sentence while something is wrong.
    """

    def __init__(
        self, client: Source, kind: Kind, codec: Codec[T], sink: Sink[T], options: Options | None = None
    ) -> None:
        self.kind = kind
        self.synced = asyncio.Event()
        self.served = True
        self.trouble = ""
        self.counts = Counts()
        self.refused: dict[Key, str] = {}
        self._client, self._codec, self._sink = client, codec, sink
        self._options = options or Options()
        self._position: str | None = None
        self._seen: Version = ""
        self._failures = 0  # in a row
        self._expired = 0  # in a row, without an event between them
        self._unreadable = 0
        self._unserved_since: float | None = None

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            wait = await self._turn()
            if wait > 0:
                await self._options.clock.sleep(wait)

    async def _turn(self) -> float:
        """One list or one watch; returns how long to wait before the next."""
        try:
            if self._position is None:
                await self._list()
                return 0.0
            return await self._watch(self._position)
        except UnknownKind as problem:
            return self._not_served(problem)
        except KubeError as problem:
            return self._failed(problem)

    # ---- listing

    async def _list(self) -> None:
        asked = self._options
        items: list[T] = []
        refused: dict[Key, str] = {}
        version = ""
        pages = self._client.pages(
            self.kind, asked.namespace, labels=asked.labels, fields=asked.fields, limit=asked.page, into=Raw
        )
        async with aclosing(pages):
            async for page in pages:
                if page.first:
                    items.clear()
                    refused.clear()
                version = page.resource_version
                self._decode(page.items, items, refused)
        self._sink.replace(items)
        for key in [key for key in self.refused if key not in refused]:
            self._accept(key)
        for key, problem in refused.items():
            self._refuse(key, problem)
        self._position, self._seen = version, version_of(version)
        self.counts.lists += 1
        self.served, self._unserved_since = True, None
        self._went_well()
        self.synced.set()

    def _decode(self, raws: Iterable[Raw], items: list[T], refused: dict[Key, str]) -> None:
        decode = self._codec.item
        for raw in raws:
            try:
                items.append(decode(raw))
            except MISFITS as problem:
                refused[decoding.peek_object(raw).key] = _told(problem)

    # ---- watching

    async def _watch(self, position: str) -> float:
        asked, clock = self._options, self._options.clock
        began, before = clock.now(), self.counts.events
        self.counts.watches += 1
        stream = self._client.watch_batches(
            self.kind,
            asked.namespace,
            resource_version=position,
            labels=asked.labels,
            fields=asked.fields,
            timeout=WATCH_SECONDS * (1.0 + clock.chance()),
        )
        async with aclosing(stream) as batches:
            async for batch in batches:
                self._take(batch)
        if self.counts.events > before or clock.now() - began >= _LONG_ENOUGH:
            self._went_well()
            return 0.0
        return self._failed(StreamCut(f"watch {self.kind}: the server ended the watch as soon as it began"))

    def _take(self, batch: list[bytes]) -> None:
        decode, sink, counts = self._codec.event, self._sink, self.counts
        for line in batch:
            try:
                kind, text, item = decode(line)
            except MISFITS as problem:
                self._misfit(line, problem)
                continue
            except (msgspec.DecodeError, UnicodeDecodeError) as problem:
                raise self._unreadable_line(problem) from None
            if item is None:
                if kind != BOOKMARK:
                    raise self._error(line)
                self._advance(text, version_of(text))
                continue
            if not self._advance(text, item.version):
                counts.stale += 1
                continue
            counts.events += 1
            if kind == DELETED:
                sink.remove(item.key, item.uid)
            else:
                sink.put(item)
            if self.refused:
                self._accept(item.key)

    def _advance(self, text: str, version: Version) -> bool:
        """Go on to this version; False where it is at or before the position."""
        seen = self._seen
        if isinstance(version, int) and isinstance(seen, int) and version <= seen:
            return False
        if not text:
            return True
        self._position, self._seen = text, version
        if self._failures or self._expired or self._unreadable:
            self._expired = self._unreadable = 0
            self._went_well()
        return True

    def _misfit(self, line: bytes, problem: Exception) -> None:
        """A whole line that does not fit: an object to leave out, or no object at all, as in a bookmark or an error."""
        try:
            event = decoding.peek(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._refuse(("", ""), _told(problem))
            return
        if event.type == ERROR:
            raise self._error(line)
        about = decoding.peek_object(event.object)
        text = about.metadata.resource_version
        news = self._advance(text, version_of(text))
        if event.type == BOOKMARK or not news:
            return
        self.counts.events += 1
        if event.type == DELETED:
            self._sink.remove(about.key, about.metadata.uid)
            self._accept(about.key)
            return
        self._sink.remove(about.key)
        self._refuse(about.key, _told(problem))

    def _error(self, line: bytes) -> KubeError:
        return error_of_status(decoding.status_of(decoding.peek(line).object), f"watch {self.kind}")

    def _unreadable_line(self, problem: Exception) -> KubeError:
        self._unreadable += 1
        if self._unreadable >= _UNREADABLE:
            self._unreadable = 0
            return Expired(f"watch {self.kind}: the stream cannot be read from {self._position}: {problem}")
        return StreamCut(f"watch {self.kind}: a line cannot be read: {problem}")

    # ---- how it goes

    def _went_well(self) -> None:
        if self.trouble:
            _log.info("%s: seen again", self.kind)
        self._failures, self.trouble = 0, ""

    def _failed(self, problem: KubeError) -> float:
        """What to do about an error, and how long to wait before it."""
        chance, patience = self._options.clock.chance, self._options.patience
        self.counts.failures += 1
        if isinstance(problem, Expired):
            self._position = None
            self._expired += 1
            # History runs out now and then, and a list mends it; twice in a row, something is amiss.
            return 0.0 if self._expired == 1 else retry.wait_before(problem, self._expired - 2, patience, chance)
        self._failures += 1
        if _FROM_THE_FUTURE in problem.sentence:
            self._position = None  # the cluster was set back to an earlier state
        if not self.trouble:
            _log.warning("%s: %s", self.kind, problem.sentence)
        self.trouble = problem.sentence
        return retry.wait_before(problem, self._failures - 1, patience, chance)

    def _not_served(self, problem: UnknownKind) -> float:
        clock = self._options.clock
        if self._unserved_since is None:
            self._unserved_since = clock.now()
        known = self.served and self.synced.is_set()
        self._position = None
        self.trouble = f"{self.kind}: not served; its CustomResourceDefinition is not installed"
        if not known or clock.now() - self._unserved_since >= _GIVEN_UP_AFTER:
            if self.served:
                _log.info("%s", self.trouble)
            self.served = False
            self._sink.replace(())
            for key in list(self.refused):
                self._accept(key)
            self.synced.set()
        return _UNSERVED_SECONDS * (0.5 + clock.chance())

    # ---- refusals

    def _refuse(self, key: Key, problem: str) -> None:
        self.counts.refused += 1
        known = self.refused.get(key)
        self.refused[key] = problem
        if known is None:
            _log.warning("%s %s is left out: %s", self.kind, "/".join(filter(None, key)) or "without a name", problem)
        if known != problem:
            self._options.on_refused(key, problem)

    def _accept(self, key: Key) -> None:
        if self.refused.pop(key, None) is not None:
            self._options.on_refused(key, None)


def _told(problem: Exception) -> str:
    return "is nested too deep" if isinstance(problem, RecursionError) else str(problem)[:300]
