"""What goes from an object and what comes into it before anybody looks at it."""

from __future__ import annotations

from typing import Any

from dovetail.apiserver import schemas


def compiled(**properties: dict[str, Any]) -> schemas.Schema:
    return schemas.compile({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})


def test_unknown_members_go_and_their_paths_are_told() -> None:
    schema = compiled(a={"type": "object", "properties": {"b": {"type": "string"}}})
    obj = {
        "apiVersion": "v1",
        "kind": "X",
        "metadata": {"anything": 1},
        "spec": {"a": {"b": "x", "c": 1}, "d": 2},
        "e": 3,
    }
    assert sorted(schema.prune(obj)) == ["e", "spec.a.c", "spec.d"]
    assert obj == {"apiVersion": "v1", "kind": "X", "metadata": {"anything": 1}, "spec": {"a": {"b": "x"}}}


def test_unknown_members_stay_where_the_schema_preserves_them_but_not_inside_known_ones() -> None:
    known = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = compiled(
        p={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": known}},
        any={"x-kubernetes-preserve-unknown-fields": True},
    )
    obj = {"spec": {"p": {"x": {"y": 1}, "known": {"a": "1", "b": "2"}}, "any": [{"z": 1}]}}
    assert schema.prune(obj) == ["spec.p.known.b"]
    assert obj == {"spec": {"p": {"x": {"y": 1}, "known": {"a": "1"}}, "any": [{"z": 1}]}}


def test_an_embedded_resource_keeps_its_type_and_its_proper_metadata() -> None:
    schema = compiled(
        e={"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"a": {"type": "string"}}}
    )
    obj = {"spec": {"e": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n", "zz": 1}, "a": "1", "b": 2}}}
    assert sorted(schema.prune(obj)) == ["spec.e.b", "spec.e.metadata.zz"]
    assert obj == {"spec": {"e": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "a": "1"}}}


def test_lists_are_pruned_item_by_item() -> None:
    schema = compiled(l={"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}})
    obj = {"spec": {"l": [{"a": "1"}, {"a": "2", "b": 3}]}}
    assert schema.prune(obj) == ["spec.l[1].b"]


def test_a_default_that_is_an_object_is_completed_by_the_defaults_inside_it() -> None:
    disruption = {
        "type": "object",
        "default": {"after": "0s"},
        "properties": {
            "after": {"type": "string", "default": "0s"},
            "policy": {"type": "string", "default": "Always"},
            "budgets": {
                "type": "array",
                "default": [{"nodes": "10%"}],
                "items": {"type": "object", "properties": {"nodes": {"type": "string", "default": "10%"}}},
            },
        },
    }
    schema = compiled(disruption=disruption)
    first: dict[str, Any] = {"spec": {}}
    schema.default(first)
    expected = {"after": "0s", "policy": "Always", "budgets": [{"nodes": "10%"}]}
    assert first["spec"]["disruption"] == expected
    first["spec"]["disruption"]["budgets"][0]["nodes"] = "50%"
    second: dict[str, Any] = {"spec": {"disruption": {"budgets": [{}]}}}
    schema.default(second)
    assert second["spec"]["disruption"] == expected, "defaults are copies, and fill in items as well"


def test_nothing_is_filled_in_below_what_is_absent() -> None:
    schema = compiled(a={"type": "object", "properties": {"b": {"type": "string", "default": "x"}}})
    obj: dict[str, Any] = {"spec": {}}
    schema.default(obj)
    assert obj == {"spec": {}}


def test_a_null_is_dropped_or_replaced_unless_null_is_a_value() -> None:
    schema = compiled(
        plain={"type": "string"},
        filled={"type": "string", "default": "d"},
        nullable={"type": "string", "nullable": True},
        both={"type": "string", "nullable": True, "default": "d"},
        named={"type": "object", "additionalProperties": {"type": "string"}},
    )
    nulls = {"plain": None, "filled": None, "nullable": None, "both": None, "named": {"a": None, "b": "x"}}
    obj: dict[str, Any] = {"spec": nulls}
    schema.default(obj)
    assert obj == {"spec": {"filled": "d", "nullable": None, "both": None, "named": {"b": "x"}}}


def test_values_and_keys_of_a_map_get_their_defaults() -> None:
    item = {"type": "object", "properties": {"a": {"type": "integer", "default": 7}}}
    schema = compiled(m={"type": "object", "additionalProperties": item})
    obj: dict[str, Any] = {"spec": {"m": {"x": {}, "y": {"a": 1}}}}
    schema.default(obj)
    assert obj == {"spec": {"m": {"x": {"a": 7}, "y": {"a": 1}}}}
