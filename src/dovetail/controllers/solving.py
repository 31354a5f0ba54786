"""Planning beside the event loop, which has watches to read meanwhile."""

from __future__ import annotations

import asyncio

from dovetail.core.scheduling.problem import Plan, Problem
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.solve import solve


class Aside:
    """Plans in a thread of its own, so that the loop gets its turn every few milliseconds; what is compiled of the
    pools is kept from one plan to the next."""

    def __init__(self) -> None:
        self._shelf = Shelf()

    async def __call__(self, problem: Problem) -> Plan:
        return await asyncio.to_thread(solve, problem, self._shelf)
