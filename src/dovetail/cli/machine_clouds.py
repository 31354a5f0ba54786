"""Which clouds `dovetail machines` buys from: one, or, where they are simulated, all three at once.

Only the chosen cloud's modules are read, so that nobody needs another cloud's SDK.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail.clouds.port import CloudError
from dovetail.controllers.cluster_api.clusters import KINDS, InfraClusters
from dovetail.core.errors import BadInput

if TYPE_CHECKING:
    from dovetail.clouds.machines import Machines
    from dovetail.kube.client import Client
    from dovetail.settings.machines import MachineSettings


async def _nothing() -> None:
    """Real instances join by themselves."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Clouds that are ready to be used, by name, and what goes on beside them for the whole run."""

    clouds: Mapping[str, Machines]
    beside: Callable[[], Coroutine[None, None, None]] = _nothing


@asynccontextmanager
async def opened(chosen: MachineSettings, client: Client) -> AsyncIterator[Opened]:
    """Raises BadInput, in a sentence, with what is missing."""
    if chosen.cloud == "sim":
        yield _simulated(chosen, client)
        return
    async with AsyncExitStack() as stack:
        try:
            machines = await stack.enter_async_context(_real(chosen, client))
        except CloudError as problem:
            raise BadInput(f"{chosen.cloud}: {problem}") from None
        yield Opened({machines.cloud: machines})


@asynccontextmanager
async def _real(chosen: MachineSettings, client: Client) -> AsyncIterator[Machines]:
    clusters = InfraClusters(client, KINDS[chosen.cloud])
    if chosen.cloud == "aws":
        from dovetail.clouds.aws import machines as aws

        async with aws.opened(region=chosen.region, endpoint=chosen.endpoint, clusters=clusters) as found:
            yield found
    elif chosen.cloud == "gcp":
        from dovetail.clouds.gcp import machines as gcp

        async with gcp.opened(project=chosen.project, endpoint=chosen.endpoint, clusters=clusters) as found:
            yield found
    else:
        from dovetail.clouds.azure import machines as azure

        account = chosen.subscription
        async with azure.opened(subscription=account, endpoint=chosen.endpoint, clusters=clusters) as found:
            yield found


def _simulated(chosen: MachineSettings, client: Client) -> Opened:
    """Machines of all three kinds in memory, with kubelets to make Nodes of them."""
    from dovetail.clouds.sim.machines import SimMachines
    from dovetail.controllers.cluster_api.joining import SELECTOR, Joining
    from dovetail.controllers.fake_kubelets import FakeKubelets

    clouds = {name: SimMachines(name, time.time, boot_seconds=chosen.boot_seconds) for name in KINDS}

    async def beside() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(Joining(client, tuple(clouds.values())).run(), name="nodes of simulated machines")
            group.create_task(FakeKubelets(client, SELECTOR).run(), name="kubelets of simulated machines")

    return Opened(clouds, beside)
