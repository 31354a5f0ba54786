"""`dovetail run --cloud kwok`: machines that are Node objects, and on request their kubelets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail.cli.places import Run
from dovetail.clouds.sim.cloud import PARTITION, SimCloud
from dovetail.clouds.sim.market import SimMarket
from dovetail.clouds.sim.nodes import PARTITION as PARTITION_LABEL

if TYPE_CHECKING:
    from dovetail.controllers.controller import Choices
    from dovetail.controllers.operator import Actor


@dataclass(frozen=True, slots=True)
class KwokPlace:
    """`cli.places.Place`; the market outlives every term."""

    run: Run
    market: SimMarket

    @property
    def region(self) -> str:
        return ""

    @property
    def well_known(self) -> frozenset[str]:
        return self.market.listing.dialect.well_known

    def actor(self, choices: Choices, may_act: Callable[[], bool]) -> Actor:
        from dovetail.controllers.controller import Controller
        from dovetail.controllers.dry_run import ReadOnly
        from dovetail.controllers.node_api import Nodes
        from dovetail.controllers.solving import Aside
        from dovetail.controllers.telling import Telling
        from dovetail.kube.events import Recorder

        client = ReadOnly(self.run.client) if choices.dry_run else self.run.client
        cloud = SimCloud(self.market, Nodes(client, f"{PARTITION_LABEL}={PARTITION}"))
        controller = Controller(client, cloud, Telling(Recorder(client), self.run.metrics), Aside(), choices)
        controller.hands.may_act = may_act
        return controller.run, lambda: controller.cluster.is_ready

    async def beside(self) -> None:
        """Kubelets of machines that are none, with a client of their own: heartbeats are not to wait for anything."""
        from dovetail.controllers.fake_kubelets import FakeKubelets
        from dovetail.kube.client import Client

        if not self.run.chosen.own_kubelets or self.run.chosen.dry_run:
            return
        async with Client(self.run.cluster) as client:
            await FakeKubelets(client, f"{PARTITION_LABEL}={PARTITION}").run()


@asynccontextmanager
async def opened(run: Run) -> AsyncIterator[KwokPlace]:
    from dovetail.cli import listings

    file = run.chosen.types_file
    yield KwokPlace(run, SimMarket(listings.from_file(file, run.console)) if file else SimMarket())
