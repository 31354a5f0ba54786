"""Broken nodes are rebooted or replaced, where that is switched on."""

from __future__ import annotations

from tests.live import objects
from tests.live.live import SOON, Live, condition, conditions, is_true
from tests.live.test_live_disruption import tainted, up
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.controllers.controller import Choices
from dovetail.core.disruption.facts import Gates

MENDING = Choices(window=SOON, gates=Gates(node_repair=True))
REBOOTING = "karpenter.sh/rebooting"


def sicken(live: Live, name: str, type_: str) -> None:
    held = live.get(kinds.NODES, name)["status"]["conditions"]
    at = live.world.date().strftime("%Y-%m-%dT%H:%M:%SZ")
    ill = {"type": type_, "status": "True", "reason": "Broken", "lastTransitionTime": at}
    live.edit(kinds.NODES, name, {"status": {"conditions": [*held, ill]}}, subresource="status")


def recover(live: Live, name: str, type_: str) -> None:
    held = [one for one in live.get(kinds.NODES, name)["status"]["conditions"] if one["type"] != type_]
    live.edit(kinds.NODES, name, {"status": {"conditions": held}}, subresource="status")


def test_a_node_that_is_ill_for_long_enough_is_replaced_before_it_goes():
    async def scenario() -> None:
        async with Live(MENDING) as live:
            live.pods(1)
            await up(live, 1)
            (old,) = live.names()
            sicken(live, old, "KWOKUnhealthy")
            await live.settle(25)
            assert live.names() == {old}
            await live.until(lambda: old not in live.names() and len(live.running()) == 1, 60)
            await up(live, 1)
            labels = {"decision": "replace", "reason": "unhealthy", "consolidation_type": ""}
            assert live.value("voluntary_disruption_decisions_total", **labels) == 1
            assert not tainted(live)

    run(scenario())


def test_nothing_is_repaired_unless_asked_for():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await up(live, 1)
            (old,) = live.names()
            sicken(live, old, "KWOKUnhealthy")
            await live.settle(120)
            assert live.names() == {old}

    run(scenario())


def test_a_node_that_needs_a_restart_gets_one_and_stays():
    async def scenario() -> None:
        async with Live(MENDING) as live:
            live.pods(2, cpu="500m")
            await up(live, 2)
            (old,) = live.names()
            sicken(live, old, "KWOKRebootRequired")
            await live.until(lambda: is_true(live.claim(), "Rebooting"), 60)
            await live.until(
                lambda: live.get(kinds.NODES, old)["status"]["nodeInfo"]["bootID"].startswith("kwok-"), 120
            )
            recover(live, old, "KWOKRebootRequired")
            await live.until(lambda: conditions(live.claim()).get("Rebooting") == "False/RebootSucceeded", 60)
            await up(live, 2)
            assert live.names() == {old}, "nothing was bought in its place"
            assert condition(live.claim(), "DisruptionReason") is None
            assert not [one for one in live.node()["spec"].get("taints") or () if one["key"] == REBOOTING]
            assert live.value("nodes_reboots_total", result="succeeded") == 1
            assert "RebootObserved" in live.reasons()

    run(scenario())


def test_too_many_broken_nodes_at_once_are_left_to_a_person():
    async def scenario() -> None:
        async with Live(MENDING) as live:
            apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
            rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
            live.pods(3, affinity=rule)
            await up(live, 3, nodes=3)
            names = live.names()
            for one in names:
                sicken(live, one, "KWOKUnhealthy")
            await live.until(lambda: live.events("NodeRepairBlocked"), 60)
            await live.settle(30)
            assert live.names() == names
            assert "3 nodes of 3 in NodePool general are unhealthy" in live.events("NodeRepairBlocked")[0]["message"]

    run(scenario())


def test_a_pool_without_a_budget_for_repair_is_not_repaired():
    async def scenario() -> None:
        pool = objects.pool(
            disruption={"consolidateAfter": "Never", "budgets": [{"nodes": "0", "reasons": ["Unhealthy"]}]}
        )
        async with Live(MENDING, pool=pool) as live:
            live.pods(1)
            await up(live, 1)
            (old,) = live.names()
            sicken(live, old, "KWOKUnhealthy")
            await live.until(lambda: live.events("DisruptionBlocked"), 60)
            await live.settle(30)
            assert live.names() == {old}

    run(scenario())


def test_the_older_repair_ends_a_broken_node_at_once_whatever_budgets_say():
    async def scenario() -> None:
        closed = {"consolidateAfter": "Never", "budgets": [{"nodes": "0"}]}
        older = Choices(window=SOON, gates=Gates(node_repair=True), legacy_repair=True)
        async with Live(older, pool=objects.pool(disruption=closed)) as live:
            live.pods(1)
            await up(live, 1)
            (old,) = live.names()
            sicken(live, old, "KWOKRebootRequired")
            await live.settle(60)
            assert live.names() == {old}, "it knows no reboots"
            sicken(live, old, "KWOKUnhealthy")
            await live.until(lambda: old not in live.names() and len(live.running()) == 1, 90)
            ill = {"condition": "k_w_o_k_unhealthy", "nodepool": "general", "capacity_type": "spot", "image_id": ""}
            assert live.value("nodeclaims_unhealthy_disrupted_total", termination_mode="graceful", **ill) == 1

    run(scenario())
