"""status, scale, binding, eviction: doors into an object that open on one part of it only."""

from __future__ import annotations

from typing import Any

from tests.contract.kubernetes.raw_api import Answer, Api, until
from tests.contract.kubernetes.things import deployment, disruption_budget, fresh, node, pod

from dovetail.api.kinds import DEPLOYMENTS, DISRUPTION_BUDGETS, NODES, PODS, REPLICA_SETS


async def test_status_changes_the_status_and_nothing_else(api: Api, namespace: str) -> None:
    path = DEPLOYMENTS.path("one", namespace)
    made = (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("one", 0))).ok()
    made["spec"]["replicas"] = 7
    made["metadata"]["labels"] = {"from": "status"}
    made["status"] = {"collisionCount": 3}
    made["metadata"].pop("resourceVersion")
    changed = (await api.put(f"{path}/status", made)).ok()
    assert changed["spec"]["replicas"] == 0
    assert changed["status"]["collisionCount"] == 3


async def test_the_object_itself_cannot_change_its_status(api: Api, namespace: str) -> None:
    path = DEPLOYMENTS.path("one", namespace)
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("one", 0))).ok()
    changed = (await api.patch(path, {"status": {"collisionCount": 9}, "metadata": {"labels": {"x": "y"}}})).ok()
    assert "collisionCount" not in changed["status"]
    assert changed["metadata"]["labels"]["x"] == "y"


async def test_status_can_be_read_by_itself(api: Api, namespace: str) -> None:
    path = DEPLOYMENTS.path("one", namespace)
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("one", 0))).ok()
    assert (await api.get(f"{path}/status")).ok()["kind"] == "Deployment"


async def test_a_stale_status_is_refused(api: Api, namespace: str) -> None:
    path = PODS.path("one", namespace)
    made = (await api.post(PODS.path(namespace=namespace), pod("one"))).ok()
    (await api.patch(path, {"metadata": {"labels": {"a": "b"}}})).ok()
    (await api.put(f"{path}/status", made)).refused(409, "Conflict")


async def test_scale_reads_and_writes_replicas(api: Api, namespace: str) -> None:
    path = DEPLOYMENTS.path("one", namespace)
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("one", 0))).ok()
    scale = (await api.get(f"{path}/scale")).ok()
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"], scale["status"]["selector"]) == ({}, "app=one")  # zero is left out
    # Without the version seen: the deployment's own controller writes its status meanwhile.
    del scale["metadata"]["resourceVersion"]
    (await api.put(f"{path}/scale", {**scale, "spec": {"replicas": 2}})).ok()
    assert (await api.get(path)).ok()["spec"]["replicas"] == 2
    patched = (await api.patch(f"{path}/scale", {"spec": {"replicas": 1}})).ok()
    assert patched["spec"]["replicas"] == 1


async def test_a_negative_scale_is_refused(api: Api, namespace: str) -> None:
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("one", 0))).ok()
    answer = await api.patch(f"{DEPLOYMENTS.path('one', namespace)}/scale", {"spec": {"replicas": -1}})
    assert answer.status == 422


async def test_replica_sets_have_a_scale_too(api: Api, namespace: str) -> None:
    body = deployment("one", 0)
    (await api.post(REPLICA_SETS.path(namespace=namespace), {**body, "kind": "ReplicaSet"})).ok()
    assert (await api.get(f"{REPLICA_SETS.path('one', namespace)}/scale")).ok()["kind"] == "Scale"


def binding(name: str, target: str) -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": "Node", "name": target}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": reference}


# Bound by the test and by nobody else: the scheduler's own word on such a pod would arrive at any time.
UNSCHEDULED = {"schedulerName": "nobody"}


async def test_a_binding_puts_a_pod_on_a_node(api: Api, namespace: str) -> None:
    path = PODS.path("one", namespace)
    (await api.post(PODS.path(namespace=namespace), pod("one", **UNSCHEDULED))).ok()
    answer = await api.post(f"{path}/binding", binding("one", "some-node"))
    assert answer.status == 201
    assert (answer.body["kind"], answer.body["status"]) == ("Status", "Success")
    bound = (await api.get(path)).ok()
    assert bound["spec"]["nodeName"] == "some-node"
    condition = next(one for one in bound["status"]["conditions"] if one["type"] == "PodScheduled")
    assert condition["status"] == "True"


async def test_a_bound_pod_cannot_be_bound_again(api: Api, namespace: str) -> None:
    path = PODS.path("one", namespace)
    (await api.post(PODS.path(namespace=namespace), pod("one", **UNSCHEDULED))).ok()
    (await api.post(f"{path}/binding", binding("one", "some-node"))).ok()
    status = (await api.post(f"{path}/binding", binding("one", "other-node"))).refused(409, "Conflict")
    assert 'pod one is already assigned to node "some-node"' in status["message"]


async def test_a_pod_with_scheduling_gates_cannot_be_bound(api: Api, namespace: str) -> None:
    path = PODS.path("one", namespace)
    (
        await api.post(
            PODS.path(namespace=namespace), pod("one", schedulingGates=[{"name": "contract.test/wait"}], **UNSCHEDULED)
        )
    ).ok()
    answer = await api.post(f"{path}/binding", binding("one", "some-node"))
    assert answer.status == 409


EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction"}


async def evicted(api: Api, namespace: str, name: str, **fields: Any) -> Answer:
    body = {**EVICTION, "metadata": {"name": name, "namespace": namespace}, **fields}
    return await api.post(f"{PODS.path(name, namespace)}/eviction", body)


async def test_an_eviction_of_a_pending_pod_deletes_it(api: Api, namespace: str) -> None:
    (await api.post(PODS.path(namespace=namespace), pod("one"))).ok()
    answer = await evicted(api, namespace, "one")
    assert (answer.status, answer.body["status"]) == (201, "Success")
    await api.until(PODS.path("one", namespace), lambda answer: answer.status == 404)


async def test_an_eviction_of_a_missing_pod_says_so(api: Api, namespace: str) -> None:
    (await evicted(api, namespace, "none")).refused(404, "NotFound")


async def test_a_dry_run_of_an_eviction_evicts_nobody(api: Api, namespace: str) -> None:
    (await api.post(PODS.path(namespace=namespace), pod("one"))).ok()
    answer = await evicted(api, namespace, "one", deleteOptions={"dryRun": ["All"]})
    assert answer.status == 201
    assert "deletionTimestamp" not in (await api.get(PODS.path("one", namespace))).ok()["metadata"]


async def running(api: Api, namespace: str, name: str, labels: dict[str, str]) -> None:
    """A pod that a kubelet would call ready, on a node of its own telling."""
    (await api.post(PODS.path(namespace=namespace), pod(name, labels, **UNSCHEDULED))).ok()
    (await api.post(f"{PODS.path(name, namespace)}/binding", binding(name, await some_node(api)))).ok()
    ready = {"type": "Ready", "status": "True"}
    body = {"status": {"phase": "Running", "conditions": [ready]}}
    (await api.patch(f"{PODS.path(name, namespace)}/status", body)).ok()


async def some_node(api: Api) -> str:
    """One node for all pods of this file: a pod on a node that is not there would be collected as an orphan."""
    made = await api.post(NODES.path(), node("contract-evictions", unschedulable=True))
    assert made.status in (201, 409), made.body
    return "contract-evictions"


async def test_an_eviction_for_another_uid_is_refused(api: Api, namespace: str) -> None:
    await running(api, namespace, "one", {})
    answer = await evicted(api, namespace, "one", deleteOptions={"preconditions": {"uid": "not-it"}})
    answer.refused(409, "Conflict")


async def test_a_disruption_budget_that_allows_none_blocks_an_eviction(api: Api, namespace: str) -> None:
    labels = {"app": "guarded"}
    await running(api, namespace, "one", labels)
    budgets = DISRUPTION_BUDGETS.path(namespace=namespace)
    (await api.post(budgets, disruption_budget("guard", labels, minAvailable=1))).ok()
    await api.until(
        f"{budgets}/guard", lambda answer: answer.ok().get("status", {}).get("currentHealthy") == 1 and seen(answer)
    )
    answer = await evicted(api, namespace, "one")
    status = answer.refused(429, "TooManyRequests")
    assert status["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    cause = status["details"]["causes"][0]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"] == "The disruption budget guard needs 1 healthy pods and has 1 currently"
    assert (await api.get(PODS.path("one", namespace))).status == 200


def seen(answer: Answer) -> bool:
    return bool(answer.body.get("status", {}).get("observedGeneration") == answer.body["metadata"]["generation"])


async def test_a_disruption_budget_lets_as_many_go_as_it_allows(api: Api, namespace: str) -> None:
    labels = {"app": "guarded"}
    for name in ("one", "two"):
        await running(api, namespace, name, labels)
    budgets = DISRUPTION_BUDGETS.path(namespace=namespace)
    (await api.post(budgets, disruption_budget("guard", labels, minAvailable=1))).ok()
    counted = await api.until(
        f"{budgets}/guard", lambda answer: answer.ok().get("status", {}).get("disruptionsAllowed") == 1
    )
    assert counted.body["status"]["expectedPods"] == 2
    assert counted.body["status"]["desiredHealthy"] == 1
    assert (await evicted(api, namespace, "one")).status == 201
    (await evicted(api, namespace, "two")).refused(429, "TooManyRequests")


async def test_an_unready_pod_under_a_budget_may_go_when_the_policy_says_always(api: Api, namespace: str) -> None:
    labels = {"app": "guarded"}
    (await api.post(PODS.path(namespace=namespace), pod("one", labels, **UNSCHEDULED))).ok()
    (await api.post(f"{PODS.path('one', namespace)}/binding", binding("one", await some_node(api)))).ok()
    body = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}}
    (await api.patch(f"{PODS.path('one', namespace)}/status", body)).ok()
    budget = disruption_budget("guard", labels, minAvailable=1)
    budgets = DISRUPTION_BUDGETS.path(namespace=namespace)
    (await api.post(budgets, budget)).ok()
    await api.until(f"{budgets}/guard", seen)
    (await evicted(api, namespace, "one")).refused(429, "TooManyRequests")
    (await api.patch(f"{budgets}/guard", {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}})).ok()
    answer = await until(lambda: evicted(api, namespace, "one"), lambda answer: answer.status != 429)
    assert answer.status == 201


async def test_two_budgets_over_one_pod_are_an_error(api: Api, namespace: str) -> None:
    labels = {"app": fresh("twice")}
    await running(api, namespace, "one", labels)
    for name in ("a", "b"):
        budget = disruption_budget(name, labels, maxUnavailable=1)
        (await api.post(DISRUPTION_BUDGETS.path(namespace=namespace), budget)).ok()
    answer = await evicted(api, namespace, "one")
    assert answer.status == 500
    assert "more than one PodDisruptionBudget" in answer.body["message"]
