"""Server-side apply: who owns which field, and what happens when two want the same."""

from __future__ import annotations

from typing import Any

from tests.contract.kubernetes.raw_api import Api
from tests.contract.kubernetes.things import config_map, deployment

from dovetail.api.kinds import CONFIG_MAPS, DEPLOYMENTS


def managers(thing: dict[str, Any]) -> dict[str, Any]:
    return {entry["manager"]: entry for entry in thing["metadata"]["managedFields"]}


async def test_applying_creates_what_is_missing(api: Api, namespace: str) -> None:
    answer = await api.apply(CONFIG_MAPS.path("one", namespace), config_map("one", {"a": "1"}), "alice")
    assert answer.status == 201
    assert answer.body["data"] == {"a": "1"}
    entry = managers(answer.body)["alice"]
    assert entry["operation"] == "Apply"
    assert entry["apiVersion"] == "v1"
    assert entry["fieldsType"] == "FieldsV1"
    assert entry["fieldsV1"] == {"f:data": {"f:a": {}}}
    assert "time" in entry


async def test_applying_again_changes_and_keeps_what_others_own(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    (await api.apply(path, config_map("one", {"a": "1"}), "alice")).ok()
    (await api.apply(path, config_map("one", {"b": "2"}), "bob")).ok()
    answer = await api.apply(path, config_map("one", {"a": "3"}), "alice")
    assert answer.status == 200
    assert answer.body["data"] == {"a": "3", "b": "2"}


async def test_applying_the_same_again_changes_nothing(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    first = (await api.apply(path, config_map("one", {"a": "1"}), "alice")).ok()
    again = (await api.apply(path, config_map("one", {"a": "1"}), "alice")).ok()
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_a_field_no_longer_applied_is_removed(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    (await api.apply(path, config_map("one", {"a": "1", "b": "2"}), "alice")).ok()
    assert (await api.apply(path, config_map("one", {"a": "1"}), "alice")).ok()["data"] == {"a": "1"}


async def test_another_managers_field_is_a_conflict_that_names_the_manager(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    (await api.apply(path, config_map("one", {"a": "1"}), "alice")).ok()
    status = (await api.apply(path, config_map("one", {"a": "2"}), "bob")).refused(409, "Conflict")
    assert status["message"] == 'Apply failed with 1 conflict: conflict with "alice": .data.a'
    assert status["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "alice"', "field": ".data.a"}
    ]
    assert (await api.get(path)).ok()["data"] == {"a": "1"}


async def test_the_same_value_is_shared_and_no_conflict(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    (await api.apply(path, config_map("one", {"a": "1"}), "alice")).ok()
    shared = (await api.apply(path, config_map("one", {"a": "1"}), "bob")).ok()
    assert {"alice", "bob"} <= set(managers(shared))
    # What one of two owners drops stays.
    assert (await api.apply(path, config_map("one"), "alice")).ok()["data"] == {"a": "1"}


async def test_force_takes_a_field_over(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    (await api.apply(path, config_map("one", {"a": "1"}), "alice")).ok()
    taken = (await api.apply(path, config_map("one", {"a": "2"}), "bob", force="true")).ok()
    assert taken["data"] == {"a": "2"}
    assert managers(taken)["bob"]["fieldsV1"] == {"f:data": {"f:a": {}}}
    assert "f:a" not in str(managers(taken).get("alice", {}).get("fieldsV1"))


async def test_a_plain_update_owns_what_it_changed(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    (await api.apply(path, config_map("one", {"a": "1"}), "alice")).ok()
    changed = (await api.patch(path, {"data": {"b": "2"}}, fieldManager="carol")).ok()
    entry = managers(changed)["carol"]
    assert (entry["operation"], entry["fieldsV1"]) == ("Update", {"f:data": {"f:b": {}}})
    status = (await api.apply(path, config_map("one", {"b": "3"}), "alice")).refused(409, "Conflict")
    assert 'conflict with "carol" using v1' in status["message"]


async def test_a_plain_update_takes_fields_without_asking(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    (await api.apply(path, config_map("one", {"a": "1"}), "alice")).ok()
    changed = (await api.patch(path, {"data": {"a": "2"}}, fieldManager="carol")).ok()
    assert changed["data"] == {"a": "2"}
    assert managers(changed)["carol"]["fieldsV1"] == {"f:data": {"f:a": {}}}


async def test_applying_without_a_manager_is_refused(api: Api, namespace: str) -> None:
    body = config_map("one")
    answer = await api.request("PATCH", CONFIG_MAPS.path("one", namespace), body, "application/apply-patch+yaml")
    assert answer.status in (400, 422)
    assert "fieldManager" in answer.body["message"]


async def test_applying_yaml_is_the_same(api: Api, namespace: str) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  a: 'yes'\n"
    made = (await api.apply(CONFIG_MAPS.path("one", namespace), text, "alice")).ok()
    assert made["data"] == {"a": "yes"}


async def test_managed_fields_in_an_applied_body_are_refused(api: Api, namespace: str) -> None:
    body = config_map("one", managedFields=[{"manager": "x", "operation": "Apply"}])
    answer = await api.apply(CONFIG_MAPS.path("one", namespace), body, "alice")
    answer.refused(400, "BadRequest")


async def test_lists_with_a_key_merge_between_managers(api: Api, namespace: str) -> None:
    path = DEPLOYMENTS.path("one", namespace)
    (await api.apply(path, deployment("one", 0), "alice")).ok()
    side = {"containers": [{"name": "side", "image": "example/side:1"}]}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "one"},
        "spec": {"template": {"spec": side}},
    }
    both = (await api.apply(path, body, "bob")).ok()
    names = [container["name"] for container in both["spec"]["template"]["spec"]["containers"]]
    assert names == ["main", "side"]
    gone = (await api.apply(path, {**body, "spec": {}}, "bob")).ok()
    assert [container["name"] for container in gone["spec"]["template"]["spec"]["containers"]] == ["main"]


async def test_a_dry_run_of_apply_changes_nothing(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    answer = await api.apply(path, config_map("one", {"a": "1"}), "alice", dryRun="All")
    assert answer.status in (200, 201)
    assert (await api.get(path)).status == 404


async def test_status_is_applied_to_its_subresource_alone(api: Api, namespace: str) -> None:
    path = DEPLOYMENTS.path("one", namespace)
    (await api.apply(path, deployment("one", 0), "alice")).ok()
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "one"}, "status": {"collisionCount": 4}}
    answer = (await api.apply(f"{path}/status", body, "reporter")).ok()
    assert answer["status"]["collisionCount"] == 4
    assert answer["spec"]["replicas"] == 0
    assert managers(answer)["reporter"]["subresource"] == "status"


async def test_a_created_object_is_owned_by_its_creator(api: Api, namespace: str) -> None:
    made = await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", {"a": "1"}), fieldManager="carol")
    entry = managers(made.ok())["carol"]
    assert entry["operation"] == "Update"
    assert entry["fieldsV1"]["f:data"] == {".": {}, "f:a": {}}
