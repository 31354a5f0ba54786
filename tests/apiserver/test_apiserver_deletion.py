"""How objects go."""

from __future__ import annotations

from tests.apiserver.clusters import Clock, cluster, config_map, pod, refused

from dovetail.api.kinds import CONFIG_MAPS, DISRUPTION_BUDGETS, NAMESPACES, PODS
from dovetail.apiserver import subresources
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.writes import DELETE, DELETE_NOW, Deletion, MergePatch, Propagation


def test_what_nothing_holds_goes_at_once() -> None:
    objects = cluster()
    objects.create(CONFIG_MAPS, config_map(), "default")
    assert objects.delete(CONFIG_MAPS, "one", "default") is None
    assert objects.find(CONFIG_MAPS, "one", "default") is None


def test_an_object_goes_with_its_last_finalizer() -> None:
    objects = cluster()
    held = {**config_map(), "metadata": {"name": "one", "finalizers": ["a.example/x", "a.example/y"]}}
    objects.create(CONFIG_MAPS, held, "default")
    left = objects.delete(CONFIG_MAPS, "one", "default")
    assert left is not None
    assert left["metadata"]["deletionGracePeriodSeconds"] == 0
    objects.patch(CONFIG_MAPS, "one", MergePatch({"metadata": {"finalizers": ["a.example/y"]}}), "default")
    assert objects.find(CONFIG_MAPS, "one", "default") is not None
    objects.patch(CONFIG_MAPS, "one", MergePatch({"metadata": {"finalizers": None}}), "default")
    assert objects.find(CONFIG_MAPS, "one", "default") is None


def test_a_pod_on_a_node_waits_for_its_kubelet() -> None:
    objects = cluster(Clock())
    objects.create(PODS, pod(node="n", terminationGracePeriodSeconds=60), "default")
    left = objects.delete(PODS, "one", "default")
    assert left is not None
    assert left["metadata"]["deletionTimestamp"] == "2026-01-01T00:01:00Z"
    sooner = objects.delete(PODS, "one", "default", Deletion(grace=5))
    assert sooner is not None
    assert sooner["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:05Z"
    later = objects.delete(PODS, "one", "default", Deletion(grace=600))
    assert later is not None
    assert later["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:05Z"
    assert objects.delete(PODS, "one", "default", DELETE_NOW) is None


def test_a_pod_that_is_nowhere_or_has_ended_goes_at_once() -> None:
    objects = cluster()
    objects.create(PODS, pod("waiting"), "default")
    objects.create(PODS, pod("ended", node="n"), "default")
    objects.patch(PODS, "ended", MergePatch({"status": {"phase": "Succeeded"}}), "default", subresource="status")
    assert objects.delete(PODS, "waiting", "default") is None
    assert objects.delete(PODS, "ended", "default") is None


def test_how_dependents_are_treated_is_asked_for_by_a_finalizer() -> None:
    objects = cluster()
    for name, wanted in (("a", Propagation.FOREGROUND), ("b", Propagation.ORPHAN)):
        objects.create(CONFIG_MAPS, config_map(name), "default")
        left = objects.delete(CONFIG_MAPS, name, "default", Deletion(propagation=wanted))
        assert left is not None
        assert left["metadata"]["finalizers"] == [{"a": "foregroundDeletion", "b": "orphan"}[name]]


def test_a_deletion_of_something_else_by_that_name_is_refused() -> None:
    objects = cluster()
    objects.create(CONFIG_MAPS, config_map(), "default")
    how = Deletion(uid="another")
    refused(
        lambda: objects.delete(CONFIG_MAPS, "one", "default", how), 409, text="the UID in the precondition (another)"
    )


def test_a_namespace_is_terminating_until_it_is_finalized() -> None:
    objects = cluster()
    objects.create(NAMESPACES, {"metadata": {"name": "old"}})
    left = objects.delete(NAMESPACES, "old")
    assert left is not None
    assert left["status"]["phase"] == "Terminating"
    left["spec"]["finalizers"] = []
    objects.update(NAMESPACES, left, subresource="finalize")
    assert objects.find(NAMESPACES, "old") is None


def test_a_collection_is_deleted_by_selector() -> None:
    objects = cluster()
    for name in ("a", "b", "c"):
        objects.create(PODS, pod(name, labels={"keep": "yes"} if name == "b" else {}), "default")
    objects.delete_collection(PODS, "default", labels="keep!=yes")
    assert [one["metadata"]["name"] for one in objects.list(PODS)] == ["b"]


def _guarded(allowed: int, *, observed: int = 1) -> Objects:
    """A cluster with a running, ready pod under a budget."""
    objects = cluster()
    objects.create(PODS, pod(node="n", labels={"app": "web"}), "default")
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    objects.patch(PODS, "one", MergePatch({"status": running}), "default", subresource="status")
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    objects.create(DISRUPTION_BUDGETS, {"metadata": {"name": "guard"}, "spec": spec}, "default")
    status = {"disruptionsAllowed": allowed, "observedGeneration": observed, "desiredHealthy": 1, "currentHealthy": 1}
    objects.patch(DISRUPTION_BUDGETS, "guard", MergePatch({"status": status}), "default", subresource="status")
    return objects


def test_an_eviction_a_budget_forbids_is_to_be_tried_again() -> None:
    objects = _guarded(0)
    problem = refused(lambda: subresources.evict(objects, "one", "default", DELETE), 429, text="Cannot evict pod")
    assert problem.details["causes"][0]["message"] == (
        "The disruption budget guard needs 1 healthy pods and has 1 currently"
    )


def test_an_eviction_under_a_budget_nobody_has_reckoned_waits_ten_seconds() -> None:
    objects = _guarded(1, observed=0)
    problem = refused(lambda: subresources.evict(objects, "one", "default", DELETE), 429)
    assert problem.details["retryAfterSeconds"] == 10


def test_an_eviction_a_budget_allows_is_charged_to_it() -> None:
    objects = _guarded(1)
    subresources.evict(objects, "one", "default", DELETE)
    assert "deletionTimestamp" in objects.get(PODS, "one", "default")["metadata"]
    status = objects.get(DISRUPTION_BUDGETS, "guard", "default")["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["one"])


def test_a_pod_is_bound_once() -> None:
    objects = cluster()
    objects.create(PODS, pod(), "default")
    subresources.bind(objects, "one", "default", {"target": {"name": "n"}})
    bound = objects.get(PODS, "one", "default")
    assert bound["spec"]["nodeName"] == "n"
    assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
    again = {"target": {"name": "m"}}
    refused(lambda: subresources.bind(objects, "one", "default", again), 409, text='already assigned to node "n"')
