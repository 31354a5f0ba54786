"""`dovetail run --cloud cluster-api`: NodePools whose node class is a machine template, and Machines made for claims.

It needs no credentials of any cloud: whoever looks after Machines, Cluster API's controllers or `dovetail machines`,
buys the instances. Prices are the bundled ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from dovetail.api.cluster_api.fleet import TEMPLATES
from dovetail.api.kinds import Kind
from dovetail.cli.places import Run
from dovetail.clouds import load as clouds
from dovetail.clouds.cluster_api.cloud import ClusterApiCloud
from dovetail.clouds.cluster_api.market import TemplateMarket
from dovetail.clouds.port import CloudError
from dovetail.core.errors import BadInput

if TYPE_CHECKING:
    from dovetail.controllers.controller import Choices
    from dovetail.controllers.operator import Actor

#: How long a server that does not answer is asked at the start.
ATTEMPTS_SECONDS = 15.0
#: By what a template's machines are called, whose they are.
_CLOUDS = {"AWSMachine": "aws", "GCPMachine": "gcp", "AzureMachine": "azure"}


@dataclass(frozen=True, slots=True)
class ClusterApiPlace:
    """`cli.places.Place`; what is known of clusters and templates is looked at anew in every term."""

    run: Run
    templates: tuple[Kind, ...]

    @property
    def region(self) -> str:
        """Each template stands in a region of its own."""
        return ""

    @property
    def well_known(self) -> frozenset[str]:
        found = (clouds.load(_CLOUDS[TEMPLATES[kind.name].name]).dialect.well_known for kind in self.templates)
        return frozenset[str]().union(*found)

    def actor(self, choices: Choices, may_act: Callable[[], bool]) -> Actor:
        from dovetail.controllers.controller import Controller
        from dovetail.controllers.dry_run import ReadOnly
        from dovetail.controllers.machine_api import ClaimMachines
        from dovetail.controllers.solving import Aside
        from dovetail.controllers.telling import Telling
        from dovetail.kube.events import Recorder

        client = ReadOnly(self.run.client) if choices.dry_run else self.run.client
        cloud = ClusterApiCloud(TemplateMarket(cache(clouds.load)), ClaimMachines(client), templates=self.templates)
        controller = Controller(client, cloud, Telling(Recorder(client), self.run.metrics), Aside(), choices)
        controller.hands.may_act = may_act

        async def run() -> None:
            await cloud.look()
            async with asyncio.TaskGroup() as group:
                group.create_task(cloud.run(), name="clusters and sets")
                await controller.run()

        return run, lambda: controller.cluster.is_ready

    async def beside(self) -> None:
        """Nothing goes on but the controller."""


@asynccontextmanager
async def opened(run: Run) -> AsyncIterator[ClusterApiPlace]:
    """Raises BadInput, in a sentence, where there is nothing to draw on."""
    from dovetail.controllers.machine_api import as_cloud, served

    try:
        with as_cloud():
            templates = await served(run.client.within(ATTEMPTS_SECONDS))
    except CloudError as problem:
        raise BadInput(f"{run.cluster.server}: {problem}") from None
    if not templates:
        raise BadInput("no machine templates of AWS, GCP or Azure are defined here; install a provider of Cluster API")
    yield ClusterApiPlace(run, templates)
