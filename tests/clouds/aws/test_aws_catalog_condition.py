"""How old what is known of types and prices is, said on every class: it is no reason not to use it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tests.clouds.aws.classes import HOME, is_ready, node_class, said
from tests.clouds.aws.orders import CLASS
from tests.clouds.aws.selling import region
from tests.clouds.aws.shop import SOON
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse

from dovetail.clouds.aws.access import Access, Pace
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.cloud import AwsCloud
from dovetail.clouds.aws.freshness import Subject
from dovetail.clouds.aws.instances import Windows
from dovetail.clouds.aws.options import Habits, Options
from dovetail.clouds.port import ClassReport
from dovetail.core.conditions import Status

WEEK = 7 * 86_400.0
FRESH = "CatalogFresh"


def visited(server: AwsServer, scenario: Callable[[AwsCloud], Awaitable[None]], **more: bool) -> None:
    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    async def whole() -> None:
        habits = Habits(lambda: server.world.now, at_once, SOON, Windows(SOON, SOON))
        async with Aws(Access("us-east-1", server.url, attempts=1), pace=Pace(sleep=at_once)) as aws:
            cloud = AwsCloud(aws, region(), Options(HOME, lambda: "1.35", probes=False, **more), habits)
            await scenario(cloud)
            await cloud.close()

    asyncio.run(whole())


async def looked(cloud: AwsCloud, account: Account) -> ClassReport:
    return await cloud.node_classes.resolve(CLASS, node_class(account), ())


def test_prices_that_cannot_be_had_for_a_week_are_said_and_the_class_stays_ready(
    aws_server: AwsServer, aws_account: Account
):
    async def scenario(cloud: AwsCloud) -> None:
        aws_server.world.on_demand["m5.large"] = 0.096
        assert await cloud.discovery.refresh(Subject.ON_DEMAND)
        assert said(await looked(cloud, aws_account), FRESH).status is Status.TRUE
        aws_server.world.fail_always("GetProducts", Refuse("AccessDeniedException", "not you", 403))
        assert not await cloud.discovery.refresh(Subject.ON_DEMAND)
        assert said(await looked(cloud, aws_account), FRESH).status is Status.TRUE, "a hiccup is not worth a word"
        aws_server.world.forward(WEEK)
        report = await looked(cloud, aws_account)
        told = said(report, FRESH)
        assert (told.status, told.reason) == (Status.FALSE, "CatalogStale")
        assert told.message.startswith("on-demand prices: heard from AWS, as of 20")
        assert "pricing GetProducts was refused" in told.message
        assert is_ready(report)
        assert cloud.node_classes.resolver.resolved(CLASS)
        aws_server.world.forward(3600)
        assert said(await looked(cloud, aws_account), FRESH).message == told.message, "not written again and again"

    visited(aws_server, scenario)


def test_what_is_bundled_says_so_with_its_date_until_AWS_is_heard(aws_server: AwsServer, aws_account: Account):
    async def scenario(cloud: AwsCloud) -> None:
        told = said(await looked(cloud, aws_account), FRESH)
        assert told.status is Status.TRUE
        assert "instance types: as bundled with this program, as of 20" in told.message
        aws_server.world.spot["m5.large", "us-east-1a"] = 0.03
        await cloud.discovery.refresh(Subject.SPOT)
        assert "spot prices" not in said(await looked(cloud, aws_account), FRESH).message

    visited(aws_server, scenario)


def test_prices_nobody_asks_for_say_why(aws_server: AwsServer, aws_account: Account):
    async def scenario(cloud: AwsCloud) -> None:
        told = said(await looked(cloud, aws_account), FRESH)
        assert "the network is isolated, so the Pricing service is not asked" in told.message

    visited(aws_server, scenario, isolated=True)
