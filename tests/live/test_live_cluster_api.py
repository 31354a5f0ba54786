"""Machines of Cluster API without Cluster API: bought, labelled, taken away, healed, removed (R1, R9–R14, R32–R41)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.live.live_machines import LiveMachines
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.clouds import port
from dovetail.clouds.sim.machines import CREATE, FIND, Fault
from dovetail.controllers.cluster_api import switch
from dovetail.core.errors import BadInput
from dovetail.core.machines import names, sets
from dovetail.core.machines.effects import Step
from dovetail.core.machines.infra_objects import State

Scenario = Callable[[LiveMachines], Awaitable[None]]


def live(scenario: Scenario) -> LiveMachines:
    held: list[LiveMachines] = []

    async def through() -> None:
        async with LiveMachines() as one:
            held.append(one)
            await scenario(one)

    run(through())
    return held[0]


def interruptible(one: LiveMachines) -> list[bool]:
    return [names.INTERRUPTIBLE in node["metadata"].get("labels", {}) for node in one.all(kinds.NODES)]


def status(one: dict[str, Any]) -> dict[str, Any]:
    return one.get("status") or {}


# ------------------------------------------------------------------------------------------------ a life


def test_R1_a_set_of_spot_machines_comes_up_is_labelled_shrinks_and_goes():
    async def scenario(one: LiveMachines) -> None:
        one.workers(3, spot={"maxPrice": "0.10"})
        await one.until(lambda: one.running() == 3)
        await one.until(lambda: interruptible(one) == [True, True, True])
        assert one.cloud.made == 3
        assert all(status(infra)["interruptible"] for infra in one.all(kinds.AWS_MACHINES))
        one.scale(1)
        await one.until(lambda: len(one.machines()) == 1)
        await one.until(lambda: len(one.cloud.running) == 1)
        one.delete(kinds.MACHINE_SETS, "s")
        await one.until(one.is_empty)
        await one.until(lambda: one.cloud.running == ())
        assert one.all(kinds.NODES) == []

    assert live(scenario).cloud.parts == {}


def test_R8_machines_that_did_not_ask_for_spot_are_not_labelled():
    async def scenario(one: LiveMachines) -> None:
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        await one.settle(60)
        assert interruptible(one) == [False]

    live(scenario)


def test_R34_the_label_follows_the_truth():
    async def scenario(one: LiveMachines) -> None:
        one.workers(1, spot={})
        await one.until(lambda: interruptible(one) == [True])
        (node,) = one.all(kinds.NODES)
        name = node["metadata"]["name"]
        one.edit(kinds.NODES, name, {"metadata": {"labels": {names.INTERRUPTIBLE: None}}})
        await one.until(lambda: interruptible(one) == [True])

    live(scenario)


# ------------------------------------------------------------------------------------------------ taken away


def test_R10_R40_a_machine_that_was_taken_away_is_replaced_by_its_set_and_not_by_its_provider():
    async def scenario(one: LiveMachines) -> None:
        one.check()
        one.workers(2, spot={})
        await one.until(lambda: one.running() == 2)
        first, second = one.machines()
        one.cloud.take_away(first)
        await one.until(lambda: first not in one.machines(), 300)
        await one.until(lambda: one.running() == 2)
        assert second in one.machines()
        assert one.cloud.made == 3

    live(scenario)


def test_R12_without_a_health_check_a_machine_that_was_taken_away_stays_as_it_is_and_says_so():
    async def scenario(one: LiveMachines) -> None:
        one.workers(1, spot={})
        await one.until(lambda: one.running() == 1)
        (name,) = one.machines()
        one.cloud.take_away(name)
        await one.until(lambda: one.phases() == ["Failed"])
        one.tick = 600.0
        await one.settle(3600)
        assert (one.machines(), one.cloud.made) == ([name], 1)
        assert status(one.get(kinds.AWS_MACHINES, name))["failureReason"] == "UpdateError"

    live(scenario)


def test_R29_a_deallocated_machine_is_found_reported_and_removed_with_what_it_left():
    async def scenario(one: LiveMachines) -> None:
        one.check()
        one.workers(1, spot={})
        await one.until(lambda: one.running() == 1)
        (name,) = one.machines()
        held = one.cloud.running[0].provider_id
        one.cloud.take_away(name, State.STOPPED, "deallocated")
        await one.until(lambda: name not in one.machines(), 300)
        assert held not in one.cloud.parts

    live(scenario)


def test_R10_an_instance_deleted_in_the_console_is_not_made_again():
    async def scenario(one: LiveMachines) -> None:
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        one.cloud.forget(one.machines()[0])
        await one.until(lambda: one.phases() == ["Failed"], 300)
        assert one.cloud.made == 1

    live(scenario)


# ------------------------------------------------------------------------------------------------ a market with nothing


def test_R3_R4_R38_R41_a_price_below_the_market_for_hours_is_visible_and_backs_off():
    async def scenario(one: LiveMachines) -> None:
        one.cloud.spot_prices["m5.large"] = "0.05"
        one.check()
        one.workers(1, spot={"maxPrice": "0.01"})
        await one.until(lambda: one.phases() == ["Failed"], 600)
        (failed,) = one.all(kinds.MACHINES)
        told = status(failed)["deprecated"]["v1beta1"]
        assert told["failureReason"] == "InsufficientResources"
        assert "below the spot price" in told["failureMessage"]
        one.tick = 600.0
        await one.settle(2 * 3600)
        one.tick = 1.0
        tried = sum(call == CREATE for call, _ in one.cloud.calls)
        # At the base delay of 30 s there would have been well over a hundred.
        assert 9 <= tried <= 40
        assert len(one.machines()) == 1
        one.cloud.spot_prices.clear()
        await one.until(lambda: one.running() == 1, 3600)
        assert one.cloud.made == 1
        (infra,) = one.all(kinds.AWS_MACHINES)
        template = one.get(kinds.AWS_TEMPLATES, "t")["spec"]["template"]["spec"]
        # R3, R4: what the template says and nothing else, whatever the market did.
        assert {key: value for key, value in infra["spec"].items() if key != "providerID"} == template

    live(scenario)


def test_R14_a_machine_that_never_becomes_a_node_is_replaced():
    async def scenario(one: LiveMachines) -> None:
        one.check()
        one.join = False
        one.workers(1)
        await one.until(lambda: one.phases() == ["Provisioned"])
        (first,) = one.machines()
        await one.until(lambda: first not in one.machines(), 900)
        one.join = True
        await one.until(lambda: one.running() == 1)

    live(scenario)


def test_faults_of_the_cloud_pass_and_leave_one_instance():
    async def scenario(one: LiveMachines) -> None:
        one.cloud.fail(
            Fault(FIND, port.Unavailable("no answer")),
            Fault(CREATE, port.Throttled("too many calls", 5.0)),
            Fault(CREATE, port.Unavailable("the answer was lost"), after=True),
        )
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        assert one.cloud.made == 1

    live(scenario)


def test_bootstrap_data_that_comes_late_is_waited_for():
    async def scenario(one: LiveMachines) -> None:
        one.delete(kinds.SECRETS, "boot")
        one.workers(1)
        await one.settle(30)
        assert one.cloud.made == 0
        one.put(kinds.SECRETS, {"metadata": {"name": "boot"}, "data": {"value": "I2Nsb3VkLWNvbmZpZwo="}})
        await one.until(lambda: one.running() == 1)

    live(scenario)


def test_what_a_set_left_half_made_buys_nothing_and_is_removed():
    async def scenario(one: LiveMachines) -> None:
        one.workers(0)
        await one.until(lambda: one.get(kinds.MACHINE_SETS, "s")["metadata"].get("finalizers"))
        owner = {"apiVersion": kinds.MACHINE_SETS.api_version, "kind": "MachineSet", "name": "s", "controller": True}
        owner["uid"] = one.get(kinds.MACHINE_SETS, "s")["metadata"]["uid"]
        about = {"name": "half", "ownerReferences": [owner]}
        one.put(kinds.AWS_MACHINES, {"metadata": about, "spec": {"instanceType": "m5.large"}})
        await one.until(one.is_empty, 300)
        assert one.cloud.calls == []

    live(scenario)


def test_R42_a_node_is_drained_before_its_machine_goes_and_a_hook_holds_it_up():
    async def scenario(one: LiveMachines) -> None:
        one.workers(1)
        await one.until(lambda: one.running() == 1)
        (name,) = one.machines()
        hook = f"{names.PRE_TERMINATE}/backup"
        one.edit(kinds.MACHINES, name, {"metadata": {"annotations": {hook: ""}}})
        one.delete(kinds.MACHINES, name)
        await one.until(lambda: deleting(one, name) == "WaitingForPreTerminateHook")
        assert one.get(kinds.NODES, f"node-{name}")["spec"]["unschedulable"] is True
        assert len(one.cloud.running) >= 1
        one.edit(kinds.MACHINES, name, {"metadata": {"annotations": {hook: None}}})
        await one.until(lambda: name not in one.machines())
        await one.until(lambda: one.running() == 1)

    live(scenario)


def deleting(one: LiveMachines, name: str) -> str:
    held = status(one.get(kinds.MACHINES, name)).get("conditions") or []
    return next((each["reason"] for each in held if each["type"] == names.DELETING), "")


def test_a_machine_at_rest_costs_a_look_at_its_instance_now_and_then_and_no_writes():
    async def scenario(one: LiveMachines) -> None:
        one.check()
        one.workers(1, spot={})
        await one.until(lambda: one.running() == 1)
        await one.settle(60)
        one.cloud.calls.clear()
        (name,) = one.machines()
        before = one.get(kinds.MACHINES, name), one.get(kinds.AWS_MACHINES, name)
        for number in range(10):
            # As a kubelet's heartbeat does.
            one.edit(kinds.NODES, f"node-{name}", {"metadata": {"annotations": {"beat": str(number)}}})
            await one.settle(30)
        assert (one.get(kinds.MACHINES, name), one.get(kinds.AWS_MACHINES, name)) == before
        assert 9 <= len(one.cloud.calls) <= 11

    live(scenario)


def test_a_set_is_looked_at_less_often_than_it_has_machines(monkeypatch: pytest.MonkeyPatch):
    """Each change of each Machine concerns its set; a look at all of them for each would be the square of them."""
    looks: list[str] = []

    def noted(seen: sets.Seen, now: float) -> Step:
        looks.append(seen.of.name)
        return advance(seen, now)

    advance = sets.advance
    monkeypatch.setattr(sets, "advance", noted)

    async def scenario(one: LiveMachines) -> None:
        one.workers(10, spot={})
        await one.until(lambda: one.running() == 10)
        await one.settle(10)
        assert 0 < len(looks) < 10

    live(scenario)


# ------------------------------------------------------------------------------------------------ paused, refused


def test_a_paused_cluster_buys_nothing_and_goes_on_when_it_is_resumed():
    async def scenario(one: LiveMachines) -> None:
        one.edit(kinds.CLUSTERS, "c", {"spec": {"paused": True}})
        one.workers(2)
        await one.settle(120)
        assert one.cloud.made == 0
        one.edit(kinds.CLUSTERS, "c", {"spec": {"paused": False}})
        await one.until(lambda: one.running() == 2)

    live(scenario)


def test_R36_a_control_plane_on_spot_that_came_past_admission_is_failed_without_a_call():
    async def scenario(one: LiveMachines) -> None:
        one.workers(0, spot={})
        labels = {names.CONTROL_PLANE: ""}
        spec = {"instanceType": "m5.large", "spotMarketOptions": {}}
        one.put(kinds.AWS_MACHINES, {"metadata": {"name": "cp"}, "spec": spec})
        reference = {"apiGroup": kinds.AWS_MACHINES.group, "kind": kinds.AWS_MACHINES.name, "name": "cp"}
        machine = {"clusterName": "c", "bootstrap": {"dataSecretName": "boot"}, "infrastructureRef": reference}
        one.put(kinds.MACHINES, {"metadata": {"name": "cp", "labels": labels}, "spec": machine})
        await one.until(lambda: one.phases() == ["Failed"])
        assert one.cloud.calls == []

    live(scenario)


def test_ours_refuse_to_be_the_core_where_cluster_apis_own_are():
    async def scenario(one: LiveMachines) -> None:
        await switch.check(one.client, switch.Core.OURS)
        with pytest.raises(BadInput, match="not installed here"):
            await switch.check(one.client, switch.Core.UPSTREAM)
        labels = {"metadata": {"labels": {switch.PROVIDER: switch.CORE_PROVIDER}}}
        one.edit(kinds.CRDS, "machines.cluster.x-k8s.io", labels)
        await switch.check(one.client, switch.Core.UPSTREAM)
        with pytest.raises(BadInput, match="would undo"):
            await switch.check(one.client, switch.Core.OURS)

    live(scenario)
