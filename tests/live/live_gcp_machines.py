"""Machines of Cluster API on Compute Engine, in this process: `live_machines`, but what is bought is bought with the
real SDK from the test server, in virtual time. A process that is started anew knows nothing of the one before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Self, TypeVar

import msgspec
from tests.clouds.gcp.gcp_orders import LEAST, ZONE
from tests.live import aws_time
from tests.live.aws_time import PATIENCE, AwsLoop
from tests.live.live_machines import LiveMachines, Object
from tools.gcp_server import GcpServer, GcpWorld

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.clouds.gcp.client import Access, Gcp
from dovetail.clouds.gcp.machines import GcpMachines
from dovetail.clouds.gcp.machines.answers import Instance
from dovetail.clouds.gcp.machines.reporting import found
from dovetail.core.machines.infra_objects import Found

T = TypeVar("T")


class HeldGcp(Gcp):
    """Compute Engine in virtual time: a call takes none, since the loop waits for threads. `heard` is told of every
    answer, when what was asked for is done and nobody has acted on it yet."""

    heard: Callable[[], None] = staticmethod(lambda: None)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        answer = await super()._in_thread(call)
        self.heard()
        return answer


class GceCloud(GcpMachines):
    """What is bought from, and what Compute Engine itself knows about it."""

    def __init__(self, gcp: Gcp, world: GcpWorld) -> None:
        super().__init__(gcp, now=world.clock)
        self.world = world

    @property
    def running(self) -> tuple[Found, ...]:
        return tuple(found("p", msgspec.convert(one, Instance)) for one in self.world.running())

    @property
    def made(self) -> int:
        return self.world.made


class LiveGcp(LiveMachines):
    """One cluster and its project. An order takes eight seconds, and is not seen for two; a boot takes five."""

    templates: ClassVar[Kind] = kinds.GCP_TEMPLATES
    infra: ClassVar[Kind] = kinds.GCP_MACHINES
    cloud: GceCloud

    def __init__(self, server: GcpServer) -> None:
        super().__init__()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, AwsLoop)
        server.reset(GcpWorld(clock=loop.date, operation_seconds=8.0, lag_seconds=2.0, boot_seconds=5.0))
        self.gce = server

    async def __aenter__(self) -> Self:
        self.gcp = await self._opened.enter_async_context(HeldGcp(Access("p", self.gce.url, seconds=PATIENCE)))
        return await super().__aenter__()

    def start(self) -> None:
        self.cloud = GceCloud(self.gcp, self.gce.world)
        super().start()

    def machine(self, spot: dict[str, Any] | None) -> Object:
        return LEAST | (spot or {})

    def workers(self, replicas: int, *, spot: dict[str, Any] | None = None, **spec: Any) -> None:
        super().workers(replicas, spot=spot, **spec)
        zone = {"spec": {"template": {"spec": {"failureDomain": ZONE}}}}
        self.edit(kinds.MACHINE_SETS, "s", zone)

    @property
    def bought(self) -> list[str]:
        return [str(one["name"]) for one in self.gce.world.orders]

    def vanish(self) -> None:
        for one in list(self.gce.world.instances.values()):
            self.gce.world.forget(one.name)

    def instance(self, name: str) -> Object:
        """A machine's instance, as Compute Engine has it."""
        return next(one for one in self.gce.world.listed() if one["name"] == name)


def live(server: GcpServer, scenario: Callable[[LiveGcp], Coroutine[Any, Any, None]]) -> LiveGcp:
    held: list[LiveGcp] = []

    async def through() -> None:
        async with LiveGcp(server) as one:
            held.append(one)
            await scenario(one)

    aws_time.run(through())
    return held[0]
