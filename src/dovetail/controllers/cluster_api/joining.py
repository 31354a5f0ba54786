"""What happens around simulated instances: those that run become Nodes, and Nodes of those that are gone are removed.

The first is what a machine's bootstrap does, the second a cloud's controller manager. So that there is something to
see, the cloud takes an instance away when its Node is annotated `dovetail.dev/take-away`. Instances live in the memory
of the process: after a restart the cloud has none, and Machines say so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from dovetail.api import kinds
from dovetail.clouds.sim.machines import SimMachines
from dovetail.clouds.sim.nodes import FAKE, PARTITION
from dovetail.core import labels
from dovetail.core.machines.infra_objects import Found, State
from dovetail.kube.client import Client
from dovetail.kube.errors import AlreadyExists, KubeError, NotFound

#: Which Nodes are ours: kubelets for them are played by their label.
SELECTOR: Final = f"{PARTITION}=machines"
TAKE_AWAY: Final = "dovetail.dev/take-away"
LOOK_SECONDS: Final = 1.0
_ROOM: Final = {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "50Gi", "pods": "110"}
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Joining:
    """Looks after the Nodes of simulated clouds."""

    client: Client
    clouds: tuple[SimMachines, ...]

    async def run(self) -> None:
        """Until cancelled; an API server that is away is asked again."""
        while True:
            try:
                await self.look()
            except KubeError as problem:
                _log.warning("simulated machines: %s", problem)
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        nodes = (await self.client.list(kinds.NODES, labels=SELECTOR)).items
        for cloud in self.clouds:
            self._interrupted(cloud, nodes)
        running = {one.provider_id: one for cloud in self.clouds for one in cloud.running}
        known = {one["spec"].get("providerID"): one["metadata"] for one in nodes}
        for provider_id, found in running.items():
            if found.state is State.RUNNING and provider_id not in known:
                await self._join(found)
        for provider_id, about in known.items():
            if provider_id not in running:
                await self._leave(about)

    def _interrupted(self, cloud: SimMachines, nodes: Iterable[dict[str, Any]]) -> None:
        wanted = {
            one["spec"].get("providerID") for one in nodes if TAKE_AWAY in (one["metadata"].get("annotations") or {})
        }
        for found in cloud.running:
            if found.provider_id in wanted:
                _log.info("the simulated cloud takes %s away", found.name)
                cloud.take_away(found.name)

    async def _join(self, found: Found) -> None:
        marks = {PARTITION: "machines", FAKE: "fake", labels.HOSTNAME: found.name, labels.ZONE: found.zone}
        body = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": found.name, "labels": marks, "annotations": {FAKE: "fake"}},
            "spec": {"providerID": found.provider_id},
            "status": {"capacity": dict(_ROOM), "allocatable": dict(_ROOM)},
        }
        try:
            await self.client.create(kinds.NODES, body)
        except AlreadyExists:
            return

    async def _leave(self, about: dict[str, Any]) -> None:
        try:
            await self.client.delete(kinds.NODES, about["name"], uid=about.get("uid", ""))
        except NotFound:
            return
