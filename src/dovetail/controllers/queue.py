"""Work by key: every key is handled by one worker at a time, as soon as it is due, and never twice for one reason.

A key that is added while it waits is not added again; one that is added while it is being handled is handled once more
afterwards. A handler says when it wants to look again; one that fails is tried again after a while that doubles.

A handler that waits for others' keys to be handled may not keep them from it, so there is a worker for every key that
is due, up to a bound that only says when something is wrong. Workers are hired when they are needed, each by the one
before; of those that have nothing to do a few stay.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Final, Generic, TypeVar

from dovetail.controllers.supervision import Rest, attempted

Key = TypeVar("Key", bound=Hashable)

FIRST_RETRY: Final = 0.2
LAST_RETRY: Final = 60.0
#: So many workers stay when there is nothing to do.
KEPT: Final = 16


class WorkQueue(Generic[Key]):
    """Keys that are due, and keys that will be."""

    def __init__(
        self,
        handle: Callable[[Key], Awaitable[float | None]],
        failed: Callable[[Key, Exception], None],
        *,
        first_retry: float = FIRST_RETRY,
        last_retry: float = LAST_RETRY,
    ) -> None:
        """`handle` returns in how many seconds to look again, None for not before something happens."""
        self._handle = handle
        self._failed = failed
        self._rest = Rest(first_retry, last_retry)
        self._due: deque[Key] = deque()
        self._waiting: set[Key] = set()
        self._busy: set[Key] = set()
        self._again: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._sleepers: deque[asyncio.Future[None]] = deque()
        self._group: asyncio.TaskGroup | None = None
        self._workers = self._most = 0
        #: Whether somebody was hired who has not begun: he hires the next.
        self._hired = False
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        return len(self._due) + len(self._busy)

    def add(self, key: Key, after: float = 0.0) -> None:
        """Have this key handled, now or later. A later look never postpones an earlier one."""
        if after > 0:
            self._later(key, after)
            return
        self._cancel_timer(key)
        if key in self._busy:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._due.append(key)
            self._idle.clear()
            self._wake_one()

    def _wake_one(self) -> None:
        """One worker for one key: waking them all to find that the first took it costs more than the work."""
        while self._sleepers:
            turn = self._sleepers.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        if self._group is not None and self._workers < self._most and not self._hired:
            self._workers += 1
            self._hired = True
            self._group.create_task(self._work())

    def forget(self, key: Key) -> None:
        """The key's object is gone: no more looks at it, and no memory of its failures."""
        self._cancel_timer(key)
        self._failures.pop(key, None)

    def _later(self, key: Key, after: float) -> None:
        loop = asyncio.get_running_loop()
        known = self._timers.get(key)
        if known is not None:
            if known.when() <= loop.time() + after:
                return
            known.cancel()
        self._timers[key] = loop.call_later(after, self._timer_fired, key)

    def _timer_fired(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _cancel_timer(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    async def run(self, workers: int) -> None:
        """Handle keys until cancelled, at most so many at once."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group, self._most = group, workers
                self._workers, self._hired = 0, False
                if self._due:
                    self._wake_one()
                try:
                    await asyncio.get_running_loop().create_future()  # never
                finally:
                    self._group = None  # nobody is hired any more
        finally:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()

    async def _work(self) -> None:
        try:
            await self._work_on()
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._group = None  # it ends, with all its workers
            raise
        finally:
            self._workers -= 1
            if self._due:
                self._wake_one()

    async def _work_on(self) -> None:
        """Take key after key; return if there is none, and enough others wait for the next."""
        self._hired = False
        while True:
            while not self._due:
                if len(self._sleepers) >= KEPT:
                    return
                turn = asyncio.get_running_loop().create_future()
                self._sleepers.append(turn)
                await turn
            key = self._due.popleft()
            self._waiting.discard(key)
            self._busy.add(key)
            if self._due:
                self._wake_one()  # one after the other, so that nothing else waits while hundreds begin
            try:
                await self._one(key)
            finally:
                self._busy.discard(key)
                if key in self._again:
                    self._again.discard(key)
                    self.add(key)
                if not self._due and not self._busy:
                    self._idle.set()

    async def _one(self, key: Key) -> None:
        done = await attempted(partial(self._handle, key), partial(self._failed, key))
        if done is None:
            count = self._failures[key] = self._failures.get(key, 0) + 1
            again: float | None = self._rest.after(count)
        else:
            self._failures.pop(key, None)
            again = done.value
        if again is not None and key not in self._again:
            self.add(key, max(again, 1e-6))

    async def drained(self) -> None:
        """Return once nothing is due and nobody is at work; looks planned for later do not count."""
        await self._idle.wait()
