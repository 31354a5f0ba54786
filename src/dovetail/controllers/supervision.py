"""The one place where a fault of ours is caught, so that what breaks one turn of one loop ends nothing else.

Whatever a turn raises is told (in the log, with a traceback only where it is our fault, and in a metric) and costs that
turn alone; after a failure a loop rests, longer each time in a row. `Later` is no failure: it is told to nobody. Being
cancelled is the end, here as everywhere: it passes through.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final, Generic, Never, TypeVar

from dovetail.clouds.port import CloudError
from dovetail.controllers.metrics import Metrics
from dovetail.core.effects import Count
from dovetail.core.errors import BadInput
from dovetail.kube.errors import KubeError

T = TypeVar("T")
#: Told what was being done, and what went wrong with it.
Failed = Callable[[Hashable, Exception], None]
METRIC: Final = "loop_failures_total"
_log: Final = logging.getLogger(__name__)


class Later(Exception):
    """Nothing is wrong, it is only too early: look again after a while that doubles, and tell nobody."""


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What came of a turn that went well."""

    value: T


@dataclass(frozen=True, slots=True)
class Rest:
    """How long to wait after failing, in seconds: `first`, twice as long each time in a row, at most `last`."""

    first: float
    last: float

    def after(self, failures: int) -> float:
        return float(min(self.first * 2 ** min(failures - 1, 30), self.last))


async def attempted(work: Callable[[], Awaitable[T]], failed: Callable[[Exception], None]) -> Done[T] | None:
    """Do something once, and outlive it: None if it did not come to an end."""
    try:
        return Done(await work())
    except Later:
        return None
    except Exception as problem:  # noqa: BLE001  (the supervisor: one turn's trouble must not end everything else)
        failed(problem)
        return None


async def keep_on(turn: Callable[[], Awaitable[float]], failed: Callable[[Exception], None], rest: Rest) -> Never:
    """Turn after turn until cancelled; a turn says in how many seconds it wants the next."""
    failures = 0
    while True:
        done = await attempted(turn, failed)
        failures = 0 if done is not None else failures + 1
        await asyncio.sleep(rest.after(failures) if done is None else done.value)


class Failures:
    """Tells of what went wrong in every loop of one process."""

    def __init__(self, count: Callable[[Count], None]) -> None:
        self._count = count

    def of(self, loop: str) -> Failed:
        def told(key: Hashable, problem: Exception) -> None:
            known = isinstance(problem, CloudError | KubeError | BadInput)
            _log.warning("%s %s: %s", loop, key, problem, exc_info=None if known else problem)
            self._count(Count(METRIC, {"loop": loop, "fault": "false" if known else "true"}))

        return told


def declare(metrics: Metrics, prefix: str) -> None:
    meaning = "What went wrong in a loop and was tried again; `fault` where nobody but us is to blame."
    metrics.counter(METRIC, meaning, "loop", "fault", prefix=prefix)
