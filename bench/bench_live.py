"""Pending pods become nodes, on a real control plane: ours beside the peer's own controller for simulated machines.

Each side has a control plane of its own, fresh for every table line: etcd, kube-apiserver, controller manager and
scheduler as published, told alike to collect garbage less often (`GOGC=400`), and kwok for kubelets. `dovetail run
--cloud kwok` is on one, the peer's kwok provider, compiled from its module with the libraries of that Kubernetes
release, on the other, one after the other; both read the same instance types, have the same NodePool and wait as long
for a batch. Time runs from applying the Deployments until the last pod is bound, by the scheduler's events (a
watch tells it later on a server that is busy), and is divided by when the *last* claim is through each stage, so a
second round of planning shows as a long *create*; ours says of a claim that it is launched, registered and initialized
in one write, once its Node takes pods, and all of that shows as *launch*. API server, scheduler and controller share
the machine's cores: part of every time is theirs, binding above all. Processor time and memory are the controller's
alone, by /proc, until its last claim is initialized; writes are counted by the API server. Neither elects a leader,
there being no other, and the peer is told it may use every core. How many rounds of planning a side needs is partly
luck, the peer's most of all, and its time with it; so plain pods are measured three times, the sides in turn, and each
side's column is its run of median time.

`LIVE_ONLY=500` (or `plain`, or `spread`) measures only the workloads of that size or kind.
"""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bench import live_peer, live_run
from bench.live_cluster import OURS, PEER
from bench.live_run import Plan, Result
from bench.live_watch import STAGES
from bench.live_world import Workload
from bench.report import Row, lower, no_worse, with_kept

NAME = "live"
#: It takes twenty minutes, and every core.
ON_REQUEST: Final = True
WORKLOADS: Final = (Workload("plain", 500), Workload("plain", 1_000), Workload("spread", 1_000))
#: At most 0.4 times the peer's time.
TIMES: Final = 2.5
#: How often each kind is measured; an odd number, for one of the runs is the median.
RUNS: Final = {"plain": 3, "spread": 1}
IDLE_SECONDS: Final = 60.0
_WORDS: Final = {"plain": "pods", "spread": "pods spread over hosts"}
_COUNTED: Final = ("claims", "nodes", "events")

Read = Callable[[Result], float]


def run() -> list[Row]:
    only = os.environ.get("LIVE_ONLY", "")
    asked = [one for one in WORKLOADS if only in ("", one.kind, str(one.pods))]
    measured = [row for workload in asked for row in rows(*_both(workload), workload)]
    return with_kept(NAME, measured) if only else measured


def _both(workload: Workload) -> tuple[Result, Result | None]:
    idle = IDLE_SECONDS if workload.kind == "spread" else 0.0
    sides = (PEER, OURS) if live_peer.built() else (OURS,)
    runs = [_one(Plan(side, workload, idle=idle)) for _ in range(RUNS[workload.kind]) for side in sides]
    by_side = {side: median([one for one in runs if one.side == side]) for side in sides}
    return by_side[OURS], by_side.get(PEER)


def _one(plan: Plan) -> Result:
    result = live_run.measure(plan)
    print(f"live: {_told(result)}", file=sys.stderr)
    return result


def median(runs: list[Result]) -> Result:
    """The run in the middle by time, whole: figures of different runs say nothing together."""
    return sorted(runs, key=lambda one: one.seconds)[len(runs) // 2]


@dataclass(frozen=True, slots=True)
class _Line:
    """Makes rows of one workload out of one question to both sides."""

    what: str
    ours: Result
    peer: Result | None

    def lower(self, name: str, unit: str, read: Read, *, times: float | None = None) -> Row:
        return lower(f"{self.what}: {name}", unit, *self._columns(read), times=times)

    def no_worse(self, name: str, unit: str, read: Read) -> Row:
        return no_worse(f"{self.what}: {name}", unit, *self._columns(read))

    def _columns(self, read: Read) -> tuple[float, float | None]:
        return read(self.ours), None if self.peer is None else read(self.peer)


def rows(ours: Result, peer: Result | None, workload: Workload) -> Iterator[Row]:
    """Of one workload; nodes and their price are what must hold, all else is a target."""
    line = _Line(f"{workload.pods:,} {_WORDS[workload.kind]}", ours, peer)
    yield line.lower("applied to all bound", "s", lambda one: one.seconds, times=TIMES)
    for stage in STAGES:
        yield line.lower(stage, "s", lambda one, stage=stage: one.stages[stage])  # type: ignore[misc]
    yield line.no_worse("nodes", "count", lambda one: one.nodes)
    yield line.no_worse("price", "$/h", lambda one: one.price)
    yield line.lower("peak memory of the controller", "MB", lambda one: one.peak, times=1)
    yield line.lower("processor time of the controller", "s", lambda one: one.cpu, times=1)
    yield line.lower("writes to the API server per node", "count", lambda one: one.writes_per_node, times=1)
    for kind in _COUNTED:
        yield line.lower(f"of them {kind}", "count", lambda one, kind=kind: one.per_node(kind))  # type: ignore[misc]
    if ours.idle is not None:
        what = f"some {round(ours.nodes, -2):,} nodes, nothing to do: share of a core"
        yield lower(what, "%", ours.idle, None if peer is None else peer.idle, limit=1)


def _told(one: Result) -> str:
    stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in one.stages.items())
    return f"{one.side}: {one.seconds:.1f} s ({stages}), {one.rounds:.0f} rounds of planning, {one.nodes} nodes"
