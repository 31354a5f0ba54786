"""Planning beside the event loop, which has watches to read meanwhile."""

from __future__ import annotations

import asyncio

from dovetail.core.scheduling.problem import Plan, Problem
from dovetail.core.scheduling.solve import solve


async def solve_aside(problem: Problem) -> Plan:
    """In a thread of its own: the loop gets its turn every few milliseconds."""
    return await asyncio.to_thread(solve, problem)
