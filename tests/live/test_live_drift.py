"""Nodes that are no longer what their pool wants are replaced, as many at a time as budgets allow; and what goes wrong
on the way puts everything back."""

from __future__ import annotations

from tests.live import objects
from tests.live.live import SOON, Live, condition, is_true
from tests.live.test_live_disruption import eager, oversized, scale, tainted, told, up
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.controllers.controller import Choices
from dovetail.core.disruption.facts import Gates

APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


def drifting(*budgets: dict[str, object]) -> objects.Object:
    return objects.pool(disruption={"consolidateAfter": "Never", "budgets": list(budgets)})


def relabel(live: Live, value: str) -> None:
    body = {"spec": {"template": {"metadata": {"labels": {"team": value}}}}}
    live.edit(kinds.NODE_POOLS, "general", body)


def of_team(live: Live, value: str) -> list[objects.Object]:
    return [one for one in live.nodes() if one["metadata"]["labels"].get("team") == value]


def test_nodes_of_an_old_template_are_replaced_within_the_budget():
    async def scenario() -> None:
        async with Live(pool=drifting({"nodes": "1", "reasons": ["Drifted"]})) as live:
            live.pods(4, affinity=APART)
            await up(live, 4, nodes=4)
            relabel(live, "blue")
            away = 0
            for _ in range(400):
                await live.settle(0.25)
                marked = {one["metadata"]["name"] for one in live.claims() if is_true(one, "DisruptionReason")}
                going = {one["metadata"]["name"] for one in live.claims() if one["metadata"].get("deletionTimestamp")}
                away = max(away, len(marked | going))
                if len(of_team(live, "blue")) == len(live.nodes()) == 4:
                    break
            await up(live, 4, nodes=4)
            assert len(of_team(live, "blue")) == 4
            assert away == 1
            assert not tainted(live)
            labels = {"decision": "replace", "reason": "drifted", "consolidation_type": ""}
            assert live.value("voluntary_disruption_decisions_total", **labels) == 4

    run(scenario())


def test_staggered_expiry_replaces_the_old_one_after_another_before_they_go():
    async def scenario() -> None:
        young = objects.pool(disruption={"consolidateAfter": "Never", "budgets": [{"nodes": "1"}]}, expireAfter="1h")
        choices = Choices(window=SOON, gates=Gates(staggered_expiry=True))
        async with Live(pool=young, choices=choices) as live:
            live.pods(3, affinity=APART)
            await up(live, 3, nodes=3)
            first = {one["metadata"]["name"] for one in live.claims()}
            await live.settle(3500)
            assert {one["metadata"]["name"] for one in live.claims()} == first
            away = 0
            for _ in range(600):
                await live.settle(0.5)
                going = {one["metadata"]["name"] for one in live.claims() if one["metadata"].get("deletionTimestamp")}
                away = max(away, len(going))
                assert len(live.nodes()) >= 3
                if not first & {one["metadata"]["name"] for one in live.claims()}:
                    break
            assert not first & {one["metadata"]["name"] for one in live.claims()}
            assert away == 1
            await up(live, 3, nodes=3)

    run(scenario())


def test_a_label_that_left_the_pool_s_requirements_is_drift_too():
    async def scenario() -> None:
        async with Live(pool=drifting({"nodes": "100%"})) as live:
            live.pods(1)
            await up(live, 1)
            (old,) = live.names()
            kind = live.node()["metadata"]["labels"]["node.kubernetes.io/instance-type"]
            other = {"key": "node.kubernetes.io/instance-type", "operator": "NotIn", "values": [kind]}
            live.edit(
                kinds.NODE_POOLS, "general", {"spec": {"template": {"spec": {"requirements": [*objects.LINUX, other]}}}}
            )
            await live.until(lambda: condition(live.get(kinds.NODE_CLAIMS, old), "Drifted"))
            drifted = condition(live.get(kinds.NODE_CLAIMS, old), "Drifted")
            assert drifted is not None
            assert drifted["reason"] == "RequirementsDrifted"
            await live.until(lambda: old not in live.names() and len(live.running()) == 1, 90)

    run(scenario())


def test_a_pool_without_leave_for_drift_says_which_budget():
    async def scenario() -> None:
        async with Live(pool=drifting({"nodes": "0", "reasons": ["Drifted"]})) as live:
            live.pods(1)
            await up(live, 1)
            relabel(live, "blue")
            await live.until(lambda: live.events("DisruptionBlocked"), 30)
            assert any("budgets[0] (nodes 0 for Drifted) allows 0" in one for one in told(live, "DisruptionBlocked"))
            await live.settle(30)
            assert not of_team(live, "blue")
            assert not tainted(live)

    run(scenario())


def test_a_budget_nobody_can_read_is_named_on_its_pool_and_stops_only_that_pool():
    async def scenario() -> None:
        broken = [{"nodes": "1", "schedule": "@dailyfoo", "duration": "1h"}, {"nodes": "100%"}]
        async with Live(pool={}) as live:
            live.put_raw(kinds.NODE_POOLS, drifting(*broken))
            live.put(kinds.NODE_POOLS, objects.pool("other", weight=5, labels={"kind": "other"}))
            live.pods(1, nodeSelector={"kind": "other"})
            live.pods(1, "rest", affinity={"nodeAffinity": _unlike("kind")})
            await up(live, 2, nodes=2)
            told_of = condition(live.get(kinds.NODE_POOLS, "general"), "DisruptionSettingsValid")
            assert told_of is not None
            assert told_of["status"] == "False"
            assert "spec.disruption.budgets[0]" in told_of["message"]
            assert "@dailyfoo" in told_of["message"]
            assert is_true(live.get(kinds.NODE_POOLS, "general"), "Ready")
            assert condition(live.get(kinds.NODE_POOLS, "other"), "DisruptionSettingsValid") is None
            for pool in ("general", "other"):
                live.edit(kinds.NODE_POOLS, pool, {"spec": {"template": {"metadata": {"labels": {"team": "blue"}}}}})
            await live.until(lambda: len(of_team(live, "blue")) == 1 and len(live.nodes()) == 2, 60)
            assert of_team(live, "blue")[0]["metadata"]["labels"]["kind"] == "other"
            await live.settle(30)
            assert len(of_team(live, "blue")) == 1
            assert any("cannot be read" in one for one in told(live, "DisruptionBlocked"))

    run(scenario())


def _unlike(key: str) -> objects.Object:
    wanted = {"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [wanted]}}


def test_a_replacement_that_never_joins_is_given_back_and_the_node_left_as_it_was():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            old = await oversized(live)
            live.put(kinds.KWOK_NODE_CLASSES, objects.node_class("late", nodeRegistrationDelay="2h"))
            delay = {"spec": {"nodeRegistrationDelay": "2h"}}
            live.edit(kinds.KWOK_NODE_CLASSES, "default", delay)
            await live.until(lambda: len(live.claims()) == 2, 90)
            assert tainted(live) == {old}
            await live.until(lambda: live.names() == {old} and not tainted(live), 1200)
            assert condition(live.claim(), "DisruptionReason") is None
            assert len(live.running()) == 1
            labels = {"decision": "replace", "reason": "underutilized", "consolidation_type": "single"}
            assert live.value("voluntary_disruption_queue_failures_total", **labels) == 1
            assert any(one.startswith("Disruption was undone: replacement") for one in told(live, "DisruptionBlocked"))

    run(scenario())


def test_a_node_deleted_by_hand_while_its_replacement_comes_still_gets_it():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            old = await oversized(live)
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "30s"}})
            await live.until(lambda: len(live.claims()) == 2, 90)
            live.delete(kinds.NODES, old)
            await live.until(lambda: old not in live.names() and len(live.running()) == len(live.ready()) == 1, 120)
            await live.settle(60)
            assert len(live.claims()) == len(live.nodes()) == len(live.market.ledger) == 1
            assert not tainted(live)

    run(scenario())


def test_a_node_whose_last_pod_leaves_while_its_replacement_comes_is_not_kept_for_it():
    async def scenario() -> None:
        async with Live(pool=eager()) as live:
            await oversized(live)
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "20s"}})
            await live.until(lambda: len(live.claims()) == 2, 90)
            scale(live, 0)
            await live.until(lambda: not live.claims() and not live.nodes(), 200)
            assert not live.market.ledger

    run(scenario())


def test_a_static_pool_replaces_what_has_drifted_and_keeps_its_number():
    async def scenario() -> None:
        pool = objects.pool(replicas=2, disruption={"budgets": [{"nodes": "1"}]})
        async with Live(Choices(window=SOON, static=True), pool=pool) as live:
            await live.until(lambda: len(live.ready()) == 2)
            relabel(live, "blue")
            await live.until(lambda: len(of_team(live, "blue")) == len(live.nodes()) == len(live.claims()) == 2, 120)
            await live.settle(30)
            assert len(live.ready()) == len(live.market.ledger) == 2
            assert not tainted(live)

    run(scenario())
