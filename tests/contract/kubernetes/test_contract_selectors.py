"""Label and field selectors, on lists; `test_contract_watch` has them on watches."""

from __future__ import annotations

import pytest
from tests.contract.kubernetes.raw_api import Api
from tests.contract.kubernetes.things import config_map, fresh, node, pod

from dovetail.api.kinds import CONFIG_MAPS, CORE_EVENTS, NODES, PODS

LABELLED = {
    "red": {"colour": "red", "size": "1"},
    "blue": {"colour": "blue"},
    "plain": {},
}


async def selected(api: Api, path: str, **query: str) -> set[str]:
    found = {item["metadata"]["name"] for item in (await api.get(path, **query)).ok()["items"]}
    return found - {"kube-root-ca.crt"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("colour=red", {"red"}),
        ("colour==red", {"red"}),
        ("colour!=red", {"blue", "plain"}),
        ("colour", {"red", "blue"}),
        ("!colour", {"plain"}),
        ("colour in (red,blue)", {"red", "blue"}),
        ("colour notin (red)", {"blue", "plain"}),
        ("colour,size", {"red"}),
        ("colour=red,size=2", set()),
        ("size>0", {"red"}),
        ("size<1", set()),
        ("", {"red", "blue", "plain"}),
    ],
)
async def test_a_label_selector_selects(api: Api, namespace: str, selector: str, expected: set[str]) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    for name, labels in LABELLED.items():
        (await api.post(path, config_map(name, labels=labels))).ok()
    assert await selected(api, path, labelSelector=selector) == expected


@pytest.mark.parametrize("selector", ["colour in", "a b", "=x"])
async def test_a_label_selector_that_makes_no_sense_is_refused(api: Api, namespace: str, selector: str) -> None:
    (await api.get(CONFIG_MAPS.path(namespace=namespace), labelSelector=selector)).refused(400, "BadRequest")


async def test_objects_are_selected_by_name_and_namespace(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    for name in ("one", "two"):
        (await api.post(path, config_map(name))).ok()
    assert await selected(api, path, fieldSelector="metadata.name=one") == {"one"}
    assert await selected(api, path, fieldSelector="metadata.name!=one") == {"two"}
    assert await selected(api, CONFIG_MAPS.path(), fieldSelector=f"metadata.namespace={namespace}") == {"one", "two"}
    both = f"metadata.name=two,metadata.namespace={namespace}"
    assert await selected(api, CONFIG_MAPS.path(), fieldSelector=both) == {"two"}


async def test_pods_are_selected_by_node_and_phase(api: Api, namespace: str) -> None:
    path = PODS.path(namespace=namespace)
    (await api.post(path, pod("bound", nodeName="not-a-node", tolerations=[{"operator": "Exists"}]))).ok()
    (await api.post(path, pod("waiting"))).ok()
    assert await selected(api, path, fieldSelector="spec.nodeName=not-a-node") == {"bound"}
    assert await selected(api, path, fieldSelector="spec.nodeName=") == {"waiting"}
    (await api.patch(f"{path}/waiting/status", {"status": {"phase": "Succeeded"}})).ok()
    assert await selected(api, path, fieldSelector="status.phase=Succeeded") == {"waiting"}
    assert await selected(api, path, fieldSelector="status.phase!=Succeeded,status.phase!=Failed") == {"bound"}
    assert await selected(api, path, fieldSelector="spec.restartPolicy=Never") == set()
    assert await selected(api, path, fieldSelector="spec.schedulerName=default-scheduler") == {"bound", "waiting"}


async def test_nodes_are_selected_by_being_unschedulable(api: Api) -> None:
    name = fresh("cordoned")
    (await api.post(NODES.path(), node(name, unschedulable=True))).ok()
    assert name in await selected(api, NODES.path(), fieldSelector="spec.unschedulable=true")
    assert name not in await selected(api, NODES.path(), fieldSelector="spec.unschedulable=false")
    (await api.delete(NODES.path(name))).ok()


async def test_events_are_selected_by_what_they_are_about(api: Api, namespace: str) -> None:
    path = CORE_EVENTS.path(namespace=namespace)
    for name in ("a", "b"):
        about = {"kind": "Pod", "name": name, "namespace": namespace, "uid": f"uid-{name}"}
        event = {"metadata": {"name": f"event-{name}"}, "involvedObject": about, "reason": "Tested", "type": "Normal"}
        (await api.post(path, event)).ok()
    assert await selected(api, path, fieldSelector="involvedObject.name=a") == {"event-a"}
    assert await selected(api, path, fieldSelector="involvedObject.uid=uid-b,involvedObject.kind=Pod") == {"event-b"}
    assert await selected(api, path, fieldSelector="reason=Other") == set()
    assert await selected(api, path, fieldSelector="type=Normal") == {"event-a", "event-b"}


async def test_a_field_nobody_can_select_by_is_refused(api: Api, namespace: str) -> None:
    answer = await api.get(CONFIG_MAPS.path(namespace=namespace), fieldSelector="data.a=1")
    message = '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"'
    assert answer.refused(400, "BadRequest")["message"].endswith(message)
    answer = await api.get(PODS.path(namespace=namespace), fieldSelector="spec.hostname=a")
    assert answer.refused(400, "BadRequest")["message"].endswith("field label not supported: spec.hostname")
