"""NodeClaims on a whole cluster: creation, launch, registration, initialization, liveness and upkeep (§2.1–§2.8)."""

from __future__ import annotations

from tests.live import objects
from tests.live.live import Live, condition, conditions, is_true
from tests.live.virtual_time import run

from dovetail.api import kinds
from dovetail.core import timestamps
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.lifecycle import hashes

NODEPOOL = "karpenter.sh/nodepool"
CLASS_LABEL = "karpenter.kwok.sh/kwoknodeclass"


# ---- §2.1 creation


def test_a_claim_carries_owner_hash_labels_finalizer_and_cheapest_types_first():
    async def scenario() -> None:
        pool = objects.pool(labels={"team": "web"}, terminationGracePeriod="1h", expireAfter="24h", taints=[], weight=3)
        async with Live(pool=pool) as live:
            live.pods(3)
            await live.until(lambda: len(live.running()) == 3 and live.ready())
            one, owner = live.claim(), live.get(kinds.NODE_POOLS, "general")
            about, spec = one["metadata"], one["spec"]
            assert about["name"].startswith("general-")
            assert about["finalizers"] == ["karpenter.sh/termination"]
            (ref,) = about["ownerReferences"]
            assert (ref["kind"], ref["uid"], ref["blockOwnerDeletion"]) == ("NodePool", owner["metadata"]["uid"], True)
            assert about["labels"].items() >= {NODEPOOL: "general", CLASS_LABEL: "default", "team": "web"}.items()
            notes = about["annotations"]
            assert notes["karpenter.sh/nodepool-hash"] == owner["metadata"]["annotations"]["karpenter.sh/nodepool-hash"]
            assert notes["karpenter.sh/nodepool-hash-version"] == hashes.VERSION
            assert (spec["terminationGracePeriod"], spec["expireAfter"]) == ("1h", "24h")
            named = next(r for r in spec["requirements"] if r["key"] == "node.kubernetes.io/instance-type")
            assert named["values"][0] == about["labels"]["node.kubernetes.io/instance-type"]
            assert spec["resources"]["requests"]["cpu"] == "3"
            assert (
                live.value(
                    "nodeclaims_created_total", reason="provisioned", nodepool="general", min_values_relaxed="false"
                )
                == 1
            )

    run(scenario())


def test_a_pool_over_its_limit_buys_nothing_more_and_one_that_reaches_it_may():
    async def scenario() -> None:
        async with Live(pool=objects.pool(limits={"nodes": "1"})) as live:
            live.pods(1, "first")
            await live.until(lambda: len(live.running()) == 1)
            live.pods(30, "second", cpu="100")
            await live.until(lambda: live.events("FailedScheduling"))
            await live.settle()
            assert len(live.claims()) == 1
            live.edit(kinds.NODE_POOLS, "general", {"spec": {"limits": {"nodes": "3"}}})
            await live.until(lambda: len(live.claims()) == 3)
            await live.settle()
            assert len(live.claims()) == 3

    run(scenario())


def test_limit_range_defaults_count_for_pods_and_daemons():
    async def scenario() -> None:
        async with Live() as live:
            limits = [{"type": "Container", "defaultRequest": {"cpu": "3", "memory": "1Gi"}}]
            about = {"name": "defaults", "namespace": "default"}
            live.put(kinds.LIMIT_RANGES, {"metadata": about, "spec": {"limits": limits}})
            live.put(kinds.DAEMON_SETS, objects.daemon_set(cpu="", memory=""))
            live.pods(1, cpu="", memory="")
            await live.until(lambda: live.ready())
            assert live.claim()["spec"]["resources"]["requests"]["cpu"] == "6"

    run(scenario())


# ---- §2.2 the frame


def test_claims_of_another_cloud_are_left_alone():
    async def scenario() -> None:
        async with Live() as live:
            other = objects.claim("other", nodeClassRef={"group": "else.sh", "kind": "ElseClass", "name": "x"})
            live.put(kinds.NODE_CLAIMS, other)
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            left = live.get(kinds.NODE_CLAIMS, "other")
            assert "finalizers" not in left["metadata"]
            assert not (left.get("status") or {}).get("conditions")

    run(scenario())


def test_a_claim_written_by_hand_gets_finalizer_class_label_and_machine():
    async def scenario() -> None:
        async with Live(pool={}) as live:
            live.put(kinds.NODE_CLAIMS, objects.claim("mine", resources={"requests": {"cpu": "2"}}))
            await live.until(lambda: live.ready())
            one, node = live.claim(), live.node()
            assert one["metadata"]["finalizers"] == ["karpenter.sh/termination"]
            assert one["metadata"]["labels"][CLASS_LABEL] == node["metadata"]["labels"][CLASS_LABEL] == "default"
            assert NODEPOOL not in node["metadata"]["labels"]
            live.delete(kinds.NODE_CLAIMS, "mine")
            await live.until(lambda: not live.claims() and not live.nodes())

    run(scenario())


# ---- §2.3 launch


def test_what_the_cloud_lacks_deletes_the_claim_and_tells_its_pods():
    async def scenario() -> None:
        async with Live() as live:
            live.market.run_out(Shortage(zone="test-zone-a"))
            live.market.run_out(Shortage(zone="test-zone-b"))
            live.market.run_out(Shortage(zone="test-zone-c"))
            live.market.run_out(Shortage(zone="test-zone-d"))
            live.pods(1)
            await live.until(lambda: len(live.events("InsufficientCapacityError")) >= 2)
            told = {one["involvedObject"]["kind"] for one in live.events("InsufficientCapacityError")}
            assert told == {"NodeClaim", "Pod"}
            await live.until(lambda: not live.claims())
            reason = {"reason": "insufficient_capacity", "nodepool": "general", "termination_mode": "graceful"}
            assert live.value("nodeclaims_disrupted_total", **reason) >= 1

    run(scenario())


def test_another_zone_is_taken_where_one_has_run_out():
    async def scenario() -> None:
        async with Live() as live:
            live.market.run_out(Shortage(zone="test-zone-a"))
            live.pods(2)
            await live.until(lambda: len(live.running()) == 2)
            assert live.node()["metadata"]["labels"]["topology.kubernetes.io/zone"] != "test-zone-a"

    run(scenario())


def test_a_node_class_that_is_gone_fails_the_launch_and_its_return_mends_it():
    async def scenario() -> None:
        async with Live() as live:
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"metadata": {"finalizers": None}})
            live.delete(kinds.KWOK_NODE_CLASSES, "default")
            await live.until(lambda: conditions(pool(live)).get("NodeClassReady", "").startswith("False"))
            live.pods(1)
            await live.settle(10)
            assert not live.claims()
            live.put(kinds.KWOK_NODE_CLASSES, objects.node_class())
            await live.until(lambda: len(live.running()) == 1)

    run(scenario())


def pool(live: Live, name: str = "general") -> dict:
    return live.get(kinds.NODE_POOLS, name)


def healthy(live: Live) -> str:
    return conditions(pool(live)).get("NodeRegistrationHealthy", "")


# ---- §2.4 registration, §2.5 initialization


def test_registration_gives_the_node_what_its_claim_promised():
    async def scenario() -> None:
        taints = [{"key": "team", "value": "web", "effect": "NoSchedule"}]
        startup = [{"key": "booting", "effect": "NoSchedule"}]
        async with Live(pool=objects.pool(taints=taints, startupTaints=startup)) as live:
            tolerated = [{"key": "team", "operator": "Exists"}]
            live.pods(1, tolerations=tolerated)
            await live.until(lambda: [1 for one in live.claims() if is_true(one, "Registered")])
            one, node = live.claim(), live.node()
            assert node["metadata"]["finalizers"] == ["karpenter.sh/termination"]
            (ref,) = node["metadata"]["ownerReferences"]
            assert (ref["kind"], ref["uid"]) == ("NodeClaim", one["metadata"]["uid"])
            assert node["metadata"]["labels"]["karpenter.sh/registered"] == "true"
            keys = {taint["key"] for taint in node["spec"]["taints"]}
            assert {"team", "booting"} <= keys
            assert "karpenter.sh/unregistered" not in keys
            assert one["status"]["nodeName"] == node["metadata"]["name"]
            assert live.value("nodes_created_total", nodepool="general", zone=_zone(node)) == 1
            assert condition(one, "Initialized")["reason"] == "StartupTaintsExist"
            left = [taint for taint in node["spec"]["taints"] if taint["key"] != "booting"]
            live.edit(kinds.NODES, node["metadata"]["name"], {"spec": {"taints": left}})
            await live.until(lambda: len(live.running()) == 1)
            await live.until(lambda: live.node()["metadata"]["labels"].get("karpenter.sh/initialized") == "true")
            assert len(live.claims()) == 1, "the pod was planned twice while its node was starting"

    run(scenario())


def _zone(node: dict) -> str:
    return node["metadata"]["labels"]["topology.kubernetes.io/zone"]


def test_a_node_that_keeps_its_own_taints_is_not_given_any():
    async def scenario() -> None:
        async with Live(kubelet=False, pool=objects.pool(taints=[{"key": "team", "effect": "NoSchedule"}])) as live:
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "10s"}})
            live.pods(1, tolerations=[{"operator": "Exists"}])
            await live.until(lambda: live.claims() and live.claim().get("status", {}).get("providerID"))
            name = live.claim()["metadata"]["name"]
            live.put(kinds.NODES, _joined(name, {"karpenter.sh/do-not-sync-taints": "true"}))
            await live.until(lambda: is_true(live.claim(), "Registered"))
            assert "team" not in {one["key"] for one in live.node()["spec"].get("taints", ())}

    run(scenario())


def _joined(name: str, labels: dict[str, str]) -> dict:
    taint = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
    about = {"name": name, "labels": labels}
    return {"metadata": about, "spec": {"providerID": f"kwok://{name}", "taints": [taint]}}


def test_two_nodes_with_one_provider_id_are_one_too_many():
    async def scenario() -> None:
        async with Live(kubelet=False) as live:
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "10s"}})
            live.pods(1)
            await live.until(lambda: live.claims() and live.claim().get("status", {}).get("providerID"))
            name = live.claim()["metadata"]["name"]
            for node in ("one", "two"):
                body = _joined(node, {})
                body["spec"]["providerID"] = f"kwok://{name}"
                live.put(kinds.NODES, body)
            await live.until(lambda: condition(live.claim(), "Registered")["status"] == "False")
            assert condition(live.claim(), "Registered")["reason"] == "MultipleNodesFound"

    run(scenario())


# ---- §2.6 liveness, §2.7 registration health


def test_a_machine_that_never_joins_is_given_up_after_fifteen_minutes():
    async def scenario() -> None:
        async with Live() as live:
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "1h"}})
            live.pods(1)
            await live.until(lambda: live.claims() and is_true(live.claim(), "Launched"))
            first = live.claim()["metadata"]["name"]
            await live.until(lambda: condition(live.claim(), "Registered")["reason"] == "NodeNotFound")
            await live.settle(890)
            assert first in live.names()
            await live.until(lambda: first not in live.names(), 30)
            assert first not in live.market.ledger, "the machine was not returned"
            await live.until(live.names)

    run(scenario())


def test_two_machines_in_a_row_that_do_not_join_make_a_pool_unhealthy_until_one_does():
    async def scenario() -> None:
        async with Live() as live:
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "1h"}})
            live.pods(1)
            await live.until(lambda: healthy(live).startswith("False"), 2000)
            assert condition(pool(live), "NodeRegistrationHealthy")["reason"] == "RegistrationFailed"
            assert is_true(pool(live), "Ready"), "it is for people, and gates nothing"
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "1s"}})
            await live.until(lambda: healthy(live).startswith("Unknown"))
            await live.until(lambda: is_true(pool(live), "NodeRegistrationHealthy"), 2000)

    run(scenario())


# ---- §2.8 side controllers


def test_a_claim_is_deleted_the_second_it_expires_whatever_its_pods_say():
    async def scenario() -> None:
        async with Live(pool=objects.pool(expireAfter="1h", terminationGracePeriod="30s")) as live:
            live.pods(1, notes={"karpenter.sh/do-not-disrupt": "true"})
            await live.until(lambda: len(live.running()) == 1)
            first = live.claim()["metadata"]
            age = live.world.now() - timestamps.seconds(first["creationTimestamp"])
            await live.settle(3600 - age - 2)
            assert "deletionTimestamp" not in live.claim()["metadata"]
            await live.settle(4)
            assert "deletionTimestamp" in live.get(kinds.NODE_CLAIMS, first["name"])["metadata"]
            reason = {"reason": "expired", "nodepool": "general", "termination_mode": "eventual"}
            spot = {"capacity_type": "spot"}
            assert live.value("nodeclaims_disrupted_total", **reason, **spot) == 1
            assert live.value("pods_disruption_initiated_total", **reason, **spot) == 1
            await live.until(lambda: first["name"] not in live.names() and len(live.running()) == 1, 200)

    run(scenario())


def test_pods_that_come_and_go_are_dated_when_none_has_for_ten_seconds():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await live.until(lambda: live.claims() and live.claim().get("status", {}).get("lastPodEventTime"))
            bound = live.claim()["status"]["lastPodEventTime"]
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
            await live.settle(5)
            assert live.claim()["status"]["lastPodEventTime"] == bound
            live.edit(kinds.DEPLOYMENTS, "web", {"spec": {"replicas": 1}})
            await live.settle(8)
            assert live.claim()["status"]["lastPodEventTime"] == bound, "the last came less than ten seconds ago"
            await live.until(lambda: live.claim()["status"]["lastPodEventTime"] != bound)

    run(scenario())


def test_daemons_that_come_and_go_are_no_event():
    async def scenario() -> None:
        async with Live(pool={}) as live:
            live.put(kinds.NODE_CLAIMS, objects.claim("mine", resources={"requests": {"cpu": "2"}}))
            await live.until(lambda: live.ready())
            live.put(kinds.DAEMON_SETS, objects.daemon_set())
            await live.until(lambda: len(live.running()) == 1)
            await live.settle()
            assert "lastPodEventTime" not in live.claim()["status"]

    run(scenario())


def test_a_claim_whose_machine_vanished_is_collected_once_its_node_is_not_ready():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            gone = live.node()
            live.edit(kinds.NODES, gone["metadata"]["name"], {"metadata": {"finalizers": None}})
            live.delete(kinds.NODES, gone["metadata"]["name"])
            await live.until(lambda: gone["metadata"]["name"] not in live.names(), 200)
            assert (
                live.value(
                    "nodeclaims_disrupted_total",
                    reason="garbage_collected",
                    nodepool="general",
                    capacity_type="spot",
                    termination_mode="graceful",
                )
                == 1
            )
            await live.until(lambda: len(live.running()) == 1, 200)

    run(scenario())


def test_a_machine_nobody_claims_is_returned():
    async def scenario() -> None:
        async with Live(pool={}) as live:
            stray = _joined("stray", {"kwok-partition": "a", "kwok.x-k8s.io/node": "fake"})
            live.put(kinds.NODES, stray)
            await live.until(lambda: not live.nodes(), 300)

    run(scenario())


def test_a_node_smaller_than_promised_is_told_of():
    async def scenario() -> None:
        async with Live(kubelet=False) as live:
            live.edit(kinds.KWOK_NODE_CLASSES, "default", {"spec": {"nodeRegistrationDelay": "10s"}})
            live.pods(1)
            await live.until(lambda: live.claims() and live.claim().get("status", {}).get("providerID"))
            name = live.claim()["metadata"]["name"]
            live.put(kinds.NODES, _joined(name, {}))
            small = {"cpu": "1", "memory": "512Mi", "pods": "10", "ephemeral-storage": "20Gi"}
            ready = [{"type": "Ready", "status": "True"}]
            live.edit(
                kinds.NODES,
                name,
                {"status": {"capacity": small, "allocatable": small, "conditions": ready}},
                subresource="status",
            )
            await live.until(lambda: condition(live.claim(), "ConsistentStateFound"), 120)
            assert condition(live.claim(), "ConsistentStateFound")["reason"] == "ConsistencyCheckFailed"
            await live.until(lambda: live.events("FailedConsistencyCheck"))

    run(scenario())


def test_a_node_of_ours_without_its_class_label_gets_it_back():
    async def scenario() -> None:
        async with Live() as live:
            live.pods(1)
            await live.until(lambda: len(live.running()) == 1)
            name = live.node()["metadata"]["name"]
            live.edit(kinds.NODES, name, {"metadata": {"labels": {CLASS_LABEL: None}}})
            live.edit(kinds.NODE_CLAIMS, name, {"metadata": {"labels": {CLASS_LABEL: None}}})
            await live.until(lambda: live.node()["metadata"]["labels"].get(CLASS_LABEL) == "default")
            assert live.claim()["metadata"]["labels"][CLASS_LABEL] == "default"

    run(scenario())
