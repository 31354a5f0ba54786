"""Controllers: what becomes of a Deployment, a ReplicaSet, a Job and a DaemonSet, and who binds their pods."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.contract.kubernetes.raw_api import Answer, Api
from tests.contract.kubernetes.things import deployment, fresh, node, pod, template

from dovetail.api.kinds import DAEMON_SETS, DEPLOYMENTS, JOBS, NODES, PODS, REPLICA_SETS, Kind


@asynccontextmanager
async def own_node(api: Api, cpu: str = "8", **spec: Any) -> AsyncIterator[str]:
    """A ready node for this test's pods alone: they find it by a label of its name."""
    name = fresh("node")
    body = node(name, {"contract/own": name}, **spec)
    body["status"]["allocatable"]["cpu"] = body["status"]["capacity"]["cpu"] = cpu
    (await api.post(NODES.path(), body)).ok()
    try:
        yield name
    finally:
        (await api.delete(NODES.path(name))).ok()


def onto(name: str) -> dict[str, Any]:
    return {"nodeSelector": {"contract/own": name}}


def count(number: int, node: str = "") -> Any:
    """That many pods are there and alive, on that node if it is named."""

    def true(answer: Answer) -> bool:
        alive = [item for item in answer.ok()["items"] if "deletionTimestamp" not in item["metadata"]]
        return len(alive) == number and all(item["spec"].get("nodeName", "") == node for item in alive if node)

    return true


async def finish(api: Api, namespace: str, name: str, phase: str) -> None:
    (await api.patch(f"{PODS.path(name, namespace)}/status", {"status": {"phase": phase}})).ok()


async def owner_of(api: Api, kind: Kind, name: str, namespace: str) -> str:
    reference = (await api.get(kind.path(name, namespace))).ok()["metadata"]["ownerReferences"][0]
    assert reference["controller"] is True
    assert reference["blockOwnerDeletion"] is True
    return f"{reference['kind']}/{reference['name']}"


async def test_a_deployment_becomes_pods_on_a_node(api: Api, namespace: str) -> None:
    async with own_node(api) as name:
        (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("web", 2, **onto(name)))).ok()
        pods = (await api.until(PODS.path(namespace=namespace), count(2, name))).body["items"]
        sets = (await api.get(REPLICA_SETS.path(namespace=namespace))).ok()["items"]
        assert len(sets) == 1
        assert await owner_of(api, PODS, pods[0]["metadata"]["name"], namespace) == f"ReplicaSet/{set_name(sets)}"
        assert await owner_of(api, REPLICA_SETS, set_name(sets), namespace) == "Deployment/web"
        assert pods[0]["metadata"]["generateName"] == f"{set_name(sets)}-"
        assert pods[0]["metadata"]["labels"]["pod-template-hash"] in set_name(sets)


def set_name(sets: list[dict[str, Any]]) -> str:
    return str(sets[0]["metadata"]["name"])


async def test_a_deployment_scales_up_and_down(api: Api, namespace: str) -> None:
    path = DEPLOYMENTS.path("web", namespace)
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("web", 1))).ok()
    for replicas in (3, 1, 0):
        (await api.patch(f"{path}/scale", {"spec": {"replicas": replicas}})).ok()
        await api.until(PODS.path(namespace=namespace), count(replicas))
        await api.until(path, lambda answer, wanted=replicas: answer.ok()["status"].get("replicas", 0) == wanted)  # type: ignore[misc]


async def test_a_deployment_counts_what_is_ready(api: Api, namespace: str) -> None:
    path = DEPLOYMENTS.path("web", namespace)
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("web", 1))).ok()
    found = (await api.until(PODS.path(namespace=namespace), count(1))).body["items"][0]["metadata"]["name"]
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    (await api.patch(f"{PODS.path(found, namespace)}/status", {"status": status})).ok()
    ready = await api.until(path, lambda answer: answer.ok()["status"].get("readyReplicas") == 1)
    assert ready.body["status"]["observedGeneration"] == ready.body["metadata"]["generation"]
    available = await api.until(path, lambda answer: answer.ok()["status"].get("availableReplicas") == 1)
    conditions = {one["type"]: one["status"] for one in available.body["status"]["conditions"]}
    assert conditions["Available"] == "True"


async def test_a_changed_template_makes_a_new_replica_set(api: Api, namespace: str) -> None:
    path = DEPLOYMENTS.path("web", namespace)
    body = deployment("web", 1)
    body["spec"]["strategy"] = {"type": "Recreate"}
    (await api.post(DEPLOYMENTS.path(namespace=namespace), body)).ok()
    first = (await api.until(PODS.path(namespace=namespace), count(1))).body["items"][0]["metadata"]
    change = {"spec": {"template": {"metadata": {"labels": {"version": "two"}}}}}
    (await api.patch(path, change)).ok()

    def replaced(answer: Answer) -> bool:
        labels = [item["metadata"]["labels"].get("version") for item in answer.ok()["items"]]
        return labels == ["two"]

    second = (await api.until(PODS.path(namespace=namespace), replaced)).body["items"][0]["metadata"]
    assert second["labels"]["pod-template-hash"] != first["labels"]["pod-template-hash"]


async def test_deleting_a_deployment_takes_its_pods_along(api: Api, namespace: str) -> None:
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("web", 1))).ok()
    await api.until(PODS.path(namespace=namespace), count(1))
    (await api.delete(DEPLOYMENTS.path("web", namespace))).ok()
    await api.until(PODS.path(namespace=namespace), count(0))
    assert (await api.get(REPLICA_SETS.path(namespace=namespace))).ok()["items"] == []


async def test_a_replica_set_replaces_a_lost_pod(api: Api, namespace: str) -> None:
    body = {**deployment("web", 1), "kind": "ReplicaSet"}
    (await api.post(REPLICA_SETS.path(namespace=namespace), body)).ok()
    first = (await api.until(PODS.path(namespace=namespace), count(1))).body["items"][0]["metadata"]["name"]
    (await api.delete(PODS.path(first, namespace))).ok()

    def another(answer: Answer) -> bool:
        return [item["metadata"]["name"] for item in answer.ok()["items"]] not in ([], [first])

    await api.until(PODS.path(namespace=namespace), another)


async def test_a_job_runs_to_completion(api: Api, namespace: str) -> None:
    spec = {"completions": 2, "parallelism": 1, "template": template({"job": "sum"}, restartPolicy="Never")}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"}, "spec": spec}
    path = JOBS.path("sum", namespace)
    (await api.post(JOBS.path(namespace=namespace), body)).ok()

    def unfinished(answer: Answer) -> bool:
        return any(item["status"]["phase"] == "Pending" for item in answer.ok()["items"])

    for _ in range(2):
        pods = (await api.until(PODS.path(namespace=namespace), unfinished)).body["items"]
        waiting = next(item for item in pods if item["status"]["phase"] == "Pending")
        await finish(api, namespace, waiting["metadata"]["name"], "Succeeded")
    done = await api.until(path, lambda answer: answer.ok()["status"].get("succeeded") == 2)
    done = await api.until(path, lambda answer: bool(answer.ok()["status"].get("completionTime")))
    conditions = {one["type"]: one["status"] for one in done.body["status"]["conditions"]}
    assert conditions["Complete"] == "True"
    assert waiting["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "sum"


async def test_a_daemon_set_puts_a_pod_on_every_fitting_node(api: Api, namespace: str) -> None:
    async with own_node(api) as name:
        labels = {"app": "agent"}
        spec = {"selector": {"matchLabels": labels}, "template": template(labels, **onto(name))}
        body = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec}
        (await api.post(DAEMON_SETS.path(namespace=namespace), body)).ok()
        await api.until(PODS.path(namespace=namespace), count(1, name))
        path = DAEMON_SETS.path("agent", namespace)
        await api.until(path, lambda answer: answer.ok()["status"].get("desiredNumberScheduled") == 1)


async def test_a_pod_that_fits_nowhere_says_why(api: Api, namespace: str) -> None:
    (await api.post(PODS.path(namespace=namespace), pod("one"))).ok()

    def told(answer: Answer) -> bool:
        return any(one["type"] == "PodScheduled" for one in answer.ok()["status"].get("conditions", []))

    found = await api.until(PODS.path("one", namespace), told)
    condition = next(one for one in found.body["status"]["conditions"] if one["type"] == "PodScheduled")
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert "nodes are available" in condition["message"] or "no nodes available" in condition["message"]


async def test_a_full_node_takes_no_more(api: Api, namespace: str) -> None:
    async with own_node(api, cpu="1") as name:
        container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": "600m"}}}
        for number in range(2):
            (
                await api.post(PODS.path(namespace=namespace), pod(f"p{number}", containers=[container], **onto(name)))
            ).ok()

        def one_waits(answer: Answer) -> bool:
            bound = [item for item in answer.ok()["items"] if item["spec"].get("nodeName") == name]
            told = [one for item in answer.body["items"] for one in item["status"].get("conditions", [])]
            return len(bound) == 1 and any("Insufficient cpu" in one.get("message", "") for one in told)

        await api.until(PODS.path(namespace=namespace), one_waits)


async def test_taints_keep_pods_away_unless_tolerated(api: Api, namespace: str) -> None:
    async with own_node(api, taints=[{"key": "own", "value": "yes", "effect": "NoSchedule"}]) as name:
        toleration = {"key": "own", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
        (await api.post(PODS.path(namespace=namespace), pod("without", **onto(name)))).ok()
        (await api.post(PODS.path(namespace=namespace), pod("with", tolerations=[toleration], **onto(name)))).ok()
        path = PODS.path(namespace=namespace)
        await api.until(f"{path}/with", lambda answer: answer.ok()["spec"].get("nodeName") == name)
        assert "nodeName" not in (await api.get(f"{path}/without")).ok()["spec"]


async def test_a_cordoned_node_takes_pods_again_once_uncordoned(api: Api, namespace: str) -> None:
    async with own_node(api, unschedulable=True) as name:
        (await api.post(PODS.path(namespace=namespace), pod("one", **onto(name)))).ok()
        path = PODS.path("one", namespace)
        await api.until(path, lambda answer: bool(answer.ok()["status"].get("conditions")))
        assert "nodeName" not in (await api.get(path)).ok()["spec"]
        (await api.patch(NODES.path(name), {"spec": {"unschedulable": None}})).ok()
        await api.until(path, lambda answer: answer.ok()["spec"].get("nodeName") == name)


async def test_room_left_by_a_pod_is_given_to_the_next(api: Api, namespace: str) -> None:
    async with own_node(api, cpu="1") as name:
        container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": "600m"}}}
        path = PODS.path(namespace=namespace)
        (await api.post(path, pod("first", containers=[container], **onto(name)))).ok()
        await api.until(f"{path}/first", lambda answer: answer.ok()["spec"].get("nodeName") == name)
        (await api.post(path, pod("second", containers=[container], **onto(name)))).ok()
        await api.until(f"{path}/second", lambda answer: bool(answer.ok()["status"].get("conditions")))
        (await api.delete(f"{path}/first", {"gracePeriodSeconds": 0})).ok()
        await api.until(f"{path}/second", lambda answer: answer.ok()["spec"].get("nodeName") == name)
