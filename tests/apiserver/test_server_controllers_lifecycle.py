"""Owners and namespaces that go, nodes that are not well, budgets."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.controller_world import World, pod_spec, workload

from dovetail.api import kinds
from dovetail.apiserver import subresources
from dovetail.apiserver.controllers import Options
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.writes import DELETE, Deletion, Propagation


@pytest.fixture
def world() -> World:
    made = World()
    made.node("n1")
    return made


# --- owners ---


def test_what_belongs_to_nobody_any_more_goes(world: World) -> None:
    world.create(kinds.DEPLOYMENTS, "a", workload(2))
    world.delete(kinds.DEPLOYMENTS, "a")
    assert (world.names(kinds.REPLICA_SETS), world.names(kinds.PODS)) == ([], [])


def test_dependents_that_are_orphaned_stay(world: World) -> None:
    world.create(kinds.REPLICA_SETS, "a", workload(2))
    world.delete(kinds.REPLICA_SETS, "a", Deletion(propagation=Propagation.ORPHAN))
    assert world.find(kinds.REPLICA_SETS, "a") is None
    assert [one["metadata"].get("ownerReferences") for one in world.pods()] == [None, None]


def test_an_owner_deleted_in_the_foreground_waits_for_its_dependents(world: World) -> None:
    world.create(kinds.DEPLOYMENTS, "a", workload(2))
    kept = world.pods()[0]["metadata"]["name"]
    world.patch(kinds.PODS, kept, {"metadata": {"finalizers": ["example.com/hold"]}})
    world.delete(kinds.DEPLOYMENTS, "a", Deletion(propagation=Propagation.FOREGROUND))
    assert world.find(kinds.DEPLOYMENTS, "a") is not None
    assert world.names(kinds.PODS) == [kept]
    world.patch(kinds.PODS, kept, {"metadata": {"finalizers": None}})
    assert world.find(kinds.DEPLOYMENTS, "a") is None
    assert (world.names(kinds.REPLICA_SETS), world.names(kinds.PODS)) == ([], [])


def reference(obj: dict[str, Any], **more: Any) -> dict[str, Any]:
    about = obj["metadata"]
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": about["name"], "uid": about["uid"], **more}


def test_an_object_with_two_owners_goes_with_the_second(world: World) -> None:
    first, second = world.create(kinds.CONFIG_MAPS, "one"), world.create(kinds.CONFIG_MAPS, "two")
    world.create(kinds.SECRETS, "s", ownerReferences=[reference(first), reference(second)])
    world.delete(kinds.CONFIG_MAPS, "one")
    assert [one["name"] for one in world.get(kinds.SECRETS, "s")["metadata"]["ownerReferences"]] == ["two"]
    world.delete(kinds.CONFIG_MAPS, "two")
    assert world.find(kinds.SECRETS, "s") is None


def test_an_owner_of_the_same_name_is_somebody_else(world: World) -> None:
    first = world.create(kinds.CONFIG_MAPS, "one")
    stale = reference(first, uid="somebody-else")
    world.create(kinds.SECRETS, "s", ownerReferences=[stale])
    assert world.find(kinds.SECRETS, "s") is None


def test_an_owner_of_a_kind_nobody_serves_is_given_the_benefit_of_the_doubt(world: World) -> None:
    unknown = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "x", "uid": "1"}
    world.create(kinds.SECRETS, "s", ownerReferences=[unknown])
    assert world.find(kinds.SECRETS, "s") is not None


# --- namespaces ---


def test_a_namespace_goes_with_all_that_is_in_it(world: World) -> None:
    world.create(kinds.NAMESPACES, "team")
    assert world.objects.find(kinds.SERVICE_ACCOUNTS, "default", "team") is not None
    world.objects.create(kinds.CONFIG_MAPS, {"metadata": {"name": "c"}}, "team")
    world.objects.create(kinds.PODS, {"metadata": {"name": "p"}, "spec": pod_spec()}, "team")
    world.settle()
    world.delete(kinds.NAMESPACES, "team")
    assert world.find(kinds.NAMESPACES, "team") is None
    assert world.objects.list(kinds.PODS, "team") == []


def test_a_namespace_waits_for_what_is_held(world: World) -> None:
    world.create(kinds.NAMESPACES, "team")
    held = {"metadata": {"name": "c", "finalizers": ["example.com/hold"]}}
    world.objects.create(kinds.CONFIG_MAPS, held, "team")
    world.delete(kinds.NAMESPACES, "team")
    assert world.get(kinds.NAMESPACES, "team")["status"]["phase"] == "Terminating"
    freed = world.objects.get(kinds.CONFIG_MAPS, "c", "team")
    freed["metadata"]["finalizers"] = []
    world.objects.update(kinds.CONFIG_MAPS, freed)
    world.settle()
    assert world.find(kinds.NAMESPACES, "team") is None


def test_the_default_account_comes_back(world: World) -> None:
    world.delete(kinds.SERVICE_ACCOUNTS, "default")
    assert world.find(kinds.SERVICE_ACCOUNTS, "default") is not None


# --- nodes ---


def ready(world: World, name: str, value: str) -> None:
    condition = {
        "type": "Ready",
        "status": value,
        "reason": "x",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    world.patch(kinds.NODES, name, {"status": {"conditions": [condition]}}, "status")


def taints(world: World, name: str) -> list[tuple[str, str]]:
    listed = world.get(kinds.NODES, name)["spec"].get("taints") or []
    return sorted((one["key"].rpartition("/")[2], one["effect"]) for one in listed)


def test_taints_follow_the_ready_condition(world: World) -> None:
    ready(world, "n1", "False")
    assert taints(world, "n1") == [("not-ready", "NoExecute"), ("not-ready", "NoSchedule")]
    ready(world, "n1", "Unknown")
    assert taints(world, "n1") == [("unreachable", "NoExecute"), ("unreachable", "NoSchedule")]
    ready(world, "n1", "True")
    assert taints(world, "n1") == []


def test_a_cordon_is_a_taint_and_other_taints_stay(world: World) -> None:
    world.patch(
        kinds.NODES, "n1", {"spec": {"unschedulable": True, "taints": [{"key": "mine", "effect": "NoSchedule"}]}}
    )
    assert taints(world, "n1") == [("mine", "NoSchedule"), ("unschedulable", "NoSchedule")]
    world.patch(kinds.NODES, "n1", {"spec": {"unschedulable": None}})
    assert taints(world, "n1") == [("mine", "NoSchedule")]


def test_pods_leave_a_node_that_is_not_ready_when_their_patience_ends(world: World) -> None:
    world.pod("usual")
    world.pod(
        "hasty", tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 10}]
    )
    world.pod("stoic", tolerations=[{"operator": "Exists"}])
    ready(world, "n1", "False")
    world.wait(11)
    assert world.names(kinds.PODS) == ["stoic", "usual"]
    world.wait(290)
    assert world.names(kinds.PODS) == ["stoic"]


def test_patience_is_forgotten_when_the_node_recovers(world: World) -> None:
    world.pod("usual")
    ready(world, "n1", "False")
    world.wait(200)
    ready(world, "n1", "True")
    world.wait(200)
    assert world.names(kinds.PODS) == ["usual"]


def test_a_taint_nobody_tolerates_sends_pods_away_at_once(world: World) -> None:
    world.pod("p1")
    world.patch(kinds.NODES, "n1", {"spec": {"taints": [{"key": "out", "effect": "NoExecute"}]}})
    assert world.names(kinds.PODS) == []


def test_pods_of_a_node_that_is_gone_go_after_a_while(world: World) -> None:
    world.pod("p1", tolerations=[{"operator": "Exists"}])
    world.delete(kinds.NODES, "n1")
    world.wait(39)
    assert world.names(kinds.PODS) == ["p1"]
    world.wait(2)
    assert world.names(kinds.PODS) == []


def test_a_node_that_comes_back_in_time_keeps_its_pods(world: World) -> None:
    world.pod("p1")
    world.delete(kinds.NODES, "n1")
    world.wait(20)
    world.node("n1")
    world.wait(60)
    assert world.names(kinds.PODS) == ["p1"]


def test_a_deleted_pod_ends_when_its_kubelet_hears_of_it(world: World) -> None:
    world.pod("p1")
    assert world.get(kinds.PODS, "p1")["status"]["phase"] == "Running"
    world.delete(kinds.PODS, "p1")
    assert world.names(kinds.PODS) == []


def test_without_a_kubelet_a_deleted_pod_stays() -> None:
    world = World(Options(fake_kubelet=False))
    world.node("n1")
    ready(world, "n1", "True")
    world.pod("p1")
    world.delete(kinds.PODS, "p1")
    assert "deletionTimestamp" in world.get(kinds.PODS, "p1")["metadata"]


# --- budgets ---


def budget(world: World, **spec: Any) -> dict[str, Any]:
    world.create(kinds.DISRUPTION_BUDGETS, "b", {"selector": {"matchLabels": {"app": "a"}}, **spec})
    return counts(world)


def counts(world: World) -> dict[str, Any]:
    found = world.get(kinds.DISRUPTION_BUDGETS, "b")["status"]
    names = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    return {name: found.get(name, 0) for name in names}


def test_a_budget_counts_what_is_healthy_against_what_is_wanted(world: World) -> None:
    world.create(kinds.DEPLOYMENTS, "a", workload(4))
    assert budget(world, maxUnavailable="25%") == {
        "expectedPods": 4,
        "desiredHealthy": 3,
        "currentHealthy": 4,
        "disruptionsAllowed": 1,
    }
    world.patch(kinds.DEPLOYMENTS, "a", {"spec": {"replicas": 8}})
    assert counts(world)["desiredHealthy"] == 6
    world.patch(kinds.DEPLOYMENTS, "a", {"spec": {"replicas": 0}})
    assert counts(world) == {"expectedPods": 0, "desiredHealthy": 0, "currentHealthy": 0, "disruptionsAllowed": 0}


def test_a_budget_that_keeps_a_number_counts_the_pods_there_are(world: World) -> None:
    world.create(kinds.REPLICA_SETS, "a", workload(3))
    assert budget(world, minAvailable=2)["disruptionsAllowed"] == 1
    world.delete(kinds.REPLICA_SETS, "a")
    assert counts(world) == {"expectedPods": 0, "desiredHealthy": 2, "currentHealthy": 0, "disruptionsAllowed": 0}


def test_one_eviction_at_a_time_where_the_budget_allows_one(world: World) -> None:
    world.create(kinds.REPLICA_SETS, "a", workload(3))
    budget(world, maxUnavailable=1)
    first, second = world.names(kinds.PODS)[:2]
    subresources.evict(world.objects, first, "default", DELETE)
    with pytest.raises(ApiError) as refused:
        subresources.evict(world.objects, second, "default", DELETE)
    assert refused.value.code == 429
    world.settle()
    subresources.evict(world.objects, second, "default", DELETE)


def test_an_eviction_that_came_to_nothing_is_forgotten_after_a_while(world: World) -> None:
    world.create(kinds.REPLICA_SETS, "a", workload(3))
    budget(world, maxUnavailable=1)
    name = world.names(kinds.PODS)[0]
    disrupted = {"status": {"disruptedPods": {name: "2026-01-01T00:00:00Z"}}}
    world.patch(kinds.DISRUPTION_BUDGETS, "b", disrupted, "status")
    assert counts(world)["disruptionsAllowed"] == 0
    world.wait(121)
    assert counts(world)["disruptionsAllowed"] == 1
