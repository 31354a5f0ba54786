"""The live controller at size, by itself, on a real control plane whose kubelets are played by kwok.

The burst is five thousand plain pods at once; every ten milliseconds a probe inside the process notes how late its
event loop was. Others on the machine make it late as well, so the processor time this process used in those moments is
shown beside it: lateness beyond that is not its own doing. Then thirty thousand pods on a thousand nodes, all of them
bought by the controller, for ten Deployments one after the other; its memory is that of the whole process, at the end
and at its peak.

`LARGE_ONLY=burst` (or `large`) measures one of the two, and keeps the other's figures.
"""

import json
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench import live_run
from bench.live_cluster import OURS
from bench.live_run import Plan
from bench.live_world import Workload
from bench.report import RESULTS, Row, in_parts, lower

NAME = "live-large"
#: It takes as long as the API server needs for thirty thousand pods.
ON_REQUEST: Final = True
BURST: Final = Workload("plain", 5_000)
LARGE: Final = Workload("large", 30_000)
PATIENCE: Final = 3600.0
_PROBED: Final = [sys.executable, "-m", "bench.live_probe"]


def run() -> list[Row]:
    return in_parts(NAME, "LARGE_ONLY", {"burst": _burst, "large": _large})


def _burst() -> Iterator[Row]:
    samples = RESULTS / "live" / "lag.json"
    samples.parent.mkdir(parents=True, exist_ok=True)
    samples.unlink(missing_ok=True)
    os.environ["LIVE_PROBE_LAG"] = str(samples)
    try:
        result = live_run.measure(Plan(OURS, BURST, patience=PATIENCE, command=_PROBED))
    finally:
        del os.environ["LIVE_PROBE_LAG"]
    late, own = lateness(samples, result.window)
    what = f"{BURST.pods:,} pods at once"
    yield lower(f"{what}: applied to all bound", "s", result.seconds)
    yield lower(f"{what}: lateness of the event loop, 99th percentile", "s", late, limit=0.050)
    yield lower(f"{what}: of which this process was at work", "s", own)
    yield lower(f"{what}: processor time of the controller", "s", result.cpu)
    yield lower(f"{what}: peak memory of the controller", "MB", result.peak)


def lateness(samples: Path, window: tuple[float, float]) -> tuple[float, float]:
    """The 99th percentiles of lateness, and of that part of it in which the process itself was running.

    Both clocks are the system's monotonic one, so moments of two processes can be compared.
    """
    first, last = window
    seen = [(late, used) for at, late, used in json.loads(samples.read_text(encoding="ascii")) if first <= at <= last]
    wall = [late for late, _ in seen]
    own = [min(late, used) for late, used in seen]
    return statistics.quantiles(wall, n=100)[98], statistics.quantiles(own, n=100)[98]


def _large() -> Iterator[Row]:
    result = live_run.measure(Plan(OURS, LARGE, patience=PATIENCE, idle=60.0, in_turn=True))
    what = f"{result.nodes:,} nodes, {LARGE.pods:,} pods"
    yield lower(f"{what}: memory of the controller", "MB", result.resident, limit=200)
    yield lower(f"{what}: at its peak", "MB", result.peak, limit=200)
    yield lower(f"{what}: share of a core with nothing to do", "%", result.idle)
