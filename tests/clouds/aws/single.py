"""Single machines against the test server: one process that makes them, and orders for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from moto.ec2.models import ec2_backends
from tests.clouds.aws.shop import SOON
from tools.aws_server import Account, AwsServer
from tools.aws_server.lives import everyone, state_of
from tools.aws_server.parameters import ACCOUNT

from dovetail.clouds.aws.access import Access, Counts, Pace
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.machines.ec2 import Ec2Machines, Habits
from dovetail.clouds.machines import Sought, UserData
from dovetail.core.machines.infra_objects import Market, Purchase, Wanted, token_of

BOOT = UserData(b"#cloud-config\n")
ZONE = "us-east-1a"
CLUSTER = "c"


class Process:
    """One process: its machines, and what it asked of EC2."""

    def __init__(self, machines: Ec2Machines, counts: Counts) -> None:
        self.machines, self.counts = machines, counts


@asynccontextmanager
async def process(server: AwsServer, *, old: bool = True, home: dict[str, Any] | None = None) -> AsyncIterator[Process]:
    """`old` is one that has been at it for long; waits between attempts take no time. `home` is what its AWSCluster
    says."""

    async def clusters(namespace: str, cluster: str) -> dict[str, Any] | None:
        assert namespace == "ns"
        return home

    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    counts = Counts()
    async with Aws(Access("us-east-1", server.url), counts, Pace(sleep=at_once, chance=lambda: 0.5)) as aws:
        machines = Ec2Machines(aws, Habits(lambda: server.world.now, looks=SOON, ends=SOON), clusters)
        if old:
            await machines.instances(CLUSTER)
            server.world.forward(3600)
            counts.calls.clear()
        try:
            yield Process(machines, counts)
        finally:
            await machines.close()


def processed(server: AwsServer, scenario: Callable[[Process], Awaitable[None]], **more: Any) -> None:
    async def whole() -> None:
        async with process(server, **more) as one:
            await scenario(one)

    asyncio.run(whole())


def spec(account: Account, **more: Any) -> dict[str, Any]:
    """The least that can be bought."""
    image = {"id": account.images["al2023", "x86_64"]}
    return {"instanceType": "m5.large", "ami": image, "subnet": {"id": account.subnets[ZONE]}, **more}


def order(asked: dict[str, Any], name: str = "m", *, price: str | None = None, zone: str = ZONE) -> Purchase:
    """`price` is the most that is paid on spot, "" for no bound; without one it is no spot."""
    market = Market.ON_DEMAND if price is None else Market.SPOT
    wanted = Wanted("aws", asked.get("instanceType", ""), market, price or "", spec=asked)
    return Purchase(name, token_of(f"uid-{name}"), CLUSTER, f"{name}-owner", wanted, zone, False, "ns")


def sought(name: str = "m", provider_id: str = "") -> Sought:
    return Sought(name, CLUSTER, token_of(f"uid-{name}"), provider_id, "ns")


def backend(account: Account) -> Any:
    return ec2_backends[ACCOUNT][account.region]


def living(account: Account) -> list[Any]:
    """What is paid for."""
    return [one for one in everyone(backend(account)) if state_of(one) not in ("shutting-down", "terminated")]
