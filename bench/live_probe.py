"""Ours with a probe inside: `python -m bench.live_probe run …` is `dovetail run …`, watched from within its loop.

LIVE_PROBE_LAG=FILE      every 10 ms: how late the event loop was, and how much processor time this process used in
                         that while, written at the end as JSON
LIVE_PROBE_PROFILE=FILE  a profile of the thread that runs the loop, for `python -m pstats`
"""

import asyncio
import cProfile
import json
import os
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final

from dovetail.main import main

EVERY: Final = 0.010
_run: Final = asyncio.run


async def _sampled(path: Path) -> None:
    loop = asyncio.get_running_loop()
    samples: list[tuple[float, float, float]] = []
    try:
        while True:
            due, used = loop.time() + EVERY, time.process_time()
            await asyncio.sleep(EVERY)
            samples.append((loop.time(), loop.time() - due, time.process_time() - used))
    finally:
        path.write_text(json.dumps(samples), encoding="ascii")


async def _beside(work: Coroutine[Any, Any, Any]) -> None:
    lag = os.environ.get("LIVE_PROBE_LAG")
    sampler = asyncio.create_task(_sampled(Path(lag))) if lag else None
    try:
        await work
    finally:
        if sampler is not None:
            sampler.cancel()
            await asyncio.gather(sampler, return_exceptions=True)


def _probed(work: Coroutine[Any, Any, Any]) -> None:
    profile = os.environ.get("LIVE_PROBE_PROFILE")
    if not profile:
        _run(_beside(work))
        return
    profiler = cProfile.Profile()
    try:
        profiler.runcall(_run, _beside(work))
    finally:
        profiler.dump_stats(profile)


if __name__ == "__main__":
    asyncio.run = _probed  # type: ignore[assignment]
    sys.exit(main())
