"""One owner for all controllers: it hears every change, keeps one queue, and lets controllers look, one key at a time.

Keys wait in the order they were named, each at most once, so what controllers do depends only on what was written.
Whatever a look raises is that key's misfortune alone: it is logged and tried again later, and the loop goes on. Time
comes from the objects' own clock, so tests move it; `settle` does at once what `run` does as it comes.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from dovetail.api.kinds import Kind
from dovetail.apiserver.controllers.controller import Controller, Key, Seen
from dovetail.apiserver.controllers.index import Index
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Change

_LOG: Final = logging.getLogger(__name__)
#: How long one turn may hold the event loop before requests get theirs.
_TURN_SECONDS: Final = 0.01
_FIRST_RETRY_SECONDS: Final = 0.05
_LAST_RETRY_SECONDS: Final = 60.0
#: More looks than this without an end means two controllers undo each other.
_ENDLESS: Final = 1_000_000

Work = tuple[int, Key]


class Running:
    """All controllers of a cluster. Either `run` it as a task, or call `settle` after each change."""

    def __init__(self, objects: Objects, index: Index, controllers: Sequence[Controller]) -> None:
        self._objects = objects
        self._index = index
        self._controllers = tuple(controllers)
        self._ready: dict[Work, None] = {}
        self._later: list[tuple[datetime, int, Work]] = []
        self._due: dict[Work, datetime] = {}
        self._failures: dict[Work, int] = {}
        self._count = 0
        self._more = asyncio.Event()

    def attach(self) -> None:
        """Take in all there is, and hear of all that comes."""
        for table in self._objects.storage.tables():
            for item in list(table.items.values()):
                self._heard(table.kind, Change("ADDED", item, None))
        self._objects.storage.listeners.append(self._heard)

    def detach(self) -> None:
        self._objects.storage.listeners.remove(self._heard)

    async def run(self) -> None:
        """Look at whatever comes, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._promote()
            ends = loop.time() + _TURN_SECONDS
            while self._ready and loop.time() < ends:
                self._look_at_next()
            if self._ready:
                await asyncio.sleep(0)
                continue
            self._more.clear()
            try:
                await asyncio.wait_for(self._more.wait(), self._wait_seconds())
            except TimeoutError:
                continue

    def settle(self) -> None:
        """Look until nothing is left that is due now."""
        for _ in range(_ENDLESS):
            self._promote()
            if not self._ready:
                return
            self._look_at_next()
        raise RuntimeError("controllers undo each other's work without end")

    def next_due(self) -> datetime | None:
        """When something is to be looked at again, if nothing happens before."""
        self._forget_stale()
        return self._later[0][0] if self._later else None

    def _heard(self, kind: Kind, change: Change) -> None:
        """Called inside the write itself, so whatever goes wrong here must not become the writer's problem."""
        seen = Seen(kind, change)
        name = "/".join(seen.key)
        _safely(f"{kind} {name} cannot be indexed", partial(self._index.apply, kind, change))
        for number, controller in enumerate(self._controllers):
            if controller.hears is None or kind in controller.hears:
                about = f"{type(controller).__name__} cannot make sense of {name}"
                _safely(about, partial(self._tell, number, controller, seen))

    def _tell(self, number: int, controller: Controller, seen: Seen) -> None:
        for key in controller.heard(seen):
            self._add((number, key))

    def _add(self, work: Work) -> None:
        if work not in self._ready:
            self._ready[work] = None
            self._more.set()

    def _look_at_next(self) -> None:
        work = next(iter(self._ready))
        del self._ready[work]
        self._due.pop(work, None)
        number, key = work
        controller = self._controllers[number]
        again: list[float | None] = []
        about = f"{type(controller).__name__} failed on {'/'.join(key)}"
        if _safely(about, lambda: again.append(controller.look(key))):
            self._failures.pop(work, None)
        else:
            again.append(self._retry_seconds(work))
        if again[0] is not None:
            self._add_later(work, again[0])

    def _retry_seconds(self, work: Work) -> float:
        times = self._failures[work] = self._failures.get(work, 0) + 1
        return float(min(_LAST_RETRY_SECONDS, _FIRST_RETRY_SECONDS * 2 ** min(times, 20)))

    def _add_later(self, work: Work, seconds: float) -> None:
        if seconds <= 0:
            self._add(work)
            return
        when = self._objects.now() + timedelta(seconds=seconds)
        if work in self._due and self._due[work] <= when:
            return
        self._due[work] = when
        self._count += 1
        heapq.heappush(self._later, (when, self._count, work))
        self._more.set()

    def _forget_stale(self) -> None:
        while self._later and self._due.get(self._later[0][2]) != self._later[0][0]:
            heapq.heappop(self._later)

    def _promote(self) -> None:
        self._forget_stale()
        now = self._objects.now()
        while self._later and self._later[0][0] <= now:
            _, _, work = heapq.heappop(self._later)
            del self._due[work]
            self._add(work)
            self._forget_stale()

    def _wait_seconds(self) -> float | None:
        due = self.next_due()
        return None if due is None else max(0.0, (due - self._objects.now()).total_seconds())


def _safely(about: str, call: Callable[[], None]) -> bool:
    """Do something that may fail without harm to anybody else; says whether it went well."""
    try:
        call()
    except ApiError as refusal:
        _LOG.debug("%s: %s", about, refusal.message)
        return False
    except Exception:  # noqa: BLE001 - one object's misfortune never stops the loop
        _LOG.exception(about)
        return False
    return True
