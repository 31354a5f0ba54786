"""Deletion: at once, after finalizers, after a grace period; preconditions; what goes with an owner."""

from __future__ import annotations

from typing import Any

from tests.contract.kubernetes.raw_api import Api, gone
from tests.contract.kubernetes.things import config_map, fresh, pod

from dovetail.api.kinds import CONFIG_MAPS, NAMESPACES, PODS


async def test_a_plain_object_is_gone_at_once(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    made = (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one"))).ok()
    answer = (await api.delete(path)).ok()
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert answer["details"] == {"name": "one", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert (await api.get(path)).status == 404
    (await api.delete(path)).refused(404, "NotFound")


async def test_a_finalizer_keeps_an_object_until_it_is_removed(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    made = config_map("one", finalizers=["contract.test/wait"])
    first = (await api.post(CONFIG_MAPS.path(namespace=namespace), made)).ok()
    deleted = await api.delete(path)
    assert deleted.status == 200
    waiting = (await api.get(path)).ok()
    assert "deletionTimestamp" in waiting["metadata"]
    assert waiting["metadata"]["deletionGracePeriodSeconds"] == 0
    assert waiting["metadata"]["uid"] == first["metadata"]["uid"]
    (await api.patch(path, {"metadata": {"finalizers": []}})).ok()
    assert (await api.get(path)).status == 404


async def test_a_second_deletion_of_a_waiting_object_changes_nothing(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    made = config_map("one", finalizers=["contract.test/wait"])
    (await api.post(CONFIG_MAPS.path(namespace=namespace), made)).ok()
    (await api.delete(path)).ok()
    first = (await api.get(path)).ok()
    (await api.delete(path)).ok()
    assert (await api.get(path)).ok() == first
    (await api.patch(path, {"metadata": {"finalizers": None}})).ok()


async def test_a_waiting_object_still_changes_but_takes_no_new_finalizer(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    made = config_map("one", finalizers=["contract.test/wait"])
    (await api.post(CONFIG_MAPS.path(namespace=namespace), made)).ok()
    (await api.delete(path)).ok()
    assert (await api.patch(path, {"data": {"a": "1"}})).ok()["data"] == {"a": "1"}
    more = {"metadata": {"finalizers": ["contract.test/wait", "contract.test/more"]}}
    assert ("FieldValueForbidden", "metadata.finalizers") in (await api.patch(path, more)).causes()
    (await api.patch(path, {"metadata": {"finalizers": None}})).ok()


async def test_a_watch_sees_the_deletion_begin_and_end(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    made = (await api.post(path, config_map("one", finalizers=["contract.test/wait"]))).ok()
    query = {"resourceVersion": made["metadata"]["resourceVersion"], "fieldSelector": "metadata.name=one"}
    async with api.watch(path, **query) as watch:
        (await api.delete(f"{path}/one")).ok()
        (await api.patch(f"{path}/one", {"metadata": {"finalizers": None}})).ok()
        kind, marked = await watch.event()
        assert kind == "MODIFIED"
        assert "deletionTimestamp" in marked["metadata"]
        kind, last = await watch.event()
        assert kind == "DELETED"
        assert int(last["metadata"]["resourceVersion"]) > int(marked["metadata"]["resourceVersion"])


async def test_a_deletion_for_another_uid_or_version_is_refused(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    made = (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one"))).ok()
    other = "11111111-2222-3333-4444-555555555555"
    status = (await api.delete(path, {"preconditions": {"uid": other}})).refused(409, "Conflict")
    assert f"UID in the precondition ({other}) does not match" in status["message"]
    assert made["metadata"]["uid"] in status["message"]
    (await api.delete(path, {"preconditions": {"resourceVersion": "1"}})).refused(409, "Conflict")
    assert (await api.get(path)).status == 200
    right = {"uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]}
    (await api.delete(path, {"preconditions": right})).ok()
    assert (await api.get(path)).status == 404


async def bound(api: Api, namespace: str, **spec: Any) -> str:
    """A pod on a node; such a pod is deleted gracefully, for a kubelet may be running it."""
    (await api.post(PODS.path(namespace=namespace), pod("one", nodeName="some-node", **spec))).ok()
    return PODS.path("one", namespace)


async def test_a_pod_on_a_node_is_given_its_grace_period(api: Api, namespace: str) -> None:
    path = await bound(api, namespace, terminationGracePeriodSeconds=45)
    answer = await api.delete(path)
    assert answer.status == 200
    assert answer.body["kind"] == "Pod"
    metadata = (await api.get(path)).ok()["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 45
    assert metadata["deletionTimestamp"] > metadata["creationTimestamp"]
    assert metadata["generation"] == 2
    (await api.delete(path, {"gracePeriodSeconds": 0})).ok()
    assert (await api.get(path)).status == 404


async def test_a_grace_period_can_be_shortened_and_not_lengthened(api: Api, namespace: str) -> None:
    path = await bound(api, namespace)
    (await api.delete(path, {"gracePeriodSeconds": 20})).ok()
    assert (await api.get(path)).ok()["metadata"]["deletionGracePeriodSeconds"] == 20
    (await api.delete(path, {"gracePeriodSeconds": 600})).ok()
    assert (await api.get(path)).ok()["metadata"]["deletionGracePeriodSeconds"] == 20
    (await api.delete(path, gracePeriodSeconds="5")).ok()
    assert (await api.get(path)).ok()["metadata"]["deletionGracePeriodSeconds"] == 5
    (await api.delete(path, {"gracePeriodSeconds": 0})).ok()


async def test_a_pod_on_no_node_goes_at_once(api: Api, namespace: str) -> None:
    (await api.post(PODS.path(namespace=namespace), pod("one"))).ok()
    (await api.delete(PODS.path("one", namespace))).ok()
    assert (await api.get(PODS.path("one", namespace))).status == 404


async def test_a_finished_pod_goes_at_once(api: Api, namespace: str) -> None:
    path = await bound(api, namespace)
    (await api.patch(f"{path}/status", {"status": {"phase": "Succeeded"}})).ok()
    (await api.delete(path)).ok()
    assert (await api.get(path)).status == 404


async def test_a_pod_with_a_finalizer_outlives_its_grace(api: Api, namespace: str) -> None:
    body = pod("one")
    body["metadata"]["finalizers"] = ["contract.test/wait"]
    (await api.post(PODS.path(namespace=namespace), body)).ok()
    path = PODS.path("one", namespace)
    (await api.delete(path, {"gracePeriodSeconds": 0})).ok()
    assert "deletionTimestamp" in (await api.get(path)).ok()["metadata"]
    (await api.patch(path, {"metadata": {"finalizers": None}})).ok()
    assert (await api.get(path)).status == 404


async def test_deleting_a_namespace_removes_its_content(api: Api) -> None:
    name = fresh("doomed")
    made = (await api.post(NAMESPACES.path(), {"metadata": {"name": name}})).ok()
    assert made["status"]["phase"] == "Active"
    assert made["spec"]["finalizers"] == ["kubernetes"]
    assert made["metadata"]["labels"]["kubernetes.io/metadata.name"] == name
    (await api.post(CONFIG_MAPS.path(namespace=name), config_map("one"))).ok()
    answer = (await api.delete(NAMESPACES.path(name))).ok()
    assert answer["status"]["phase"] == "Terminating"
    await api.until(NAMESPACES.path(name), gone)
    assert (await api.get(CONFIG_MAPS.path("one", name))).status == 404


async def test_a_terminating_namespace_takes_nothing_new(api: Api) -> None:
    name = fresh("doomed")
    (await api.post(NAMESPACES.path(), {"metadata": {"name": name}})).ok()
    (await api.post(CONFIG_MAPS.path(namespace=name), config_map("one", finalizers=["contract.test/wait"]))).ok()
    (await api.delete(NAMESPACES.path(name))).ok()
    status = (await api.post(CONFIG_MAPS.path(namespace=name), config_map("two"))).refused(403, "Forbidden")
    assert "because it is being terminated" in status["message"]
    assert status["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    (await api.patch(CONFIG_MAPS.path("one", name), {"metadata": {"finalizers": None}})).ok()
