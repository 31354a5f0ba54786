"""Working things out beside the event loop, which has watches to read meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from dovetail.collector import RESTING
from dovetail.core.scheduling.problem import Plan, Problem
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.solve import solve

P = ParamSpec("P")
T = TypeVar("T")


class Aside:
    """Plans in a thread of its own, so that the loop gets its turn every few milliseconds; what is compiled of the
    pools is kept from one plan to the next."""

    def __init__(self) -> None:
        self._shelf = Shelf()

    async def __call__(self, problem: Problem) -> Plan:
        return await aside(solve, problem, self._shelf)


async def aside(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Have something pure worked out in a thread."""
    return await asyncio.to_thread(rested, work, *args, **kwargs)


def rested(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Have it worked out without the collector, for which decisions leave nothing."""
    with RESTING:
        return work(*args, **kwargs)
