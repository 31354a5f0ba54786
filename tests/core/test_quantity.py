"""Quantities are Kubernetes' own, to the last billionth."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import HOSTILE

from dovetail.core import quantity
from dovetail.core.errors import BadInput
from dovetail.core.quantity import MAX_NANOS, Form, Quantity, parse

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

numbers = st.from_regex(r"[+-]?([0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12})", fullmatch=True)
suffixes = st.sampled_from([*DECIMAL, *BINARY]) | st.integers(-12, 18).map("e{}".format) | st.just("E5")
spelled = st.builds(str.__add__, numbers, suffixes)
quantities = st.builds(
    Quantity, st.integers(-MAX_NANOS, MAX_NANOS) | st.integers(-(10**13), 10**13), st.sampled_from(Form)
)


def meant(text: str) -> int:
    """The billionths a spelling means, by the rule book: round what is finer away from zero, then stop at 64 bits."""
    number, factor = text, Fraction(1)
    for suffix, power in BINARY.items():
        if text.endswith(suffix):
            number, factor = text[:-2], Fraction(2**power)
    for suffix, power in DECIMAL.items():
        if suffix and text.endswith(suffix):
            number, factor = text[:-1], Fraction(10) ** power
    exact = Fraction(number) * factor * 10**9
    nanos = ceil(exact) if exact >= 0 else floor(exact)
    return max(-MAX_NANOS, min(MAX_NANOS, nanos))


@given(spelled)
def test_every_spelling_is_read_for_what_it_means(text: str) -> None:
    assert parse(text).nanos == meant(text)


@given(quantities)
def test_what_is_printed_reads_back_as_the_same_quantity(value: Quantity) -> None:
    again = parse(str(value))
    assert again == value
    assert hash(again) == hash(value)


@given(quantities)
def test_printing_has_no_fraction_and_no_larger_suffix_would_do(value: Quantity) -> None:
    """Canonical form, stated apart from the code: whole, and no zeros (or factor 1024) that a suffix could carry."""
    text = str(value)
    assert "." not in text
    digits = text.lstrip("-").rstrip("numkMGTPEi") if "e" not in text else text.lstrip("-").partition("e")[0]
    suffix = text.lstrip("-")[len(digits) :]
    if value.nanos == 0:
        assert text == "0"
    elif suffix.endswith("i") or (value.form is Form.BINARY and not suffix and abs(value.nanos) >= 1024 * 10**9):
        assert suffix == "Ei" or int(digits) % 1024
    else:
        assert suffix in ("E", "e18") or not digits.endswith("000")


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("0.5Gi", "512Mi"),
        ("1.5", "1500m"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        ("1.5Ki", "1536"),
        ("1024Mi", "1Gi"),
        ("1.0Gi", "1Gi"),
        ("2048Gi", "2Ti"),
        ("1000", "1k"),
        ("1000k", "1M"),
        ("1000m", "1"),
        ("0.0000000001", "1n"),
        ("-0.0000000001", "-1n"),
        ("0.1n", "1n"),
        ("1000u", "1m"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("12e4", "120e3"),
        ("5e-4", "500e-6"),
        ("1e0", "1"),
        ("1E", "1E"),
        ("1Ei", "1Ei"),
        ("+2Gi", "2Gi"),
        ("-1.5", "-1500m"),
        (".5", "500m"),
        ("5.", "5"),
        ("0Ki", "0"),
        ("-0", "0"),
        ("0.3333333333333", "333333334n"),
        ("0.000000001Ki", "1024n"),
        ("00012", "12"),
    ],
)
def test_printing_follows_kubernetes(written: str, printed: str) -> None:
    assert str(parse(written)) == printed


@pytest.mark.parametrize("text", ["10E", "9223372036854775808", "8Ei", "100Ei", "1e300", "9" * 40])
def test_what_is_too_large_is_the_largest_there_is(text: str) -> None:
    assert parse(text).nanos == MAX_NANOS
    assert parse("-" + text).nanos == -MAX_NANOS
    assert parse(str(parse(text))) == parse(text)


def test_the_suffix_is_how_a_quantity_is_written_and_no_part_of_what_it_is() -> None:
    assert parse("1Ki") == parse("1024") == parse("1.024e3")
    assert len({parse("1Ki"), parse("1024"), parse("1024000m")}) == 1


@pytest.mark.parametrize(
    ("text", "millis", "units"), [("1.0001", 1001, 2), ("-1.0001", -1001, -2), ("1n", 1, 1), ("3", 3000, 3)]
)
def test_thousandths_and_units_round_away_from_zero(text: str, millis: int, units: int) -> None:
    assert (parse(text).millis, parse(text).units) == (millis, units)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_unquoted_numbers_are_read_as_if_quoted(number: float) -> None:
    assert parse(number).nanos == meant(repr(number))


def test_zero_is_false_and_nothing_else_is() -> None:
    assert not parse("0")
    assert parse("1n")


def test_amounts_made_from_counts_print_in_their_own_family() -> None:
    assert [str(quantity.of_millis(1500)), str(quantity.of_units(3)), str(quantity.of_bytes(2**31))] == [
        "1500m",
        "3",
        "2Gi",
    ]


MALFORMED = (
    *("1e", "1e+", "1e1.5", "1e9999", "e3", "1ee3", "1.2.3", ".", "+", "-", "--1", "+-1"),
    *("Gi", "1Kii", "1ki", "1K", "1mi", ".5i", "1i", "1Gi2"),
)


@pytest.mark.parametrize("text", [*MALFORMED, " 1", "1 ", "1 Gi", "9" * 65])
def test_a_spelling_kubernetes_refuses_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is not a quantity"):
        parse(text)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "a huge negative number"])
def test_what_is_no_quantity_is_refused_in_a_short_sentence(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(HOSTILE[name])
    assert len(str(caught.value)) < 250


def test_numbers_of_any_size_are_read() -> None:
    assert [parse(one).nanos for one in (10**5000, -(10**5000), 1.7e308)] == [MAX_NANOS, -MAX_NANOS, MAX_NANOS]
    assert parse(5e-324).nanos == 1


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(BadInput):
        assert parse(str(parse(text))) == parse(text)
