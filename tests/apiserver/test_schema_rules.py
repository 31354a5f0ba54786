"""CEL rules: what they can say, when they run, and what is said when they fail."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.apiserver import schemas
from dovetail.apiserver.schemas import rewriting

INTEGER = {"type": "integer"}
TEXT = {"type": "string"}


def rule(text: str, **more: Any) -> dict[str, Any]:
    return {"rule": text, **more}


def judged(schema: dict[str, Any], value: Any, old: Any = None) -> list[str]:
    compiled = schemas.compile(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": schema}}}}
    )
    before = {"spec": {"x": old}} if old is not None else None
    return [str(one) for one in compiled.validate({"spec": {"x": value}}, before)]


TRUE_OF_A_STRING = [
    "self.find('[0-9]+') == '12'",
    "self.find('[A-Z]') == ''",
    "self.findAll('[0-9]') == ['1', '2']",
    "self.findAll('[0-9]', 1) == ['1']",
    "self.split('x') == ['a12', 'b']",
    "self.split('x')[0] in ['a12']",
    "self.upperAscii() == 'A12XB' && self.lowerAscii() == self",
    "self.indexOf('x') == 3 && self.lastIndexOf('x') == 3",
    "self.substring(1, 3) == '12'",
    "self.replace('x', 'y') == 'a12yb'",
    "(' ' + self).trim() == self",
    "self.charAt(0) == 'a'",
    "self.matches('^a[0-9]+x') && !self.matches('^b')",
    "self.startsWith('a') && self.endsWith('b') && self.contains('12')",
    "['a', 'b'].join('-') == 'a-b'",
    "'%s is %d or %.2f'.format([self, 3, 1.5]) == 'a12xb is 3 or 1.50'",
    "int(self.find('[0-9]+')) == 12",
    "type(self) == string",
    "size(self) == 5 && self.size() == 5",
    "quantity('2Ki').isGreaterThan(quantity('2000')) && quantity('1Ki') == quantity('1024')",
    "quantity('1').add(quantity('500m')).compareTo(quantity('1500m')) == 0 && sign(quantity('-1')) == -1",
    "quantity('3').sub(1).asInteger() == 2 && !quantity('1500m').isInteger()",
    "isQuantity('1Gi') && !isQuantity('x')",
    "url('https://e.com:80/p?a=b').getHost() == 'e.com:80' && url('https://e.com/p').getEscapedPath() == '/p'",
    "url('https://e.com:80/').getPort() == '80' && url('http://e.com/?a=b').getQuery()['a'] == ['b'] && !isURL('x')",
    "ip('10.0.0.1').family() == 4 && isIP('::1') && !isIP('x') && ip('127.0.0.1').isLoopback()",
    "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
    "cidr('10.1.0.0/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8 && !isCIDR('x')",
    "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0').isGreaterThan(semver('1.0.0-rc.1'))",
    "semver('1.2.3').minor() == 2 && isSemver('1.2.3') && !isSemver('1.2')",
    "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').hasValue()",
    "[1, 2].isSorted() && [1, 2].sum() == 3 && [3, 1].min() == 1 && [3, 1].max() == 3",
    "[1, 2, 2].indexOf(2) == 1 && [1, 2, 2].lastIndexOf(2) == 2",
    "sets.contains([1, 2], [1]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 2], [2, 1])",
    "[1, 1].distinct() == [1] && [2, 1].sort() == [1, 2] && [1, 2, 3].slice(0, 2) == [1, 2]",
    "[1, 2].exists_one(x, x == 2) && [1, 2].map(x, x > 1, x * 2) == [4] && [1, 2].filter(x, x > 1) == [2]",
    "duration('1h') > duration('30m') && timestamp('2024-01-01T00:00:00Z').getFullYear() == 2024",
    "[1, 2].all(i, v, v == i + 1) && {'a': 1}.exists(k, v, k == 'a' && v == 1)",
    "[1, 2].existsOne(i, v, i == 0) && [5, 6].transformList(i, v, i + v) == [5, 7]",
    "[5, 6].transformList(i, v, i > 0, v) == [6] && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    "{'a': 1}.transformMapEntry(k, v, {string(v): k}) == {'1': 'a'}",
    "{'a': {'b': 1}}.?a.b.orValue(0) == 1 && !{'a': 1}.?z.hasValue() && {'a': 1}[?'z'].orValue(7) == 7",
    "[1, 2][?5].orValue(9) == 9 && {'a': 1}.?a.optMap(v, v + 1).value() == 2",
    "optional.of(1).value() == 1 && optional.none().orValue(2) == 2",
    "1 == 1.0 && 1 < 1.5 && -5 / 2 == -2",
]


@pytest.mark.parametrize("text", TRUE_OF_A_STRING)
def test_a_rule_may_use_what_kubernetes_gives_it(text: str) -> None:
    assert judged(TEXT | {"x-kubernetes-validations": [rule(text)]}, "a12xb") == []
    assert judged(TEXT | {"x-kubernetes-validations": [rule(f"!({text})")]}, "a12xb") != []


def test_a_strings_size_is_in_characters() -> None:
    assert judged(TEXT | {"x-kubernetes-validations": [rule("size(self) == 2 && self.size() == 2")]}, "éa") == []


ERRORS = [
    ("self.values.size() != 0", {}, "no such key: values evaluating rule: m"),
    ("self.a / 0 == 1", {"a": 1}, "division by zero evaluating rule: m"),
    ("[1][self.a] == 1", {"a": 9}, "index out of bounds: 9 evaluating rule: m"),
    ("self.a + 9223372036854775807 > 0", {"a": 1}, "integer overflow evaluating rule: m"),
    ("int(self.t) >= 0", {"t": "x"}, "type conversion error from 'string' to 'int' evaluating rule: m"),
    (
        "self.any + 1 > 0",
        {"any": "x"},
        "'no such overload': call arguments did not match a supported operator, "
        "function or macro signature for rule: m",
    ),
    ("[].min() == self.a", {"a": 1}, "min called on empty list evaluating rule: m"),
]


@pytest.mark.parametrize(("text", "value", "said"), ERRORS)
def test_an_error_at_run_time_is_a_failed_rule(text: str, value: dict[str, Any], said: str) -> None:
    members = {
        "a": INTEGER,
        "t": TEXT,
        "any": {"x-kubernetes-int-or-string": True},
        "values": {"type": "array", "items": TEXT},
    }
    schema = {"type": "object", "properties": members, "x-kubernetes-validations": [rule(text, message="m")]}
    assert judged(schema, value) == [f'spec.x: Invalid value: "object": {said}']


SAID = [
    (rule("self.a == 2"), "spec.x: Invalid value: failed rule: self.a == 2"),
    (rule("self.a == 2", message=" a is two "), "spec.x: Invalid value: a is two"),
    (rule("self.a == 2", messageExpression="'a is ' + string(self.a)"), "spec.x: Invalid value: a is 1"),
    (rule("self.a == 2", messageExpression="self.none", message="m"), "spec.x: Invalid value: m"),
    (rule("self.a == 2", message="m", reason="FieldValueForbidden", fieldPath=".a"), "spec.x.a: Forbidden: m"),
    (
        rule("self.a == 2", message="m", reason="FieldValueRequired", fieldPath="['my-b']"),
        "spec.x.my-b: Required value: m",
    ),
    (rule("self.a == 2", message="m", reason="FieldValueDuplicate"), "spec.x: Duplicate value"),
]


@pytest.mark.parametrize(("written", "said"), SAID)
def test_a_failed_rule_says_what_its_author_wrote(written: dict[str, Any], said: str) -> None:
    schema = {"type": "object", "properties": {"a": INTEGER, "my-b": TEXT}, "x-kubernetes-validations": [written]}
    assert judged(schema, {"a": 1}) == [said]


def test_a_rule_on_a_plain_value_prints_the_value() -> None:
    assert judged(TEXT | {"x-kubernetes-validations": [rule("self != ''", message="m")]}, "") == [
        'spec.x: Invalid value: "": m'
    ]
    assert judged(INTEGER | {"x-kubernetes-validations": [rule("self > 5", message="m")]}, 3) == [
        "spec.x: Invalid value: 3: m"
    ]


def test_rules_see_members_under_names_cel_can_spell() -> None:
    members = {"my-name": TEXT, "in": TEXT, "a.b/c": TEXT, "x__y": TEXT, "plain": TEXT}
    text = (
        "self.my__dash__name == '1' && self.__in__ == '2' && self.a__dot__b__slash__c == '3' && "
        "self.x__underscores__y == '4' && self.plain == '5'"
    )
    schema = {"type": "object", "properties": members, "x-kubernetes-validations": [rule(text)]}
    assert judged(schema, {"my-name": "1", "in": "2", "a.b/c": "3", "x__y": "4", "plain": "5"}) == []


def test_rules_see_numbers_dates_and_bytes_as_such_and_nulls_not_at_all() -> None:
    members = {
        "n": {"type": "number"},
        "t": {"type": "string", "format": "date-time"},
        "d": {"type": "string", "format": "duration"},
        "b": {"type": "string", "format": "byte"},
        "z": {"type": "string", "nullable": True},
    }
    text = (
        "self.n + 0.5 == 1.5 && self.t.getFullYear() == 2025 && self.d.getMinutes() == 90 && "
        "self.b == b'hi' && !has(self.z)"
    )
    schema = {"type": "object", "properties": members, "x-kubernetes-validations": [rule(text)]}
    value = {"n": 1, "t": "2025-01-01T00:00:00Z", "d": "1h30m", "b": "aGk=", "z": None}
    assert judged(schema, value) == []


def test_an_integer_or_string_is_what_it_is() -> None:
    text = "type(self) == int ? self > 1 : self.endsWith('%')"
    schema = {"x-kubernetes-int-or-string": True, "x-kubernetes-validations": [rule(text, message="m")]}
    assert judged(schema, 5) == []
    assert judged(schema, "5%") == []
    assert judged(schema, 1) == ["spec.x: Invalid value: 1: m"]
    assert judged(schema, "5") == ['spec.x: Invalid value: "5": m']


def test_a_rule_at_the_root_sees_the_name_and_the_spec() -> None:
    compiled = schemas.compile(
        {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"a": INTEGER}}},
            "x-kubernetes-validations": [rule("self.metadata.name != 'no' && self.spec.a > 0", message="m")],
        }
    )
    assert compiled.validate({"metadata": {"name": "yes", "labels": {}}, "spec": {"a": 1}}) == []
    assert [str(one) for one in compiled.validate({"metadata": {"name": "no"}, "spec": {"a": 1}})] == [
        "<nil>: Invalid value: m"
    ]


def test_rules_on_items_and_on_values_of_a_map_name_the_place() -> None:
    inner = INTEGER | {"x-kubernetes-validations": [rule("self < 5", message="m")]}
    assert judged({"type": "array", "items": inner}, [1, 9]) == ["spec.x[1]: Invalid value: 9: m"]
    assert judged({"type": "object", "additionalProperties": inner}, {"a": 9}) == ["spec.x[a]: Invalid value: 9: m"]


def test_rules_within_all_of_are_run() -> None:
    schema = INTEGER | {"allOf": [{"x-kubernetes-validations": [rule("self < 5", message="m")]}]}
    assert judged(schema, 9) == ["spec.x: Invalid value: 9: m"]


def test_an_expression_without_special_forms_is_left_alone() -> None:
    source = "self.all(x, x.a == 1e-5 || has(x.b)) // why"
    assert rewriting.rewritten(source) is source


def test_text_that_looks_like_a_special_form_is_left_alone() -> None:
    assert (
        judged(TEXT | {"x-kubernetes-validations": [rule("self == 'a.?b[?c]' && [1].all(i, v, v == 1)")]}, "a.?b[?c]")
        == []
    )
