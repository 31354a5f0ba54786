"""The rounds: many machines are asked about together, and nothing follows from a list but a closer look (R10)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace

import pytest
from tests.core.machines import machine_world as world

from dovetail.clouds.machines import Sought
from dovetail.clouds.port import CloudError, Misconfigured, Throttled, Unavailable
from dovetail.clouds.sim.machines import SimMachines
from dovetail.controllers.cluster_api.rounds import (
    AUDIT_SECONDS,
    FEWEST,
    LOOKS_A_SECOND,
    PATIENCE,
    ROUND_SECONDS,
    Rounds,
    is_at_rest,
)
from dovetail.core.machines.objects import Failure

MANY = 300


class Roll(SimMachines):
    """A cloud whose list is what the test says."""

    def __init__(self) -> None:
        super().__init__("aws", lambda: 0.0)
        self.absent: set[str] = set()
        self.error: CloudError | None = None
        self.called = 0

    async def roll_call(self, fleet: Collection[Sought]) -> frozenset[str]:
        self.called += 1
        if self.error is not None:
            raise self.error
        return frozenset(one.provider_id for one in fleet) - self.absent


class Tower:
    """Rounds of so many machines, and who was woken when."""

    def __init__(self, count: int = MANY) -> None:
        self.cloud, self.count = Roll(), count
        self.woken: list[tuple[int, float]] = []
        self.problems: list[Exception] = []
        self.rounds: Rounds[int] = Rounds(
            self.cloud, self.fleet, lambda key, after: self.woken.append((key, after)), self.problems.append
        )

    def fleet(self) -> dict[int, Sought]:
        return {number: Sought(f"m-{number}", "c", "t", f"id-{number}") for number in range(self.count)}

    def turn(self) -> float:
        self.woken.clear()
        return asyncio.run(self.rounds.turn())


def test_while_everybody_answers_nobody_is_looked_at():
    tower = Tower()
    assert [tower.turn() for _ in range(3)] == [ROUND_SECONDS] * 3
    assert tower.woken == []
    assert tower.cloud.called == 3


def test_R10_who_does_not_answer_is_looked_at_at_once():
    tower = Tower()
    tower.turn()
    tower.cloud.absent = {"id-7", "id-9"}
    tower.turn()
    assert tower.woken == [(7, 0.0), (9, 0.0)]


def test_who_was_only_left_out_once_is_not_looked_at_again():
    tower = Tower()
    tower.cloud.absent = {"id-7"}
    tower.turn()
    tower.cloud.absent = set()
    tower.turn()
    assert tower.woken == []


def test_who_is_left_out_for_ever_keeps_nobody_new_waiting_and_is_looked_at_in_turn():
    tower = Tower(1000)
    tower.cloud.absent = {f"id-{number}" for number in range(500)}
    tower.turn()
    assert {after for _, after in tower.woken} == {0.0}
    looked: list[int] = []
    for _ in range(6):
        tower.turn()
        assert len(tower.woken) <= LOOKS_A_SECOND * ROUND_SECONDS
        assert max(after for _, after in tower.woken) < ROUND_SECONDS
        looked += [key for key, _ in tower.woken]
    assert set(looked) == set(range(500))
    tower.cloud.absent |= {"id-900"}
    tower.turn()
    assert tower.woken[0] == (900, 0.0)


@pytest.mark.parametrize("error", [Unavailable("half a list"), Misconfigured("may not ask")])
def test_R10_a_list_that_was_not_to_be_had_says_nothing_about_anybody(error: CloudError):
    tower = Tower()
    tower.turn()
    tower.cloud.error = error
    for _ in range(PATIENCE - 1):
        assert tower.turn() == ROUND_SECONDS
        assert tower.woken == []
    assert tower.problems == [error] * (PATIENCE - 1)


def test_after_a_few_that_came_to_nothing_machines_are_looked_at_one_by_one_once_and_at_their_own_pace_from_then_on():
    tower = Tower()
    tower.turn()
    tower.cloud.error = Unavailable("no")
    for _ in range(PATIENCE):
        tower.turn()
    assert [key for key, _ in tower.woken] == list(range(MANY))
    assert tower.woken[-1][1] == pytest.approx(MANY / LOOKS_A_SECOND, abs=1)
    assert tower.rounds.pace("m-1", MANY) == MANY / LOOKS_A_SECOND
    tower.turn()
    assert tower.woken == []
    tower.cloud.error = None
    tower.turn()
    assert tower.rounds.pace("m-1", MANY) >= AUDIT_SECONDS / 2


def test_who_asked_too_often_waits_as_long_as_he_is_told():
    tower = Tower()
    tower.cloud.error = Throttled("slow", 90.0)
    assert tower.turn() == 90.0
    tower.cloud.error = Throttled("slow", 1.0)
    assert tower.turn() == ROUND_SECONDS


def test_few_machines_have_no_rounds_and_those_who_become_few_are_looked_at_again():
    tower = Tower(FEWEST - 1)
    tower.turn()
    assert tower.cloud.called == 0
    assert tower.rounds.pace("m-1", tower.count) < ROUND_SECONDS
    tower.count = FEWEST
    tower.turn()
    assert tower.cloud.called == 1
    tower.count = FEWEST - 1
    tower.turn()
    assert [key for key, _ in tower.woken] == list(range(FEWEST - 1))
    tower.turn()
    assert tower.woken == []


def test_those_who_were_made_together_are_not_looked_at_together():
    tower = Tower()
    tower.turn()
    paces = [tower.rounds.pace(f"m-{number}", MANY) for number in range(MANY)]
    assert all(AUDIT_SECONDS / 2 <= one <= AUDIT_SECONDS for one in paces)
    tenth = AUDIT_SECONDS / 20
    busiest = max(sum(at <= one < at + tenth for one in paces) for at in paces)
    assert busiest < MANY / 4


def test_only_machines_that_run_and_are_to_stay_are_on_the_roll():
    up = replace(world.infra(), provider_id="aws:///a/i-1", ready=True, provisioned=True)
    assert is_at_rest(up)
    assert not is_at_rest(replace(up, provider_id=""))
    assert not is_at_rest(replace(up, ready=False))
    assert not is_at_rest(replace(up, failure=Failure("UpdateError", "gone")))
    assert not is_at_rest(replace(up, meta=replace(up.meta, deleting=1.0)))
