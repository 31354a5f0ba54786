"""One process of machines: what a term of office consists of, and what ends it for good.

Whose core runs is settled before anything else, and looked at again now and then: Cluster API may be installed while
ours is at work. Then this process ends, with the sentence that says why, and started anew it finds its place.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.api.kinds import INFRA_MACHINES, Kind
from dovetail.clouds.machines import Machines
from dovetail.controllers.cluster_api import gauges, switch
from dovetail.controllers.cluster_api.clusters import KINDS as CLUSTERS
from dovetail.controllers.cluster_api.deployments import Deployments
from dovetail.controllers.cluster_api.grounds import Grounds
from dovetail.controllers.cluster_api.loops import Key, MachineController
from dovetail.controllers.cluster_api.measured import MeasuredMachines
from dovetail.controllers.cluster_api.switch import Core
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.operator import Actor
from dovetail.controllers.telling import Telling
from dovetail.kube.client import Client
from dovetail.kube.errors import KubeError
from dovetail.kube.events import Recorder

LOOK_SECONDS: Final = 60.0
_KINDS: Final = dict(zip(("aws", "gcp", "azure"), INFRA_MACHINES, strict=True))
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MachineProcess:
    """What outlives every term: the cloud (or, where it is simulated, all three), and who the core is."""

    client: Client
    clouds: Mapping[str, Machines]
    core: Core
    metrics: Metrics

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(_KINDS[name] for name in self.clouds)

    def actor(self, may_act: Callable[[], bool]) -> Actor:
        """Loops that know nothing yet, for one term of office."""
        telling = Telling(Recorder(self.client), self.metrics)
        controller = MachineController(
            self.client,
            {name: MeasuredMachines(one, self.metrics) for name, one in self.clouds.items()},
            self.kinds,
            self.core is Core.OURS,
            self._failed,
            telling.say,
            boundary=gauges.Counting(self.metrics),
            may_act=may_act,
        )
        gauges.declare_gauges(self.metrics, controller.stores)
        clusters = tuple(CLUSTERS[name] for name in self.clouds)
        grounds = Grounds(self.client, clusters, self.core is Core.OURS, self._failed, may_act=may_act)

        deployments = Deployments(self.client, self.kinds, self._failed, telling.say, may_act=may_act)

        async def run() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(telling.run(), name="events")
                group.create_task(grounds.run(), name="clusters")
                if self.core is Core.OURS:
                    group.create_task(deployments.run(), name="machine deployments")
                await controller.run()

        return run, lambda: controller.stores.is_synced

    def _failed(self, key: Hashable, problem: Exception) -> None:
        kind = key.kind.name if isinstance(key, Key) else ""
        self.metrics.count(gauges.PROBLEMS, {"kind": kind})
        _log.warning("%s: %s", key, problem, exc_info=None if isinstance(problem, KubeError) else problem)

    async def watch_core(self, every: float = LOOK_SECONDS) -> None:
        """Raises BadInput once the core is somebody else's; an API server that does not answer says nothing."""
        while True:
            await asyncio.sleep(every)
            try:
                await switch.check(self.client, self.core)
            except KubeError as problem:
                _log.warning("whose core runs could not be looked up: %s", problem)
