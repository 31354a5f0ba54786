"""Long answers, read beside the event loop, one at a time.

Python runs one thread at once and changes over every few milliseconds: with three threads reading, the event loop comes
round a third as often, and nothing is read sooner. And what is read is many objects that hold no circles, so that the
collector, which would stop everybody to look through all of them, rests meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from dovetail.collector import RESTING

Given = ParamSpec("Given")
Made = TypeVar("Made")


class Reading:
    """Whoever reads for one account waits for its turn here."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def __call__(self, work: Callable[Given, Made], *given: Given.args, **named: Given.kwargs) -> Made:
        async with self._turn:
            return await asyncio.to_thread(_resting, partial(work, *given, **named))


def _resting(work: Callable[[], Made]) -> Made:
    with RESTING:
        return work()
