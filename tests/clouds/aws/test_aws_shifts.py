"""Zones that ARC has shifted away from: nothing is bought there, and what is there is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import msgspec
import pytest
from tests.clouds.aws.classes import HOME, node_class
from tests.clouds.aws.orders import CLASS, POOL, claim, order
from tests.clouds.aws.selling import region
from tests.clouds.aws.shop import SOON
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse

from dovetail.clouds.aws.access import Access, Pace
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.cloud import AwsCloud
from dovetail.clouds.aws.instances import Windows
from dovetail.clouds.aws.options import Habits, Options
from dovetail.clouds.aws.region import Region, of_any_account
from dovetail.clouds.aws.shifts import Change, away, zone_of
from dovetail.clouds.port import Unavailable
from dovetail.controllers.shifting import ShiftEvents
from dovetail.core.effects import Say

A, B = "us-east-1a", "us-east-1b"
LATER = datetime(2026, 11, 20, tzinfo=UTC)


def shift(zone_id: str, **more: object) -> dict[str, object]:
    """As ARC tells of one."""
    return {"appliedStatus": "APPLIED", "awayFrom": zone_id, **more}


def known(account: Account) -> Region:
    """The bundled region, its zones called as this account calls them."""
    zones = tuple(msgspec.structs.replace(one, zone_id=account.zone_ids[one.zone_name]) for one in region().zones)
    return replace(region(), zones=zones)


def visited(
    server: AwsServer, account: Account, scenario: Callable[[AwsCloud], Awaitable[None]], sold: Region | None = None
) -> None:
    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    async def whole() -> None:
        habits = Habits(lambda: server.world.now, at_once, SOON, Windows(SOON, SOON))
        async with Aws(Access("us-east-1", server.url, attempts=1), pace=Pace(sleep=at_once)) as aws:
            options = Options(HOME, lambda: "1.35", probes=False, zonal_shift=True)
            cloud = AwsCloud(aws, sold or known(account), options, habits)
            wire = node_class(account)
            cloud.set_node_class(CLASS, wire)
            await cloud.node_classes.resolve(CLASS, wire, ())
            try:
                await scenario(cloud)
            finally:
                await cloud.close()

    asyncio.run(whole())


async def looked(cloud: AwsCloud) -> tuple[Change, ...]:
    changes = await cloud.shifts.look(cloud.market.region.zones)
    cloud._shifted(changes)
    return changes


def sold_in(cloud: AwsCloud) -> set[str | None]:
    return {row.zone for row in cloud.market.offerings(POOL)["m5.large"] if row.available}


# ---- what ARC says


def test_a_shift_counts_while_it_is_applied_and_the_latest_end_holds() -> None:
    told = {
        "zonalShifts": [
            shift("use1-az1", expiryTime=datetime(2026, 11, 16, tzinfo=UTC)),
            shift("use1-az1", expiryTime=LATER),
            shift("use1-az2", appliedStatus="NOT_APPLIED", expiryTime=LATER),
        ],
        "autoshifts": [shift("use1-az4")],
    }
    assert dict(away(told)) == {"use1-az1": LATER.timestamp(), "use1-az4": float("inf")}


@pytest.mark.parametrize("odd", [{}, {"zonalShifts": None}, {"zonalShifts": [{}]}, {"autoshifts": [shift("")]}])
def test_an_answer_that_says_nothing_shifts_nothing(odd: dict[str, object]) -> None:
    assert not dict(away(odd))


def test_the_zone_stands_in_a_provider_id() -> None:
    assert zone_of("aws:///us-east-1a/i-0123") == A
    assert zone_of("") == ""


# ---- what follows


def test_nothing_is_bought_in_a_shifted_zone_until_the_shift_is_over(aws_server: AwsServer, aws_account: Account):
    async def scenario(cloud: AwsCloud) -> None:
        heard: list[Change] = []
        cloud.on_shift(heard.append)
        ends = aws_server.world.now + 60
        aws_server.world.zonal_shifts = [shift(aws_account.zone_ids[A], expiryTime=ends)]
        before = cloud.market.offerings_generation(POOL)
        await looked(cloud)
        assert heard == [Change(A, active=True)]
        assert A not in sold_in(cloud)
        assert B in sold_in(cloud)
        assert cloud.market.offerings_generation(POOL) != before
        assert await looked(cloud) == (), "the same again is no news"
        aws_server.world.forward(120)
        await looked(cloud)
        assert heard[1:] == [Change(A, active=False)]
        assert A in sold_in(cloud)

    visited(aws_server, aws_account, scenario)


def test_a_question_that_fails_leaves_the_shift_until_its_end(aws_server: AwsServer, aws_account: Account, caplog):
    async def scenario(cloud: AwsCloud) -> None:
        aws_server.world.zonal_shifts = [shift(aws_account.zone_ids[A], expiryTime=aws_server.world.now + 60)]
        await looked(cloud)
        aws_server.world.fail_always("GetManagedResource", Refuse("AccessDeniedException", "no", 403))
        assert await looked(cloud) == ()
        assert await looked(cloud) == ()
        assert cloud.shifts.zones == {A}
        assert caplog.text.count("zonal shifts are not heard of") == 1
        assert "arc-zonal-shift GetManagedResource was refused" in caplog.text
        aws_server.world.forward(120)
        assert await looked(cloud) == (Change(A, active=False),)

    visited(aws_server, aws_account, scenario)


def test_a_cluster_that_ARC_does_not_know_is_shifted_nowhere(aws_server: AwsServer, aws_account: Account):
    async def scenario(cloud: AwsCloud) -> None:
        aws_server.world.fail_always("GetManagedResource", Refuse("ResourceNotFoundException", "none", 404))
        assert await looked(cloud) == ()
        assert cloud.shifts.zones == frozenset()

    visited(aws_server, aws_account, scenario)


def test_machines_of_a_shifted_zone_are_what_they_were_and_none_is_ended(aws_server: AwsServer, aws_account: Account):
    """EC2 may say of a zone in trouble that its machines are gone."""

    async def scenario(cloud: AwsCloud) -> None:
        bought = await cloud.launch(order(zones=(A,)))
        held = replace(claim(), provider_id=bought.provider_id)
        await cloud.instances()
        aws_server.world.zonal_shifts = [shift(aws_account.zone_ids[A])]
        await looked(cloud)
        with pytest.raises(Unavailable, match=f"its zone {A} is shifted away from"):
            await cloud.terminate(held)
        assert aws_server.world.calls["TerminateInstances"] == 0
        aws_server.world.fail_always("DescribeInstances", Refuse("InvalidInstanceID.NotFound", "no such", 400))
        assert (await cloud.get(bought.provider_id)).provider_id == bought.provider_id

    visited(aws_server, aws_account, scenario)


def test_machines_that_EC2_leaves_out_of_a_list_are_still_there(aws_server: AwsServer, aws_account: Account):
    async def scenario(cloud: AwsCloud) -> None:
        there = await cloud.launch(order(zones=(A,), bought_for=claim("general-a")))
        elsewhere = await cloud.launch(order(zones=(B,), bought_for=claim("general-b")))
        ids = {there.provider_id, elsewhere.provider_id}
        assert {one.provider_id for one in await cloud.instances()} == ids
        aws_server.world.zonal_shifts = [shift(aws_account.zone_ids[A])]
        await looked(cloud)

        async def nothing() -> tuple[()]:
            return ()

        cloud._instances.ours = nothing  # type: ignore[method-assign]
        assert {one.provider_id for one in await cloud.instances()} == {there.provider_id}

    visited(aws_server, aws_account, scenario)


def test_it_is_followed_as_soon_as_the_zones_are_known_by_their_ids(aws_server: AwsServer, aws_account: Account):
    async def scenario(cloud: AwsCloud) -> None:
        changes: asyncio.Queue[Change] = asyncio.Queue()
        cloud.on_shift(changes.put_nowait)
        aws_server.world.zonal_shifts = [shift(aws_account.zone_ids[B])]
        following = asyncio.create_task(cloud._followed())
        try:
            while not aws_server.world.calls["GetManagedResource"]:
                await asyncio.sleep(0.01)
            assert changes.empty()
            cloud.market.set_region(known(aws_account))
            assert await asyncio.wait_for(changes.get(), 10) == Change(B, active=True)
            assert B not in sold_in(cloud)
        finally:
            following.cancel()

    visited(aws_server, aws_account, scenario, of_any_account(region()))


def test_every_pool_is_told_of_a_shift_and_of_its_end() -> None:
    meta = SimpleNamespace(uid="u-1")
    pools = [SimpleNamespace(value=SimpleNamespace(name=name, meta=meta)) for name in ("general", "batch")]
    said: list[Say] = []
    tell = ShiftEvents(SimpleNamespace(pools=pools), said.append)  # type: ignore[arg-type]
    tell(Change(A, active=True))
    tell(Change(A, active=False))
    assert [(one.about.name, one.reason, one.warning) for one in said] == [
        ("general", "ZonalShiftActive", True),
        ("batch", "ZonalShiftActive", True),
        ("general", "ZonalShiftCleared", False),
        ("batch", "ZonalShiftCleared", False),
    ]
    assert A in said[0].message
