"""A process that dies, without a word, at any one of its writes.

Everything the controller does to the world goes through its client: claims, Nodes, evictions, and the simulated
cloud's machines. So a client that stops for good at the n-th boundary of a write is `kill -9` at that moment: nothing
that runs later, in a `finally` or elsewhere, gets through any more. A boundary is the moment after a write, and the one
before the first: what the world looks like just before a write is what it looked like after the one that came last.
Events are told to people only and do not count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from dovetail.api import kinds
from dovetail.kube.client import Client

WRITES = ("create", "replace", "patch", "delete", "evict")


class Killed(BaseException):
    """The process is no more."""


def was_killed(task: asyncio.Task[None] | None) -> bool:
    """Whether a process is dead, by our hand; one that died of anything else fails the test."""
    if task is None or not task.done():
        return False
    died = task.exception()
    assert isinstance(died, BaseExceptionGroup), died
    assert died.split(Killed)[1] is None, "it died of something else"
    return True


class Mortal:
    """A client that dies at its `at`-th boundary; None for never."""

    def __init__(self, client: Client, at: int | None = None) -> None:
        self._client, self._at = client, at
        self.crossed: list[str] = []
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        if self.dead:
            raise Killed
        found = getattr(self._client, name)
        return self._writing(name, found) if name in WRITES else found

    def _writing(self, verb: str, write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def bounded(*args: Any, **kwargs: Any) -> Any:
            if self.dead:
                raise Killed
            if args and args[0] == kinds.CORE_EVENTS:
                return await write(*args, **kwargs)
            what = f"{verb} {args[0] if verb != 'evict' else 'pods'} {kwargs.get('subresource', '')}".strip()
            if not self.crossed:
                self._cross("before anything")
            answer = await write(*args, **kwargs)
            self._cross(what)
            return answer

        return bounded

    def _cross(self, what: str) -> None:
        if self.dead or len(self.crossed) == self._at:
            self.dead = True
            raise Killed
        self.crossed.append(what)
