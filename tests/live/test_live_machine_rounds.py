"""Many machines that run are asked about together: one that is taken away is noticed within a round, whatever its Node
says, and nobody is given up on for being left out of a list (R10, R12, R39)."""

from __future__ import annotations

import pytest
from tests.live.live_machines import LiveMachines
from tests.live.test_live_cluster_api import live, status

from dovetail.api import kinds
from dovetail.clouds import port
from dovetail.clouds.sim.machines import FIND, ROLL_CALL, Fault
from dovetail.controllers.cluster_api import rounds
from dovetail.core import timestamps
from dovetail.core.machines import sets
from dovetail.core.machines.effects import Step

COUNT = 4


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "FEWEST", COUNT - 1)


async def at_rest(one: LiveMachines) -> list[str]:
    """Machines that run, with Nodes that stay as they are whatever becomes of them."""
    one.workers(COUNT, spot={})
    await one.until(lambda: one.running() == COUNT)
    await one.settle(120)
    one.tick = 1e9
    await one.settle(2)
    one.cloud.calls.clear()
    return one.machines()


def failed(one: LiveMachines, name: str) -> bool:
    return "failureReason" in status(one.get(kinds.AWS_MACHINES, name))


def looks(one: LiveMachines) -> list[str]:
    return [name for call, name in one.cloud.calls if call == FIND]


def test_machines_at_rest_cost_one_call_a_round_and_no_looks_and_no_writes():
    async def scenario(one: LiveMachines) -> None:
        names = await at_rest(one)
        before = [one.get(kinds.AWS_MACHINES, name) for name in names]
        await one.settle(10 * rounds.ROUND_SECONDS)
        assert {call for call, _ in one.cloud.calls} == {ROLL_CALL}
        assert 9 <= len(one.cloud.calls) <= 11
        assert [one.get(kinds.AWS_MACHINES, name) for name in names] == before

    live(scenario)


def test_R10_one_that_is_taken_away_is_noticed_within_a_round_though_its_node_looks_well():
    async def scenario(one: LiveMachines) -> None:
        first, second, *_ = await at_rest(one)
        one.cloud.take_away(first)
        one.cloud.forget(second)
        await one.until(lambda: failed(one, first) and failed(one, second), rounds.ROUND_SECONDS + 5)
        assert set(looks(one)) == {first, second}
        assert one.cloud.made == COUNT

    live(scenario)


def test_one_whose_node_falls_silent_is_looked_at_at_once():
    async def scenario(one: LiveMachines) -> None:
        first, *_ = await at_rest(one)
        one.cloud.take_away(first)
        one._tell(f"node-{first}", "Unknown")
        await one.until(lambda: failed(one, first), 5)
        assert set(looks(one)) == {first}

    live(scenario)


def test_R10_one_that_lists_leave_out_is_looked_at_and_stays():
    async def scenario(one: LiveMachines) -> None:
        first, *_ = await at_rest(one)
        before = one.get(kinds.AWS_MACHINES, first)
        one.cloud.unlisted = {before["spec"]["providerID"]}
        await one.settle(5 * rounds.ROUND_SECONDS)
        assert set(looks(one)) == {first}
        assert one.get(kinds.AWS_MACHINES, first) == before

    live(scenario)


def test_R10_R39_without_lists_nobody_is_given_up_on_and_machines_are_looked_at_one_by_one():
    async def scenario(one: LiveMachines) -> None:
        first, *_ = names = await at_rest(one)
        gone = port.Unavailable("the list broke off")
        one.cloud.fail(*(Fault(ROLL_CALL, gone) for _ in range(20)))
        await one.settle((rounds.PATIENCE + 2) * rounds.ROUND_SECONDS)
        assert set(looks(one)) == set(names)
        assert not any(failed(one, name) for name in names)
        one.cloud.take_away(first)
        await one.until(lambda: failed(one, first), 60)
        # Told of once for each list that was not to be had, and to nobody else.
        assert {problem.partition(":")[0] for problem in one.problems} == {"rounds on aws"}
        one.problems.clear()

    live(scenario)


def test_R12_a_few_that_are_left_have_looks_of_their_own_again():
    async def scenario(one: LiveMachines) -> None:
        await at_rest(one)
        one.tick = 1.0
        one.scale(1)
        await one.until(lambda: len(one.machines()) == 1, 300)
        await one.settle(120)
        (name,) = one.machines()
        one.cloud.calls.clear()
        await one.settle(300)
        assert set(one.cloud.calls) == {(FIND, name)}
        assert 9 <= len(looks(one)) <= 11

    live(scenario)


def test_what_a_kubelet_says_again_concerns_nobody(monkeypatch: pytest.MonkeyPatch):
    """Of a thousand kubelets one says so every moment; a look at a set is a look at all its machines."""
    looked: list[str] = []
    advance = sets.advance

    def noted(seen: sets.Seen, now: float) -> Step:
        looked.append(seen.of.name)
        return advance(seen, now)

    async def scenario(one: LiveMachines) -> None:
        first, *_ = await at_rest(one)
        monkeypatch.setattr(sets, "advance", noted)
        held = one.get(kinds.NODES, f"node-{first}")["status"]["conditions"]
        for number in range(5):
            beat = [{**each, "lastHeartbeatTime": timestamps.text(one.world.now() + number)} for each in held]
            one.edit(kinds.NODES, f"node-{first}", {"status": {"conditions": beat}}, subresource="status")
            await one.settle(5)
        assert looked == []
        one._tell(f"node-{first}", "Unknown")
        await one.until(lambda: looked, 10)

    live(scenario)
