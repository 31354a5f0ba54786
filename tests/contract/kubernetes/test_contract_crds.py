"""Custom resources: served once established, pruned, defaulted, validated by schema and by rules."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.kubernetes.custom import install, within
from tests.contract.kubernetes.raw_api import JSON_PATCH, TABLE, Api
from tests.contract.kubernetes.things import crd, fresh

from dovetail.api.kinds import CRDS

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "amount": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "words": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "x-kubernetes-list-type": "set"},
        "fixed": {
            "type": "string",
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed may not change"}],
        },
        "nested": {"type": "object", "default": {}, "properties": {"deep": {"type": "string", "default": "water"}}},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        "since": {"type": "string", "format": "date-time"},
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.code) || self.size > 3", "message": "a code needs a size above three"},
        {
            "rule": "self.size != 9",
            "messageExpression": "self.size == 9 ? 'nine is not ten' : 'never said'",
            "fieldPath": ".size",
            "reason": "FieldValueForbidden",
        },
    ],
}
STATUS = {"type": "object", "properties": {"seen": {"type": "integer"}}}
SCHEMA = {"type": "object", "required": ["spec"], "properties": {"spec": SPEC, "status": STATUS}}
COLUMNS = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def widget(name: str = "one", **spec: Any) -> dict[str, Any]:
    body = {"size": 5, **spec}
    return {"apiVersion": "contract.test/v1", "kind": "Widget", "metadata": {"name": name}, "spec": body}


async def widgets(api: Api, namespace: str) -> str:
    return within(await install(api, crd("widgets", "Widget", SCHEMA, additionalPrinterColumns=COLUMNS)), namespace)


async def test_an_established_kind_is_served_and_discovered(api: Api, namespace: str) -> None:
    path = await widgets(api, namespace)
    made = (await api.post(path, widget())).ok()
    assert (made["kind"], made["apiVersion"], made["metadata"]["generation"]) == ("Widget", "contract.test/v1", 1)
    definition = (await api.get(CRDS.path("widgets.contract.test"))).ok()
    conditions = {one["type"]: one["status"] for one in definition["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"
    assert definition["status"]["acceptedNames"]["plural"] == "widgets"
    assert definition["status"]["storedVersions"] == ["v1"]
    found = await api.until("/apis/contract.test/v1", lambda answer: answer.status == 200)
    assert "widgets" in {resource["name"] for resource in found.body["resources"]}


async def test_defaults_are_filled_in(api: Api, namespace: str) -> None:
    made = (await api.post(await widgets(api, namespace), widget())).ok()
    assert made["spec"] == {"size": 5, "colour": "red", "nested": {"deep": "water"}}


async def test_unknown_fields_are_pruned_but_where_the_schema_keeps_them(api: Api, namespace: str) -> None:
    made = await api.post(await widgets(api, namespace), widget(strange=1, free={"any": {"thing": [1]}}))
    assert "strange" not in made.ok()["spec"]
    assert made.body["spec"]["free"] == {"any": {"thing": [1]}}


async def test_unknown_fields_are_refused_when_asked_for_strictness(api: Api, namespace: str) -> None:
    answer = await api.post(await widgets(api, namespace), widget(strange=1), fieldValidation="Strict")
    assert 'unknown field "spec.strange"' in answer.refused(400, "BadRequest")["message"]


async def test_unknown_fields_are_warned_about_when_asked_for_warnings(api: Api, namespace: str) -> None:
    answer = await api.post(await widgets(api, namespace), widget(strange=1), fieldValidation="Warn")
    assert answer.status == 201
    assert answer.headers["Warning"] == '299 - "unknown field \\"spec.strange\\""'


@pytest.mark.parametrize(
    ("spec", "reason", "field", "words"),
    [
        ({"size": None}, "FieldValueRequired", "spec.size", "Required value"),
        ({"size": 0}, "FieldValueInvalid", "spec.size", "should be greater than or equal to 1"),
        ({"size": 11}, "FieldValueInvalid", "spec.size", "should be less than or equal to 10"),
        ({"size": "5"}, "FieldValueTypeInvalid", "spec.size", 'must be of type integer: "string"'),
        (
            {"colour": "green"},
            "FieldValueNotSupported",
            "spec.colour",
            'Unsupported value: "green": supported values: ',
        ),
        ({"code": "ABC"}, "FieldValueInvalid", "spec.code", "should match '^[a-z]+$'"),
        ({"code": "abcdef"}, "FieldValueTooLong", "spec.code", "Too long: may not be more than 5 bytes"),
        ({"words": ["a", "b", "c"]}, "FieldValueTooMany", "spec.words", "must have at most 2 items"),
        ({"words": ["a", "a"]}, "FieldValueDuplicate", "spec.words[1]", 'Duplicate value: "a"'),
        ({"tags": {"a": 1}}, "FieldValueTypeInvalid", "spec.tags.a", "must be of type string"),
        ({"since": "today"}, "FieldValueTypeInvalid", "spec.since", "must be of type date-time"),
        ({"size": 2, "code": "abc"}, "FieldValueInvalid", "spec", "a code needs a size above three"),
        ({"size": 9}, "FieldValueForbidden", "spec.size", "nine is not ten"),
    ],
)
async def test_a_schema_refuses(
    api: Api, namespace: str, spec: dict[str, Any], reason: str, field: str, words: str
) -> None:
    answer = await api.post(await widgets(api, namespace), widget(**spec))
    status = answer.refused(422, "Invalid")
    assert status["message"].startswith('Widget.contract.test "one" is invalid: ')
    assert status["details"]["group"] == "contract.test"
    assert status["details"]["kind"] == "Widget"
    causes = {(cause["reason"], cause["field"]): cause["message"] for cause in status["details"]["causes"]}
    assert words in causes.get((reason, field), ""), causes


async def test_a_missing_spec_is_refused(api: Api, namespace: str) -> None:
    body = widget()
    body.pop("spec")
    assert ("FieldValueRequired", "spec") in (await api.post(await widgets(api, namespace), body)).causes()


async def test_a_transition_rule_sees_the_old_value(api: Api, namespace: str) -> None:
    path = await widgets(api, namespace)
    (await api.post(path, widget(fixed="a"))).ok()
    (await api.patch(f"{path}/one", {"spec": {"size": 6}})).ok()
    answer = await api.patch(f"{path}/one", {"spec": {"fixed": "b"}})
    assert answer.causes() == {("FieldValueInvalid", "spec.fixed")}
    assert 'spec.fixed: Invalid value: "b": fixed may not change' in answer.body["message"]


@pytest.mark.parametrize("amount", [3, "3", "30%"])
async def test_an_int_or_string_is_either(api: Api, namespace: str, amount: Any) -> None:
    made = (await api.post(await widgets(api, namespace), widget(amount=amount))).ok()
    assert made["spec"]["amount"] == amount


async def test_generation_counts_the_spec_and_status_has_its_own_door(api: Api, namespace: str) -> None:
    path = f"{await widgets(api, namespace)}/one"
    made = (await api.post(path.removesuffix("/one"), {**widget(), "status": {"seen": 1}})).ok()
    assert "status" not in made
    changed = (await api.patch(path, {"spec": {"size": 6}, "status": {"seen": 2}})).ok()
    assert changed["metadata"]["generation"] == 2
    assert "status" not in changed
    reported = (await api.patch(f"{path}/status", {"spec": {"size": 7}, "status": {"seen": 3}})).ok()
    assert reported["status"] == {"seen": 3}
    assert reported["spec"]["size"] == 6
    assert reported["metadata"]["generation"] == 2
    labelled = (await api.patch(path, {"metadata": {"labels": {"a": "b"}}})).ok()
    assert labelled["metadata"]["generation"] == 2
    assert labelled["status"] == {"seen": 3}


async def test_status_is_checked_against_the_schema(api: Api, namespace: str) -> None:
    path = f"{await widgets(api, namespace)}/one"
    (await api.post(path.removesuffix("/one"), widget())).ok()
    answer = await api.patch(f"{path}/status", {"status": {"seen": "often"}})
    # The real server adds a remark that rules were left unchecked; what counts is the field.
    assert ("FieldValueTypeInvalid", "status.seen") in answer.causes()


async def test_patches_of_custom_resources_are_checked_too(api: Api, namespace: str) -> None:
    path = f"{await widgets(api, namespace)}/one"
    (await api.post(path.removesuffix("/one"), widget())).ok()
    answer = await api.patch(path, [{"op": "replace", "path": "/spec/size", "value": 99}], JSON_PATCH)
    assert ("FieldValueInvalid", "spec.size") in answer.causes()


async def test_custom_resources_are_applied(api: Api, namespace: str) -> None:
    path = f"{await widgets(api, namespace)}/one"
    made = await api.apply(path, widget(colour="blue"), "alice")
    assert made.status == 201
    conflict = await api.apply(path, widget(colour="red"), "bob")
    status = conflict.refused(409, "Conflict")
    assert 'conflict with "alice": .spec.colour' in status["message"]
    # Not repeating a defaulted field gives it back its default.
    assert (await api.apply(path, widget(), "alice")).ok()["spec"]["colour"] == "red"


async def test_custom_resources_are_watched(api: Api, namespace: str) -> None:
    path = await widgets(api, namespace)
    since = (await api.get(path)).ok()["metadata"]["resourceVersion"]
    async with api.watch(path, resourceVersion=since) as watch:
        (await api.post(path, widget())).ok()
        kind, made = await watch.event()
        assert (kind, made["kind"], made["spec"]["colour"]) == ("ADDED", "Widget", "red")
        (await api.delete(f"{path}/one")).ok()
        assert await watch.brief() == ("DELETED", "one")


async def test_a_table_of_custom_resources_has_the_columns_asked_for(api: Api, namespace: str) -> None:
    path = await widgets(api, namespace)
    (await api.post(path, widget())).ok()
    table = (await api.get(path, accept=TABLE)).ok()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size", "Colour", "Age"]
    assert [column["priority"] for column in table["columnDefinitions"]] == [0, 0, 1, 0]
    assert table["rows"][0]["cells"][:3] == ["one", 5, "red"]


async def test_fields_named_selectable_select(api: Api, namespace: str) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"zone": {"type": "string"}}}}}
    definition = crd("places", "Place", schema, selectableFields=[{"jsonPath": ".spec.zone"}])
    definition["spec"]["scope"] = "Cluster"
    path = await install(api, definition)
    for zone in ("a", "b"):
        body = {"apiVersion": "contract.test/v1", "kind": "Place", "metadata": {"name": fresh("place")}}
        (await api.post(path, {**body, "spec": {"zone": zone}})).ok()
    found = (await api.get(path, fieldSelector="spec.zone=a")).ok()["items"]
    assert {item["spec"]["zone"] for item in found} == {"a"}


async def test_a_deleted_definition_takes_its_objects_along(api: Api, namespace: str) -> None:
    path = await install(api, crd("mayflies", "Mayfly", {"type": "object"}))
    body = {"apiVersion": "contract.test/v1", "kind": "Mayfly", "metadata": {"name": "one"}}
    (await api.post(within(path, namespace), body)).ok()
    (await api.delete(CRDS.path("mayflies.contract.test"))).ok()
    await api.until(CRDS.path("mayflies.contract.test"), lambda answer: answer.status == 404)
    await api.until(path, lambda answer: answer.status == 404)


def broken(change: str) -> dict[str, Any]:
    definition = crd("brokens", "Broken", {"type": "object"})
    version = definition["spec"]["versions"][0]
    if change == "no schema":
        del version["schema"]
    elif change == "name":
        definition["metadata"]["name"] = "other.contract.test"
    elif change == "no type":
        version["schema"]["openAPIV3Schema"] = {"properties": {"spec": {"properties": {"a": {}}}}}
    elif change == "bad rule":
        rule = {"rule": "self.nope == 1"}
        version["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-validations": [rule]}
    elif change == "no storage":
        version["storage"] = False
    return definition


@pytest.mark.parametrize("change", ["no schema", "name", "no type", "bad rule", "no storage"])
async def test_a_broken_definition_is_refused(api: Api, change: str) -> None:
    # Where a definition has one version only, the real server calls its schema `spec.validation`: tails are compared.
    tails = {
        "no schema": "openAPIV3Schema",
        "name": "metadata.name",
        "no type": "openAPIV3Schema.type",
        "bad rule": "openAPIV3Schema.x-kubernetes-validations[0].rule",
        "no storage": "spec.versions",
    }
    fields = {field for _, field in (await api.post(CRDS.path(), broken(change))).causes()}
    assert any(field.endswith(tails[change]) for field in fields), fields
