"""The cloud of AWS at work against the test server, with one class that is resolved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.clouds.aws.classes import HOME, node_class
from tests.clouds.aws.orders import CLASS
from tests.clouds.aws.selling import region
from tests.clouds.aws.shop import SOON
from tools.aws_server import Account, AwsServer

from dovetail.clouds.aws.access import Access, Pace
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.cloud import AwsCloud
from dovetail.clouds.aws.instances import Windows
from dovetail.clouds.aws.options import Deaf, Habits, Miss, Options
from dovetail.clouds.aws.region import of_any_account


@dataclass
class Heard(Deaf):
    misses: list[Miss] = field(default_factory=list)
    batches: list[str] = field(default_factory=list)
    stayed: list[str] = field(default_factory=list)

    def kept(self, zone: str, zone_id: str) -> None:
        self.stayed.append(zone)

    def missed(self, one: Miss) -> None:
        self.misses.append(one)

    def batched(self, batcher: str, size: int, seconds: float) -> None:
        self.batches.append(batcher)


@dataclass
class Office:
    """A cloud at work, with one class that is resolved."""

    cloud: AwsCloud
    aws: Aws
    heard: Heard
    account: Account

    async def look(self, **spec: object) -> None:
        wire = node_class(self.account, **spec)
        self.cloud.set_node_class(CLASS, wire)
        await self.cloud.node_classes.resolve(CLASS, wire, ())


def visited(
    server: AwsServer,
    account: Account,
    scenario: Callable[[Office], Awaitable[None]],
    queue: str = "",
    probes: bool = False,
    **spec: object,
) -> None:
    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    async def whole() -> None:
        heard = Heard()
        habits = Habits(lambda: server.world.now, at_once, SOON, Windows(SOON, SOON))
        async with Aws(Access("us-east-1", server.url, attempts=1), pace=Pace(sleep=at_once)) as aws:
            options = Options(HOME, lambda: "1.35", queue=queue, probes=probes)
            cloud = AwsCloud(aws, of_any_account(region()), options, habits, heard)
            office = Office(cloud, aws, heard, account)
            await office.look(**spec)
            try:
                await scenario(office)
            finally:
                await cloud.close()

    asyncio.run(whole())
