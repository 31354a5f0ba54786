"""A full cluster is changed and watched until it is at rest: `python -m bench.live_change ours|peer shrink|roll`.

The cluster is filled first, by the side's own controller with consolidation off, and left alone until every pod is
bound. Then one thing is changed:

    shrink   the Deployments are scaled to a fifth, and the pool consolidates from now on (`WhenEmptyOrUnderutilized`)
    roll     the pool's template gets another label, so that every node has drifted; a fifth may be away at once

It is at rest when nothing has happened to its nodes and claims for `REST` seconds (shrink), or when the last drifted
node is gone (roll). The time is that of the last node that went. ReplicaSets make a new pod for every one that was
evicted and for none that they scaled down, so evictions are the pods born after the change.
"""

import asyncio
import dataclasses
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec
from msgspec import Struct
from tools.control_plane.find import find

from bench import live_cluster, live_world
from bench.live_cluster import Site, until
from bench.live_process import Controller, controller
from bench.live_watch import alongside
from bench.live_world import Workload
from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.core.labels import NODEPOOL
from dovetail.kube.client import Client
from dovetail.kube.errors import KubeError
from dovetail.kube.patches import MergePatch

SHRINK: Final = "shrink"
ROLL: Final = "roll"
#: By what is changed: the pods there are before.
PODS: Final = {SHRINK: 1_000, ROLL: 1_300}
LEFT: Final = 200
REST: Final = 120.0
READY_PATIENCE: Final = 120.0
FILL_PATIENCE: Final = 900.0
SETTLE: Final = 15.0
_HOURS: Final = 3 * 3600.0


@dataclass(frozen=True, slots=True)
class Result:
    """What became of it. `price` is in dollars an hour."""

    side: str
    change: str
    nodes_before: int
    price_before: float
    nodes: int
    price: float
    seconds: float
    evicted: int
    #: Of pods that were evicted and have no place at the end.
    waiting: int
    #: Claims written after the change: what was bought meanwhile.
    bought: int
    cpu: float
    peak: float
    #: It was still at it when patience ended, and so many of the nodes there were before are left.
    cut_off: bool = False
    left: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    side: str
    change: str
    pods: int = 0
    left: int = LEFT
    rest: float = REST
    #: Long enough to show a pace, for who does not come to an end.
    patience: float = 900.0

    @property
    def workload(self) -> Workload:
        return Workload("plain", self.pods or PODS[self.change])


# ---- watching


class _Meta(Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815  (the wire's name)
    labels: dict[str, str] | None = None


class _Spec(Struct, frozen=True):
    nodeName: str = ""  # noqa: N815  (the wire's name)


class _Object(Struct, frozen=True):
    metadata: _Meta
    spec: _Spec = _Spec()


class _Event(Struct, frozen=True):
    type: str
    object: _Object


Sink = Callable[[_Object, bool], None]
_decode: Final = msgspec.json.Decoder(_Event).decode


@dataclass(slots=True)
class Seen:
    """Pods, Nodes and claims that are there now, and when something last happened, by the monotonic clock."""

    pods: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    claims: set[str] = field(default_factory=set)
    born: set[str] = field(default_factory=set)
    claimed: set[str] = field(default_factory=set)
    #: When a node or a claim last came or went, and when a node last went.
    changed: float = 0.0
    gone: float = 0.0
    #: What the nodes cost, at every change: (moment, nodes, dollars an hour).
    course: list[tuple[float, int, float]] = field(default_factory=list)

    def pod(self, one: _Object, gone: bool) -> None:
        about = one.metadata
        if about.namespace != "default":
            return
        self.born.add(about.uid)
        if gone:
            self.pods.pop(about.uid, None)
        else:
            self.pods[about.uid] = one.spec.nodeName

    def claim(self, one: _Object, gone: bool) -> None:
        name = one.metadata.name
        if gone or name not in self.claims:
            self.changed = time.monotonic()
        self.claimed.add(name)
        (self.claims.discard if gone else self.claims.add)(name)

    def node(self, one: _Object, gone: bool) -> None:
        about = one.metadata
        if NODEPOOL not in (about.labels or {}):
            return
        known = about.name in self.nodes
        if gone:
            self.nodes.pop(about.name, None)
            self.gone = time.monotonic()
        else:
            self.nodes[about.name] = about.labels or {}
        if gone or not known:
            self.changed = time.monotonic()
            self.course.append((self.changed, len(self.nodes), self.price))

    @property
    def price(self) -> float:
        return live_world.price(self.nodes.values())

    @property
    def waiting(self) -> int:
        return sum(not node for node in self.pods.values())


@asynccontextmanager
async def _watched(client: Client) -> AsyncIterator[Seen]:
    seen = Seen()
    sinks = ((kinds.PODS, seen.pod), (kinds.NODE_CLAIMS, seen.claim), (kinds.NODES, seen.node))
    async with alongside(*(_follow(client, kind, sink) for kind, sink in sinks)):
        yield seen


async def _follow(client: Client, kind: Kind, sink: Sink) -> None:
    """List, and watch from there; a watch the server ends goes on where it was."""
    listed = await client.list(kind, into=_Object)
    for one in listed.items:
        sink(one, False)
    version = listed.resource_version
    try:
        while True:
            async for batch in client.watch_batches(kind, resource_version=version, timeout=_HOURS, bookmarks=False):
                for line in batch:
                    event = _decode(line)
                    version = event.object.metadata.resourceVersion
                    sink(event.object, event.type == "DELETED")
    except KubeError as failed:
        raise RuntimeError(f"the watch of {kind.plural} broke off, and what it missed cannot be had again") from failed


# ---- measuring


def measure(plan: Plan) -> Result:
    programs = find(os.environ)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    print(f"live: {plan.side}, {plan.change} {plan.workload.pods:,} pods", file=sys.stderr, flush=True)
    with live_cluster.site(programs, plan.side, plan.workload) as site:
        with controller(site) as one:
            result = asyncio.run(_measured(site, one, plan))
        fallen = site.control_plane.fallen()
        assert not fallen, f"{fallen} ended during the measurement; see {site.logs}"
        return result


async def _measured(site: Site, one: Controller, plan: Plan) -> Result:
    async with site.admin() as admin:
        await until(lambda: _ready(admin, one), "the controller is ready", READY_PATIENCE)
        async with _watched(admin) as seen:
            for body in plan.workload.objects():
                await admin.create(kinds.DEPLOYMENTS, body)
            await _filled(seen, plan, one)
            await asyncio.sleep(SETTLE)
            before = Result(plan.side, plan.change, len(seen.nodes), seen.price, 0, 0.0, 0.0, 0, 0, 0, 0.0, 0.0)
            old, born, claimed, used = frozenset(seen.nodes), set(seen.born), set(seen.claimed), one.cpu_seconds()
            began = seen.changed = seen.gone = time.monotonic()
            await _change(admin, plan)
            cut_off = not await _rested(seen, old, plan, one)
        _kept(site, seen, began)
        return replace(
            before,
            nodes=len(seen.nodes),
            price=seen.price,
            seconds=seen.gone - began,
            evicted=len(seen.born - born),
            waiting=seen.waiting,
            bought=len(seen.claimed - claimed),
            cpu=one.cpu_seconds() - used,
            peak=one.memory(),
            cut_off=cut_off,
            left=len(old.intersection(seen.nodes)),
        )


async def _ready(admin: Client, one: Controller) -> bool:
    if not one.ready():
        return False
    pool = await admin.get(kinds.NODE_POOLS, live_world.POOL)
    conditions = pool.get("status", {}).get("conditions", ())
    return any(held["type"] == "Ready" and held["status"] == "True" for held in conditions)


async def _filled(seen: Seen, plan: Plan, one: Controller) -> None:
    deadline = time.monotonic() + FILL_PATIENCE
    while len(seen.pods) < plan.workload.pods or seen.waiting:
        assert not one.running.ended(), f"the controller ended; its log closes with:\n{one.running.last_words()}"
        if time.monotonic() > deadline:
            raise TimeoutError(f"{plan.side}: {seen.waiting} of {len(seen.pods)} pods wait after {FILL_PATIENCE:.0f} s")
        await asyncio.sleep(0.5)


async def _change(admin: Client, plan: Plan) -> None:
    if plan.change == ROLL:
        template = {"metadata": {"labels": {"example.com/revision": "2"}}}
        await _patch(admin, kinds.NODE_POOLS, live_world.POOL, {"template": template, **_disruption("20%", "Never")})
        return
    await _patch(admin, kinds.NODE_POOLS, live_world.POOL, _disruption("10%", "0s"))
    share, rest = divmod(plan.left, len(live_world.SIZES))
    for number in range(len(live_world.SIZES)):
        await _patch(admin, kinds.DEPLOYMENTS, f"app-{number}", {"replicas": share + (number < rest)}, "default")


def _disruption(nodes: str, after: str) -> dict[str, Any]:
    policy = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": after}
    return {"disruption": {**policy, "budgets": [{"nodes": nodes}]}}


async def _patch(admin: Client, kind: Kind, name: str, spec: dict[str, Any], namespace: str = "") -> None:
    await admin.patch(kind, name, MergePatch({"spec": spec}), namespace)


async def _rested(seen: Seen, old: frozenset[str], plan: Plan, one: Controller) -> bool:
    """Whether it came to rest before patience ended."""
    deadline = time.monotonic() + plan.patience
    while time.monotonic() < deadline:
        assert not one.running.ended(), f"the controller ended; its log closes with:\n{one.running.last_words()}"
        if plan.change == ROLL:
            if old.isdisjoint(seen.nodes) and not seen.waiting:
                return True
        elif time.monotonic() - seen.changed > plan.rest and not seen.waiting:
            return True
        await asyncio.sleep(0.5)
    return False


def _kept(site: Site, seen: Seen, began: float) -> None:
    """The course of nodes and price beside the logs, to look into a run."""
    course = [(round(at - began, 1), nodes, round(price, 4)) for at, nodes, price in seen.course]
    (site.logs / "course.json").write_text(json.dumps(course), encoding="ascii")


if __name__ == "__main__":
    side, change, *rest = sys.argv[1:]
    given = [int(one) for one in rest]
    asked = Plan(side, change, *given[:2])
    print(json.dumps(dataclasses.asdict(measure(asked)), indent=1))
