"""What AWS sells, heard from a server: the same as the files say, until it says otherwise or says nothing."""

from __future__ import annotations

import asyncio
import datetime as dt
from dataclasses import replace

import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPES
from tests.clouds.aws.selling import CLASS, POOL, A, B, Clock, discovering, region, rows, sells_only, terms
from tests.clouds.test_aws_listing import GOLDEN, PEER
from tools.aws_server import AwsServer
from tools.aws_server.types import sell_new_type
from tools.aws_server.world import Nonsense, Refuse

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.client import _moment
from dovetail.clouds.aws.discovery import INTERVALS, LONGEST_WAIT, Discovery
from dovetail.clouds.aws.freshness import Subject
from dovetail.clouds.aws.market import AwsMarket
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.prices import NANO, SourceKind
from dovetail.core.resources import MIB

DAY = 86_400.0
GOLDEN_NAMES = tuple(str(row[0]) for row in GOLDEN)


@pytest.fixture(autouse=True)
def _few(aws_server: AwsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    sells_only((*GOLDEN_NAMES, "m5.metal", "g6f.large", "mac2.metal"), monkeypatch)
    aws_server.world.on_demand.update({"m5.large": 0.1, "m5.metal": 4.5})
    aws_server.world.spot.update({("m5.large", A): 0.04, ("m5.large", B): 0.05})


def test_the_files_are_used_until_a_call_succeeds_and_say_how_old_they_are(aws_server: AwsServer) -> None:
    aws_server.world.fail_always("DescribeInstanceTypes", Nonsense())

    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        assert not await finding.refresh(Subject.TYPES)
        assert market.region is region()
        assert rows(market, "m5.large")[0].price is not None
        told = finding.freshness.by_subject[Subject.TYPES].told(Subject.TYPES, Clock().now)
        assert "as bundled with this program, 132 days old" in told
        assert "ec2 DescribeInstanceTypes was refused (500)" in told

    discovering(aws_server, scenario)


def test_the_golden_table_holds_for_live_answers_too(aws_server: AwsServer) -> None:
    """S2.8: aws.md §2.3, read from the SDK's own dicts."""

    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        assert await finding.refresh(Subject.TYPES)
        live = {one.name: one for one in market.region.listing.hardware}
        devices = ("vpc.amazonaws.com/efa", "nvidia.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore")
        for name, cpus, nominal, reported, pods, _, _, free_cpu, free_memory, *counted in GOLDEN:
            spec = PEER.spec_of(live[name])
            assert (live[name].cpu_millis, live[name].memory_bytes) == (cpus * 1000, nominal * MIB)
            assert (spec.capacity.memory_bytes, spec.capacity["pods"]) == (reported * MIB, pods)
            assert (spec.allocatable.cpu_millis, spec.allocatable.memory_bytes) == (free_cpu, free_memory * MIB)
            assert [spec.capacity.of(device) for device in devices] == counted

    discovering(aws_server, scenario)


def test_live_and_bundled_answers_make_the_same_machines(aws_server: AwsServer) -> None:
    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        bundled = {one.name: one for one in market.region.listing.hardware}
        await finding.refresh(Subject.TYPES)
        for one in market.region.listing.hardware:
            assert replace(one, source="") == replace(bundled[one.name], source="")
            assert "bundled" not in one.source
        assert not finding.problems
        assert "not launched: a Mac" in next(one.source for one in market.region.listing.hardware if "mac2" in one.name)

    discovering(aws_server, scenario)


def test_a_slice_of_a_gpu_counts_as_one(aws_server: AwsServer) -> None:
    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        await finding.refresh(Subject.TYPES)
        assert market.specs(POOL)["g6f.large"].capacity.of("nvidia.com/gpu") == 1

    discovering(aws_server, scenario)


def test_a_type_nobody_has_heard_of_is_used(aws_server: AwsServer) -> None:
    sell_new_type("m99.large", "m5.large", (A,))
    aws_server.world.on_demand["m99.large"] = 0.2

    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        await finding.refresh(Subject.TYPES)
        await finding.refresh(Subject.ON_DEMAND)
        (row,) = rows(market, "m99.large")
        assert (row.zone, row.launchable, row.price and row.price.nanodollars) == (A, True, NANO // 5)
        assert market.specs(POOL)["m99.large"].requirements.value(aws_labels.GENERATION) == "99"

    discovering(aws_server, scenario)


def test_a_type_that_cannot_be_read_is_left_out_with_a_sentence_and_the_others_stand(aws_server: AwsServer) -> None:
    sell_new_type("m99.large", "m5.large", (A,))
    aws_server.world.extra_types["m99.large"]["MemoryInfo"] = {"SizeInMiB": 0}

    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        assert await finding.refresh(Subject.TYPES)
        assert "m99.large" not in market.specs(POOL)
        assert "m5.large" in market.specs(POOL)
        (problem,) = finding.problems
        assert "m99.large" in str(problem)
        assert "MemoryInfo.SizeInMiB" in str(problem)

    discovering(aws_server, scenario)


def test_a_second_look_that_finds_the_same_moves_nothing(aws_server: AwsServer) -> None:
    """S0.5: a generation moves when the answer would be another, and not otherwise."""

    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        assert await finding.once()
        before, specs, offerings = market.generations, market.specs(POOL), market.offerings(POOL)
        assert await finding.once()
        assert market.generations == before
        assert market.specs(POOL) is specs
        assert all(found is offerings[name] for name, found in market.offerings(POOL).items())

    discovering(aws_server, scenario)


def test_zones_have_the_ids_that_mean_the_same_in_every_account(aws_server: AwsServer) -> None:
    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        await finding.refresh(Subject.TYPES)
        ids = {zone.zone_name: zone.zone_id for zone in market.region.zones}
        (row,) = (row for row in rows(market, "m5.large") if row.zone == A)
        assert row.requirements.value(aws_labels.ZONE_ID) == ids[A] != ""

    discovering(aws_server, scenario)


def test_a_region_of_one_zone_sells_there(aws_server: AwsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.aws_server import types

    offered = types.INSTANCE_TYPE_OFFERINGS["availability-zone"]["us-east-1"]
    kept = {"us-east-1": [one for one in offered if one["Location"] == A]}
    monkeypatch.setattr(types, "INSTANCE_TYPE_OFFERINGS", {"availability-zone": kept})

    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        await finding.refresh(Subject.TYPES)
        assert {row.zone for row in market.offerings(POOL)["m5.large"]} == {A}

    discovering(aws_server, scenario)


# ---- prices


def test_prices_are_heard_and_say_so(aws_server: AwsServer) -> None:
    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        assert await finding.refresh(Subject.ON_DEMAND)
        price = rows(market, "m5.large")[0].price
        assert price is not None
        assert (price.nanodollars, price.source.kind, price.source.as_of) == (NANO // 10, SourceKind.LIVE, "2026-11-15")
        metal = market.region.listing.list_prices["m5.metal"]
        assert metal.nanodollars == 45 * NANO // 10
        kept = rows(market, "c6g.large")[0].price
        assert kept is not None
        assert kept.source.kind is SourceKind.BUNDLED

    discovering(aws_server, scenario)


def test_a_week_without_the_price_list_keeps_the_old_prices_while_their_age_grows(aws_server: AwsServer) -> None:
    clock = Clock()

    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        await finding.refresh(Subject.ON_DEMAND)
        before = market.generations
        aws_server.world.fail_always("GetProducts", Refuse("InternalErrorException", "try later", 500))
        for _ in range(7):
            clock.now += DAY
            assert not await finding.refresh(Subject.ON_DEMAND)
        assert market.generations == before
        assert rows(market, "m5.large")[0].price == market.region.listing.list_prices["m5.large"]
        assert finding.freshness.ages(clock.now)[Subject.ON_DEMAND] == 7 * DAY
        (complaint,) = finding.complaints()
        assert complaint.startswith("on-demand prices: heard from AWS, 7 days old; pricing GetProducts was refused")
        aws_server.world.fail_always("GetProducts", None)
        assert await finding.refresh(Subject.ON_DEMAND)
        assert finding.complaints() == ()

    discovering(aws_server, scenario, clock)


def test_an_answer_without_prices_is_no_answer(aws_server: AwsServer) -> None:
    aws_server.world.spot.clear()
    aws_server.world.on_demand.clear()

    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        assert not await finding.refresh(Subject.SPOT)
        assert not await finding.refresh(Subject.ON_DEMAND)
        assert market.region is region()
        assert all(row.launchable for row in rows(market, "m5.large", labels.SPOT))

    discovering(aws_server, scenario)


def test_a_pool_without_a_spot_price_is_not_sold_once_prices_are_known(aws_server: AwsServer) -> None:
    del aws_server.world.spot["m5.large", B]

    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        assert {row.zone for row in rows(market, "m5.large", labels.SPOT) if row.launchable} == {A, B}
        await finding.refresh(Subject.SPOT)
        assert {row.zone for row in rows(market, "m5.large", labels.SPOT) if row.launchable} == {A}
        assert rows(market, "m5.large", labels.SPOT)[0].price is not None

    discovering(aws_server, scenario)


def test_a_spot_price_that_moves_rebuilds_the_rows_of_its_type_alone(aws_server: AwsServer) -> None:
    """S0.5, S0.2."""
    aws_server.world.spot["c6g.large", A] = 0.02

    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        await finding.refresh(Subject.SPOT)
        cache = CatalogCache(market)
        before = cache.catalog(POOL, 0.0)
        built = cache.counters().rows_rebuilt
        aws_server.world.spot["m5.large", A] = 0.045
        await finding.refresh(Subject.SPOT)
        after = cache.catalog(POOL, 0.0)
        assert cache.counters().rows_rebuilt == built + 1
        assert cache.counters().specs_refreshed == 1
        assert after.types["c6g.large"] is before.types["c6g.large"]
        prices = {row.zone: row.price for row in after.types["m5.large"].offerings if row.capacity_type == labels.SPOT}
        moved = prices[A]
        assert moved is not None
        assert moved.nanodollars == 45 * NANO // 1000

    discovering(aws_server, scenario)


def test_an_isolated_network_is_not_asked_for_prices(aws_server: AwsServer) -> None:
    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        assert await finding.once()
        assert "isolated" in finding.freshness.by_subject[Subject.ON_DEMAND].skipped

    counts = discovering(aws_server, scenario, isolated=True)
    assert counts.calls["GetProducts"] == 0
    assert counts.calls["DescribeSpotPriceHistory"] == 1


def test_types_and_prices_heard_at_once_are_both_kept(aws_server: AwsServer) -> None:
    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        assert await finding.once()
        assert {one.name for one in market.region.listing.hardware} <= INSTANCE_TYPES.keys()
        kinds = {row.price.source.kind for row in market.offerings(POOL)["m5.large"] if row.price}
        assert kinds == {SourceKind.LIVE}

    discovering(aws_server, scenario)


def test_what_fails_is_asked_again_soon_and_then_less_and_less_often(aws_server: AwsServer) -> None:
    aws_server.world.fail_always("DescribeSpotPriceHistory", Refuse("UnauthorizedOperation", "no", 403))
    waits: list[float] = []
    enough = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 9:
            aws_server.world.fail_always("DescribeSpotPriceHistory", None)
        if len(waits) == 10:
            enough.set()
        await asyncio.sleep(0)

    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        task = asyncio.create_task(finding._keep_asking(Subject.SPOT))
        await enough.wait()
        task.cancel()
        assert waits[:4] == [10.0, 20.0, 40.0, 80.0]
        assert waits[7:9] == [LONGEST_WAIT] * 2
        assert waits[9] == INTERVALS[Subject.SPOT]
        assert finding.freshness.by_subject[Subject.SPOT].live

    discovering(aws_server, scenario, sleep=sleep)


def test_revoked_credentials_are_named_and_nothing_is_forgotten(aws_server: AwsServer) -> None:
    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        await finding.once()
        known = market.region
        aws_server.world.fail_always("*", Refuse("ExpiredToken", "The security token is expired", 400))
        assert not await finding.once()
        assert market.region is known
        for subject in Subject:
            assert "credentials are wrong, revoked or out of date" in finding.freshness.by_subject[subject].problem

    discovering(aws_server, scenario)


def test_classes_keep_their_zones_when_the_region_is_looked_at_again(aws_server: AwsServer) -> None:
    async def scenario(finding: Discovery, market: AwsMarket) -> None:
        market.set_class(CLASS, terms(B))
        await finding.refresh(Subject.TYPES)
        assert {row.zone for row in market.offerings(POOL)["m5.large"]} == {B}

    discovering(aws_server, scenario)


def test_times_in_answers_have_a_zone_whichever_way_they_are_written() -> None:
    moment = dt.datetime(2026, 11, 15, 12, 30, tzinfo=dt.UTC)
    for written in (
        "2026-11-15T12:30:00Z",
        "2026-11-15T12:30:00.000+00:00",
        "Sun, 15 Nov 2026 12:30:00 GMT",
        1794745800,
    ):
        assert _moment(written) == moment
