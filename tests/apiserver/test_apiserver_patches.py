"""Patches of each kind, and who owns what after them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.clusters import WIDGETS, Clock, cluster, config_map, definition, deployment, pod, refused

from dovetail.api.kinds import CONFIG_MAPS, CRDS, DEPLOYMENTS, NODES, PODS
from dovetail.apiserver import field_sets
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.writes import ApplyPatch, JsonPatch, MergePatch, StrategicPatch, Write

ALICE, BOB = Write("alice"), Write("bob")


def with_deployment() -> Objects:
    objects = cluster()
    objects.create(DEPLOYMENTS, deployment(), "default")
    return objects


def container(obj: dict[str, Any], name: str = "main") -> dict[str, Any]:
    return next(one for one in obj["spec"]["template"]["spec"]["containers"] if one["name"] == name)


def strategic(objects: Objects, spec: dict[str, Any]) -> dict[str, Any]:
    return objects.patch(DEPLOYMENTS, "web", StrategicPatch({"spec": {"template": {"spec": spec}}}), "default")


# --- merge and JSON ------------------------------------------------------------------------------------------------


def test_a_merge_patch_takes_away_what_is_null() -> None:
    objects = cluster()
    objects.create(CONFIG_MAPS, config_map(a="1", b="2"), "default")
    assert objects.patch(CONFIG_MAPS, "one", MergePatch({"data": {"a": None}}), "default")["data"] == {"b": "2"}


def test_a_patch_of_an_older_version_is_a_conflict() -> None:
    objects = cluster()
    objects.create(CONFIG_MAPS, config_map(a="1"), "default")
    stale = MergePatch({"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}})
    refused(lambda: objects.patch(CONFIG_MAPS, "one", stale, "default"), 409)


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/a"}], {"b": "2"}),
        ([{"op": "move", "from": "/data/a", "path": "/data/c"}], {"b": "2", "c": "1"}),
        ([{"op": "copy", "from": "/data/a", "path": "/data/x~1y"}], {"a": "1", "b": "2", "x/y": "1"}),
        ([{"op": "replace", "path": "/data/a", "value": "9"}], {"a": "9", "b": "2"}),
    ],
)
def test_json_operations_do_what_they_say(operations: list[dict[str, Any]], expected: dict[str, str]) -> None:
    objects = cluster()
    objects.create(CONFIG_MAPS, config_map(a="1", b="2"), "default")
    assert objects.patch(CONFIG_MAPS, "one", JsonPatch(operations), "default")["data"] == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/a", "value": "other"},
        {"op": "remove", "path": "/data/none"},
        {"op": "add", "path": "/none/a", "value": 1},
        {"op": "add", "path": "no-slash", "value": 1},
        {"op": "dance", "path": "/data/a"},
        {"path": "/data/a"},
    ],
)
def test_one_operation_that_fails_undoes_them_all(operation: dict[str, Any]) -> None:
    objects = cluster()
    objects.create(CONFIG_MAPS, config_map(a="1"), "default")
    operations = [{"op": "replace", "path": "/data/a", "value": "2"}, operation]
    refused(lambda: objects.patch(CONFIG_MAPS, "one", JsonPatch(operations), "default"), 422)
    assert objects.get(CONFIG_MAPS, "one", "default")["data"] == {"a": "1"}


# --- strategic -----------------------------------------------------------------------------------------------------


def test_containers_and_their_variables_merge_by_name() -> None:
    objects = with_deployment()
    strategic(objects, {"containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]}]})
    made = strategic(objects, {"containers": [{"name": "main", "env": [{"name": "B", "value": "2"}]}]})
    assert [one["name"] for one in container(made)["env"]] == ["A", "B"]
    assert container(made)["image"] == "app:1"


def test_directives_delete_replace_and_order() -> None:
    objects = with_deployment()
    strategic(objects, {"containers": [{"name": "side", "image": "s"}, {"name": "third", "image": "t"}]})
    ordered = strategic(
        objects,
        {"$setElementOrder/containers": [{"name": "third"}, {"name": "main"}], "containers": [{"name": "third"}]},
    )
    names = [one["name"] for one in ordered["spec"]["template"]["spec"]["containers"]]
    assert names == ["third", "side", "main"]
    fewer = strategic(objects, {"containers": [{"name": "side", "$patch": "delete"}]})
    assert [one["name"] for one in fewer["spec"]["template"]["spec"]["containers"]] == ["third", "main"]
    replaced = strategic(objects, {"containers": [{"$patch": "replace"}, {"name": "only", "image": "o"}]})
    assert [one["name"] for one in replaced["spec"]["template"]["spec"]["containers"]] == ["only"]


def test_keys_not_retained_go() -> None:
    objects = with_deployment()
    strategy = {"$retainKeys": ["type"], "type": "Recreate"}
    made = objects.patch(DEPLOYMENTS, "web", StrategicPatch({"spec": {"strategy": strategy}}), "default")
    assert made["spec"]["strategy"] == {"type": "Recreate"}


def test_values_are_deleted_from_a_list_of_values() -> None:
    objects = cluster()
    objects.create(CONFIG_MAPS, {"metadata": {"name": "one", "finalizers": ["a.b/c", "a.b/d"]}}, "default")
    body = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/c"]}}
    made = objects.patch(CONFIG_MAPS, "one", StrategicPatch(body), "default")
    assert made["metadata"]["finalizers"] == ["a.b/d"]


def test_taints_are_replaced_whole_and_conditions_merge_by_type() -> None:
    objects = cluster()
    objects.create(NODES, {"metadata": {"name": "n"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    taints = [{"key": "a", "effect": "NoSchedule"}]
    assert objects.patch(NODES, "n", StrategicPatch({"spec": {"taints": taints}}))["spec"]["taints"] == taints
    more = StrategicPatch({"status": {"conditions": [{"type": "DiskPressure", "status": "False"}]}})
    made = objects.patch(NODES, "n", more, subresource="status")
    assert [one["type"] for one in made["status"]["conditions"]] == ["Ready", "DiskPressure"]


def test_custom_kinds_know_no_strategic_patch() -> None:
    objects = cluster()
    objects.create(CRDS, definition())
    objects.create(WIDGETS, {"metadata": {"name": "w"}}, "default")
    refused(lambda: objects.patch(WIDGETS, "w", StrategicPatch({}), "default"), 415)


# --- apply ---------------------------------------------------------------------------------------------------------


def apply(objects: Objects, who: Write, data: dict[str, str], *, force: bool = False) -> dict[str, Any]:
    return objects.patch(CONFIG_MAPS, "one", ApplyPatch({"data": data}, force), "default", write=who)


def test_what_a_manager_no_longer_applies_goes() -> None:
    objects = cluster()
    apply(objects, ALICE, {"a": "1", "b": "2"})
    assert apply(objects, ALICE, {"a": "1"})["data"] == {"a": "1"}


def test_what_another_manager_wants_too_stays() -> None:
    objects = cluster()
    apply(objects, ALICE, {"a": "1", "b": "2"})
    apply(objects, BOB, {"b": "2"})
    assert apply(objects, ALICE, {"a": "1"})["data"] == {"a": "1", "b": "2"}


def test_a_field_of_somebody_else_is_a_conflict_unless_forced() -> None:
    objects = cluster()
    apply(objects, ALICE, {"a": "1"})
    text = 'Apply failed with 1 conflict: conflict with "alice": .data.a'
    problem = refused(lambda: apply(objects, BOB, {"a": "2"}), 409, text=text)
    assert problem.details["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "alice"', "field": ".data.a"}
    ]
    assert apply(objects, BOB, {"a": "2"}, force=True)["data"] == {"a": "2"}
    assert apply(objects, ALICE, {})["data"] == {"a": "2"}


def test_conflicts_with_several_fields_are_listed_by_manager() -> None:
    objects = cluster()
    objects.create(CONFIG_MAPS, config_map(a="1", b="2"), "default", ALICE)
    text = 'Apply failed with 2 conflicts: conflicts with "alice" using v1:\n- .data.a\n- .data.b'
    refused(lambda: apply(objects, BOB, {"a": "9", "b": "9"}), 409, text=text)


def test_the_same_value_is_owned_together() -> None:
    objects = cluster()
    objects.create(CONFIG_MAPS, config_map(a="1"), "default", ALICE)
    made = apply(objects, BOB, {"a": "1"})
    assert {one["manager"] for one in made["metadata"]["managedFields"]} == {"alice", "bob"}


def test_applying_the_same_twice_changes_nothing() -> None:
    clock = Clock()
    objects = cluster(clock)
    first = apply(objects, ALICE, {"a": "1"})
    clock.advance(60)
    assert apply(objects, ALICE, {"a": "1"})["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_items_of_a_custom_list_are_owned_by_their_keys() -> None:
    objects = cluster()
    objects.create(CRDS, definition())

    def widget(who: Write, *parts: dict[str, Any]) -> dict[str, Any]:
        body = {"spec": {"parts": list(parts)}}
        return objects.patch(WIDGETS, "w", ApplyPatch(body), "default", write=who)

    widget(ALICE, {"name": "a", "size": 1})
    widget(BOB, {"name": "b", "size": 2})
    both = widget(BOB, {"name": "b", "size": 3})
    assert both["spec"]["parts"] == [{"name": "a", "size": 1}, {"name": "b", "size": 3}]
    left = widget(ALICE)
    assert left["spec"]["parts"] == [{"name": "b", "size": 3}]


def test_the_status_is_applied_through_its_own_door() -> None:
    objects = cluster()
    objects.create(CRDS, definition())
    objects.create(WIDGETS, {"metadata": {"name": "w"}, "spec": {"replicas": 2}}, "default")
    body = {"spec": {"replicas": 5}, "status": {"seen": True}}
    made = objects.patch(WIDGETS, "w", ApplyPatch(body), "default", subresource="status", write=BOB)
    assert (made["spec"]["replicas"], made["status"]) == (2, {"seen": True})
    entry = next(one for one in made["metadata"]["managedFields"] if one["manager"] == "bob")
    assert (entry["subresource"], list(entry["fieldsV1"])) == ("status", ["f:status"])


def test_a_creator_owns_what_it_said_and_what_was_filled_in_but_not_what_the_server_added() -> None:
    objects = cluster()
    made = objects.create(PODS, pod(nodeSelector={"a": "b"}, activeDeadlineSeconds=5), "default", ALICE)
    (entry,) = made["metadata"]["managedFields"]
    spec = entry["fieldsV1"]["f:spec"]
    assert {"f:activeDeadlineSeconds", "f:nodeSelector", "f:restartPolicy"} <= set(spec)
    assert not {"f:tolerations", "f:priority", "f:serviceAccountName"} & set(spec)
    assert spec["f:containers"]['k:{"name":"main"}'] == {
        ".": {},
        "f:image": {},
        "f:imagePullPolicy": {},
        "f:name": {},
        "f:resources": {},
        "f:terminationMessagePath": {},
        "f:terminationMessagePolicy": {},
    }


def test_zero_is_owned_like_any_other_number() -> None:
    objects = cluster()
    made = objects.patch(DEPLOYMENTS, "web", ApplyPatch(deployment(replicas=0)), "default", write=ALICE)
    assert "f:replicas" in made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]


def test_a_set_of_fields_survives_being_written_down() -> None:
    paths = {("f:a",), ("f:a", "f:b"), ("f:l", 'k:{"name":"x"}'), ("f:l", 'k:{"name":"x"}', "f:y"), ("f:s", 'v:"z"')}
    assert field_sets.read(field_sets.wire(paths)) == paths


def test_fields_are_shown_as_people_write_them() -> None:
    path = ("f:spec", "f:ports", 'k:{"containerPort":80,"protocol":"TCP"}', "f:name")
    assert field_sets.text(path) == '.spec.ports[containerPort=80,protocol="TCP"].name'
