"""Nodes that are no longer needed go, dear ones are swapped for cheaper ones; what must stay stays, and says why."""

from __future__ import annotations

import asyncio

from tests.live import objects
from tests.live.live import SOON, Live, condition, is_true
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.controllers.controller import Choices
from dovetail.core.disruption import budgets

TYPE = "node.kubernetes.io/instance-type"
DISRUPTED = "karpenter.sh/disrupted"
Object = objects.Object
ON_DEMAND = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}


def eager(after: str = "30s", **changed: object) -> Object:
    """A pool that consolidates, all of it at once if need be."""
    disruption = {"consolidateAfter": after, "budgets": [{"nodes": "100%"}], **changed}
    return objects.pool(disruption=disruption, requirements=[*objects.LINUX, ON_DEMAND])


def tainted(live: Live) -> set[str]:
    return {
        node["metadata"]["name"]
        for node in live.nodes()
        if any(one["key"] == DISRUPTED for one in node["spec"].get("taints") or ())
    }


def told(live: Live, reason: str) -> set[str]:
    return {one["message"] for one in live.events(reason)}


def scale(live: Live, count: int, name: str = "web") -> None:
    live.edit(kinds.DEPLOYMENTS, name, {"spec": {"replicas": count}})


async def up(live: Live, pods: int, nodes: int = 1) -> None:
    await live.until(lambda: len(live.running()) == pods and len(live.ready()) == nodes)


async def oversized(live: Live, **changed: object) -> str:
    """One pod on a node for three: it is worth a smaller one. The name of the node."""
    live.pods(3, **changed)
    await up(live, 3)
    scale(live, 1)
    await live.until(lambda: len(live.all(kinds.PODS)) == 1)
    return str(live.node()["metadata"]["name"])


def test_a_node_nobody_uses_goes_after_its_time():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.pods(1)
            await up(live, 1)
            scale(live, 0)
            await live.until(lambda: not live.all(kinds.PODS))
            await live.settle(28)
            assert not is_true(live.claim(), "Consolidatable")
            await live.until(lambda: is_true(live.claim(), "Consolidatable"), 15)
            began = asyncio.get_running_loop().time()
            await live.until(lambda: live.claim()["metadata"].get("deletionTimestamp"), 40)
            assert asyncio.get_running_loop().time() - began >= 15, "it was not looked at a second time"
            await live.until(lambda: not live.claims() and not live.nodes(), 40)
            assert not live.market.ledger
            labels = {"decision": "delete", "reason": "empty", "consolidation_type": "empty"}
            assert live.value("voluntary_disruption_decisions_total", **labels) == 1
            assert "DisruptionTerminating" in live.reasons()

    run(scenario())


def test_a_node_that_was_consolidatable_before_its_pods_left_goes_as_soon_after_them():
    """The claim need not say anything new for it, so that nothing but the time tells of it."""

    async def scenario() -> None:
        async with Live(pool=eager("1s")) as live:
            live.pods(2)
            await up(live, 2)
            await live.until(lambda: is_true(live.claim(), "Consolidatable"))
            await live.settle(120)
            scale(live, 0)
            await live.until(lambda: not live.all(kinds.PODS))
            began = asyncio.get_running_loop().time()
            await live.until(lambda: live.claim()["metadata"].get("deletionTimestamp"), 100)
            assert asyncio.get_running_loop().time() - began < 40

    run(scenario())


def test_a_pod_that_comes_while_the_second_look_is_due_saves_its_node():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.pods(1)
            await up(live, 1)
            scale(live, 0)
            await live.until(lambda: not live.all(kinds.PODS))
            await live.until(lambda: is_true(live.claim(), "Consolidatable"), 60)
            await live.settle(5)
            scale(live, 1)
            await up(live, 1)
            await live.settle(25)
            assert live.claim()["metadata"].get("deletionTimestamp") is None
            assert not tainted(live)

    run(scenario())


def test_a_pod_that_goes_has_its_node_settle_anew_at_once():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.pods(2)
            await up(live, 2)
            await live.until(lambda: is_true(live.claim(), "Consolidatable"), 60)
            before = live.claim()["status"]["lastPodEventTime"]
            scale(live, 1)
            await live.until(lambda: len(live.all(kinds.PODS)) == 1)
            await live.settle(2)
            assert not is_true(live.claim(), "Consolidatable"), "it settles, though it would be dated only later"
            assert live.claim()["status"]["lastPodEventTime"] != before, "and that write has the date with it"

    run(scenario())


def test_a_pool_that_is_not_ready_still_gives_up_what_nobody_uses():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.pods(1)
            await up(live, 1)
            live.delete(kinds.KWOK_NODE_CLASSES, "default")
            pool = live.node()["metadata"]["labels"]["karpenter.sh/nodepool"]
            await live.until(lambda: not is_true(live.get(kinds.NODE_POOLS, pool), "Ready"))
            scale(live, 0)
            await live.until(lambda: not live.claims() and not live.nodes(), 120)

    run(scenario())


def test_two_nodes_that_are_half_empty_become_one():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.pods(3)
            await up(live, 3)
            live.pods(3, "more")
            await up(live, 6, nodes=2)
            scale(live, 1)
            scale(live, 1, "more")
            await live.until(lambda: len(live.claims()) == 1 and len(live.running()) == 2, 120)
            await live.settle(60)
            assert len(live.nodes()) == len(live.market.ledger) == 1
            assert len(live.running()) == 2
            assert (
                live.value(
                    "nodeclaims_created_total", reason="provisioned", nodepool="general", min_values_relaxed="false"
                )
                == 2
            )

    run(scenario())


def test_a_node_that_is_too_large_is_drained_only_when_a_smaller_one_is_up():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            old = await oversized(live)
            await live.until(lambda: len(live.claims()) == 2, 90)
            assert tainted(live) == {old}
            held = next(one for one in live.claims() if one["metadata"]["name"] == old)
            reason = condition(held, "DisruptionReason")
            assert reason is not None
            assert (reason["status"], reason["reason"]) == ("True", "Underutilized")
            new = next(one for one in live.names() if one != old)
            while old in live.names():
                deleting = live.get(kinds.NODE_CLAIMS, old)["metadata"].get("deletionTimestamp")
                assert not deleting or is_true(live.get(kinds.NODE_CLAIMS, new), "Initialized")
                await live.settle(0.05)
            await up(live, 1)
            assert live.node()["metadata"]["labels"][TYPE] == "c-2x-amd64-linux"
            assert not tainted(live)
            assert {"DisruptionLaunching", "DisruptionTerminating"} <= live.reasons()
            assert live.value("pods_drained_total", reason="Underutilized") == 1
            await live.settle(120)
            assert live.names() == {new}, "nothing else pays"

    run(scenario())


def test_what_was_swapped_is_not_bought_twice_for_the_pods_that_move():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            await oversized(live)
            await live.until(lambda: len(live.running()) == 1 and live.names() and len(live.claims()) == 2, 90)
            live.pods(1, "other", cpu="100m", memory="64Mi")  # somebody plans while the node is marked
            await live.until(lambda: len(live.claims()) == 1 and len(live.running()) == 2, 90)
            bought = {"nodepool": "general", "min_values_relaxed": "false"}
            assert live.value("nodeclaims_created_total", reason="provisioned", **bought) == 1
            assert live.value("nodeclaims_created_total", reason="underutilized", **bought) == 1

    run(scenario())


def test_a_pod_that_may_not_be_disturbed_holds_its_node_and_the_event_says_what_it_costs():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            await oversized(live, notes={"karpenter.sh/do-not-disrupt": "true"})
            await live.until(lambda: live.events("DisruptionBlocked"), 90)
            (sentence,) = told(live, "DisruptionBlocked")
            assert "has do-not-disrupt; without it this node is worth $0.0" in sentence
            await live.settle(120)
            assert {one["involvedObject"]["kind"] for one in live.events("DisruptionBlocked")} == {"Node", "NodeClaim"}
            assert len(live.claims()) == 1
            assert len(live.events("DisruptionBlocked")) == 2, "it was said again though nothing had changed"

    run(scenario())


def test_a_disruption_budget_without_room_holds_the_node_by_name():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.put(kinds.DISRUPTION_BUDGETS, objects.budget(maxUnavailable=0))
            await oversized(live)
            await live.until(lambda: live.events("DisruptionBlocked"), 90)
            (sentence,) = told(live, "DisruptionBlocked")
            assert "is held by PodDisruptionBudget web, which never lets one go" in sentence
            await live.settle(60)
            assert len(live.claims()) == 1

    run(scenario())


def test_a_budget_of_nothing_keeps_every_node_and_says_so_on_node_and_pool():
    async def scenario() -> None:
        async with Live(pool=eager(budgets=[{"nodes": "0"}])) as live:
            live.pods(1)
            await up(live, 1)
            scale(live, 0)
            text = "NodePool general lets no more nodes go now: budgets[0] (nodes 0) allows 0"
            await live.until(lambda: any(one.startswith(text) for one in told(live, "DisruptionBlocked")), 90)
            pools = [one for one in live.events("DisruptionBlocked") if one["involvedObject"]["kind"] == "NodePool"]
            closed = {one["message"].partition(" due to blocking budget")[0].split()[-1] for one in pools}
            assert closed >= {"Empty", "Drifted", "Underutilized", "Unhealthy"}
            await live.settle(60)
            assert len(live.claims()) == 1

    run(scenario())


def test_a_budget_of_the_whole_cluster_holds_beside_those_of_pools():
    async def scenario() -> None:
        closed = Choices(window=SOON, disruption_budgets=budgets.of_cluster("0"))
        async with Live(closed, pool=eager()) as live:
            live.pods(1)
            await up(live, 1)
            scale(live, 0)
            await live.until(
                lambda: any("the cluster lets no more" in one.lower() for one in told(live, "DisruptionBlocked")), 90
            )
            await live.settle(30)
            assert len(live.claims()) == 1

    run(scenario())


def test_nothing_is_judged_while_nothing_changes():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            live.pods(1)
            await up(live, 1)
            await live.settle(120)
            before = passes(live)
            await live.settle(3600)
            assert passes(live) - before <= 3600 / 60 + 1, "more than the look that is taken whatever happens"

    run(scenario())


def passes(live: Live) -> int:
    name = "karpenter_voluntary_disruption_decision_evaluation_duration_seconds"
    (family,) = (one for one in live.metrics.families() if one.name == name)
    (series,) = (counts for labels, counts in family.counts.items() if "underutilized" in labels)
    return sum(series)


def test_dollars_that_are_not_saved_are_counted_by_what_is_in_the_way():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            await oversized(live, notes={"karpenter.sh/do-not-disrupt": "true"})
            await live.until(lambda: live.events("DisruptionBlocked"), 90)
            page = live.metrics.text()
            dollars = 'dovetail_disruption_blocked_dollars_per_hour{cause="PodDoNotDisrupt"} 0.0'
            assert dollars in page
            assert 'karpenter_voluntary_disruption_eligible_nodes{reason="underutilized"} 1' in page
            assert 'karpenter_nodepools_allowed_disruptions{nodepool="general",reason="drifted"} 1' in page

    run(scenario())


def test_a_buffer_keeps_the_node_it_is_kept_free_on():
    async def scenario() -> None:
        async with Live(Choices(window=SOON, buffers=True), pool=eager()) as live:
            live.put(kinds.POD_TEMPLATES, {"metadata": {"name": "spare"}, "template": {"spec": objects.pod_spec()}})
            buffer = {"podTemplateRef": {"name": "spare"}, "replicas": 1}
            live.put(kinds.CAPACITY_BUFFERS, {"metadata": {"name": "spare"}, "spec": buffer})
            await live.until(lambda: len(live.ready()) == 1)
            await live.until(lambda: live.events("Unconsolidatable"), 90)
            assert told(live, "Unconsolidatable") == {f'Node "{live.node()["metadata"]["name"]}" has buffer pods'}
            await live.settle(60)
            assert len(live.claims()) == 1
            live.delete(kinds.CAPACITY_BUFFERS, "spare")
            await live.until(lambda: not live.claims(), 90)

    run(scenario())


def test_a_dry_run_says_what_it_would_give_up_and_touches_nothing(caplog):
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            old = await oversized(live)
            await live.stop()
            live.choices = Choices(window=SOON, dry_run=True)
            with caplog.at_level("INFO"):
                await live.start()
                await live.settle(120)
            assert [
                one for one in caplog.messages if one.startswith("would start: Underutilized/replace") and old in one
            ]
            assert not tainted(live)
            assert live.names() == {old}
            assert condition(live.claim(), "Consolidatable") is None

    run(scenario())
