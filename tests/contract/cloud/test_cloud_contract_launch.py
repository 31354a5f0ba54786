"""Buying, as every cloud must do it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.contract.cloud.worlds import World, order

from dovetail.clouds.port import Misconfigured, NoCapacity, Throttled
from dovetail.core import labels
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.instances import Instance, Option


def bought_by(instance: Instance, options: tuple[Option, ...]) -> Option:
    """The option that a machine says it was bought by."""
    (found,) = [
        one
        for one in options
        if instance.labels[labels.INSTANCE_TYPE] == one.instance_type.name
        and instance.labels[labels.ZONE] == one.offering.zone
        and instance.labels[labels.CAPACITY_TYPE] == one.offering.capacity_type
    ]
    return found


def test_the_first_option_that_can_be_had_is_bought(world: World) -> None:
    async def scenario() -> None:
        wanted = order(world)
        instance = await world.cloud.launch(wanted)
        assert bought_by(instance, wanted.options) == wanted.options[0]
        assert (instance.claim, instance.pool) == (wanted.claim.name, "general")
        assert instance.provider_id
        assert not instance.missed

    asyncio.run(scenario())


def test_the_labels_of_a_machine_meet_its_claim_and_its_offering(world: World) -> None:
    async def scenario() -> None:
        wanted = order(world, wanted={labels.CAPACITY_TYPE: labels.ON_DEMAND})
        instance = await world.cloud.launch(wanted)
        option = bought_by(instance, wanted.options)
        for asked in (wanted.claim.requirements, option.instance_type.requirements, option.offering.requirements):
            for one in asked:
                value = instance.labels.get(one.key)
                assert one.absent if value is None else one.admits(value), one

    asyncio.run(scenario())


def test_a_machine_is_as_large_as_the_catalog_says(world: World) -> None:
    async def scenario() -> None:
        wanted = order(world)
        instance = await world.cloud.launch(wanted)
        kind = bought_by(instance, wanted.options).instance_type
        assert instance.capacity == kind.capacity
        assert instance.allocatable == kind.allocatable

    asyncio.run(scenario())


def test_the_same_order_again_is_the_same_machine(world: World) -> None:
    async def scenario() -> None:
        first = await world.cloud.launch(order(world))
        again = await world.cloud.launch(order(world))
        assert again.provider_id == first.provider_id
        assert again.labels == first.labels
        assert len(await world.cloud.instances()) == 1

    asyncio.run(scenario())


def test_the_same_order_of_a_second_process_is_the_same_machine(world: World) -> None:
    async def scenario() -> None:
        first = await world.cloud.launch(order(world))
        again = await world.another().launch(order(world))
        assert again.provider_id == first.provider_id
        assert len(await world.cloud.instances()) == 1

    asyncio.run(scenario())


def test_the_same_order_with_other_options_is_still_the_same_machine(world: World) -> None:
    """Prices moved, and the process died before it wrote down what it bought."""

    async def scenario() -> None:
        first = await world.cloud.launch(order(world))
        spoiled = order(world, wanted={labels.CAPACITY_TYPE: labels.ON_DEMAND})
        again = await world.another().launch(spoiled)
        assert (again.provider_id, again.labels) == (first.provider_id, first.labels)

    asyncio.run(scenario())


def test_the_same_order_is_the_same_machine_even_when_all_is_sold_out_since(world: World) -> None:
    async def scenario() -> None:
        wanted = order(world)
        first = await world.cloud.launch(wanted)
        world.sell_out(wanted.options)
        assert (await world.another().launch(wanted)).provider_id == first.provider_id

    asyncio.run(scenario())


def test_many_launches_of_one_order_at_once_buy_one_machine(world: World) -> None:
    async def scenario() -> None:
        second = world.another()
        calls = [cloud.launch(order(world)) for cloud in (world.cloud, second) * 4]
        found = await asyncio.gather(*calls)
        assert len({one.provider_id for one in found}) == 1
        assert len({tuple(sorted(one.labels.items())) for one in found}) == 1
        assert len(await world.cloud.instances()) == 1

    asyncio.run(scenario())


def test_two_orders_are_two_machines(world: World) -> None:
    async def scenario() -> None:
        a, b = await asyncio.gather(*(world.cloud.launch(order(world, name)) for name in ("a", "b")))
        assert a.provider_id != b.provider_id
        assert len(await world.cloud.instances()) == 2

    asyncio.run(scenario())


def test_an_option_that_is_sold_out_is_passed_over_and_named(world: World) -> None:
    async def scenario() -> None:
        wanted = order(world)
        world.sell_out(wanted.options[:2])
        instance = await world.cloud.launch(wanted)
        assert bought_by(instance, wanted.options) == wanted.options[2]
        for option in wanted.options[:2]:
            assert any(_names(one, option) for one in instance.missed)
        assert not any(_names(one, wanted.options[2]) for one in instance.missed)

    asyncio.run(scenario())


def test_when_nothing_can_be_had_every_shortage_is_named(world: World) -> None:
    async def scenario() -> None:
        wanted = order(world)
        world.sell_out(wanted.options)
        with pytest.raises(NoCapacity) as caught:
            await world.cloud.launch(wanted)
        for option in wanted.options:
            assert any(_names(one, option) for one in caught.value.shortages)
        assert await world.cloud.instances() == ()

    asyncio.run(scenario())


def test_an_order_that_nothing_fills_buys_nothing_and_finds_what_it_bought_before(world: World) -> None:
    async def scenario() -> None:
        with pytest.raises(NoCapacity):
            await world.cloud.launch(replace(order(world), options=()))
        assert await world.cloud.instances() == ()
        first = await world.cloud.launch(order(world))
        second = world.another()
        second.resume([order(world).claim])
        for cloud in (world.cloud, second):
            assert (await cloud.launch(replace(order(world), options=()))).provider_id == first.provider_id

    asyncio.run(scenario())


def _names(one: Shortage, option: Option) -> bool:
    return one.names_type(option.instance_type.spec.hardware) and one.names_row(option.offering)


def test_a_node_class_that_is_not_ready_is_for_a_person(world: World) -> None:
    async def scenario() -> None:
        world.break_class()
        with pytest.raises(Misconfigured, match="its subnets are gone"):
            await world.cloud.launch(order(world))
        assert await world.cloud.instances() == ()

    asyncio.run(scenario())


def test_a_node_class_that_is_gone_has_nothing_to_sell(world: World) -> None:
    async def scenario() -> None:
        world.remove_class()
        with pytest.raises(NoCapacity, match="default"):
            await world.cloud.launch(order(world))

    asyncio.run(scenario())


def test_a_throttled_launch_says_how_long_to_wait_and_may_be_made_again(world: World) -> None:
    async def scenario() -> None:
        world.throttle()
        with pytest.raises(Throttled) as caught:
            await world.cloud.launch(order(world))
        assert caught.value.wait > 0
        await world.cloud.launch(order(world))
        assert len(await world.cloud.instances()) == 1

    asyncio.run(scenario())
