"""Virtual time beside servers in threads: it stands still while AWS is asked, or anything is worked out in a thread."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tests.live.virtual_time import START, STILL, Hung, VirtualLoop, _Selector, _waiting

from dovetail.clouds.aws.access import Access, Pace
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.client import Answer, Aws

T = TypeVar("T")
#: Real seconds for which nothing at all may happen on a busy machine.
PATIENCE = 300.0


class _Holding(_Selector):
    """While `held`, waits for what comes, and lets no time pass."""

    def __init__(self) -> None:
        super().__init__()
        self.held = 0
        self._since = time.monotonic()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if not self.held or (timeout is not None and timeout <= 0):
            self._since = time.monotonic()
            return super().select(timeout)
        found = selectors.DefaultSelector.select(self, STILL)
        if found:
            self._since = time.monotonic()
        elif time.monotonic() - self._since > PATIENCE:
            raise Hung(f"AWS does not answer: {_waiting()}")
        return found


class AwsLoop(VirtualLoop):
    """A virtual loop that waits for threads and for AWS."""

    def __init__(self) -> None:
        self._virtual = _Holding()
        asyncio.SelectorEventLoop.__init__(self, self._virtual)

    def hold(self) -> None:
        self._virtual.held += 1

    def release(self, *_: object) -> None:
        self._virtual.held -= 1

    def date(self) -> float:
        """In seconds since 1970; may be asked from any thread."""
        return START + self._virtual.passed

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self.hold()
        future.add_done_callback(self.release)
        return future


class HeldAws(Aws):
    """AWS in virtual time: a call takes none."""

    def __init__(self, url: str, attempts: int = 2) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, AwsLoop)
        self._loop = loop
        super().__init__(Access("us-east-1", url, attempts=attempts), pace=Pace(loop.time, chance=lambda: 0.5))

    async def _once(self, call: Call, request: Answer, end: float) -> Answer:
        self._loop.hold()
        try:
            return await super()._once(call, request, end)
        finally:
            self._loop.release()


def run(scenario: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=AwsLoop) as runner:
        return runner.run(scenario)
