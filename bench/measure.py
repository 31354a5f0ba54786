"""How our own side is measured: the same way as the peer's, in `peer/measure.go`.

Time is the median of several runs after some that do not count; the collector runs before each, outside the stopwatch.
Memory is that of a fresh process, seen from the operating system, so that nothing an earlier benchmark left behind is
counted and nothing an allocator keeps for itself is missed.
"""

import contextlib
import gc
import importlib
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import ParamSpec, TypeVar

from bench.report import ROOT

P = ParamSpec("P")
T = TypeVar("T")

MEGABYTE = 1_000_000


def median_seconds(
    work: Callable[[], object],
    *,
    repeats: int = 5,
    warm_up: int = 1,
    prepare: Callable[[], object] | None = None,
) -> float:
    """The median time of `work`; `prepare` runs before each, uncounted."""
    return statistics.median(each_seconds(work, repeats=repeats, warm_up=warm_up, prepare=prepare))


def each_seconds(
    work: Callable[[], object],
    *,
    repeats: int,
    warm_up: int = 0,
    prepare: Callable[[], object] | None = None,
) -> list[float]:
    """The time of `work`, so many times."""
    seconds = []
    for turn in range(warm_up + repeats):
        if prepare is not None:
            prepare()
        gc.collect()
        start = time.perf_counter()
        kept = work()
        took = time.perf_counter() - start
        del kept  # freed outside the stopwatch, as a garbage collector would
        if turn >= warm_up:
            seconds.append(took)
    return seconds


def end_with_parent() -> None:
    """For a worker: whoever kills the benchmark does not want it to go on for hours."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def fresh(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` answers in a process of its own, as a controller has one: what other benchmarks left behind in this
    one's memory is not in its way."""
    with ProcessPoolExecutor(1, get_context("spawn"), end_with_parent) as pool:
        return pool.submit(work, *args, **kwargs).result()


def per_second(batch: Callable[[], object], operations: int, *, at_least_seconds: float = 1.0) -> float:
    """Operations per second, where one call of `batch` does `operations` of them.

    Batches keep the loop's own cost small; they are repeated until the clock has enough to be exact.
    """
    batch()
    gc.collect()
    batches = 0
    start = time.perf_counter()
    while (took := time.perf_counter() - start) < at_least_seconds:
        batch()
        batches += 1
    return batches * operations / took


def cold_seconds(target: str, *, repeats: int = 5) -> float:
    """The median time of `module:function` as the first thing a fresh process does, its own late imports included."""
    command = [sys.executable, "-m", "bench.measure", "--time", target]
    answers = [subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True) for _ in range(repeats)]
    return statistics.median(float(json.loads(one.stdout.splitlines()[-1])) for one in answers)


def _timed(target: str) -> float:
    module, _, function = target.partition(":")
    work = getattr(importlib.import_module(module), function)
    start = time.perf_counter()
    kept = work()
    took = time.perf_counter() - start
    del kept
    return took


@dataclass(frozen=True, slots=True)
class Memory:
    """Megabytes by which a process grew: what it held at the end, and the most it had on the way."""

    held: float
    peak: float


def memory(target: str, *args: str) -> Memory:
    """What `module:function` costs in a fresh process, called with `args`.

    The module is imported before the first look, so the interpreter and the code are not counted; what the function
    returns is kept until after the last look, so return all that should be counted as held.
    """
    command = [sys.executable, "-m", "bench.measure", target, *args]
    answer = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return Memory(**json.loads(answer.stdout.splitlines()[-1]))


def _grow(target: str, args: list[str]) -> Memory:
    module, _, function = target.partition(":")
    work = getattr(importlib.import_module(module), function)
    gc.collect()
    _forget_peak()
    held, _ = _resident()
    kept = work(*args)
    gc.collect()
    held_after, peak_after = _resident()
    del kept
    return Memory(held=held_after - held, peak=peak_after - held)


def _forget_peak() -> None:
    """Let the peak begin anew, so that what importing needed for a moment is not counted.

    Where the system does not allow it that moment may be counted, to our disadvantage.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def resident() -> float:
    """Megabytes this whole process has in memory now."""
    return _resident()[0]


def peak() -> float:
    """Megabytes this whole process had in memory at its peak."""
    return _resident()[1]


def _resident() -> tuple[float, float]:
    """Resident size now and at its peak.

    The peak is read from /proc: on Linux getrusage's figure begins with that of the process that started this one.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        # Elsewhere only the peak is to be had. It counts in bytes on macOS, the one such system this runs on.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE
        return peak, peak
    text = status.read_text(encoding="ascii", errors="replace")
    return _kilobytes(text, "VmRSS"), _kilobytes(text, "VmHWM")


def _kilobytes(status: str, name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None, f"/proc/self/status has no {name}"
    return int(found.group(1)) * 1024 / MEGABYTE


if __name__ == "__main__":
    if sys.argv[1] == "--time":
        print(json.dumps(_timed(sys.argv[2])))
    else:
        grown = _grow(sys.argv[1], sys.argv[2:])
        print(json.dumps({"held": grown.held, "peak": grown.peak}))
