"""Our side of judging: a pass over a cluster read from its file, timed, and again after one pod has changed.

Under the stopwatch is `passes.decide` from values to decisions. Reading is not: a cluster that is watched is read as it
changes. Passes follow each other with one shelf, as the controller's do, so the catalog is looked up by the first only.
"""

import gc
import json
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Final

from bench import measure
from bench.disruption_cluster import one_pod_gone, read
from bench.disruption_worlds import files
from bench.report import ROOT
from dovetail.controllers.solving import rested
from dovetail.core.disruption.again import Judgements
from dovetail.core.disruption.passes import decide
from dovetail.core.disruption.refusals import Code
from dovetail.core.scheduling.shelf import Shelf

REPEATS: Final = 5
#: Refusals of nodes that a what-if found could go, were it not for budgets or for better ones.
_COULD_GO: Final = frozenset({Code.BUDGET, Code.NOT_CHOSEN})


@dataclass(frozen=True, slots=True)
class Judged:
    """A pass: the median and the first, how many nodes have a verdict, and how many of a hundred could go."""

    seconds: float
    first_seconds: float
    judged: int
    could_go: float


def judged(nodes: int) -> Judged:
    world, shelf = read(nodes), Shelf()
    gc.collect()
    start = time.perf_counter()
    found = rested(decide, world, shelf)
    first = time.perf_counter() - start
    seconds = measure.median_seconds(lambda: rested(decide, world, shelf), repeats=REPEATS, warm_up=0)
    going = sum(len(one.names) for one in found.commands)
    able = going + sum(one.code in _COULD_GO for one in found.refusals.values())
    everybody = going + len(found.refusals)
    assert everybody == nodes, f"of {nodes} nodes {everybody} have a verdict"
    return Judged(seconds, first, everybody, 100 * able / everybody)


def passed(nodes: str) -> object:
    """For the memory row: a cluster and what a pass over it decided."""
    world = read(int(nodes))
    return world, rested(decide, world, Shelf())


# ---- in a fresh process


@dataclass(frozen=True, slots=True)
class Fresh:
    """The first pass of a process, and the most memory it had, interpreter and all."""

    seconds: float
    peak: float


def fresh(nodes: int) -> Fresh:
    files(nodes)  # written here, so that writing it is not in that process's memory
    command = [sys.executable, "-m", "bench.disruption_judging", str(nodes)]
    answer = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return Fresh(**json.loads(answer.stdout.splitlines()[-1]))


def _fresh(nodes: int) -> Fresh:
    world, shelf = read(nodes), Shelf()
    gc.collect()
    start = time.perf_counter()
    found = rested(decide, world, shelf)
    took = time.perf_counter() - start
    assert found.refusals
    return Fresh(took, measure.peak())


# ---- after a change


def after_one_pod(nodes: int) -> float:
    """The median time of the pass that follows when one pod has gone, another one each time."""
    world, shelf, kept = read(nodes), Shelf(), Judgements()
    rested(decide, world, shelf, kept)
    seconds = []
    for turn in range(1 + REPEATS):
        world = one_pod_gone(world, turn)
        gc.collect()
        start = time.perf_counter()
        rested(decide, world, shelf, kept)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


if __name__ == "__main__":
    print(json.dumps(asdict(_fresh(int(sys.argv[1])))))
