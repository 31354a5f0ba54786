"""What NodePools, node classes, overlays and instance types say of themselves, and static pools (§1.1, §1.3, §3.12)."""

from __future__ import annotations

from typing import Any

from tests.live import objects
from tests.live.live import SOON, Live, condition, conditions, is_true
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.controllers.controller import Choices


def pool(live: Live, name: str = "general") -> dict[str, Any]:
    return live.get(kinds.NODE_POOLS, name)


# ---- §1.1 NodePool conditions


def test_a_good_pool_is_ready_and_says_what_it_has():
    async def scenario() -> None:
        async with Live() as live:
            await live.until(lambda: is_true(pool(live), "Ready"))
            assert list(conditions(pool(live)))[-1] == "Ready", "the sum stands last"
            assert is_true(pool(live), "ValidationSucceeded")
            assert is_true(pool(live), "NodeClassReady")
            assert pool(live)["status"]["nodes"] == 0
            live.pods(2)
            await live.until(lambda: pool(live)["status"].get("nodes") == 1)
            await live.settle(2)
            has, node = pool(live)["status"]["resources"], live.node()["status"]["capacity"]
            assert (has["cpu"], has["memory"], has["nodes"]) == (node["cpu"], node["memory"], "1")
            live.delete(kinds.DEPLOYMENTS, "web")
            live.delete(kinds.NODE_CLAIMS, live.claim()["metadata"]["name"])
            await live.until(lambda: pool(live)["status"]["nodes"] == 0)
            await live.until(lambda: pool(live)["status"]["resources"]["cpu"] == "0")

    run(scenario())


def test_a_pool_whose_class_is_missing_going_or_silent_says_which():
    async def scenario() -> None:
        async with Live(pool={}) as live:
            live.put(kinds.NODE_POOLS, objects.pool("lost", nodeClassRef={**objects.CLASS, "name": "nowhere"}))
            await live.until(lambda: condition(pool(live, "lost"), "NodeClassReady"))
            assert condition(pool(live, "lost"), "NodeClassReady")["reason"] == "NodeClassNotFound"
            assert condition(pool(live, "lost"), "Ready")["status"] == "False"
            await live.until(lambda: live.events("NodeClassResolutionError"))
            live.put(kinds.KWOK_NODE_CLASSES, objects.node_class("nowhere"))
            await live.until(lambda: is_true(pool(live, "lost"), "Ready"))
            told = [
                {
                    "type": "Ready",
                    "status": "False",
                    "reason": "Broken",
                    "message": "no subnets",
                    "lastTransitionTime": "2027-01-15T08:00:00Z",
                }
            ]
            live.edit(kinds.KWOK_NODE_CLASSES, "nowhere", {"status": {"conditions": told}}, subresource="status")
            await live.until(lambda: condition(pool(live, "lost"), "NodeClassReady")["reason"] == "Broken")
            assert condition(pool(live, "lost"), "NodeClassReady")["message"] == "no subnets"

    run(scenario())


def test_a_malformed_pool_is_told_so_and_the_others_go_on():
    async def scenario() -> None:
        async with Live() as live:
            wanted = {"key": "kubernetes.io/os", "operator": "Sometimes", "values": ["linux"]}
            bad = objects.pool("bad", requirements=[wanted])
            live.put_raw(kinds.NODE_POOLS, bad)
            await live.until(lambda: condition(pool(live, "bad"), "ValidationSucceeded"))
            told = condition(pool(live, "bad"), "ValidationSucceeded")
            assert (told["status"], told["reason"]) == ("False", "NodePoolValidationFailed")
            assert "requirements[0]" in told["message"]
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            assert live.claim()["metadata"]["labels"]["karpenter.sh/nodepool"] == "general"

    run(scenario())


def test_the_same_taint_twice_is_no_valid_pool():
    async def scenario() -> None:
        twice = {"key": "team", "effect": "NoSchedule"}
        async with Live(pool=objects.pool(taints=[twice], startupTaints=[twice])) as live:
            await live.until(lambda: condition(pool(live), "ValidationSucceeded"))
            assert condition(pool(live), "ValidationSucceeded")["status"] == "False"
            live.pods(1)
            await live.settle(10)
            assert not live.claims()

    run(scenario())


def test_a_pool_of_another_cloud_is_left_alone():
    async def scenario() -> None:
        async with Live(pool={}) as live:
            other = {"group": "else.sh", "kind": "ElseClass", "name": "x"}
            live.put(kinds.NODE_POOLS, objects.pool("other", nodeClassRef=other))
            await live.settle(10)
            assert not pool(live, "other").get("status", {}).get("conditions")
            assert not pool(live, "other")["metadata"].get("annotations")

    run(scenario())


def test_claims_of_an_older_hash_get_the_new_number_unless_they_had_drifted():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await live.until(live.ready)
            name, version = live.claim()["metadata"]["name"], "karpenter.sh/nodepool-hash-version"
            right = live.claim()["metadata"]["annotations"]["karpenter.sh/nodepool-hash"]
            await live.stop()
            old = {"metadata": {"annotations": {version: "v2", "karpenter.sh/nodepool-hash": "1"}}}
            live.edit(kinds.NODE_CLAIMS, name, old)
            live.edit(kinds.NODE_POOLS, "general", old)
            await live.start()
            await live.until(lambda: live.claim()["metadata"]["annotations"][version] == "v3")
            assert live.claim()["metadata"]["annotations"]["karpenter.sh/nodepool-hash"] == right
            await live.until(lambda: pool(live)["metadata"]["annotations"][version] == "v3")

    run(scenario())


# ---- node classes


def test_a_node_class_that_somebody_else_keeps_makes_its_pool_unready_until_it_is_gone():
    async def scenario() -> None:
        async with Live() as live:
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"metadata": {"finalizers": ["example.com/kept"]}})
            live.pods(1)
            await live.until(live.ready)
            live.delete(kinds.KWOK_NODE_CLASSES, "default")
            await live.until(lambda: condition(pool(live), "NodeClassReady")["reason"] == "NodeClassTerminating")
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"metadata": {"finalizers": None}})
            await live.until(lambda: condition(pool(live), "NodeClassReady")["reason"] == "NodeClassNotFound")
            live.delete(kinds.DEPLOYMENTS, "web")
            live.delete(kinds.NODE_CLAIMS, live.claim()["metadata"]["name"])
            await live.until(lambda: not live.all(kinds.NODES))

    run(scenario())


def test_a_node_class_that_says_all_by_itself_carries_no_finalizer_of_ours():
    """A cluster may be handed to somebody who would not take it off."""

    async def scenario() -> None:
        async with Live() as live:
            old = ["example.com/kept", "karpenter.kwok.sh/termination"]
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"metadata": {"finalizers": old}})
            live.pods(1)
            await live.until(live.ready)
            await live.until(lambda: live.all(kinds.KWOK_NODE_CLASSES)[0]["metadata"]["finalizers"] == old[:1])

    run(scenario())


# ---- §1.3 overlays and instance types


def overlay(name: str, **spec: Any) -> dict[str, Any]:
    body = {"requirements": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}], **spec}
    return {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": {"name": name}, "spec": body}


def test_an_overlay_says_whether_it_is_in_force():
    async def scenario() -> None:
        async with Live(Choices(window=SOON, overlays=True)) as live:
            live.put(kinds.NODE_OVERLAYS, overlay("cheap", priceAdjustment="-50%", weight=5))
            await live.until(lambda: is_true(live.get(kinds.NODE_OVERLAYS, "cheap"), "Ready"))
            live.pods(1)
            await live.until(live.ready)
            notes = live.claim()["metadata"]["annotations"]
            assert notes["karpenter.sh/price-overlay-applied"] == "true"

    run(scenario())


def test_overlays_of_one_weight_that_contradict_each_other_are_out_of_force_until_one_goes():
    async def scenario() -> None:
        async with Live(Choices(window=SOON, overlays=True)) as live:
            live.put(kinds.NODE_OVERLAYS, overlay("one", price="1.0", weight=5))
            live.put(kinds.NODE_OVERLAYS, overlay("two", price="2.0", weight=5))
            both = ("one", "two")

            def reasons() -> list[str]:
                found = [condition(live.get(kinds.NODE_OVERLAYS, name), "ValidationSucceeded") for name in both]
                return [one["reason"] if one else "" for one in found]

            await live.until(lambda: "Conflict" in reasons())
            live.edit(kinds.NODE_OVERLAYS, "two", {"spec": {"weight": 6}})
            await live.until(lambda: reasons() == ["ValidationSucceeded", "ValidationSucceeded"])

    run(scenario())


def test_an_overlay_nobody_can_read_says_where():
    async def scenario() -> None:
        async with Live(Choices(window=SOON, overlays=True)) as live:
            bad = overlay("bad", price="cheap")
            live.put_raw(kinds.NODE_OVERLAYS, bad)
            await live.until(lambda: condition(live.get(kinds.NODE_OVERLAYS, "bad"), "ValidationSucceeded"))
            told = condition(live.get(kinds.NODE_OVERLAYS, "bad"), "ValidationSucceeded")
            assert (told["status"], told["reason"]) == ("False", "RuntimeValidation")
            assert "price" in told["message"]

    run(scenario())


def test_an_instance_type_says_that_it_is_in_force_and_is():
    async def scenario() -> None:
        async with Live() as live:
            about = {"name": "c-1x-amd64-linux"}
            body = {"apiVersion": "karpenter.sh/v1alpha1", "kind": "InstanceType", "metadata": about}
            live.put(kinds.INSTANCE_TYPES, {**body, "spec": {"resources": {"example.com/gpu": "2"}}})
            await live.until(lambda: is_true(live.get(kinds.INSTANCE_TYPES, about["name"]), "Ready"))
            container = {"name": "main", "image": "app:1", "resources": {"limits": {"example.com/gpu": "1"}}}
            live.pods(1, containers=[container])
            await live.until(live.claims)
            await live.until(lambda: "labels" in live.claim()["metadata"] and live.nodes())
            assert live.node()["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "c-1x-amd64-linux"

    run(scenario())


# ---- §3.12 static pools

STATIC = Choices(window=SOON, static=True)


def test_a_static_pool_is_kept_at_its_number():
    async def scenario() -> None:
        async with Live(STATIC, pool=objects.pool("fixed", replicas=2)) as live:
            await live.until(lambda: len(live.ready()) == 2)
            assert "resources" not in live.claims()[0]["spec"]
            live.edit(kinds.NODE_POOLS, "fixed", {"spec": {"replicas": 4}})
            await live.until(lambda: len(live.ready()) == 4)
            live.delete(kinds.NODE_CLAIMS, live.claims()[0]["metadata"]["name"])
            await live.settle(20)
            assert len(live.ready()) == 4
            live.edit(kinds.NODE_POOLS, "fixed", {"spec": {"replicas": 1}})
            await live.until(lambda: len(live.claims()) == 1)
            await live.settle(90)
            assert len(live.ready()) == 1

    run(scenario())


def test_a_static_pool_shrinks_by_its_empty_nodes():
    async def scenario() -> None:
        async with Live(STATIC, pool=objects.pool("fixed", replicas=3)) as live:
            await live.until(lambda: len(live.ready()) == 3)
            live.pods(1, cpu="100m", memory="64Mi")
            await live.until(lambda: len(live.running()) == 1)
            used = live.running()[0]["spec"]["nodeName"]
            live.edit(kinds.NODE_POOLS, "fixed", {"spec": {"replicas": 1}})
            await live.until(lambda: len(live.claims()) == 1)
            assert live.names() == {used}

    run(scenario())


def test_a_static_pool_stays_within_its_limit():
    async def scenario() -> None:
        async with Live(STATIC, pool=objects.pool("fixed", replicas=3, limits={"nodes": "2"})) as live:
            await live.until(lambda: len(live.ready()) == 2)
            await live.settle(120)
            assert len(live.claims()) == 2

    run(scenario())


def test_without_the_gate_a_static_pool_does_nothing():
    async def scenario() -> None:
        async with Live(pool=objects.pool("fixed", replicas=2)) as live:
            live.pods(1)
            await live.settle(30)
            assert not live.claims()

    run(scenario())
