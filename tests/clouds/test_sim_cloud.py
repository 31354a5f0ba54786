"""The simulated cloud: dying at any moment loses no machine and buys none twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from tests.contract.cloud.sim_worlds import NAME, SPOT, MemoryNodes, SimWorld, launched
from tests.contract.cloud.virtual_time import Clock, run
from tests.contract.cloud.worlds import claim, order

from dovetail.clouds.port import CloudError, NoCapacity, NotFound, Unavailable
from dovetail.clouds.sim.cloud import SimCloud
from dovetail.clouds.sim.market import SimMarket
from dovetail.core import labels
from dovetail.core.catalog.shortages import Shortage

# ---- writing it down


def test_a_machine_takes_one_write_and_no_reading() -> None:
    async def scenario() -> None:
        world = SimWorld()
        await world.cloud.launch(order(world))
        assert world.api.calls == ["create"]

    run(scenario)


def test_a_sale_is_undone_when_its_node_cannot_be_written() -> None:
    async def scenario() -> None:
        world = SimWorld(SimMarket(stock={SPOT: 1}))
        only = order(world, wanted={labels.INSTANCE_TYPE: SPOT.instance_type, labels.ZONE: "test-zone-a"})
        world.api.before.append(Unavailable("the API server is away"))
        with pytest.raises(Unavailable):
            await world.cloud.launch(only)
        assert world.market.stock[SPOT] == 1
        await world.cloud.launch(only)
        assert world.market.stock[SPOT] == 0

    run(scenario)


def test_a_node_that_was_written_though_nobody_heard_so_is_found_and_counted_once() -> None:
    async def scenario() -> None:
        world = SimWorld(SimMarket(stock={SPOT: 2}))
        only = order(world, wanted={labels.INSTANCE_TYPE: SPOT.instance_type, labels.ZONE: "test-zone-a"})
        world.api.after.append(Unavailable("the answer was lost"))
        with pytest.raises(Unavailable):
            await world.cloud.launch(only)
        instance = await world.cloud.launch(only)
        assert instance.labels[labels.CAPACITY_TYPE] == "spot"
        assert len(world.api.held) == 1
        assert world.market.stock[SPOT] == 1

    run(scenario)


def test_what_is_counted_is_what_the_node_is_whatever_was_chosen_now() -> None:
    async def scenario() -> None:
        world = SimWorld()
        first = await world.cloud.launch(order(world))
        other = SimWorld(api=world.api)
        await other.cloud.launch(order(other, wanted={labels.CAPACITY_TYPE: "on-demand"}))
        (sale,) = other.market.ledger.values()
        assert sale.key.capacity_type == first.labels[labels.CAPACITY_TYPE] == "spot"

    run(scenario)


def test_launches_of_one_order_at_once_are_sold_once() -> None:
    class Slow(MemoryNodes):
        async def create(self, body: dict[str, Any]) -> Any:
            await asyncio.sleep(0)
            return await super().create(body)

    async def scenario() -> None:
        world = SimWorld(SimMarket(stock={SPOT: 5}), Slow())
        only = order(world, wanted={labels.INSTANCE_TYPE: SPOT.instance_type, labels.ZONE: "test-zone-a"})
        await asyncio.gather(*(world.cloud.launch(only) for _ in range(4)))
        assert world.market.stock[SPOT] == 4

    run(scenario)


def test_a_machine_whose_node_somebody_deleted_is_bought_anew_and_counted_once() -> None:
    async def scenario() -> None:
        world = SimWorld(SimMarket(stock={SPOT: 5}))
        only = order(world, wanted={labels.INSTANCE_TYPE: SPOT.instance_type, labels.ZONE: "test-zone-a"})
        await world.cloud.launch(only)
        world.api.held.clear()
        await world.cloud.launch(only)
        assert (world.market.stock[SPOT], list(world.api.held)) == (4, [NAME])

    run(scenario)


def test_a_node_of_that_name_that_is_no_machine_of_ours_is_neither_taken_nor_deleted() -> None:
    async def scenario() -> None:
        world = SimWorld(SimMarket(stock={SPOT: 1}))
        await world.foreign(NAME)
        with pytest.raises(CloudError, match=f"a Node named {NAME} is there already"):
            await world.cloud.launch(order(world))
        with pytest.raises(NotFound):
            await world.cloud.terminate(claim(world))
        assert world.api.held[NAME].provider_id == f"aws:///a/{NAME}"
        assert not world.market.ledger

    run(scenario)


def test_labels_written_before_a_crash_bind_the_launch_after_it() -> None:
    """Labels of a claim are never taken back, so a Node must not disagree with them."""

    async def scenario() -> None:
        world = SimWorld()
        wanted = order(world, most=40)
        chosen = wanted.options[17]
        told = {
            labels.INSTANCE_TYPE: chosen.instance_type.name,
            labels.ZONE: chosen.offering.zone or "",
            labels.CAPACITY_TYPE: chosen.offering.capacity_type or "",
        }
        meta = replace(wanted.claim.meta, labels=MappingProxyType({**wanted.claim.meta.labels, **told}))
        bound = replace(wanted, claim=replace(wanted.claim, meta=meta))
        instance = await world.cloud.launch(bound)
        assert {key: instance.labels[key] for key in told} == told
        other = replace(bound.claim, meta=replace(meta, name="other"))
        with pytest.raises(NoCapacity, match="agrees with the labels"):
            await world.cloud.launch(replace(bound, claim=other, options=wanted.options[:17]))

    run(scenario)


def test_a_walk_along_thousands_of_sold_out_offerings_names_one_shortage_for_a_zone() -> None:
    async def scenario() -> None:
        world = SimWorld()
        wanted = order(world, wanted={labels.ZONE: "test-zone-a"}, most=10_000)
        assert len(wanted.options) > 50
        empty = Shortage(zone="test-zone-a")
        world.market.run_out(empty)
        with pytest.raises(NoCapacity) as caught:
            await world.cloud.launch(wanted)
        assert caught.value.shortages == (empty,)
        assert world.api.calls == ["get"]
        world.market.recover(empty)
        await world.cloud.launch(wanted)

    run(scenario)


# ---- the end


def test_a_draining_node_is_a_machine_that_is_still_there() -> None:
    """A Node that is not ready must be drained like any other; the peer takes it for gone."""

    async def scenario() -> None:
        world = SimWorld()
        instance = await world.cloud.launch(order(world))
        world.api.finalize(NAME)
        await world.api.delete(NAME, world.api.held[NAME].meta.uid)
        assert (await world.cloud.get(instance.provider_id)).leaving
        with pytest.raises(NotFound):
            await world.cloud.terminate(launched(order(world).claim, instance))
        with pytest.raises(NotFound):
            await world.cloud.get(instance.provider_id)
        assert await world.cloud.instances() == ()
        assert NAME in world.api.held  # until its finalizer is taken off

    run(scenario)


def test_a_machine_takes_as_long_to_go_as_it_is_told_to() -> None:
    async def scenario() -> None:
        clock = Clock()
        world = SimWorld(habits=replace(clock.habits, shutdown=30.0))
        bought = launched(order(world).claim, await world.cloud.launch(order(world)))
        world.api.finalize(NAME)
        await world.cloud.terminate(bought)
        await clock.forward(29.0)
        await world.cloud.terminate(bought)
        assert [one.leaving for one in await world.cloud.instances()] == [True]
        await clock.forward(1.0)
        with pytest.raises(NotFound):
            await world.cloud.terminate(bought)
        assert await world.cloud.instances() == ()

    run(scenario)


def test_machines_of_the_kwok_provider_itself_are_known_and_returned() -> None:
    """Whoever changes over keeps the nodes there are, and the provider names them otherwise."""

    async def scenario() -> None:
        world = SimWorld()
        told = {labels.HOSTNAME: NAME, labels.NODEPOOL: "general", "kwok-partition": "a"}
        node = {"metadata": {"name": "happy-bell-7", "labels": told}, "spec": {"providerID": "kwok://happy-bell-7"}}
        await world.api.create(node)
        (seen,) = await world.cloud.instances()
        assert (seen.claim, seen.pool) == (NAME, "general")
        with pytest.raises(NotFound):
            await world.cloud.terminate(claim(world, provider_id="kwok://happy-bell-7"))
        assert not world.api.held

    run(scenario)


def test_a_restart_that_was_made_is_not_written_again() -> None:
    async def scenario() -> None:
        world = SimWorld()
        bought = launched(order(world).claim, await world.cloud.launch(order(world)))
        for _ in range(2):
            await world.cloud.reboot(bought, "uid-1-boot")
        assert world.api.calls.count("set_boot_id") == 1
        assert world.api.held[NAME].boot_id == "kwok-uid-1-boot"

    run(scenario)


def test_nothing_is_remembered_of_machines_that_are_gone() -> None:
    async def scenario() -> None:
        world = SimWorld()
        cloud = world.cloud
        assert isinstance(cloud, SimCloud)
        for number in range(3):
            await cloud.launch(order(world, f"m-{number}"))
            with pytest.raises(NotFound):
                await cloud.terminate(claim(world, f"m-{number}"))
        await cloud.instances()
        held = (cloud._gone_at, cloud._promised, cloud._held_back, cloud.market.ledger, cloud._turns)
        assert [len(one) for one in held] == [0] * 5

    run(scenario)


def test_a_notice_of_interruption_is_heard() -> None:
    world = SimWorld(habits=Clock().habits)
    assert isinstance(world.cloud, SimCloud)
    heard: list[Any] = []
    world.cloud.on_notice(heard.append)
    world.cloud.interrupt("kwok://a", 120.0)
    assert [(one.provider_id, one.kind, one.ends) for one in heard] == [("kwok://a", "spot_interrupted", 1_000_120.0)]
