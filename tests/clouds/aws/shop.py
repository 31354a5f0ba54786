"""Everything that buys and keeps machines, against the test server, with little patience."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tools.aws_server import AwsServer

from dovetail.clouds.aws.access import Access, Counts, Pace
from dovetail.clouds.aws.batching import Window
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.fleet import Fleet, Miss
from dovetail.clouds.aws.instances import Instances, Windows
from dovetail.clouds.aws.launching import Launcher, Ties
from dovetail.clouds.aws.sales import Habits
from dovetail.clouds.aws.templates import Templates
from dovetail.core.nodeclaims import NodeClaim

CLUSTER = "test"
SOON = Window(0.01, 0.2, 500)


@dataclass
class Shop:
    """One process's view of the account."""

    aws: Aws
    counts: Counts
    instances: Instances
    templates: Templates
    launcher: Launcher
    missed: list[tuple[Fleet, Miss]] = field(default_factory=list)


@asynccontextmanager
async def shop(server: AwsServer, claims: Iterable[NodeClaim] = (), window: Window = SOON) -> AsyncIterator[Shop]:
    """A process that finds these claims when it starts."""
    counts, missed = Counts(), []

    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    now = lambda: server.world.now  # noqa: E731
    async with Aws(Access("us-east-1", server.url), counts, Pace(sleep=at_once)) as aws:
        instances = Instances(aws, CLUSTER, Windows(window, window), now=now)
        templates = Templates(aws, CLUSTER, now=now)
        ties = Ties(missed=lambda fleet, miss: missed.append((fleet, miss)))
        launcher = Launcher(aws, instances, templates, Habits(CLUSTER, window, now), ties)
        launcher.resume(claims)
        try:
            yield Shop(aws, counts, instances, templates, launcher, missed)
        finally:
            await launcher.close()
            await instances.close()


def visited(server: AwsServer, scenario: Callable[[Shop], Awaitable[Any]], **more: Any) -> None:
    async def whole() -> None:
        async with shop(server, **more) as opened:
            await scenario(opened)

    asyncio.run(whole())
