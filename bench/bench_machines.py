"""Machines of Cluster API from a MachineSet, on a real control plane: our core beside Cluster API's own.

Each side has a fresh control plane: etcd, kube-apiserver, controller manager and scheduler as published, kwok for
kubelets. The instances are simulated and run after a fifth of a second. One side is `dovetail machines --core own`, the
other Cluster API's unmodified manager with its webhooks, and `dovetail machines --core upstream` for infrastructure; so
both columns have the same provider, and what differs is the core. Both may send as many requests per second. Time runs
from applying the MachineSet (with a health check beside it). Writes are counted by the API server until everything has
been quiet for ten seconds, without leases and without what the simulated machines do themselves. Everything shares the
machine's cores. Both make the Machines of a set one after the other. They are compared with three hundred. With a
thousand ours, which buys and looks after simulated instances, is compared with Cluster API's core and a provider that
buys nothing: it says of each machine at once that it is ready.

Idle figures are of our core and three clouds through their own SDKs, against fakes on loopback: simulated clouds play
kubelets for all their machines in the same process. Memory is of the process and of what it starts: an SDK in a process
of its own is counted while it is there, and *just made* is when it is. Then instances are taken away one after the
other behind everybody's back, while their Nodes go on looking well. What a notice on the metadata server leads to is
measured by *handler*.

`MACHINES=20` measures as many instead, and `MACHINES_ONLY=gcp` (or `aws`, `azure`, `sim`) one cloud.
"""

import os
import sys
from collections.abc import Callable, Iterator
from typing import Final

from bench.machines_cluster import COUNTED, LEFT_OUT, NO_OP, OWN, UPSTREAM
from bench.machines_run import LOST, Plan, Result, measure
from bench.report import Row, lower, with_kept

NAME = "machines"
#: It takes half an hour, and every core.
ON_REQUEST: Final = True
MACHINES: Final = 1000
COMPARED: Final = 300
#: At most 1.5 times what Cluster API's own needs.
TIMES: Final = 1 / 1.5
#: Clouds with an SDK of their own.
REAL: Final = ("aws", "gcp", "azure")
#: Two rounds.
IDLE_SECONDS: Final = 60.0
SHARE_LIMIT, MEMORY_LIMIT = 1.0, 120.0
#: A round is half a minute; what it finds is looked into and written down.
NOTICE_LIMIT: Final = 40.0

Read = Callable[[Result], float]


def run() -> list[Row]:
    count, only = int(os.environ.get("MACHINES", MACHINES)), os.environ.get("MACHINES_ONLY", "")
    measured: list[Row] = []
    if only in ("", "sim"):
        few = min(count, COMPARED)
        peer = _told(measure(Plan(UPSTREAM, "sim", few)))
        measured += compared(_told(measure(Plan(OWN, "sim", few))), peer)
    if only in ("", "sim", "own") and count > COMPARED:
        ours = _told(measure(Plan(OWN, "sim", count)))
        measured += alone(ours)
        if only != "own":
            measured += beside_nothing(ours, _told(measure(Plan(NO_OP, "sim", count))))
    for cloud in REAL:
        if only in ("", cloud):
            measured += alone(_told(measure(Plan(OWN, cloud, count, idle=IDLE_SECONDS))))
    return with_kept(NAME, measured) if only else measured


def compared(ours: Result, peer: Result) -> Iterator[Row]:
    """Of simulated machines: both cores."""
    what = f"{ours.plan.machines:,} Machines"

    def row(name: str, unit: str, read: Read, times: float | None = None) -> Row:
        return lower(f"{what}: {name}", unit, read(ours), read(peer), times=times)

    yield row("set applied to the last one made", "s", lambda one: one.made)
    yield row("set applied to all provisioned", "s", lambda one: one.provisioned, TIMES)
    yield row("set applied to all running with their Nodes", "s", lambda one: one.running, TIMES)
    yield row("writes to the API server per Machine", "count", lambda one: one.writes_per_machine, TIMES)
    for name in (name for name, *_ in COUNTED if name not in LEFT_OUT):
        yield row(f"of them {name}", "count", lambda one, name=name: one.counted[name])  # type: ignore[misc]
    yield lower(f"{what}: made beyond those asked for", "count", ours.surplus, peer.surplus, limit=0)


def beside_nothing(ours: Result, least: Result) -> Iterator[Row]:
    """Of simulated machines: ours, beside Cluster API's core and a provider that buys nothing."""
    what = f"{ours.plan.machines:,} Machines, beside a provider that buys nothing"
    running = "set applied to all running with their Nodes"
    yield lower(f"{what}: {running}", "s", ours.running, least.running, times=TIMES)
    writes = ours.writes_per_machine, least.writes_per_machine
    yield lower(f"{what}: writes to the API server per Machine", "count", *writes, times=TIMES)


def alone(ours: Result) -> Iterator[Row]:
    """Of a cloud with its own SDK: what comes up, and what it costs to keep."""
    what = f"{ours.plan.machines:,} Machines, {ours.plan.cloud}"
    yield lower(f"{what}: set applied to all provisioned", "s", ours.provisioned)
    yield lower(f"{what}: writes to the API server per Machine", "count", ours.writes_per_machine)
    yield lower(f"{what}: processor time per Machine", "s", ours.cpu / ours.plan.machines)
    yield lower(f"{what}: made beyond those asked for", "count", ours.surplus, limit=0)
    if ours.idle is not None:
        yield lower(f"{what}, just made: memory", "MB", ours.busy)
        yield lower(f"{what}, nothing to do: share of a core", "%", ours.idle, limit=SHARE_LIMIT)
        yield lower(f"{what}, nothing to do: memory", "MB", ours.resident, limit=MEMORY_LIMIT)
    if ours.noticed is not None:
        name = f"{what}: an instance is gone, its Node looks well, to its machine failed, longest of {LOST}"
        yield lower(name, "s", ours.noticed, limit=NOTICE_LIMIT)


def _told(one: Result) -> Result:
    plan = one.plan
    made = f"made {one.made:.1f}, provisioned {one.provisioned:.1f}, running {one.running:.1f} s"
    wrote = f"{one.writes_per_machine:.1f} writes per Machine, {one.cpu:.1f} s of a core, {one.resident:.0f} MB"
    print(f"machines: {plan.core} core, {plan.cloud}: {made}; {wrote}", file=sys.stderr, flush=True)
    return one
