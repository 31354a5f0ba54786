"""One measurement of machines, printed as JSON: `python -m bench.machines_run own|upstream|no-op CLOUD COUNT [IDLE]`.

The control plane is fresh and the cluster's first machine is a Node before the clock starts; it starts when the
MachineSet is applied. What was written is counted until every Machine runs and `AFTERWARDS` seconds more: work put off
is not work saved.
"""

import asyncio
import dataclasses
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tools.control_plane.ports import free_ports
from tools.control_plane.processes import Running

from bench import live_run, machines_cluster, machines_shops
from bench.live_cluster import until, writes
from bench.live_process import Controller
from bench.machines_cluster import COUNTED, FIRST, LEFT_OUT, NO_OP, SYSTEM, Site
from bench.machines_family import Family
from bench.machines_shops import SIM
from bench.machines_watch import Seen, watched
from dovetail.kube.client import Client

AFTERWARDS: Final = 10.0
READY_PATIENCE: Final = 180.0
#: So many instances are taken away; each is noticed within this time, or the measurement fails.
LOST: Final = 2
LOST_PATIENCE: Final = 600.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: whose core, on which cloud, how many Machines, and for how long nothing afterwards."""

    core: str
    cloud: str
    machines: int
    idle: float = 0.0
    patience: float = 1800.0


@dataclass(frozen=True, slots=True)
class Result:
    """What one core needed for one set."""

    plan: Plan
    #: From applying the set until the last Machine is made, has its instance, and runs with its Node.
    made: float
    provisioned: float
    running: float
    #: Seconds of processor time of `dovetail machines` and whatever it starts, and megabytes at the end.
    cpu: float
    resident: float
    writes: dict[str, float]
    #: Machines that were made beyond those asked for.
    surplus: int = 0
    #: Percent of a core, while nothing happens; None where it was not asked for.
    idle: float | None = None
    #: Seconds from taking instances away, whose Nodes go on as if nothing were, until the last of them is known to have
    #: failed.
    noticed: float | None = None
    #: Megabytes when the last of them had come up.
    busy: float = 0.0

    @property
    def counted(self) -> dict[str, float]:
        """Writes per Machine, by kind."""
        return {name: count / self.plan.machines for name, count in self.writes.items() if name not in LEFT_OUT}

    @property
    def writes_per_machine(self) -> float:
        return sum(self.counted.values())


def measure(plan: Plan) -> Result:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    print(f"machines: {plan.core} core, {plan.cloud}, {plan.machines:,}", file=sys.stderr, flush=True)
    with machines_shops.opened(plan.cloud) as shop, machines_cluster.site(plan.core, shop) as site:
        result = asyncio.run(_whole(site, plan))
        fallen = site.plane.fallen()
        assert not fallen, f"{fallen} ended during the measurement; see {site.logs}"
        return result


@contextmanager
def _process(site: Site) -> Iterator[Controller]:
    """`dovetail machines`, as an installation runs it but for the lease, which nobody else wants."""
    metrics_port, health_port = free_ports(2)
    told = {
        "KUBECONFIG": str(site.kubeconfig),
        "METRICS_PORT": str(metrics_port),
        "HEALTH_PROBE_PORT": str(health_port),
        "LEADER_ELECTION_NAMESPACE": SYSTEM,
        "LOG_LEVEL": "info",
        **site.shop.environment,
    }
    ours = ["dovetail.main", "machines", "--cloud", site.shop.name, "--core", site.core]
    line = [sys.executable, "-m", *(["bench.machines_noop"] if site.core == NO_OP else ours)]
    running = Running("machines", line, site.logs / "machines.log", told)
    try:
        yield Controller(running, metrics_port, health_port)
    finally:
        running.stop()


async def _whole(site: Site, plan: Plan) -> Result:
    async def served() -> bool:
        return machines_cluster.is_served(site)

    await until(served, "definitions are served", READY_PATIENCE)
    with _process(site) as one:

        async def ready() -> bool:
            return one.ready()

        await until(ready, "dovetail machines is ready", READY_PATIENCE)
        async with site.admin() as admin:
            return await _measured(site, plan, one, admin)


async def _measured(site: Site, plan: Plan, one: Controller, admin: Client) -> Result:
    for kind, body in machines_cluster.grounds(site):
        await admin.create(kind, body)
    joins = site.shop is SIM and plan.core != NO_OP  # simulated machines make their own Nodes
    joining = None if joins else site.shop.kinds[0]
    async with watched(admin, joining) as seen:

        async def first() -> bool:
            return FIRST in seen.noted

        await until(first, "the first machine has a Node", READY_PATIENCE)
        family = Family(one.running.identity.pid)
        wrote, used = await writes(admin, COUNTED), family.cpu_seconds()
        bodies = list(machines_cluster.workers(site.shop, plan.machines))
        for kind, body in bodies[:-1]:
            await admin.create(kind, body)
        began = time.monotonic()
        await admin.create(*bodies[-1])
        await _filled(seen, plan, one)
        busy = family.megabytes()
        await asyncio.sleep(AFTERWARDS)
        used = family.cpu_seconds() - used
        after = await writes(admin, COUNTED)
        # What is replaced later is not what was asked for.
        surplus, *times = len(seen.created) - plan.machines, *seen.last()
        idle = await live_run.idle_share(one, plan.idle) if plan.idle else None
        resident = family.megabytes()
        noticed = await _noticed(site, seen, one) if plan.idle else None
    return Result(
        plan=plan,
        made=times[0] - began,
        provisioned=times[1] - began,
        running=times[2] - began,
        cpu=used,
        resident=resident,
        busy=busy,
        writes={name: after[name] - wrote[name] for name in after},
        surplus=surplus,
        idle=idle,
        noticed=noticed,
    )


async def _noticed(site: Site, seen: Seen, one: Controller) -> float | None:
    """One instance after another, so that they are lost at any moment between two rounds."""
    if site.shop.lose is None:
        return None
    longest = 0.0
    for name in sorted(seen.running)[:LOST]:
        began = time.monotonic()
        site.shop.lose(name)
        while name not in seen.failed:
            assert not one.running.ended(), f"it ended; its log closes with:\n{one.running.last_words()}"
            if time.monotonic() > began + LOST_PATIENCE:
                raise TimeoutError(f"nobody noticed within {LOST_PATIENCE:.0f} s that the instance of {name} is gone")
            await asyncio.sleep(0.05)
        longest = max(longest, seen.failed[name] - began)
        await asyncio.sleep(7.0)
    return longest


async def _filled(seen: Seen, plan: Plan, one: Controller) -> None:
    deadline = time.monotonic() + plan.patience
    while len(seen.running) < plan.machines:
        assert not one.running.ended(), f"it ended; its log closes with:\n{one.running.last_words()}"
        if time.monotonic() > deadline:
            raise TimeoutError(f"{plan}: {seen.summary()} after {plan.patience:.0f} s")
        await asyncio.sleep(0.2)


if __name__ == "__main__":
    core, cloud, count, *rest = sys.argv[1:]
    found = measure(Plan(core, cloud, int(count), idle=float(rest[0]) if rest else 0.0))
    shown = {**dataclasses.asdict(found), "per machine": found.counted, "writes per machine": found.writes_per_machine}
    print(json.dumps(shown, indent=1))
