"""Everything the demo needs of a cluster, in this process: an API server with its usual controllers, kubelets that only
pretend, a market with EC2's real list, and the controller, put together as `dovetail run` puts it together.

The controller and the kubelets speak to the API server over a socket. What people do (`kubectl`) is done to the
server's objects directly.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from dovetail.api import documents, kinds
from dovetail.api.crds import every
from dovetail.apiserver.server import EmbeddedServer, Options
from dovetail.apiserver.writes import MergePatch
from dovetail.clouds import load
from dovetail.clouds.sim.chaos import Surroundings
from dovetail.clouds.sim.cloud import PARTITION, SimCloud
from dovetail.clouds.sim.kubelets import Pace
from dovetail.clouds.sim.market import SimMarket
from dovetail.clouds.sim.nodes import PARTITION as PARTITION_LABEL
from dovetail.controllers import declared
from dovetail.controllers.batching import Window
from dovetail.controllers.controller import Choices, Controller
from dovetail.controllers.fake_kubelets import FakeKubelets
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.node_api import Nodes
from dovetail.controllers.solving import Aside
from dovetail.controllers.telling import Telling
from dovetail.core.scheduling import problem
from dovetail.demo.witness import HeardCloud, Witness
from dovetail.kube.client import Client
from dovetail.kube.config import from_document
from dovetail.kube.events import Recorder

SHOP = Path(__file__).with_name("shop.yaml")
CLOUD, REGION = "aws", "us-east-1"
NAMESPACE = "default"
#: A second and ten in life.
WINDOW = Window(0.5, 3.0)
#: Pods take seconds to start and to go in life, and the silence of a dead machine is noticed after forty.
PACE = Pace(start=0.2, stop=0.3, missed=2.0)
#: Fifteen in life: for so long what would save money is looked at before it is done.
SETTLING = 1.0
_KINDS = (kinds.KWOK_NODE_CLASSES, kinds.NODE_POOLS, kinds.DEPLOYMENTS, kinds.DISRUPTION_BUDGETS)
#: Looking costs some milliseconds.
_LOOK_SECONDS = 0.1


class Complaints(logging.Handler):
    """What is logged as a warning or worse: nothing of it may be about a fault of ours."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.faults: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0] is not None:
            self.faults.append(f"{record.getMessage()} ({record.exc_info[0].__name__})")


class World:
    """One cluster, from its first object to its last; used with `async with`."""

    def __init__(self) -> None:
        self.listing = load.load(CLOUD, REGION)
        self.market = SimMarket(self.listing)
        self.witness = Witness()
        self.complaints = Complaints()
        self._opened = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opened:
            await self._open(opened)
            self._opened = opened.pop_all()
        return self

    async def _open(self, opened: AsyncExitStack) -> None:
        log = logging.getLogger("dovetail")
        log.addHandler(self.complaints)
        opened.callback(log.removeHandler, self.complaints)
        self.server = await opened.enter_async_context(EmbeddedServer(Options(tls=False)))
        self.store = self.server.store
        for one in every.of_cloud("kwok"):
            self.store.create(kinds.CRDS, one.manifest())
        config = from_document(self.server.kubeconfig())
        self.client = await opened.enter_async_context(Client(config))
        #: Of their own, lest heartbeats stand in the way of decisions, or be counted among them.
        others = await opened.enter_async_context(Client(config))
        kubelets = FakeKubelets(others, f"{PARTITION_LABEL}={PARTITION}", PACE)
        machines = SimCloud(self.market, Nodes(self.client, f"{PARTITION_LABEL}={PARTITION}"))
        self.cloud = HeardCloud(machines, self.witness, Surroundings(kubelets.kubelets))
        opened.callback(self.cloud.close)
        self.controller = self._controller()
        self.witness.pods_of = lambda claim: len(self.controller.nominations.on(claim))
        opened.push_async_callback(self._stop)
        self._tasks = [asyncio.create_task(one.run()) for one in (kubelets, self.controller)]
        await self.controller.cluster.synced()

    def _controller(self) -> Controller:
        options = problem.Options(well_known=self.listing.dialect.well_known)
        telling = Telling(Recorder(self.client), declared.declare(Metrics()))
        solve = self.witness.solver(Aside())
        chosen = Choices(window=WINDOW, options=options, settling=SETTLING)
        made = Controller(self.client, self.cloud, telling, solve, chosen)
        made.disrupting.loop.started = self.witness.commands.append
        return made

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    async def _stop(self) -> None:
        for one in self._tasks:
            one.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def check(self) -> None:
        """That everything is still at it; raises what ended it."""
        for one in self._tasks:
            if one.done():
                one.result()

    async def until(self, true: Callable[[], bool], seconds: float = 20.0) -> bool:
        """Wait for something, at most so long; whether it came."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not true():
            self.check()
            if loop.time() > deadline:
                return False
            await asyncio.sleep(_LOOK_SECONDS)
        return True

    # ---- what people do

    def apply(self, path: Path = SHOP) -> None:
        """`kubectl apply -f`, for kinds the demo knows."""
        by_name = {one.name: one for one in _KINDS}
        for document in documents.read(path.read_text(encoding="utf-8"), path.name):
            assert isinstance(document, documents.Document), document
            assert isinstance(document.value, dict)
            kind = by_name[document.value["kind"]]
            self.store.create(kind, document.value, NAMESPACE if kind.namespaced else "")

    def scale(self, deployment: str, replicas: int) -> None:
        self.store.patch(kinds.DEPLOYMENTS, deployment, MergePatch({"spec": {"replicas": replicas}}), NAMESPACE)

    def consolidate(self, pool: str) -> None:
        """Let a pool's nodes go as soon as they are not needed, all at once if need be."""
        wanted = {"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}
        self.store.patch(kinds.NODE_POOLS, pool, MergePatch({"spec": {"disruption": wanted}}), "")

    @property
    def is_calm(self) -> bool:
        """Nothing is given up, and nothing is about to be."""
        now = self.controller.disrupting
        return not now.carrier.commands and not now.loop.kept and now.loop.is_calm

    def told(self, reason: str, kind: str = "Node") -> list[str]:
        """What events of this reason say."""
        found = self.store.list(kinds.CORE_EVENTS)
        return [one["message"] for one in found if one["reason"] == reason and one["involvedObject"]["kind"] == kind]

    def writes(self) -> int:
        """How many the controller made."""
        reading = ("get", "list", "watch")
        return sum(count for (verb, _), count in self.client.counts.requests.items() if verb not in reading)
