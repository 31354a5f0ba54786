"""Numbers as people read them."""

from __future__ import annotations

from datetime import date, timedelta
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.catalog.prices import Price, Source, SourceKind, parse_amount
from dovetail.views import figures

TODAY = date(2026, 7, 22)


@pytest.mark.parametrize(
    ("nanodollars", "shown"),
    [
        (96_000_000, "$0.0960"),
        (12_345_000_000, "$12.3450"),
        (2_597_288, "$0.002597"),
        (768_000, "$0.000768"),
        (7_680, "$0.00000768"),
        (0, "$0.0000"),
        (-10_000_000, "-$0.0100"),
    ],
)
def test_money_has_four_decimals_and_more_only_where_four_say_little(nanodollars, shown):
    assert figures.money(nanodollars) == shown


def test_money_in_another_currency_says_which():
    assert figures.money(626_000_000, "CNY") == "0.6260 CNY"
    assert figures.money(626_000_000, "EUR") == "€0.6260"


def test_a_type_without_a_price_is_unpriced_and_never_zero():
    assert figures.price(None) == "unpriced"


@pytest.mark.parametrize(
    ("days", "shown"),
    [
        (0, "today"),
        (1, "1 day old"),
        (16, "16 days old"),
        (59, "59 days old"),
        (61, "2 months old"),
        (800, "2 years old"),
    ],
)
def test_a_price_tells_its_age(days, shown):
    assert figures.age((TODAY - timedelta(days=days)).isoformat(), TODAY) == shown


def test_a_price_nobody_dated_has_no_age_and_one_of_tomorrow_says_its_date():
    assert figures.age(None, TODAY) == ""
    assert figures.age("2026-08-01", TODAY) == "dated 2026-08-01"
    assert figures.age("last week", TODAY) == "last week"


def test_a_month_is_730_hours():
    price = Price(768_000_000, Source(SourceKind.BUNDLED))
    assert figures.monthly(price) == "$560.64"


@pytest.mark.parametrize(
    ("amount", "shown"), [(512 * 2**20, "512 MiB"), (61440 * 2**20, "60 GiB"), (3, "3 B"), (-(2**30), "-1 GiB")]
)
def test_sizes_are_in_the_largest_unit_that_fits(amount, shown):
    assert figures.size(amount) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (1740, "29 min"),
        (3600, "1 h"),
        (5430, "1 h 30 min"),
        (86400, "1 day"),
        (187_300, "2 days 4 h"),
        (inf, "never"),
    ],
)
def test_durations_are_told_in_the_two_largest_units(seconds, shown):
    assert figures.duration(seconds) == shown


def test_a_month_of_nothing_and_of_a_loss():
    assert (figures.month(0), figures.month(-10_000_000)) == ("$0.00", "-$7.30")


@given(st.integers(0, 10**15))
def test_a_price_in_json_is_the_price_exactly(nanodollars):
    assert parse_amount(figures.number(nanodollars)) == nanodollars
