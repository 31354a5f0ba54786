"""Updates: rules about the old value, and old faults that are forgiven."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.apiserver import schemas

INTEGER = {"type": "integer"}


def rules(*texts: str, **more: Any) -> dict[str, Any]:
    return {"x-kubernetes-validations": [{"rule": text, "message": text, **more} for text in texts]}


ITEM = {
    "type": "object",
    "properties": {
        "k": {"type": "string"},
        "a": INTEGER | {"maximum": 5} | rules("self != 4"),
        "grows": INTEGER | rules("self >= oldSelf"),
    },
}
SPEC = {
    "word": {"type": "string", "pattern": "^[a-z]+$"} | rules("self != 'bad'"),
    "other": {"type": "string"},
    "flag": {"type": "boolean"},
    "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": ITEM},
    "plain": {"type": "array", "items": {"type": "object", "properties": {"a": ITEM["properties"]["a"]}}},
    "fixed": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}} | rules("self == oldSelf"),
    "map": {"type": "object", "additionalProperties": INTEGER | {"maximum": 5} | rules("oldSelf <= self")},
    "pair": {"type": "object", "properties": {"x": INTEGER, "y": INTEGER}}
    | rules("self.x == oldSelf.x", "has(self.y) == has(oldSelf.y)", "!has(self.y) || self.y < 5"),
    "begins": {
        "type": "object",
        "properties": {"x": INTEGER | rules("oldSelf.hasValue() || self == 1", optionalOldSelf=True)},
    },
    "needs": {"type": "object", "required": ["z"], "properties": {"z": {"type": "string"}, "w": {"type": "string"}}},
}
SCHEMA = schemas.compile({"type": "object", "properties": {"spec": {"type": "object", "properties": SPEC}}})

#: old, new, and the fields complained about, as kube-apiserver 1.36 does.
CASES: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"word": "BAD", "other": "a"}, {"word": "BAD", "other": "b"}, []),
    ({"word": "BAD"}, {"word": "BADDER"}, ["spec.word"]),
    ({"word": "bad", "other": "a"}, {"word": "bad", "other": "b"}, []),
    ({"word": "ok"}, {"word": "bad"}, ["spec.word"]),
    ({"flag": True}, {"flag": 1}, ["spec.flag", "<nil>"]),
    ({"plain": [{"a": 9}, {"a": 4}], "other": "a"}, {"plain": [{"a": 9}, {"a": 4}], "other": "b"}, []),
    (
        {"plain": [{"a": 9}, {"a": 4}]},
        {"plain": [{"a": 9}, {"a": 4}, {"a": 1}]},
        ["spec.plain[0].a", "spec.plain[1].a"],
    ),
    ({"keyed": [{"k": "x", "a": 9}]}, {"keyed": [{"k": "z", "a": 1}, {"k": "x", "a": 9}]}, []),
    ({"keyed": [{"k": "x", "a": 9}]}, {"keyed": [{"k": "x", "a": 8}]}, ["spec.keyed[0].a"]),
    (
        {"keyed": [{"k": "x", "grows": 1}]},
        {"keyed": [{"k": "q", "grows": 0}, {"k": "x", "grows": 0}]},
        ["spec.keyed[1].grows"],
    ),
    ({"fixed": ["a", "b"]}, {"fixed": ["b", "a"]}, []),
    ({"fixed": ["a", "b"]}, {"fixed": ["a"]}, ["spec.fixed"]),
    ({"fixed": ["a"]}, {}, []),
    ({}, {"fixed": ["a"]}, []),
    ({"map": {"a": 3}}, {"map": {"a": 2, "b": 1}}, ["spec.map[a]"]),
    ({"map": {"a": 9}}, {"map": {"a": 9, "b": 1}}, []),
    ({"map": {"a": 9}}, {"map": {"a": 9, "b": 7}}, ["spec.map.b"]),
    ({"begins": {}}, {"begins": {"x": 2}}, ["spec.begins.x"]),
    ({"begins": {}}, {"begins": {"x": 1}}, []),
    ({"begins": {"x": 5}}, {"begins": {"x": 4}}, []),
    ({"pair": {"x": 1}}, {"pair": {"x": 2}}, ["spec.pair"]),
    ({"pair": {"x": 1}}, {"pair": {"x": 1, "y": 1}}, ["spec.pair"]),
    ({"pair": {}}, {"pair": {"x": 1}}, ["spec.pair"]),
    ({"pair": {"x": 1, "y": 9}}, {"pair": {"x": 1, "y": 9}, "other": "a"}, []),
    ({"pair": {"x": 1, "y": 9}}, {"pair": {"x": 1, "y": 8}}, ["spec.pair"]),
    ({"needs": {"w": "a"}}, {"needs": {"w": "a"}, "other": "b"}, []),
    ({"needs": {"w": "a"}}, {"needs": {"w": "b"}}, ["spec.needs.z", "<nil>"]),
]


@pytest.mark.parametrize(("old", "new", "complaints"), CASES)
def test_an_update_is_judged_by_what_it_changes(
    old: dict[str, Any], new: dict[str, Any], complaints: list[str]
) -> None:
    assert [one.field for one in SCHEMA.validate({"spec": new}, {"spec": old})] == complaints


def test_a_rule_about_the_old_value_is_silent_on_creation() -> None:
    assert SCHEMA.validate({"spec": {"fixed": ["a"], "pair": {"x": 1}, "keyed": [{"k": "a", "grows": 1}]}}) == []


def test_duplicates_that_were_there_before_are_forgiven() -> None:
    old = {"spec": {"fixed": ["a", "a"]}}
    assert SCHEMA.validate({"spec": {"fixed": ["a", "a"], "other": "x"}}, old) == []
    assert [one.field for one in SCHEMA.validate(old)] == ["spec.fixed[1]"]
