"""Strategic merge patches: lists that merge by key, and the directives that say otherwise."""

from __future__ import annotations

from typing import Any

from tests.contract.kubernetes.custom import forgetful
from tests.contract.kubernetes.raw_api import STRATEGIC, Api
from tests.contract.kubernetes.things import deployment, fresh, node, pod

from dovetail.api.kinds import DEPLOYMENTS, NODES, PODS

CONTAINERS = [
    {"name": "main", "image": "example/app:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
    {"name": "side", "image": "example/side:1"},
]


async def patched(api: Api, namespace: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The pod spec of a deployment of two containers, after a patch of it."""
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("one", 0, containers=CONTAINERS))).ok()
    body = {"spec": {"template": {"spec": spec}}}
    answer = (await api.patch(DEPLOYMENTS.path("one", namespace), body, STRATEGIC)).ok()
    return dict(answer["spec"]["template"]["spec"])


def images(spec: dict[str, Any]) -> dict[str, str]:
    return {container["name"]: container["image"] for container in spec["containers"]}


async def test_containers_merge_by_name(api: Api, namespace: str) -> None:
    spec = await patched(api, namespace, {"containers": [{"name": "side", "image": "example/side:2"}]})
    assert images(spec) == {"main": "example/app:1", "side": "example/side:2"}


async def test_a_new_container_is_added(api: Api, namespace: str) -> None:
    spec = await patched(api, namespace, {"containers": [{"name": "third", "image": "example/third:1"}]})
    assert set(images(spec)) == {"main", "side", "third"}


async def test_lists_inside_merged_lists_merge_too(api: Api, namespace: str) -> None:
    change = {"name": "main", "env": [{"name": "B", "value": "9"}, {"name": "C", "value": "3"}]}
    spec = await patched(api, namespace, {"containers": [change]})
    main = next(container for container in spec["containers"] if container["name"] == "main")
    assert {one["name"]: one["value"] for one in main["env"]} == {"A": "1", "B": "9", "C": "3"}


async def test_an_element_is_deleted_by_directive(api: Api, namespace: str) -> None:
    spec = await patched(api, namespace, {"containers": [{"name": "side", "$patch": "delete"}]})
    assert images(spec) == {"main": "example/app:1"}


async def test_a_list_is_replaced_by_directive(api: Api, namespace: str) -> None:
    only = [{"name": "only", "image": "example/only:1"}, {"$patch": "replace"}]
    assert images(await patched(api, namespace, {"containers": only})) == {"only": "example/only:1"}


async def test_a_map_is_replaced_by_directive(api: Api, namespace: str) -> None:
    spec = await patched(api, namespace, {"nodeSelector": {"$patch": "replace", "fresh": "true"}})
    assert spec["nodeSelector"] == {"fresh": "true"}


async def test_maps_merge_and_null_deletes(api: Api, namespace: str) -> None:
    spec = await patched(api, namespace, {"nodeSelector": {"contract/nowhere": None, "also": "this"}})
    assert spec["nodeSelector"] == {"also": "this"}


async def test_lists_without_a_key_are_replaced(api: Api, namespace: str) -> None:
    (await api.post(PODS.path(namespace=namespace), pod("one", tolerations=[{"key": "a", "operator": "Exists"}]))).ok()
    body = {"metadata": {"name": "one"}, "spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}}
    answer = await api.patch(PODS.path("one", namespace), body, STRATEGIC)
    # Tolerations of a pod may only be added to: a list that lost one shows that nothing was merged.
    assert answer.status == 422


async def test_finalizers_merge_as_a_set(api: Api, namespace: str) -> None:
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("one", 0))).ok()
    path = DEPLOYMENTS.path("one", namespace)
    for name in ("contract.test/a", "contract.test/b"):
        answer = await api.patch(path, {"metadata": {"finalizers": [name]}}, STRATEGIC)
    assert sorted(answer.ok()["metadata"]["finalizers"]) == ["contract.test/a", "contract.test/b"]
    drop = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["contract.test/a"]}}
    assert (await api.patch(path, drop, STRATEGIC)).ok()["metadata"]["finalizers"] == ["contract.test/b"]
    (await api.patch(path, {"metadata": {"finalizers": None}})).ok()


async def test_node_conditions_merge_by_type(api: Api) -> None:
    name = fresh("conditions")
    (await api.post(NODES.path(), node(name))).ok()
    pressure = {"type": "DiskPressure", "status": "False", "reason": "Fine", "message": ""}
    body = {"status": {"conditions": [pressure]}}
    changed = (await api.patch(NODES.path(name, subresource="status"), body, STRATEGIC)).ok()
    assert {condition["type"] for condition in changed["status"]["conditions"]} == {"Ready", "DiskPressure"}
    (await api.delete(NODES.path(name))).ok()


async def test_taints_of_a_node_are_replaced_whole(api: Api) -> None:
    name = fresh("tainted")
    (await api.post(NODES.path(), node(name, taints=[{"key": "a", "effect": "NoSchedule"}]))).ok()
    body = {"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}
    changed = (await api.patch(NODES.path(name), body, STRATEGIC)).ok()
    assert [taint["key"] for taint in changed["spec"]["taints"]] == ["b"]
    (await api.delete(NODES.path(name))).ok()


async def test_an_element_without_its_key_is_refused(api: Api, namespace: str) -> None:
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("one", 0))).ok()
    body = {"spec": {"template": {"spec": {"containers": [{"image": "example/x:1"}]}}}}
    answer = await api.patch(DEPLOYMENTS.path("one", namespace), body, STRATEGIC)
    assert answer.status in (400, 422, 500)
    assert "does not contain declared merge key: name" in answer.body["message"]


async def test_custom_resources_have_no_strategic_merge(api: Api, namespace: str) -> None:
    path = await forgetful(api, namespace)
    (await api.patch(f"{path}/one", {"spec": {}}, STRATEGIC)).refused(415, "UnsupportedMediaType")
