"""Custom kinds: from a definition to what it serves, and back."""

from __future__ import annotations

from tests.apiserver.clusters import WIDGETS, cluster, definition, refused

from dovetail.api.kinds import CRDS
from dovetail.apiserver import subresources, tables
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.writes import FieldValidation, MergePatch, Write


def widget(name: str = "w", **spec: object) -> dict[str, object]:
    return {"metadata": {"name": name}, "spec": spec}


def with_widgets(**version: object) -> Objects:
    objects = cluster()
    objects.create(CRDS, definition(**version))
    return objects


def test_a_kind_is_served_as_soon_as_it_is_defined() -> None:
    objects = cluster()
    refused(lambda: objects.get(WIDGETS, "w", "default"), 404, text="could not find the requested resource")
    made = objects.create(CRDS, definition())
    established = {one["type"]: one["status"] for one in made["status"]["conditions"]}
    assert established == {"NamesAccepted": "True", "Established": "True"}
    assert objects.create(WIDGETS, widget(), "default")["spec"] == {"replicas": 1}


def test_a_custom_object_is_validated_pruned_and_defaulted() -> None:
    objects = with_widgets()
    problem = refused(lambda: objects.create(WIDGETS, widget(replicas=12), "default"), 422)
    assert problem.details["causes"][0]["field"] == "spec.replicas"
    assert objects.create(WIDGETS, widget(unknown=1), "default")["spec"] == {"replicas": 1}
    strict = Write(validation=FieldValidation.STRICT)
    text = 'strict decoding error: unknown field "spec.unknown"'
    refused(lambda: objects.create(WIDGETS, widget("v", unknown=1), "default", strict), 400, text=text)


def test_the_status_of_a_custom_object_has_its_own_door() -> None:
    objects = with_widgets()
    born = objects.create(WIDGETS, {**widget(), "status": {"a": 1}}, "default")
    assert "status" not in born
    told = MergePatch({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 7}, "status": {"a": 1}})
    made = objects.patch(WIDGETS, "w", told, "default", subresource="status")
    assert (made["status"], made["spec"]["replicas"], "labels" in made["metadata"]) == ({"a": 1}, 1, False)


def test_a_custom_object_is_scaled_along_the_paths_its_definition_names() -> None:
    objects = with_widgets()
    made = objects.create(WIDGETS, widget(replicas=2), "default")
    resource = objects.registry.of(WIDGETS)
    assert subresources.scale_of(resource, made)["spec"] == {"replicas": 2}
    assert subresources.scaled(resource, made, {"spec": {"replicas": 4}})["spec"]["replicas"] == 4


def test_removing_a_definition_removes_its_objects() -> None:
    objects = with_widgets()
    objects.create(WIDGETS, widget(), "default")
    objects.delete(CRDS, "widgets.example.com")
    assert objects.find(CRDS, "widgets.example.com") is None
    refused(lambda: objects.list(WIDGETS), 404)
    objects.create(CRDS, definition())
    assert objects.list(WIDGETS) == []


def test_a_definition_waits_for_objects_that_finalizers_hold() -> None:
    objects = with_widgets()
    objects.create(WIDGETS, {"metadata": {"name": "w", "finalizers": ["a.b/c"]}}, "default")
    objects.delete(CRDS, "widgets.example.com")
    refused(lambda: objects.create(WIDGETS, widget("v"), "default"), 405, text="is terminating")
    assert objects.find(CRDS, "widgets.example.com") is not None
    objects.patch(WIDGETS, "w", MergePatch({"metadata": {"finalizers": None}}), "default")
    assert objects.find(CRDS, "widgets.example.com") is None


def test_two_versions_are_two_faces_of_one_object() -> None:
    objects = cluster()
    wanted = definition()
    (first,) = wanted["spec"]["versions"]
    wanted["spec"]["versions"].append({**first, "name": "v2", "storage": False})
    objects.create(CRDS, wanted)
    objects.create(WIDGETS, widget(), "default")
    newer = type(WIDGETS)("example.com", "v2", "Widget", "widgets", namespaced=True)
    assert objects.get(newer, "w", "default")["apiVersion"] == "example.com/v2"
    objects.patch(newer, "w", MergePatch({"spec": {"replicas": 5}}), "default")
    seen = objects.get(WIDGETS, "w", "default")
    assert (seen["apiVersion"], seen["spec"]["replicas"]) == ("example.com/v1", 5)


def test_objects_are_selected_by_the_fields_a_definition_offers() -> None:
    objects = with_widgets(selectableFields=[{"jsonPath": ".spec.replicas"}])
    objects.create(WIDGETS, widget("a", replicas=2), "default")
    objects.create(WIDGETS, widget("b", replicas=3), "default")
    assert [one["metadata"]["name"] for one in objects.list(WIDGETS, fields="spec.replicas=3")] == ["b"]
    refused(lambda: objects.list(WIDGETS, fields="spec.tags=x"), 400, text="field label not supported")


def test_a_rule_about_a_field_that_is_not_there_is_refused() -> None:
    wanted = definition()
    schema = wanted["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["x-kubernetes-validations"] = [{"rule": "self.replica > 1"}]
    refused(lambda: cluster().create(CRDS, wanted), 422, text="undefined field 'replica'")


def test_the_columns_of_a_custom_kind_are_its_own() -> None:
    path = '.status.conditions[?(@.type=="Ready")].status'
    columns = [
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
        {"name": "Ready", "type": "string", "jsonPath": path},
    ]
    objects = with_widgets(additionalPrinterColumns=columns)
    objects.create(WIDGETS, widget(replicas=3), "default")
    conditions = [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]
    told = MergePatch({"status": {"conditions": conditions}})
    made = objects.patch(WIDGETS, "w", told, "default", subresource="status")
    shown = tables.table(objects.registry.of(WIDGETS), [made], {})
    assert [one["name"] for one in shown["columnDefinitions"]] == ["Name", "Replicas", "Ready"]
    assert shown["rows"][0]["cells"] == ["w", 3, "True"]
