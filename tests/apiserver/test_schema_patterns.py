"""Go's regular expressions, read by Python."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.apiserver.schemas import patterns
from dovetail.core.errors import BadValue

CASES = [
    ("^[a-z]+$", ["abc"], ["abc\n", "ABC", ""]),
    (r"^[[:alpha:]]+\d\z", ["ab1"], ["ab1\n", "ab"]),
    ("[[:^digit:]]", ["a1"], ["12"]),
    (r"^\d+$", ["12"], ["١٢"]),
    (r"^\w+$", ["a_1"], ["é"]),
    (r"^\W$", ["é"], ["a"]),
    (r"^a\sb$", ["a b", "a\tb"], ["a\vb", "a\u00a0b"]),
    ("(?i)^abc$", ["ABC"], ["abd"]),
    ("^a(?i)b|c$", ["aB", "C"], ["AB"]),
    ("(?m)^b$", ["a\nb\nc"], ["ab"]),
    ("(?s)a.b", ["a\nb"], []),
    ("a.b", ["axb"], ["a\nb"]),
    (r"^a{,2}$", ["a{,2}"], ["aa"]),
    (r"^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]),
    (r"^\pL$", ["é", "x"], ["1"]),
    (r"^\p{Lu}\P{L}$", ["É1"], ["é1", "ÉÉ"]),
    (r"^\Qa.b\E$", ["a.b"], ["axb"]),
    (r"^\x41\x{1F600}$", ["A😀"], ["A"]),
    ("^[a&&b[|~-]+$", ["a&b[|~-"], ["c"]),
    ("^[+--]$", ["+", ",", "-"], ["."]),
    ("^[]a]$", ["]", "a"], ["b"]),
    (r"^[^\d\s]$", ["a"], ["1", " "]),
    ("^(?P<x>a)(?<y>b)$", ["ab"], ["a"]),
    ("^([1-9]||[1-5][0-7]|58)Ti$", ["Ti", "5Ti", "58Ti"], ["18Ti", "59Ti"]),
    ("ami-[0-9a-z]+", ["x ami-1 y"], ["ami-"]),
    ("a+?b", ["aab"], ["b"]),
]


@pytest.mark.parametrize(("pattern", "matching", "failing"), CASES)
def test_a_pattern_means_what_it_means_to_go(pattern: str, matching: list[str], failing: list[str]) -> None:
    found = patterns.compiled(pattern)
    assert [one for one in matching if not found.search(one)] == []
    assert [one for one in failing if found.search(one)] == []


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)", "(?!a)", "(?<=a)b", r"(a)\1", "a**", "a*+", "(a", "a)", "[a", "*a", r"\y", "(?U)a+", "[[:no:]]"],
)
def test_what_go_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(BadValue) as refused:
        patterns.compiled(pattern)
    assert "is not a regular expression" in str(refused.value)


def test_a_script_python_does_not_know_is_refused_by_name() -> None:
    with pytest.raises(BadValue, match="Greek"):
        patterns.compiled(r"\p{Greek}")


@given(text=st.text(alphabet=string.printable, max_size=20))
def test_a_quoted_text_matches_itself_and_nothing_shorter(text: str) -> None:
    found = patterns.compiled("^" + re.sub(r"([^A-Za-z0-9\s])", r"\\\1", text) + "$")
    assert found.search(text)
    assert not text or not found.search(text[:-1])
