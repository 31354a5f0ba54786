"""Money is exact, has a source, and is adjusted as users write it (S2.6)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import HOSTILE, price

from dovetail.core.catalog.prices import (
    Adjustment,
    Source,
    SourceKind,
    dollars,
    parse_adjustment,
    parse_amount,
    parse_replacement,
)
from dovetail.core.errors import BadInput

amounts = st.integers(0, 10**15)


@given(amounts)
def test_an_amount_prints_exactly_and_reads_back(nanodollars: int) -> None:
    assert parse_amount(dollars(nanodollars)) == nanodollars


@pytest.mark.parametrize(
    ("written", "nanodollars"),
    [
        ("0.096", 96_000_000),
        (0.096, 96_000_000),
        (3, 3_000_000_000),
        ("0", 0),
        (".5", 500_000_000),
        ("7.", 7_000_000_000),
        ("1e-3", 1_000_000),
        (1e-07, 100),
        (" 0.1 ", 100_000_000),
        ("0.0000000004", 0),
        ("0.0000000006", 1),
        ("55.04", 55_040_000_000),
    ],
)
def test_an_amount_is_read_to_the_nearest_billionth(written: object, nanodollars: int) -> None:
    assert parse_amount(written) == nanodollars


@pytest.mark.parametrize(
    ("nanodollars", "text"), [(96_000_000, "0.096"), (0, "0"), (3 * 10**9, "3"), (-1, "-0.000000001")]
)
def test_an_amount_prints_without_trailing_zeros(nanodollars: int, text: str) -> None:
    assert dollars(nanodollars) == text


@pytest.mark.parametrize("text", ["-1", "-0.1", -1, -0.5, "$1", "1.2.3", "1e300", "1" * 13, "1.5%", "--1", "1 2", None])
def test_what_is_no_price_is_refused(text: object) -> None:
    with pytest.raises(BadInput):
        parse_amount(text)


@pytest.mark.parametrize("read", [parse_amount, parse_replacement, parse_adjustment])
@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "a trailing newline"])
def test_a_hostile_price_is_refused_in_a_short_sentence(read: object, name: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(HOSTILE[name])  # type: ignore[operator]
    assert len(str(caught.value)) < 250


def test_an_enormous_price_is_refused_in_a_short_sentence() -> None:
    with pytest.raises(BadInput) as caught:
        parse_amount(10**5000)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("written", "base", "found"),
    [
        ("-10%", 1000, 900),
        ("+10%", 1000, 1100),
        ("-100%", 1000, 0),
        ("+250.5%", 1000, 3505),
        ("-0%", 1000, 1000),
        ("-0.0000005", 1000, 500),
        ("+0.0000005", 1000, 1500),
        ("-1", 1000, 0),
        ("+.5%", 1000, 1005),
    ],
)
def test_an_adjustment_is_a_share_or_an_amount_and_never_goes_below_nothing_S2_6(
    written: str, base: int, found: int
) -> None:
    assert parse_adjustment(written).apply(base) == found


@given(amounts, amounts)
def test_a_replacement_forgets_what_was_there_S2_6(base: int, new: int) -> None:
    assert parse_replacement(dollars(new)).apply(base) == new


@given(amounts, st.integers(-100, 1000))
def test_a_share_is_exact_to_the_nearest_billionth_S2_6(base: int, percent: int) -> None:
    found = parse_adjustment(f"{percent:+d}%").apply(base)
    assert abs(found - Fraction(base * (100 + percent), 100)) <= Fraction(1, 2)
    assert found >= 0


@pytest.mark.parametrize(
    "text", ["10%", "0.1", "-101%", "-100.5%", "+", "%", "+%", "+1%%", "+-1", "+ 1", "+1e3", "-1" + "0" * 40, ""]
)
def test_an_adjustment_needs_a_sign_and_takes_off_at_most_everything(text: str) -> None:
    with pytest.raises(BadInput):
        parse_adjustment(text)


def test_nothing_to_adjust_changes_nothing() -> None:
    assert Adjustment().apply(7) == 7


def test_a_price_says_where_it_comes_from() -> None:
    assert str(Source(SourceKind.LIVE, "spot history", "2026-07-06")) == "live (spot history, 2026-07-06)"
    assert str(Source(SourceKind.MODELLED)) == "modelled"
    assert str(price("0.0960")) == "0.096"


def test_prices_are_ordered_by_amount() -> None:
    assert price("0.1") < price("0.2")
    assert not price("0.2") < price("0.2")
