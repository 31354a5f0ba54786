"""Chaos on request: each fault does what it says, and no more."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import Any

import pytest
from tests.contract.cloud.sim_worlds import SimWorld
from tests.contract.cloud.virtual_time import Clock, run
from tests.contract.cloud.worlds import claim, order

from dovetail.clouds.port import NoCapacity, NotFound, Throttled, Unavailable
from dovetail.clouds.sim.chaos import ChaosCloud, Surroundings
from dovetail.clouds.sim.faults import (
    LAUNCH,
    TERMINATE,
    Dice,
    Dies,
    Entry,
    Interrupted,
    JoinsLate,
    LostAnswer,
    OutOfStock,
    Script,
    Sickens,
    Throttle,
    TimeOut,
    Twice,
)

NAME = "general-a1b2c"
ID = f"kwok://{NAME}"


class Kubelet:
    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def silence(self, provider_id: str) -> None:
        self.told.append(("silence", provider_id))

    def sicken(self, provider_id: str) -> None:
        self.told.append(("sicken", provider_id))

    def heal(self, provider_id: str) -> None:
        self.told.append(("heal", provider_id))


class Bad:
    """A simulated cloud on a bad day."""

    def __init__(self, *entries: Entry) -> None:
        self.clock, self.kubelet = Clock(), Kubelet()
        self.world = SimWorld(habits=self.clock.habits)
        around = Surroundings(self.kubelet, lambda: self.clock.now, self.clock.sleep)
        self.script = Script(entries)
        self.cloud = ChaosCloud(self.world.cloud, self.script, around)

    @property
    def nodes(self) -> list[str]:
        return list(self.world.api.held)


@pytest.mark.parametrize(("fault", "error"), [(Throttle(3.0), Throttled), (TimeOut(), Unavailable)])
def test_a_call_refused_or_unanswered_did_nothing(fault: Any, error: type[Exception]) -> None:
    async def scenario() -> None:
        bad = Bad(Entry(LAUNCH, fault))
        with pytest.raises(error):
            await bad.cloud.launch(order(bad.world))
        assert not bad.nodes
        await bad.cloud.launch(order(bad.world))
        assert bad.nodes == [NAME]

    run(scenario)


def test_an_answer_that_is_lost_was_given() -> None:
    async def scenario() -> None:
        bad = Bad(Entry(LAUNCH, LostAnswer()), Entry(TERMINATE, LostAnswer()))
        with pytest.raises(Unavailable):
            await bad.cloud.launch(order(bad.world))
        assert bad.nodes == [NAME]
        assert (await bad.cloud.launch(order(bad.world))).provider_id == ID
        with pytest.raises(Unavailable):
            await bad.cloud.terminate(claim(bad.world))
        assert not bad.nodes
        with pytest.raises(NotFound):
            await bad.cloud.terminate(claim(bad.world))

    run(scenario)


def test_a_call_that_arrives_twice_buys_once() -> None:
    async def scenario() -> None:
        bad = Bad(Entry(LAUNCH, Twice()), Entry(TERMINATE, Twice()))
        await bad.cloud.launch(order(bad.world))
        assert len(bad.world.api.calls) == 2
        assert bad.nodes == [NAME]
        with pytest.raises(NotFound):
            await bad.cloud.terminate(claim(bad.world))

    run(scenario)


def test_what_is_out_of_stock_is_named_and_the_rest_is_bought() -> None:
    async def scenario() -> None:
        bad = Bad(Entry(LAUNCH, OutOfStock(2)), Entry(LAUNCH, OutOfStock()))
        wanted = order(bad.world)
        instance = await bad.cloud.launch(wanted)
        assert len(instance.missed) == 2
        assert instance.labels["topology.kubernetes.io/zone"] == wanted.options[2].offering.zone
        with pytest.raises(NoCapacity) as caught:
            await bad.cloud.launch(order(bad.world, "other"))
        assert len(caught.value.shortages) == 5

    run(scenario)


def test_a_machine_joins_late_or_never() -> None:
    async def scenario() -> None:
        bad = Bad(Entry(LAUNCH, JoinsLate(60.0), "late"), Entry(LAUNCH, JoinsLate(), "never"))
        await bad.cloud.launch(order(bad.world, "late"))
        await bad.cloud.launch(order(bad.world, "never"))
        assert not bad.nodes
        await bad.clock.forward(60.0)
        assert bad.nodes == ["late"]
        await bad.clock.forward(1e6)
        assert bad.nodes == ["late"]
        assert len(await bad.cloud.instances()) == 2

    run(scenario)


def test_a_cloud_whose_machines_cannot_be_held_back_says_so() -> None:
    async def scenario() -> None:
        bad = Bad()
        plan = Script([Entry(LAUNCH, JoinsLate())])
        with pytest.raises(TypeError, match="cannot be made to join late"):
            await ChaosCloud(bad.cloud, plan).launch(order(bad.world))

    run(scenario)


def test_a_machine_that_died_is_gone_from_every_answer_and_its_node_is_not() -> None:
    async def scenario() -> None:
        bad = Bad(Entry(LAUNCH, Dies(30.0)))
        await bad.cloud.launch(order(bad.world))
        await bad.clock.forward(29.0)
        assert len(await bad.cloud.instances()) == 1
        await bad.clock.forward(1.0)
        assert await bad.cloud.instances() == ()
        with pytest.raises(NotFound):
            await bad.cloud.get(ID)
        assert bad.kubelet.told == [("silence", ID)]
        assert bad.nodes == [NAME]
        with pytest.raises(NotFound):
            await bad.cloud.terminate(claim(bad.world))
        assert not bad.nodes
        await bad.cloud.instances()
        assert not bad.cloud._dead

    run(scenario)


def test_a_machine_falls_sick_and_gets_well() -> None:
    async def scenario() -> None:
        bad = Bad(Entry(LAUNCH, Sickens(10.0, 20.0)))
        await bad.cloud.launch(order(bad.world))
        await bad.clock.forward(10.0)
        assert bad.kubelet.told == [("sicken", ID)]
        await bad.clock.forward(20.0)
        assert bad.kubelet.told == [("sicken", ID), ("heal", ID)]

    run(scenario)


def test_an_interruption_is_told_of_and_then_comes() -> None:
    async def scenario() -> None:
        bad = Bad(Entry(LAUNCH, Interrupted(10.0, 120.0)))
        heard: list[Any] = []
        bad.cloud.on_notice(heard.append)
        await bad.cloud.launch(order(bad.world))
        await bad.clock.forward(10.0)
        assert [(one.provider_id, one.ends - bad.clock.now) for one in heard] == [(ID, 120.0)]
        await bad.clock.forward(119.0)
        assert len(await bad.cloud.instances()) == 1
        await bad.clock.forward(1.0)
        assert await bad.cloud.instances() == ()

    run(scenario)


def test_nothing_more_happens_after_the_close() -> None:
    async def scenario() -> None:
        bad = Bad(Entry(LAUNCH, Dies(30.0)))
        await bad.cloud.launch(order(bad.world))
        bad.cloud.close()
        await bad.clock.forward(60.0)
        assert len(await bad.cloud.instances()) == 1

    run(scenario)


def test_a_script_hands_out_each_fault_once_to_whom_it_names() -> None:
    script = Script([Entry(LAUNCH, Twice(), "b")])
    script.add(LAUNCH, Throttle())
    assert script.faults(TERMINATE, "b") == ()
    assert script.faults(LAUNCH, "a") == (Throttle(),)
    assert script.faults(LAUNCH, "b") == (Twice(),)
    assert script.faults(LAUNCH, "b") == ()
    assert script.left == ()


def test_dice_roll_the_same_for_the_same_seed_in_whatever_order_calls_come() -> None:
    names = [f"claim-{number}" for number in range(300)]

    def rolled(seed: int, order: list[str]) -> dict[str, Any]:
        dice = Dice(seed, {Throttle(): 0.3, Dies(): 0.1})
        return {name: (dice.faults(LAUNCH, name), dice.faults(LAUNCH, name)) for name in order}

    first = rolled(7, names)
    assert first == rolled(7, names[::-1])
    assert first != rolled(8, names)
    throttled = sum(Throttle() in one for pair in first.values() for one in pair)
    assert math.isclose(throttled / 600, 0.3, abs_tol=0.08)
    assert any(first[name][0] != first[name][1] for name in names)


def test_dice_trouble_machines_only_where_they_are_launched_and_stop_when_told() -> None:
    dice = Dice(1, {Dies(): 1.0, OutOfStock(): 1.0, Throttle(): 1.0})
    assert dice.faults(TERMINATE, "a") == (Throttle(),)
    assert len(dice.faults(LAUNCH, "a")) == 3
    dice.on = False
    assert dice.faults(LAUNCH, "a") == ()


def test_a_hundred_orders_on_a_terrible_day_end_with_a_machine_each() -> None:
    """Whatever is refused, lost or said twice: asked again, every order is filled once, and everything is returned."""

    async def until(call: Any) -> None:
        for _ in range(50):
            try:
                await call()
            except (Throttled, Unavailable):
                continue
            except NotFound:
                return
            else:
                return
        raise AssertionError("fifty bad answers in a row")

    async def scenario() -> None:
        world = SimWorld()
        dice = Dice(42, {Throttle(): 0.2, TimeOut(): 0.2, LostAnswer(): 0.3, Twice(): 0.3})
        cloud = ChaosCloud(world.cloud, dice)
        names = [f"m-{number}" for number in range(100)]
        some = order(world)
        orders = [replace(some, claim=claim(world, name)) for name in names]
        await asyncio.gather(*(until(lambda one=one: cloud.launch(one)) for one in orders))
        dice.on = False
        assert sorted(one.claim for one in await cloud.instances()) == sorted(names)
        assert sorted(world.market.ledger) == sorted(names)
        dice.on = True
        await asyncio.gather(*(until(lambda name=name: cloud.terminate(claim(world, name))) for name in names))
        assert not world.api.held
        assert not world.market.ledger

    run(scenario)
