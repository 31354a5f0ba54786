"""Calling the roll of many machines: every cloud says who certainly runs, and nothing about the others (R10)."""

from __future__ import annotations

import contextlib

import pytest
from tests.contract.machines.test_machines_contract import BOOT, WORLDS, order, sought
from tests.contract.machines.worlds import World, simulated

from dovetail.clouds import port
from dovetail.clouds.machines import Machines, Sought, Underway
from dovetail.core.machines.infra_objects import State


@pytest.fixture
def sim() -> World:
    return simulated()


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    found: World = request.getfixturevalue(request.param)
    return found


async def running(cloud: Machines, world: World, name: str) -> Sought:
    """One that was seen to run."""
    made = None
    while made is None:
        with contextlib.suppress(Underway):
            made = await cloud.create(order(world, name), BOOT)
    found = await cloud.find(sought(name, made.provider_id))
    assert found.state is State.RUNNING
    return sought(name, found.provider_id)


def test_those_who_run_answer_and_nobody_else_does(world: World):
    async def scenario(cloud: Machines) -> None:
        first, second = [await running(cloud, world, name) for name in ("a", "b")]
        assert await cloud.roll_call((first, second)) == {first.provider_id, second.provider_id}
        assert await cloud.roll_call((second,)) == {second.provider_id}
        assert await cloud.roll_call(()) == frozenset()

    world.run(scenario)


def test_R10_one_that_was_removed_does_not_answer_any_more(world: World):
    async def scenario(cloud: Machines) -> None:
        first, second = [await running(cloud, world, name) for name in ("a", "b")]
        for _ in range(20):
            with contextlib.suppress(port.NotFound):
                await cloud.delete(first)
        assert await cloud.roll_call((first, second)) <= {second.provider_id}

    world.run(scenario)


def test_without_an_id_nobody_answers(world: World):
    async def scenario(cloud: Machines) -> None:
        await running(cloud, world, "a")
        assert await cloud.roll_call((sought("a"),)) == frozenset()

    world.run(scenario)
