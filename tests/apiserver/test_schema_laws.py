"""What holds of every schema and every object."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dovetail.apiserver import schemas

SCHEMA = schemas.compile(
    {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object",
                "default": {"b": 1},
                "properties": {
                    "a": {"type": "string", "pattern": "^[a-z]*$", "default": "x", "maxLength": 3},
                    "b": {"type": "integer", "format": "int32", "maximum": 9, "multipleOf": 3, "nullable": True},
                    "c": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["a"],
                        "items": {"type": "object", "properties": {"a": {"type": "string", "default": "k"}}},
                    },
                    "d": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
                    "e": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                    "f": {"x-kubernetes-preserve-unknown-fields": True},
                },
                "x-kubernetes-validations": [
                    {"rule": "!has(self.c) || self.c.all(x, x.a != 'bad')"},
                    {"rule": "!has(self.d) || self.d.all(k, self.d[k] < 5.0)"},
                    {"rule": "has(self.a) == has(oldSelf.a)"},
                ],
            }
        },
    }
)
names = st.sampled_from(["a", "b", "c", "d", "e", "f", "g"])
scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.sampled_from(["", "k", "bad", "é"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
finite = values.filter(lambda value: "nan" not in repr(value) and "inf" not in repr(value))
objects = st.fixed_dictionaries({}, optional={"spec": finite, "metadata": st.just({"name": "x"}), "other": finite})


def shaped(obj: dict[str, Any]) -> dict[str, Any]:
    found = copy.deepcopy(obj)
    SCHEMA.prune(found)
    SCHEMA.default(found)
    return found


@given(obj=objects)
def test_shaping_what_is_in_shape_changes_nothing(obj: dict[str, Any]) -> None:
    once = shaped(obj)
    assert shaped(once) == once
    assert SCHEMA.prune(copy.deepcopy(once)) == []


@given(obj=objects)
def test_any_object_is_judged_and_none_is_changed_by_it(obj: dict[str, Any]) -> None:
    found = shaped(obj)
    before = copy.deepcopy(found)
    for cause in SCHEMA.validate(found):
        assert cause.field
        assert cause.message
    assert found == before


@given(obj=objects, old=objects)
def test_an_update_is_never_refused_for_what_did_not_change(obj: dict[str, Any], old: dict[str, Any]) -> None:
    new, before = shaped(obj), shaped(old)
    assert all("oldSelf" in cause.message for cause in SCHEMA.validate(before, before))
    fresh = {cause.field for cause in SCHEMA.validate(new)}
    changed = {cause.field for cause in SCHEMA.validate(new, before)}
    assert changed <= fresh | {"spec"}, "only the rule about the old value can add a complaint"
