"""Answers of AWS, remembered for a while by the whole question, and asked for once however many want them.

An answer that is empty is not remembered: whoever has just added the tag that was missing wants to be seen. A question
that AWS would not answer this time is answered with what it said before, and the trouble is told beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.intervals import Intervals
from dovetail.clouds.port import CloudError, NotFound, Throttled, Unavailable

#: Nobody's question for so long: forgotten.
_OLDEST: Final = 2 * 86_400.0
_MANY: Final = 4096
#: That a thing known by its name is not there is remembered too, for so long: not every variant of an image is made.
ABSENT_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What AWS said, when it was asked, and why it is not newer than that."""

    value: Any
    at: float
    problem: CloudError | None = None


class Memory:
    """By question. `now` is seconds since 1970; `intervals` say for how long some answers are used."""

    def __init__(self, aws: Aws, now: Callable[[], float], intervals: Intervals | None = None) -> None:
        self._aws, self.now, self.intervals = aws, now, intervals or Intervals()
        self._held: dict[bytes, Answer] = {}
        self._asking: dict[bytes, asyncio.Task[Answer]] = {}
        self._absent: dict[bytes, tuple[float, NotFound]] = {}

    async def all(self, call: Call, request: dict[str, Any], seconds: float) -> Answer:
        """Every item of every page, at most so many seconds old."""
        return await self._answered(_key(call, request), seconds, lambda: self._aws.all(call, **request))

    async def one(self, call: Call, request: dict[str, Any], seconds: float) -> Answer:
        """A call that has one answer; raises NotFound where there is nothing."""
        key = _key(call, request)
        at, absent = self._absent.get(key, (0.0, None))
        if absent is not None and 0 <= self.now() - at < ABSENT_SECONDS:
            raise absent.with_traceback(None)
        try:
            return await self._answered(key, seconds, lambda: self._aws.ask(call, **request))
        except NotFound as none:
            self._absent[key] = (self.now(), none)
            raise

    def forget(self, call: Call, request: dict[str, Any]) -> None:
        self._held.pop(_key(call, request), None)

    def age(self, call: Call, request: dict[str, Any]) -> float:
        """For how long an answer has been remembered, 0 for none."""
        held = self._held.get(_key(call, request))
        return 0.0 if held is None else self.now() - held.at

    async def _answered(self, key: bytes, seconds: float, ask: Callable[[], Awaitable[Any]]) -> Answer:
        held = self._held.get(key)
        if held is not None and 0 <= self.now() - held.at < seconds:
            return held
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._asked(key, ask), name="aws answer")
            task.add_done_callback(lambda done: self._done(key, done))
        try:
            return await asyncio.shield(task)
        except (Throttled, Unavailable) as failed:
            if held is None:
                raise
            return Answer(held.value, held.at, failed)

    def _done(self, key: bytes, task: asyncio.Task[Answer]) -> None:
        """Whoever asked may have gone away: the error has been looked at all the same."""
        self._asking.pop(key, None)
        if not task.cancelled():
            task.exception()

    async def _asked(self, key: bytes, ask: Callable[[], Awaitable[Any]]) -> Answer:
        at = self.now()
        found = Answer(await ask(), at)
        if found.value:
            self._prune(at)
            self._held[key] = found
        else:
            self._held.pop(key, None)
        return found

    def _prune(self, at: float) -> None:
        if len(self._held) >= _MANY:
            self._held = {key: one for key, one in self._held.items() if at - one.at < _OLDEST}
        if len(self._absent) >= _MANY:
            self._absent.clear()


def _key(call: Call, request: dict[str, Any]) -> bytes:
    return msgspec.json.encode((call.service, call.name, request), order="sorted")
