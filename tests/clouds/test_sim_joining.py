"""Nodes that join later, and what is sold: neither is forgotten by a restart."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import Any

import pytest
from tests.contract.cloud.sim_worlds import HELD, NAME, SPOT, MemoryNodes, SimWorld, delayed, launched
from tests.contract.cloud.virtual_time import Clock, run, settled
from tests.contract.cloud.worlds import claim, order

from dovetail.clouds.port import NoCapacity, NotFound, Unavailable
from dovetail.clouds.sim.cloud import SimCloud
from dovetail.clouds.sim.market import SimMarket
from dovetail.core import labels
from dovetail.core.catalog.offerings import OfferingKey
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.conditions import Condition, Status
from dovetail.core.nodeclaims import REGISTERED

# ---- joining later


def test_a_node_joins_after_its_class_says() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        delayed(world.cloud, "1m")
        instance = await world.cloud.launch(order(world))
        assert (await world.cloud.launch(order(world))).provider_id == instance.provider_id
        assert [one.provider_id for one in await world.cloud.instances()] == [instance.provider_id]
        assert (await world.cloud.get(instance.provider_id)).labels == instance.labels
        await clock.forward(59.0)
        assert not world.api.held
        await clock.forward(1.0)
        assert list(world.api.held) == [NAME]
        assert (await world.cloud.get(instance.provider_id)).labels == instance.labels
        assert len(await world.cloud.instances()) == 1

    run(scenario)


def test_a_node_that_could_not_join_tries_again() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        delayed(world.cloud, "5s")
        await world.cloud.launch(order(world))
        world.api.before += [Unavailable("away"), Unavailable("still away")]
        for _ in range(3):
            assert not world.api.held
            await clock.forward(5.0)
        assert list(world.api.held) == [NAME]

    run(scenario)


def test_a_machine_returned_before_it_joined_never_does() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(SimMarket(stock={SPOT: 1}), habits=clock.habits)
        delayed(world.cloud, "5s")
        wanted = order(world, wanted={labels.INSTANCE_TYPE: SPOT.instance_type, labels.ZONE: "test-zone-a"})
        bought = launched(wanted.claim, await world.cloud.launch(wanted))
        with pytest.raises(NotFound):
            await world.cloud.terminate(bought)
        await clock.forward(10.0)
        assert not world.api.held
        assert await world.cloud.instances() == ()
        assert world.market.stock[SPOT] == 1

    run(scenario)


def test_a_join_under_way_while_the_machine_is_returned_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        clock = Clock()
        gate = asyncio.Event()

        class Slow(MemoryNodes):
            """A server that goes on with what it was asked for, though the one who asked is gone."""

            async def create(self, body: dict[str, Any]) -> Any:
                async def written() -> Any:
                    await gate.wait()
                    return await MemoryNodes.create(self, body)

                return await asyncio.shield(asyncio.ensure_future(written()))

        world = SimWorld(api=Slow(), habits=clock.habits)
        delayed(world.cloud, "5s")
        bought = launched(order(world).claim, await world.cloud.launch(order(world)))
        await clock.forward(5.0)
        ending = asyncio.create_task(world.cloud.terminate(bought))
        await settled()
        gate.set()
        with pytest.raises(NotFound):
            await ending
        await settled()
        assert not world.api.held

    run(scenario)


def test_a_node_joins_after_a_restart_of_dovetail_when_it_would_have_without() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        delayed(world.cloud, "1m")
        instance = await world.cloud.launch(order(world))
        bought = launched(order(world).claim, instance)
        await clock.forward(40.0)
        after = SimWorld(api=world.api, habits=clock.habits)
        after.cloud.resume([bought])
        assert (await after.cloud.get(instance.provider_id)).claim == NAME
        await clock.forward(19.0)
        assert not world.api.held
        await clock.forward(1.0)
        node = world.api.held[NAME]
        assert (node.capacity, node.allocatable) == (instance.capacity, instance.allocatable)
        assert instance.labels.items() <= node.meta.labels.items()
        assert [one.provider_id for one in await after.cloud.instances()] == [instance.provider_id]

    run(scenario)


def test_a_claim_that_remembers_when_its_node_is_due_is_believed() -> None:
    """Its labels and annotations were written, and then dovetail died before it wrote that it was launched."""

    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        delayed(world.cloud, "1m")
        wanted = order(world)
        bought = launched(wanted.claim, await world.cloud.launch(wanted))
        await clock.forward(50.0)
        after = SimWorld(habits=clock.habits)
        delayed(after.cloud, "1m")
        await after.cloud.launch(replace(wanted, claim=replace(wanted.claim, meta=bought.meta)))
        await clock.forward(10.0)
        assert list(after.api.held) == [NAME]

    run(scenario)


def test_a_node_that_joined_before_its_class_learned_to_wait_is_found() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        first = await world.cloud.launch(order(world))
        after = SimWorld(api=world.api, habits=clock.habits)
        delayed(after.cloud, "1m")
        again = await after.cloud.launch(order(after, wanted={labels.CAPACITY_TYPE: "on-demand"}))
        assert (again.labels, dict(again.annotations)) == (first.labels, {})

    run(scenario)


def test_claims_that_need_no_node_get_none_after_a_restart() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        delayed(world.cloud, "1m")
        one = launched(order(world).claim, await world.cloud.launch(order(world)))
        after = SimWorld(api=MemoryNodes(), habits=clock.habits)
        leaving = replace(one, meta=replace(one.meta, deleting=clock.now))
        joined = replace(one, conditions=(Condition(REGISTERED, Status.TRUE),))
        foreign = replace(one, provider_id="aws:///a/b")
        unreadable = replace(one, meta=replace(one.meta, annotations={"karpenter.kwok.sh/joins-at": "soon"}))
        after.cloud.resume([leaving, joined, foreign, unreadable, claim(after, "not-launched")])
        await clock.forward(3600.0)
        assert not after.api.held

    run(scenario)


def test_a_machine_held_back_for_ever_is_there_and_never_joins() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=clock.habits)
        assert isinstance(world.cloud, SimCloud)
        world.cloud.hold_back(NAME, math.inf)
        instance = await world.cloud.launch(order(world))
        await clock.forward(1e6)
        assert not world.api.held
        assert (await world.cloud.get(instance.provider_id)).provider_id == instance.provider_id
        with pytest.raises(Unavailable):
            await world.cloud.reboot(launched(order(world).claim, instance), "one")

    run(scenario)


# ---- what is sold


def test_a_restart_knows_what_is_sold_whatever_the_market_was_told_before() -> None:
    async def scenario() -> None:
        def market() -> SimMarket:
            return SimMarket(stock={SPOT: 3}, reservations=[Reservation("r-1", *_place(HELD), 2, 2)])

        world = SimWorld(market())
        bought = []
        for name, kind in (("one", "spot"), ("two", "spot"), ("three", "reserved")):
            wanted = order(world, name, {labels.INSTANCE_TYPE: SPOT.instance_type, labels.CAPACITY_TYPE: kind})
            wanted = replace(wanted, options=wanted.options[:1])
            bought.append(launched(wanted.claim, await world.cloud.launch(wanted)))
        after = SimWorld(market(), world.api)
        for _ in range(2):  # a lease lost and won again resumes the same market
            after.cloud.resume(bought)
            assert after.market.stock[SPOT] == 1
            assert _left(after.market) == 1
        after.cloud.resume(bought[:1])
        assert after.market.stock[SPOT] == 2
        assert _left(after.market) == 2

    run(scenario)


def _place(key: OfferingKey) -> tuple[str, str]:
    return key.instance_type, key.zone or ""


def _left(market: SimMarket) -> int | None:
    (row,) = [row for row in market._rows_for(None)[HELD.instance_type] if row.reservations]
    return row.count


def test_what_a_machine_held_is_there_for_others_once_it_is_returned() -> None:
    async def scenario() -> None:
        world = SimWorld(SimMarket(reservations=[Reservation("r-1", *_place(HELD), 1, 1)]))
        wanted = order(world, wanted={labels.CAPACITY_TYPE: "reserved"})
        instance = await world.cloud.launch(wanted)
        assert instance.labels["karpenter.kwok.sh/reservation-id"] == "r-1"
        assert _left(world.market) == 0
        with pytest.raises(NoCapacity):
            await world.cloud.launch(replace(wanted, claim=claim(world, "other")))
        with pytest.raises(NotFound):
            await world.cloud.terminate(claim(world))
        assert _left(world.market) == 1
        await world.cloud.launch(replace(wanted, claim=claim(world, "other")))

    run(scenario)


def test_a_claim_may_name_the_reservation_it_wants() -> None:
    async def scenario() -> None:
        both = [Reservation(f"r-{n}", *_place(HELD), n, n) for n in (1, 9)]
        world = SimWorld(SimMarket(reservations=both))
        wanted = order(world, wanted={"karpenter.kwok.sh/reservation-id": "r-1", labels.CAPACITY_TYPE: "reserved"})
        instance = await world.cloud.launch(wanted)
        assert instance.labels["karpenter.kwok.sh/reservation-id"] == "r-1"
        with pytest.raises(NoCapacity) as caught:
            await world.cloud.launch(replace(wanted, claim=replace(wanted.claim, meta=claim(world, "other").meta)))
        assert [one.reservation_id for one in caught.value.shortages] == ["r-1"]

    run(scenario)
