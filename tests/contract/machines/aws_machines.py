"""EC2 in the contract suite of single instances: the real SDK against the test server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.clouds.aws.shop import SOON
from tests.contract.machines.worlds import World
from tools.aws_server import Account, AwsServer

from dovetail.clouds.aws.access import Access
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.machines.ec2 import Ec2Machines, Habits
from dovetail.clouds.machines import Machines
from dovetail.core.machines.infra_objects import Market, Wanted


def aws_world(server: AwsServer, account: Account) -> World:
    markets = (Market.ON_DEMAND, Market.SPOT)
    return World(lambda: opened(server), lambda market: wanted(account, market), markets, nobodys)


def nobodys(name: str) -> tuple[str, ...]:
    return ("aws:///us-east-1a/i-0123456789abcdef0",)


@asynccontextmanager
async def opened(server: AwsServer) -> AsyncIterator[Machines]:
    """As a process that has been at it for long has them: what it does not see is not there."""
    habits = Habits(lambda: server.world.now, looks=SOON, ends=SOON, young_seconds=0.0)
    async with Aws(Access("us-east-1", server.url, attempts=1)) as aws:
        machines = Ec2Machines(aws, habits)
        yield machines
        await machines.close()


def spec(account: Account, **more: Any) -> dict[str, Any]:
    """The least that can be bought."""
    least = {
        "instanceType": "m5.large",
        "ami": {"id": account.images["al2023", "x86_64"]},
        "subnet": {"id": account.subnets["us-east-1a"]},
    }
    return {**least, **more}


def wanted(account: Account, market: Market = Market.ON_DEMAND, max_price: str = "", **more: Any) -> Wanted:
    asked = spec(account, **more)
    return Wanted("aws", asked["instanceType"], market, max_price=max_price, spec=asked)
