"""How a verb that runs for ever ends: when it is told to, which is no failure, or with one sentence."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

from dovetail.core.errors import BadInput


async def until_told(work: Callable[[], Awaitable[None]]) -> None:
    """Run until it ends or somebody asks for the end. What only a person can put right is raised alone, out of
    whatever group of tasks it ended."""
    task = asyncio.ensure_future(work())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return
    except BaseExceptionGroup as problems:
        bad = problems.subgroup(BadInput)
        if bad is None:
            raise
        raise _first(bad) from None


def _first(problems: BaseExceptionGroup[BadInput]) -> BadInput:
    """Tasks of a group end together, each with its own account; one sentence is enough."""
    first = problems.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
