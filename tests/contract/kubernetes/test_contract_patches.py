"""Merge patches and JSON patches."""

from __future__ import annotations

import pytest
from tests.contract.kubernetes.raw_api import JSON_PATCH, Api
from tests.contract.kubernetes.things import config_map, deployment

from dovetail.api.kinds import CONFIG_MAPS, DEPLOYMENTS


async def made(api: Api, namespace: str) -> str:
    """A config map with two keys; returns its path."""
    thing = config_map("one", {"a": "1", "b": "2"}, labels={"keep": "me"})
    (await api.post(CONFIG_MAPS.path(namespace=namespace), thing)).ok()
    return CONFIG_MAPS.path("one", namespace)


async def test_a_merge_patch_changes_adds_and_removes(api: Api, namespace: str) -> None:
    path = await made(api, namespace)
    changed = (await api.patch(path, {"data": {"a": "9", "b": None, "c": "3"}})).ok()
    assert changed["data"] == {"a": "9", "c": "3"}
    assert changed["metadata"]["labels"] == {"keep": "me"}


async def test_a_merge_patch_replaces_lists_whole(api: Api, namespace: str) -> None:
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("one", replicas=0))).ok()
    path = DEPLOYMENTS.path("one", namespace)
    containers = [{"name": "other", "image": "example/other:1"}]
    changed = (await api.patch(path, {"spec": {"template": {"spec": {"containers": containers}}}})).ok()
    assert [container["name"] for container in changed["spec"]["template"]["spec"]["containers"]] == ["other"]


async def test_an_empty_patch_changes_nothing_not_even_the_version(api: Api, namespace: str) -> None:
    path = await made(api, namespace)
    before = (await api.get(path)).ok()
    assert (await api.patch(path, {})).ok() == before
    assert (await api.patch(path, {"data": {"a": "1"}})).ok() == before


async def test_a_patch_with_a_stale_version_is_refused(api: Api, namespace: str) -> None:
    path = await made(api, namespace)
    stale = (await api.get(path)).ok()["metadata"]["resourceVersion"]
    (await api.patch(path, {"data": {"a": "2"}})).ok()
    answer = await api.patch(path, {"metadata": {"resourceVersion": stale}, "data": {"a": "3"}})
    answer.refused(409, "Conflict")


async def test_a_patch_with_the_current_version_is_taken(api: Api, namespace: str) -> None:
    path = await made(api, namespace)
    now = (await api.get(path)).ok()["metadata"]["resourceVersion"]
    changed = (await api.patch(path, {"metadata": {"resourceVersion": now}, "data": {"a": "3"}})).ok()
    assert changed["data"]["a"] == "3"


async def test_a_patch_for_another_uid_is_refused(api: Api, namespace: str) -> None:
    path = await made(api, namespace)
    other = {"metadata": {"uid": "11111111-2222-3333-4444-555555555555"}, "data": {"a": "3"}}
    answer = await api.patch(path, other)
    # A replacement with another uid is a conflict; a patch is an invalid change. So the real server has it.
    assert answer.causes() == {("FieldValueInvalid", "metadata.uid")}
    assert "field is immutable" in answer.body["message"]


async def test_a_patch_of_a_missing_object_is_refused(api: Api, namespace: str) -> None:
    (await api.patch(CONFIG_MAPS.path("none", namespace), {"data": {}})).refused(404, "NotFound")


async def test_a_patch_cannot_make_an_object_invalid(api: Api, namespace: str) -> None:
    path = await made(api, namespace)
    answer = await api.patch(path, {"metadata": {"labels": {"a": "not valid"}}})
    assert answer.causes() == {("FieldValueInvalid", "metadata.labels")}


async def test_a_json_patch_runs_its_operations_in_order(api: Api, namespace: str) -> None:
    path = await made(api, namespace)
    operations = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "5"},
        {"op": "copy", "from": "/data/a", "path": "/data/copied"},
        {"op": "move", "from": "/data/b", "path": "/data/moved"},
        {"op": "add", "path": "/metadata/labels/a~1b", "value": "slash"},
        {"op": "remove", "path": "/metadata/labels/keep"},
    ]
    changed = (await api.patch(path, operations, JSON_PATCH)).ok()
    assert changed["data"] == {"a": "5", "copied": "5", "moved": "2"}
    assert changed["metadata"]["labels"] == {"a/b": "slash"}


async def test_a_failing_test_operation_refuses_the_whole_patch(api: Api, namespace: str) -> None:
    path = await made(api, namespace)
    operations = [
        {"op": "replace", "path": "/data/b", "value": "changed"},
        {"op": "test", "path": "/data/a", "value": "not this"},
    ]
    answer = await api.patch(path, operations, JSON_PATCH)
    answer.refused(422, "Invalid")
    assert (await api.get(path)).ok()["data"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/data/missing"},
        {"op": "replace", "path": "/nowhere/at/all", "value": "x"},
        {"op": "add", "path": "/nowhere/at/all", "value": "x"},
    ],
)
async def test_an_operation_on_a_missing_place_is_refused(api: Api, namespace: str, operation: dict[str, str]) -> None:
    path = await made(api, namespace)
    (await api.patch(path, [operation], JSON_PATCH)).refused(422, "Invalid")


async def test_replacing_a_missing_key_of_a_map_adds_it(api: Api, namespace: str) -> None:
    path = await made(api, namespace)
    operations = [{"op": "replace", "path": "/data/missing", "value": "x"}]
    assert (await api.patch(path, operations, JSON_PATCH)).ok()["data"] == {"a": "1", "b": "2", "missing": "x"}


async def test_a_patch_that_is_no_list_of_operations_is_refused(api: Api, namespace: str) -> None:
    path = await made(api, namespace)
    (await api.patch(path, {"op": "add"}, JSON_PATCH)).refused(400, "BadRequest")


async def test_a_json_patch_appends_to_and_inserts_into_lists(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    (await api.post(path, config_map("one", finalizers=["contract.test/b"]))).ok()
    operations = [
        {"op": "add", "path": "/metadata/finalizers/-", "value": "contract.test/c"},
        {"op": "add", "path": "/metadata/finalizers/0", "value": "contract.test/a"},
    ]
    changed = (await api.patch(f"{path}/one", operations, JSON_PATCH)).ok()
    assert changed["metadata"]["finalizers"] == ["contract.test/a", "contract.test/b", "contract.test/c"]
    (await api.patch(f"{path}/one", {"metadata": {"finalizers": None}})).ok()
