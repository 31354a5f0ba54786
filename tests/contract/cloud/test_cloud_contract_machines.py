"""Machines that were bought: looked at, restarted, returned."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.contract.cloud.worlds import World, claim, order, returned

from dovetail.clouds.port import CloudError, NotFound, Throttled
from dovetail.core.conditions import Condition, Status
from dovetail.core.instances import Instance
from dovetail.core.nodeclaims import REGISTERED, NodeClaim


def registered(world: World, instance: Instance) -> NodeClaim:
    one = claim(world, instance.claim, provider_id=instance.provider_id)
    return replace(one, conditions=(Condition(REGISTERED, Status.TRUE),))


def test_one_and_all_agree(world: World) -> None:
    async def scenario() -> None:
        made = [await world.cloud.launch(order(world, name)) for name in ("a", "b")]
        listed = {one.provider_id: one for one in await world.cloud.instances()}
        assert listed.keys() == {one.provider_id for one in made}
        for one in made:
            assert await world.cloud.get(one.provider_id) == listed[one.provider_id]
            assert (listed[one.provider_id].claim, listed[one.provider_id].labels) == (one.claim, one.labels)

    asyncio.run(scenario())


def test_a_second_process_sees_the_machines_of_the_first(world: World) -> None:
    async def scenario() -> None:
        made = await world.cloud.launch(order(world))
        (seen,) = await world.another().instances()
        assert (seen.provider_id, seen.claim) == (made.provider_id, made.claim)

    asyncio.run(scenario())


def test_an_id_nobody_has_is_not_found(world: World) -> None:
    async def scenario() -> None:
        made = await world.cloud.launch(order(world))
        for wrong in (f"{made.provider_id}-x", "", "nonsense"):
            with pytest.raises(NotFound):
                await world.cloud.get(wrong)

    asyncio.run(scenario())


def test_a_returned_machine_is_gone_from_every_answer(world: World) -> None:
    async def scenario() -> None:
        kept = await world.cloud.launch(order(world, "kept"))
        made = await world.cloud.launch(order(world))
        await returned(world.cloud, registered(world, made))
        with pytest.raises(NotFound):
            await world.cloud.get(made.provider_id)
        assert [one.provider_id for one in await world.cloud.instances() if not one.leaving] == [kept.provider_id]

    asyncio.run(scenario())


def test_a_machine_that_is_gone_is_not_found_however_often_it_is_returned(world: World) -> None:
    async def scenario() -> None:
        made = await world.cloud.launch(order(world))
        await returned(world.cloud, registered(world, made))
        for _ in range(2):
            with pytest.raises(NotFound):
                await world.cloud.terminate(registered(world, made))

    asyncio.run(scenario())


def test_a_machine_can_be_returned_by_its_claims_name_alone(world: World) -> None:
    """Whoever bought it died before writing down what it is called."""

    async def scenario() -> None:
        made = await world.cloud.launch(order(world))
        await returned(world.another(), claim(world))
        with pytest.raises(NotFound):
            await world.another().get(made.provider_id)

    asyncio.run(scenario())


def test_returning_what_was_never_bought_is_not_found(world: World) -> None:
    async def scenario() -> None:
        with pytest.raises(NotFound):
            await world.cloud.terminate(claim(world))

    asyncio.run(scenario())


def test_a_machine_returned_many_times_at_once_is_returned_once(world: World) -> None:
    async def scenario() -> None:
        made = await world.cloud.launch(order(world))
        ended = registered(world, made)
        answers = await asyncio.gather(*(world.cloud.terminate(ended) for _ in range(4)), return_exceptions=True)
        assert all(one is None or isinstance(one, NotFound) for one in answers)
        await returned(world.cloud, ended)

    asyncio.run(scenario())


def test_machines_of_others_are_neither_seen_nor_touched(world: World) -> None:
    async def scenario() -> None:
        foreign = await world.foreign("general-a1b2c")
        assert await world.cloud.instances() == ()
        with pytest.raises(NotFound):
            await world.cloud.terminate(claim(world))
        with pytest.raises(NotFound):
            await world.cloud.get(foreign)
        assert await world.foreign("general-a1b2c") == foreign

    asyncio.run(scenario())


def test_a_throttled_return_leaves_the_machine_to_be_returned_later(world: World) -> None:
    async def scenario() -> None:
        made = await world.cloud.launch(order(world))
        world.throttle()
        with pytest.raises(Throttled):
            await world.cloud.terminate(registered(world, made))
        assert (await world.cloud.get(made.provider_id)).provider_id == made.provider_id
        await returned(world.cloud, registered(world, made))

    asyncio.run(scenario())


def test_a_restart_is_made_once_for_each_operation(world: World) -> None:
    """Or never, where machines are only ever replaced (R12): then no policy asks for it, and asking is refused."""

    async def scenario() -> None:
        made = await world.cloud.launch(order(world))
        if not getattr(world, "restarts", True):
            assert "RebootNode" not in {one.action for one in world.cloud.repair_policies}
            before = await world.boots(made)
            with pytest.raises(CloudError, match="cannot be restarted"):
                await world.cloud.reboot(registered(world, made), "one")
            assert await world.boots(made) == before
            return
        seen = [await world.boots(made)]
        for operation in ("one", "one", "two"):
            await world.cloud.reboot(registered(world, made), operation)
            seen.append(await world.boots(made))
        before, first, again, second = seen
        assert before != first == again != second

    asyncio.run(scenario())


def test_a_machine_that_is_not_there_cannot_be_restarted(world: World) -> None:
    async def scenario() -> None:
        with pytest.raises(NotFound):
            await world.cloud.reboot(claim(world, provider_id="kwok://general-a1b2c"), "one")

    asyncio.run(scenario())


def test_policies_of_repair_are_such_as_repair_accepts(world: World) -> None:
    """`newest` §3.1: statuses and actions that exist, and exactly one fallback, which replaces."""
    policies = world.cloud.repair_policies
    assert {one.status for one in policies} <= {"True", "False", "Unknown"}
    assert {one.action for one in policies} <= {"ReplaceNode", "RebootNode"}
    assert all(one.toleration_seconds >= 0 and (one.grace_seconds or 0) >= 0 for one in policies)
    assert [one.action for one in policies if not one.reason_regex] == ["ReplaceNode"]
