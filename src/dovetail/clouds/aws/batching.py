"""Many small wishes, few calls: what is asked for within a moment is asked for together.

EC2 counts calls, not what is in them, and refuses who makes too many. So wishes of the same key wait for each other: a
batch leaves when nothing was added for `idle` seconds, `longest` seconds after the first, or when it is full
(`spec/aws` §0). A batch goes its own way: who stops waiting for a part of it does not stop the rest.

`run` is given a batch and answers for each of its wishes, in order, with a result or the error that one wish met; if it
raises, all have met that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Generic, TypeVar

from dovetail.clouds.port import CloudError, Unavailable

W = TypeVar("W")
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)
#: This many batches of one kind may be under way at once.
AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Window:
    """When a batch leaves: after `idle` seconds of quiet, `longest` seconds, or with `most` wishes."""

    idle: float
    longest: float
    most: int


FLEETS: Final = Window(0.035, 1.0, 1000)
DESCRIBES: Final = Window(0.1, 1.0, 500)
TERMINATIONS: Final = Window(0.1, 1.0, 500)


@dataclass(slots=True)
class _Batch(Generic[W, R]):
    began: float
    last: float
    wishes: list[W] = field(default_factory=list)
    waiting: list[asyncio.Future[R]] = field(default_factory=list)
    full: asyncio.Event = field(default_factory=asyncio.Event)


class Batcher(Generic[K, W, R]):
    """Collects wishes by key. `seen` is told the size of each batch and how long it was collected."""

    def __init__(
        self,
        run: Callable[[K, Sequence[W]], Awaitable[Sequence[R | CloudError]]],
        window: Window,
        seen: Callable[[int, float], None] = lambda size, seconds: None,
    ) -> None:
        self._run, self._window, self._seen = run, window, seen
        self._open: dict[K, _Batch[W, R]] = {}
        self._under_way: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def add(self, key: K, wish: W, seconds: float) -> R:
        """One wish; Unavailable if nothing came of it in so many seconds."""
        future = self._put(key, wish)
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise Unavailable(f"nothing was heard within {seconds:g} s") from None

    async def close(self) -> None:
        """Let nothing go on."""
        for one in self._under_way:
            one.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _put(self, key: K, wish: W) -> asyncio.Future[R]:
        loop = asyncio.get_running_loop()
        batch = self._open.get(key)
        if batch is None:
            batch = self._open[key] = _Batch(loop.time(), loop.time())
            task = loop.create_task(self._collect(key, batch))
            self._under_way.add(task)
            task.add_done_callback(partial(self._over, batch))
        future: asyncio.Future[R] = loop.create_future()
        batch.wishes.append(wish)
        batch.waiting.append(future)
        batch.last = loop.time()
        if len(batch.wishes) >= self._window.most:
            self._open.pop(key, None)
            batch.full.set()
        return future

    async def _collect(self, key: K, batch: _Batch[W, R]) -> None:
        loop = asyncio.get_running_loop()
        while not batch.full.is_set():
            left = min(batch.last + self._window.idle, batch.began + self._window.longest) - loop.time()
            if left <= 0:
                break
            try:
                async with asyncio.timeout(left):
                    await batch.full.wait()
            except TimeoutError:
                continue
        if self._open.get(key) is batch:
            del self._open[key]
        self._seen(len(batch.wishes), loop.time() - batch.began)
        try:
            async with self._turns:
                _answer(batch, await self._run(key, tuple(batch.wishes)))
        except CloudError as failed:
            _answer(batch, [failed] * len(batch.waiting))

    def _over(self, batch: _Batch[W, R], task: asyncio.Task[None]) -> None:
        """Nobody is left waiting, whatever a batch ended with: a fault of ours is everybody's."""
        self._under_way.discard(task)
        fault = None if task.cancelled() else task.exception()
        for one in batch.waiting:
            if not one.done():
                one.cancel() if fault is None else one.set_exception(fault)


def _answer(batch: _Batch[W, R], results: Sequence[R | CloudError]) -> None:
    for future, result in zip(batch.waiting, results, strict=True):
        if future.done():
            continue
        if isinstance(result, CloudError):
            future.set_exception(result)
        else:
            future.set_result(result)
