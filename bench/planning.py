"""Our side of the scheduling benchmark: worlds read into problems, and how long they take.

Under the stopwatch is everything from core values to a plan, so compiling the problem counts. Reading does not: pods
come with their shapes interned, as they are once when a cluster is watched, and the catalog is there, as the peer's
types are. Plans are made again and again with one shelf, as a controller makes them and with its own function, so the
catalog is looked up by the first of them only; that one is not in the median and has a row of its own. The peer's setup
is not under its stopwatch.
"""

import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench import measure
from bench.pods_from_json import read_nodes, read_pods
from bench.report import ROOT
from bench.worlds import POOL, World, world
from dovetail.cli.version import planner
from dovetail.clouds.kwok.types_file import parse_types_file
from dovetail.clouds.listed import ListedMarket
from dovetail.controllers.solving import rested
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.labels import INSTANCE_TYPE
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.requirements import EMPTY, Requirements, requirement
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.problem import Options, Plan, PreferencePolicy, Problem
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.solve import replan, solve
from dovetail.core.snapshot import Snapshot

PATIENCE = 3.0  # seconds; a longer run is long enough to stand by itself
REPEATS = 7
NODE_CLASS = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "class-00")
NANO = 1e9


@dataclass(frozen=True, slots=True)
class Planned:
    """One workload planned: how long it took each time, and what came out. `reserved` are nodes on reserved capacity.

    `first_seconds` is the first plan of all, for which the catalog had to be looked up.
    """

    each_seconds: tuple[float, ...]
    first_seconds: float
    pods: int
    waiting: int
    nodes: int
    price: float
    reserved: int

    @property
    def seconds(self) -> float:
        return statistics.median(self.each_seconds)

    @property
    def pods_per_second(self) -> float:
        return self.pods / self.seconds


def problem(
    files: World, *, min_values: int | None = None, preferences: PreferencePolicy = PreferencePolicy.RESPECT
) -> Problem:
    """The same question the peer is asked: one pool that may buy everything in the file."""
    listing = parse_types_file(files.types.read_bytes(), files.types.name)
    assert not listing.problems, listing.problems[0]
    demand = Requirements([requirement(INSTANCE_TYPE, "Exists", min_values=min_values)]) if min_values else EMPTY
    pool = NodePool(POOL, NODE_CLASS, requirements=demand)
    return Problem(
        Snapshot(read_nodes(files.nodes), read_pods(files.pods), (pool,)),
        {POOL: CatalogCache(ListedMarket(listing)).catalog(pool, 0.0)},
        Options(preferences, well_known=listing.dialect.well_known),
    )


def planned(
    name: str,
    meanwhile: Callable[[], object] | None = None,
    *,
    min_values: int | None = None,
    preferences: PreferencePolicy = PreferencePolicy.RESPECT,
) -> Planned:
    """Some runs, something else, and as many runs again, each from the same values. What is to be compared with it goes
    between: a machine's speed changes by the minute. The first run warms up, and stands alone if it took very long.
    """
    asked = problem(world(name), min_values=min_values, preferences=preferences)
    shelf = Shelf()
    gc.collect()
    start = time.perf_counter()
    plan = rested(solve, asked, shelf)
    first = time.perf_counter() - start
    repeats = REPEATS if first < PATIENCE else 0
    each = measure.each_seconds(lambda: rested(solve, asked, shelf), repeats=repeats)
    if meanwhile is not None:
        meanwhile()
    each += measure.each_seconds(lambda: rested(solve, asked, shelf), repeats=repeats)
    return _told(plan, len(asked.snapshot.pending), tuple(each) or (first,), first)


def _told(plan: Plan, pods: int, each_seconds: tuple[float, ...], first_seconds: float) -> Planned:
    placed = sum(len(one.pods) for one in plan.claims) + sum(len(one.pods) for one in plan.placed)
    waiting = sum(len(one.pods) for one in plan.refused)
    assert placed + waiting == pods, f"of {pods} pods {placed} were placed and {waiting} refused"
    return Planned(
        each_seconds,
        first_seconds,
        pods,
        waiting,
        len(plan.claims),
        plan.nanodollars / NANO,
        sum(1 for claim in plan.claims if claim.reservation_ids),
    )


def compiled() -> bool:
    """Whether the planner at work here is compiled."""
    return planner() == "compiled"


def interpreted(name: str) -> float:
    """Pods a second in a process that has the sources only, whatever this one has."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    told = subprocess.run(
        [sys.executable, "-m", "bench.planning", name], cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True
    )
    return float(told.stdout)


def compile_seconds(name: str) -> float:
    """How much of a plan is compiling the problem, which what-ifs do not repeat."""
    asked, shelf = problem(world(name)), Shelf()
    return measure.median_seconds(lambda: Compiled(asked, shelf), repeats=3)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Every node taken out alone: the mean and the slowest, and how many pods of any were left waiting."""

    mean: float
    slowest: float
    waiting: int


def what_if() -> WhatIf:
    """Each node of the world in turn, on one compiled snapshot, as a scan for nodes that could go asks it. The first,
    which fills what all share, is counted like any other."""
    compiled = Compiled(problem(world("whatif")))
    seconds, waiting = [], 0
    gc.collect()
    for node in compiled.table.nodes:
        start = time.perf_counter()
        plan = rested(replan, compiled, without=[node.name])
        seconds.append(time.perf_counter() - start)
        waiting += sum(len(one.pods) for one in plan.refused)
    return WhatIf(statistics.fmean(seconds), max(seconds), waiting)


def settled() -> object:
    """For the memory row: what a process holds that could answer a what-if, and has answered one."""
    compiled = Compiled(problem(world("whatif")))
    replan(compiled, without=[compiled.table.nodes[0].name])
    return compiled


if __name__ == "__main__":
    assert not compiled(), "this is to be the planner as plain Python"
    print(planned(sys.argv[1]).pods_per_second)
