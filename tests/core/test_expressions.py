"""Formulas in settings: CEL's operators and arithmetic, and nothing that could run away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.errors import BadInput
from dovetail.core.expressions import BadEvaluation, BadFormula, Value, parse

NAMES = {"vcpus": 4, "memory_mib": 16384, "instance_type": "m5.xlarge", "max_pods": 58}


def worked(text: str, **others: Value) -> Value:
    return parse(text, {*NAMES, *others}).value({**NAMES, **others})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 2 - 3", 5),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7.0 / 2.0", 3.5),
        ("0x10 + 1", 17),
        ("2 < 3 && 3 >= 3 || false", True),
        ("!(1 == 2)", True),
        ("vcpus > 8 ? 250 : vcpus > 2 ? 110 : 29", 110),
        ("min(110, max_pods)", 58),
        ("max(1, 2, vcpus)", 4),
        ("max([1, 9, 3])", 9),
        ("min(2, 1.5)", 1.5),
        ("double(memory_mib) * 0.05", 819.2),
        ("int(double(vcpus) * 1.6)", 6),
        ("int(-1.9)", -1),
        ("double('1.5') + 1e2", 101.5),
        ("string(vcpus) + 'x'", "4x"),
        ("string(1 < 2) + string(2 < 1)", "truefalse"),
        ("string(2.50)", "2.5"),
        ("size(instance_type)", 9),
        ("instance_type.startsWith('m5') ? 1 : 2", 1),
        ("instance_type.endsWith('.metal') || instance_type.contains('xl')", True),
        ("instance_type in ['m5.large', \"m5.xlarge\"]", True),
        ("1 in ['1']", False),
        ("1 < 1.5", True),
        ("true || 1 / 0 == 1", True),
        ("false && 1 / 0 == 1", False),
    ],
)
def test_a_formula_comes_to_what_CEL_says(text: str, value: Value) -> None:
    found = worked(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("1 +", "ends too early"),
        ("min(1", "ends too early"),
        ("(1", "ends too early; ) is expected"),
        ("1 2", "'2' at character 3"),
        ("1 ? 2", "ends too early; : is expected"),
        ("cores * 2", "cores is no variable; there are instance_type, max_pods"),
        ("sqrt(4)", "sqrt is no function; there are min, max"),
        ("int(1, 2)", "int takes 1 arguments, not 2"),
        ("min()", "min takes one or more arguments, not 0"),
        ("instance_type.matches('a')", "matches is no function of a text"),
        ("instance_type.", "ends too early"),
        ("instance_type.5", "'.5' at character 14"),
        ("__import__('os')", "__import__ is no function"),
        ("vcpus; 1", "';"),
        ("99999999999999999999", "larger than 64 bits"),
        ("(" * 60 + "1" + ")" * 60, "nested more than 40 deep"),
        ("+".join(["1"] * 200), "names, numbers and signs; 300 are the most"),
        ("1" + " " * 2000 + "+ 1", "longer than 1024"),
    ],
)
def test_a_text_that_is_no_formula_says_where(text: str, told: str) -> None:
    with pytest.raises(BadFormula) as bad:
        worked(text)
    assert told in str(bad.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("vcpus * 0.5", r"int \* double is not defined; write double\(…\) around the int"),
        ("1 / 0", "divided by zero"),
        ("1 % 0", "divided by zero"),
        ("9223372036854775807 + 1", "larger than 64 bits"),
        ("vcpus ? 1 : 2", r"\? wants a bool, and is given int"),
        ("1 && true", "&& wants a bool"),
        ("!1", "! wants a bool"),
        ("-'a'", "- wants a number, and is given string"),
        ("min(1, 'a')", "min wants numbers, and is given string"),
        ("1 == 'a'", "int == string is not defined"),
        ("1 in 2", "in wants a list"),
        ("int('four')", r"int\('four'\) is not a number"),
        ("int(1.0 / 0.0)", "not a whole number"),
        ("vcpus.contains('a')", "a function of two texts"),
        ("true + true", r"bool \+ bool is not defined"),
        ("size(1)", r"size\(int\) is not defined"),
        ("int([1])", r"int\(list\) is not defined"),
        ("double(true)", r"double\(bool\) is not defined"),
        ("string([1])", r"string\(list\) is not defined"),
        ("max([])", "max is given nothing"),
    ],
)
def test_a_formula_without_a_value_says_why(text: str, told: str) -> None:
    with pytest.raises(BadEvaluation, match=told):
        worked(text)


def test_formulas_of_one_text_are_equal() -> None:
    assert parse("vcpus * 2", NAMES) == parse("vcpus * 2", NAMES)
    assert len({parse("vcpus", NAMES), parse("vcpus", NAMES)}) == 1


@given(left=st.integers(-(10**6), 10**6), right=st.integers(-(10**6), 10**6).filter(bool))
def test_quotient_and_remainder_make_up_the_number(left: int, right: int) -> None:
    whole = worked("a / b * b + a % b", a=left, b=right)
    assert whole == left


_PARTS = st.sampled_from(
    ["1", "2.5", "vcpus", "'a'", "(", ")", "+", "-", "*", "/", "%", "?", ":", "min(", ",", "!", "."]
)


@given(parts=st.lists(_PARTS, max_size=30))
def test_whatever_is_written_gives_a_value_or_a_sentence(parts: list[str]) -> None:
    try:
        found = worked(" ".join(parts))
    except BadInput as bad:
        found = str(bad)
    assert isinstance(found, bool | int | float | tuple) or found or "''" in parts
