"""Working things out beside the event loop, which has watches to read meanwhile.

One thread at a time runs Python, and whoever wants to is let in when the one inside has been at it for five
milliseconds. A loop lets others in whenever it reads from a socket; with fifty connections and somebody who never
pauses beside it, it waits five milliseconds for each of them, and everything it does is late by a quarter of a second.
So while something is worked out, turns are shorter.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, ParamSpec, TypeVar

from dovetail.collector import RESTING
from dovetail.core.scheduling.problem import Plan, Problem
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.solve import solve

P = ParamSpec("P")
T = TypeVar("T")
#: How long whoever works things out may go on while the loop waits.
TURN_SECONDS: Final = 0.0005


class Aside:
    """Plans in a thread of its own, so that the loop gets its turn in between; what is compiled of the
    pools is kept from one plan to the next."""

    def __init__(self) -> None:
        self._shelf = Shelf()

    async def __call__(self, problem: Problem) -> Plan:
        return await aside(solve, problem, self._shelf)


async def aside(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Have something pure worked out in a thread."""
    with _TURNS.short():
        return await asyncio.to_thread(rested, work, *args, **kwargs)


class _Turns:
    """How long turns are. Only the loop's thread asks; the last who wanted them short makes them what they were."""

    def __init__(self) -> None:
        self._wanted, self._before = 0, 0.0

    @contextmanager
    def short(self) -> Iterator[None]:
        if not self._wanted:
            self._before = sys.getswitchinterval()
            sys.setswitchinterval(min(TURN_SECONDS, self._before))
        self._wanted += 1
        try:
            yield
        finally:
            self._wanted -= 1
            if not self._wanted:
                sys.setswitchinterval(self._before)


_TURNS: Final = _Turns()


def rested(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Have it worked out without the collector, for which decisions leave nothing."""
    with RESTING:
        return work(*args, **kwargs)
