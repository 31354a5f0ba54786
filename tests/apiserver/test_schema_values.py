"""Types, limits, formats and alternatives; the texts are what kube-apiserver 1.36 answers to the same objects."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.apiserver import schemas
from dovetail.core.errors import BadField

INT_OR_STRING = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": "^[0-9]+%?$",
}
ITEM = {
    "type": "object",
    "required": ["k"],
    "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 9}},
}
KEYED = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": ITEM}
SET = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
SHORT_WORDS = {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "maxLength": 3}}
STRINGS = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 2,
    "additionalProperties": {"type": "string", "maxLength": 3},
}


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    compiled = schemas.compile(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": schema}}}}
    )
    return [str(one) for one in compiled.validate({"spec": {"x": value}})]


REFUSED: list[tuple[dict[str, Any], Any, list[str]]] = [
    (
        {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100},
        101,
        ["spec.x: Invalid value: 101: spec.x in body should be less than or equal to 100"],
    ),
    (
        {"type": "integer", "minimum": 1},
        0,
        ["spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1"],
    ),
    (
        {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
        0,
        ["spec.x: Invalid value: 0: spec.x in body should be greater than 0"],
    ),
    ({"type": "integer", "multipleOf": 5}, 7, ["spec.x: Invalid value: 7: spec.x in body should be a multiple of 5"]),
    (
        {"type": "integer", "format": "int32"},
        3_000_000_000,
        ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x'],
    ),
    ({"type": "integer"}, "x", ['spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"']),
    (
        {"type": "integer"},
        True,
        ['spec.x: Invalid value: "boolean": spec.x in body must be of type integer: "boolean"'],
    ),
    (
        {"type": "integer", "format": "int32"},
        1.5,
        [
            'spec.x: Invalid value: "float64": spec.x in body must be of type int32: "float64"',
            '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x',
        ],
    ),
    (
        {"type": "number", "maximum": 1.5},
        1.75,
        ["spec.x: Invalid value: 1.75: spec.x in body should be less than or equal to 1.5"],
    ),
    (
        {"type": "number", "maximum": 1.5, "exclusiveMaximum": True},
        1,
        ["spec.x: Invalid value: 1: spec.x in body should be less than 1"],
    ),
    (
        {"type": "string", "minLength": 1},
        "",
        ['spec.x: Invalid value: "": spec.x in body should be at least 1 chars long'],
    ),
    ({"type": "string", "maxLength": 5}, "abcdef", ["spec.x: Too long: may not be more than 5 bytes"]),
    (
        {"type": "string", "pattern": "^[a-z]+$"},
        "a\n",
        ["spec.x: Invalid value: \"a\\n\": spec.x in body should match '^[a-z]+$'"],
    ),
    ({"type": "string", "enum": ["a", "b"]}, "c", ['spec.x: Unsupported value: "c": supported values: "a", "b"']),
    ({"type": "integer", "enum": [1, 2]}, 3, ['spec.x: Unsupported value: 3: supported values: "1", "2"']),
    (
        {"type": "string", "format": "date-time"},
        "x",
        ['spec.x: Invalid value: "x": spec.x in body must be of type date-time: "x"'],
    ),
    (
        {"type": "string", "format": "date-time"},
        5,
        ['spec.x: Invalid value: "int64": spec.x in body must be of type date-time: "int64"'],
    ),
    ({"type": "string"}, None, ['spec.x: Invalid value: "null": spec.x in body must be of type string: "null"']),
    (
        INT_OR_STRING,
        True,
        [
            'spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"',
            '<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
            'spec.x: Invalid value: "boolean": spec.x in body must be of type integer: "boolean"',
        ],
    ),
    (INT_OR_STRING, "x", ["spec.x: Invalid value: \"x\": spec.x in body should match '^[0-9]+%?$'"]),
    (SHORT_WORDS, [], ["spec.x: Invalid value: 0: spec.x in body should have at least 1 items"]),
    (SHORT_WORDS, ["a", "b", "c"], ["spec.x: Too many: 3: must have at most 2 items"]),
    (SHORT_WORDS, ["abcd"], ["spec.x[0]: Too long: may not be more than 3 bytes"]),
    (SET, ["a", "b", "a", "a"], ['spec.x[2]: Duplicate value: "a"']),
    (KEYED, [{"k": "a"}, {"k": "a"}], ['spec.x[1]: Duplicate value: {"k":"a"}']),
    (KEYED, [{"v": 1}], ["spec.x[0].k: Required value"]),
    (STRINGS, {}, ["spec.x: Invalid value: 0: spec.x in body should have at least 1 properties"]),
    (STRINGS, {"a": "1", "b": "2", "c": "3"}, ["spec.x: Too many: 3: must have at most 2 items"]),
    (STRINGS, {"a": "1234"}, ["spec.x.a: Too long: may not be more than 3 bytes"]),
    (
        {"type": "string", "allOf": [{"minLength": 3}, {"pattern": "^a"}]},
        "bcd",
        [
            "spec.x: Invalid value: \"bcd\": spec.x in body should match '^a'",
            '<nil>: Invalid value: "": "spec.x" must validate all the schemas (allOf)',
        ],
    ),
    (
        {"type": "integer", "oneOf": [{"minimum": 5}, {"maximum": 10}]},
        7,
        [
            '<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). '
            "Found 2 valid alternatives"
        ],
    ),
    (
        {"type": "string", "not": {"pattern": "^z"}},
        "z",
        ['<nil>: Invalid value: "": "spec.x" must not validate the schema (not)'],
    ),
    (
        {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        {"apiVersion": "v1"},
        ["spec.x.kind: Required value"],
    ),
    (
        {"type": "array", "uniqueItems": True, "items": {"type": "integer"}},
        [1, 1],
        ['spec.x: Invalid value: "": spec.x in body shouldn\'t contain duplicates'],
    ),
]


@pytest.mark.parametrize(("schema", "value", "expected"), REFUSED)
def test_what_a_schema_forbids_is_refused_in_the_real_servers_words(
    schema: dict[str, Any], value: Any, expected: list[str]
) -> None:
    assert faults(schema, value) == expected


ACCEPTED: list[tuple[dict[str, Any], Any]] = [
    ({"type": "integer", "format": "int32"}, 1.0),
    ({"type": "number"}, 1),
    ({"type": "integer", "enum": [1, 2]}, 1.0),
    ({"type": "string", "nullable": True}, None),
    ({"type": "string", "format": "nonsense"}, "anything"),
    ({"type": "string", "format": "date-time"}, "2024-01-01T00:00:00.5+02:00"),
    ({"type": "string", "format": "duration"}, "1h30m"),
    ({"type": "string", "format": "cidr"}, "10.0.0.1/8"),
    ({"type": "string", "format": "date-time"}, ["a list, which a real server lets pass as well"]),
    (INT_OR_STRING, 5),
    (INT_OR_STRING, "5%"),
    (SET, ["a", "b"]),
    (KEYED, [{"k": "a"}, {"k": "b", "v": 9}]),
    ({"x-kubernetes-preserve-unknown-fields": True}, {"a": [1, "x", None]}),
    ({"type": "string", "maxLength": 2}, "éé"),
]


@pytest.mark.parametrize(("schema", "value"), ACCEPTED)
def test_what_a_schema_allows_is_accepted(schema: dict[str, Any], value: Any) -> None:
    assert faults(schema, value) == []


FORMATS = [
    ("date", "2024-02-28", "2024-02-30"),
    ("ipv4", "01.2.3.4", "1.2.3"),
    ("ipv6", "::1", "1.2.3.4"),
    ("cidr", "10.0.0.0/8", "10.0.0.1/33"),
    ("uri", "http://x", "x"),
    ("uuid", "01234567-89ab-cdef-0123-456789abcdef", "x"),
    ("email", "a@b.c", "x"),
    ("hostname", "a.bc", "a_b"),
    ("byte", "aGk=", "!!"),
    ("duration", "22 ns", "x"),
    ("mac", "01:23:45:67:89:ab", "01:23"),
    ("isbn", "978-0321751041", "978-0321751042"),
    ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
    ("hexcolor", "#ffffff", "#fffff"),
    ("rgbcolor", "rgb(255,255,255)", "rgb(256,0,0)"),
    ("k8s-short-name", "a-b", "A"),
    ("k8s-long-name", "a.b-c", "a..b"),
]


@pytest.mark.parametrize(("name", "good", "bad"), FORMATS)
def test_a_known_format_tells_good_from_bad(name: str, good: str, bad: str) -> None:
    schema = {"type": "string", "format": name}
    assert faults(schema, good) == []
    assert len(faults(schema, bad)) == 1


def test_rules_are_not_run_on_an_object_whose_form_is_wrong() -> None:
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.a > 5"}],
    }
    assert faults(schema, {})[1].startswith("<nil>: Invalid value: null: some validation rules were not checked")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "text"}, "properties: spec: properties: x: type: 'text' is not a type"),
        ({"type": "string", "pattern": "(?=a)"}, "properties: x: pattern: '(?=a)' is not a regular expression"),
        (
            {"type": "string", "x-kubernetes-validations": [{"rule": "self =="}]},
            "properties: x: x-kubernetes-validations: 0: 'self ==' does not compile",
        ),
        (
            {"type": "string", "x-kubernetes-validations": [{"rule": "self.nonsense()"}]},
            "undeclared reference to 'nonsense'",
        ),
        (
            {
                "type": "array",
                "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
            },
            "oldSelf cannot be used on the uncorrelatable portion of the schema",
        ),
    ],
)
def test_a_schema_that_cannot_be_used_says_where_and_why(schema: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadField) as refused:
        faults(schema, "x")
    assert problem in str(refused.value)
