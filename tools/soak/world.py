"""What a soak runs on: put together as `dovetail run` puts it together, with chaos between controller and cloud.

The cloud outlives the controller: who died stays dead, what was promised is promised again by whoever starts next.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from dovetail.api import kinds
from dovetail.api.crds import every
from dovetail.apiserver.server import EmbeddedServer, Options
from dovetail.apiserver.storage import Bounds
from dovetail.clouds.port import Cloud
from dovetail.clouds.sim import faults
from dovetail.clouds.sim.chaos import ChaosCloud, Surroundings
from dovetail.clouds.sim.cloud import PARTITION, Habits, SimCloud
from dovetail.clouds.sim.kubelets import Pace
from dovetail.clouds.sim.market import SimMarket
from dovetail.clouds.sim.nodes import PARTITION as PARTITION_LABEL
from dovetail.controllers import declared
from dovetail.controllers.batching import Window
from dovetail.controllers.controller import Choices, Controller
from dovetail.controllers.disruption.loop import Beside
from dovetail.controllers.fake_kubelets import FakeKubelets
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.node_api import Nodes
from dovetail.controllers.operator import Actor, Replica
from dovetail.controllers.provisioning import Solve
from dovetail.controllers.solving import Aside
from dovetail.controllers.telling import Telling
from dovetail.kube.client import Client
from dovetail.kube.clock import Clock
from dovetail.kube.config import from_document
from dovetail.kube.events import Recorder
from dovetail.kube.lease import Terms
from dovetail.kube.transport import Options as ClientOptions

Object = dict[str, Any]
SELECTOR = f"{PARTITION_LABEL}={PARTITION}"
WINDOW = Window(0.3, 2.0)
#: A dead machine's Node is Unknown after some seconds; forty in life.
PACE = Pace(boot=0.3, start=0.2, stop=0.3, missed=4.0)
#: Short, so that an outage of a few seconds loses the lease.
LEASE = Terms("kube-system", duration=5.0, deadline=3.0, retry=0.5)
#: The API server's own memory of what was, for each kind: so little that it is full after a minute or two even for
#: kinds that seldom change. With more it would go on filling for the whole run, and hide whether anything else grows.
HISTORY = Bounds(changes=40, event_lifetime=timedelta(minutes=1))
#: Two minutes in life.
UPKEEP_SECONDS = 10.0
#: What befalls every call, with its chance; machines are told off when they are launched.
CHANCES: dict[faults.Fault, float] = {
    faults.OutOfStock(3): 0.10,
    faults.OutOfStock(): 0.03,
    faults.Throttle(0.5): 0.04,
    faults.TimeOut(0.5): 0.03,
    faults.LostAnswer(): 0.05,
    faults.Twice(): 0.05,
    faults.JoinsLate(3.0): 0.10,
    faults.JoinsLate(): 0.03,
    faults.Dies(15.0): 0.05,
    faults.Sickens(10.0, 8.0): 0.05,
    faults.Interrupted(12.0, 6.0): 0.05,
}


@dataclass(frozen=True, slots=True)
class Around:
    """Time, and who plans: a test hands in its own."""

    clock: Clock = field(default_factory=Clock)
    solve: Solve = field(default_factory=Aside)
    beside: Beside = asyncio.to_thread


class Complaints(logging.Handler):
    """What is logged with a traceback: a fault of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.faults.append(f"{record.getMessage()} ({record.exc_info[1]!r})"[:500])


class Unruly(ChaosCloud):
    """Chaos that knows who died before it began."""

    def __init__(self, cloud: Cloud, plan: faults.Plan, around: Surroundings, dead: set[str]) -> None:
        super().__init__(cloud, plan, around)
        self._dead = dead


class World:
    def __init__(self, around: Around, seed: int) -> None:
        self.around = around
        self.dice = faults.Dice(seed, CHANCES)
        self.market, self.dead = SimMarket(), set[str]()
        self.metrics = declared.declare(Metrics())
        self.complaints = Complaints()
        self.terms = 0
        self.controller: Controller | None = None
        self._clouds: list[Unruly] = []
        self._opened = AsyncExitStack()
        self._replica: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        log, clock = logging.getLogger("dovetail"), self.around.clock
        log.addHandler(self.complaints)
        self._opened.callback(log.removeHandler, self.complaints)
        date = lambda: datetime.fromtimestamp(clock.wall(), UTC)  # noqa: E731
        self.server = await self._opened.enter_async_context(
            EmbeddedServer(Options(tls=False, clock=date, bounds=HISTORY))
        )
        self.store = self.server.store
        for one in every.of_cloud("kwok"):
            self.store.create(kinds.CRDS, one.manifest())
        config, options = from_document(self.server.kubeconfig()), ClientOptions(clock=clock)
        self.client = await self._opened.enter_async_context(Client(config, options))
        others = await self._opened.enter_async_context(Client(config, options))
        self.kubelets = FakeKubelets(others, SELECTOR, PACE, clock.wall)
        self._opened.push_async_callback(_ended, asyncio.create_task(self.kubelets.run()))
        self._opened.push_async_callback(self.stop)
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self._clouds:
            one.close()
        await self._opened.aclose()

    def start(self) -> None:
        replica = Replica(
            self.client, self._actor, self.metrics, LEASE, metrics_port=0, health_port=0, clock=self.around.clock
        )
        self._replica = asyncio.create_task(replica.run(), name="replica")

    async def stop(self) -> None:
        """End the controller wherever it stands."""
        task, self._replica = self._replica, None
        if task is not None:
            await _ended(task)

    def check(self) -> None:
        if self._replica is not None and self._replica.done():
            self._replica.result()

    def _actor(self, may_act: Callable[[], bool]) -> Actor:
        self.terms += 1
        clock = self.around.clock
        machines = SimCloud(self.market, Nodes(self.client, SELECTOR), Habits(now=clock.wall))
        around = Surroundings(self.kubelets.kubelets, now=clock.wall)
        cloud = Unruly(machines, self.dice, around, self.dead)
        self._clouds = [*self._clouds[-1:], cloud]
        telling = Telling(Recorder(self.client, "soak", clock=clock), self.metrics)
        chosen = Choices(window=WINDOW)
        made = Controller(self.client, cloud, telling, self.around.solve, chosen, clock, self.around.beside)
        made.hands.may_act, made.upkeep.every = may_act, UPKEEP_SECONDS
        self.controller = made
        return made.run, lambda: made.cluster.is_ready


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
