"""One measurement on a live cluster: `python -m bench.live_run ours|peer plain|spread|large PODS` prints it as JSON.

The control plane is fresh, the controller leads and its NodePool is ready before the clock starts; the clock starts
when the Deployments are applied and stops when the last pod is bound, by the scheduler's own word. What the controller
used and wrote is counted until its last claim is initialized as well, and `AFTERWARDS` seconds more: work put off is
not work saved.
"""

import asyncio
import dataclasses
import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any, Final

from tools.control_plane.find import find

from bench import live_cluster, live_world
from bench.live_cluster import Site, until
from bench.live_process import Controller, controller
from bench.live_watch import Seen, watched
from bench.live_world import Workload
from dovetail.api import kinds
from dovetail.core.labels import NODEPOOL
from dovetail.kube.client import Client

Json = dict[str, Any]
SETTLE: Final = 5.0
#: Longer than either side puts off saying that pods came to a node.
AFTERWARDS: Final = 15.0
READY_PATIENCE: Final = 120.0
EVENTS_PATIENCE: Final = 60.0
#: Seconds between two words about how far it is.
TELLING: Final = 30.0


@dataclass(frozen=True, slots=True)
class Result:
    """What one side needed for one workload."""

    side: str
    seconds: float
    stages: dict[str, float]
    created_seconds: float
    rounds: float
    nodes: int
    price: float
    peak: float
    cpu: float
    writes: dict[str, float]
    #: Percent of a core, while nothing happens; None where it was not asked for.
    idle: float | None = None
    #: Megabytes now, at the end.
    resident: float = 0.0
    #: From applying until the last pod was bound, by the monotonic clock.
    window: tuple[float, float] = (0.0, 0.0)

    @property
    def writes_per_node(self) -> float:
        """All but leases, which go by the clock and not by the node."""
        return sum(self.per_node(name) for name in self.writes if name != "leases")

    def per_node(self, written: str) -> float:
        return self.writes[written] / max(1, self.nodes)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure; `command` starts ours in another way.

    All Deployments are applied at once, or, `in_turn`, each when the pods of those before it are bound: what fills a
    large cluster is then not kube-scheduler trying every waiting pod again for every new Node.
    """

    side: str
    workload: Workload
    idle: float = 0.0
    patience: float = 900.0
    command: list[str] | None = None
    in_turn: bool = False

    def waves(self) -> list[list[Json]]:
        bodies = self.workload.objects()
        return [[body] for body in bodies] if self.in_turn else [bodies]


def measure(plan: Plan) -> Result:
    programs = find(os.environ)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    print(f"live: {plan.side}, {plan.workload.pods:,} {plan.workload.kind} pods", file=sys.stderr, flush=True)
    with live_cluster.site(programs, plan.side, plan.workload) as site:
        with controller(site, plan.command) as one:
            result = asyncio.run(_measured(site, one, plan))
        fallen = site.control_plane.fallen()
        assert not fallen, f"{fallen} ended during the measurement; see {site.logs}"
        return result


async def _measured(site: Site, one: Controller, plan: Plan) -> Result:
    async with site.admin() as admin:
        await until(lambda: _ready(admin, one), "the controller is ready", READY_PATIENCE)
        await asyncio.sleep(SETTLE)
        async with watched(admin) as seen:
            planned, wrote, used = one.planning(), await live_cluster.writes(admin), one.cpu_seconds()
            began = time.monotonic()
            deadline = began + plan.patience
            wanted = 0
            for wave in plan.waves():
                for body in wave:
                    await admin.create(kinds.DEPLOYMENTS, body)
                    wanted += body["spec"]["replicas"]
                await _filled(seen, plan, one, wanted, deadline)
            await asyncio.sleep(AFTERWARDS)
            used = one.cpu_seconds() - used
            after = await live_cluster.writes(admin)
            if not plan.in_turn:
                await _corrected(seen, admin)
            plans = [late - early for late, early in zip(one.planning(), planned, strict=True)]
            idle = await idle_share(one, plan.idle) if plan.idle else None
        (site.logs / "timeline.json").write_text(json.dumps(seen.timeline(began)), encoding="ascii")
        ours = [labels for labels in seen.nodes.values() if NODEPOOL in labels]
        return Result(
            side=plan.side,
            seconds=max(seen.bound.values()) - began,
            stages=seen.stages(began, plans[0]),
            created_seconds=max(seen.created.values()) - began,
            rounds=plans[1],
            nodes=len(ours),
            price=live_world.price(ours),
            peak=one.memory(),
            cpu=used,
            writes={name: after[name] - wrote[name] for name in after},
            idle=idle,
            resident=one.memory("VmRSS"),
            window=(began, max(seen.bound.values())),
        )


async def _corrected(seen: Seen, admin: Client) -> None:
    """What the scheduler says of when pods were bound; it writes its events one after the other."""
    deadline = time.monotonic() + EVENTS_PATIENCE
    said = await live_cluster.scheduled(admin)
    while (missing := seen.bound.keys() - said.keys()) and time.monotonic() < deadline:
        await asyncio.sleep(2.0)
        said = await live_cluster.scheduled(admin)
    if missing:
        print(f"live: of {len(missing):,} pods only the watch says when they were bound", file=sys.stderr, flush=True)
    ago = time.monotonic() - time.time()
    seen.said({name: at + ago for name, at in said.items()})


async def _ready(admin: Client, one: Controller) -> bool:
    if not one.ready():
        return False
    pool = await admin.get(kinds.NODE_POOLS, live_world.POOL)
    conditions = pool.get("status", {}).get("conditions", ())
    return any(held["type"] == "Ready" and held["status"] == "True" for held in conditions)


async def _filled(seen: Seen, plan: Plan, one: Controller, wanted: int, deadline: float) -> None:
    """Until so many pods are bound, and all that was bought for them is initialized."""
    told = time.monotonic()
    while len(seen.bound) < wanted or not seen.initialized():
        assert not one.running.ended(), f"the controller ended; its log closes with:\n{one.running.last_words()}"
        now = time.monotonic()
        far = f"{len(seen.bound):,} of {plan.workload.pods:,} pods bound; claims: {seen.summary()}"
        if now > told + TELLING:
            print(f"live: {plan.side}: {far}", file=sys.stderr, flush=True)
            told = now
        if now > deadline:
            raise TimeoutError(f"{plan.side}, after {plan.patience:.0f} s: {far}")
        await asyncio.sleep(0.2)


async def idle_share(one: Controller, seconds: float) -> float:
    """The share of a core, in percent, that nothing at all costs."""
    used, began = one.cpu_seconds(), time.monotonic()
    await asyncio.sleep(seconds)
    return 100 * (one.cpu_seconds() - used) / (time.monotonic() - began)


if __name__ == "__main__":
    side, kind, pods, *rest = sys.argv[1:]
    found = measure(Plan(side, Workload(kind, int(pods)), idle=float(rest[0]) if rest else 0.0))
    print(json.dumps({**dataclasses.asdict(found), "writes_per_node": found.writes_per_node}, indent=1))
