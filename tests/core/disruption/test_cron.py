"""Schedules: what can be written, when it fires, and when a window is open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core import timestamps
from dovetail.core.disruption import cron
from dovetail.core.errors import BadInput


def at(text: str) -> float:
    return timestamps.seconds(text)


def fires(schedule: str, after: str) -> str:
    found = cron.parse(schedule).next_after(at(after))
    assert found is not None
    return timestamps.text(found)


@pytest.mark.parametrize(
    ("schedule", "after", "then"),
    [
        ("* * * * *", "2026-11-15T12:00:00Z", "2026-11-15T12:01:00Z"),
        ("*/15 * * * *", "2026-11-15T12:14:59Z", "2026-11-15T12:15:00Z"),
        ("0 9 * * mon-fri", "2026-11-14T00:00:00Z", "2026-11-16T09:00:00Z"),
        ("0 9 * * MON,Wed", "2026-11-16T09:00:00Z", "2026-11-18T09:00:00Z"),
        ("30 22 * * 7", "2026-11-15T00:00:00Z", "2026-11-15T22:30:00Z"),
        ("0 0 1 JAN *", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("0 0 29 2 *", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("5/20 * * * *", "2026-11-15T12:00:00Z", "2026-11-15T12:05:00Z"),
        ("0 0 31 * *", "2026-11-01T00:00:00Z", "2026-12-31T00:00:00Z"),
        ("@hourly", "2026-11-15T12:00:00Z", "2026-11-15T13:00:00Z"),
        ("@weekly", "2026-11-16T00:00:00Z", "2026-11-22T00:00:00Z"),
        ("@monthly", "2026-11-16T00:00:00Z", "2026-12-01T00:00:00Z"),
        ("@yearly", "2026-11-16T00:00:00Z", "2027-01-01T00:00:00Z"),
    ],
)
def test_a_schedule_fires_next(schedule: str, after: str, then: str) -> None:
    assert fires(schedule, after) == then


def test_a_day_of_the_month_or_of_the_week_is_enough_where_both_are_named() -> None:
    assert fires("0 0 13 * 5", "2026-11-09T00:00:00Z") == "2026-11-13T00:00:00Z"
    assert fires("0 0 20 * 1", "2026-11-17T00:00:00Z") == "2026-11-20T00:00:00Z"
    assert fires("0 0 20 * 1", "2026-11-20T00:00:00Z") == "2026-11-23T00:00:00Z"


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "*/0 * * * *",
        "5-1 * * * *",
        "mon * * * *",
        "@dailyfoo",
        "0 0 30 2 *",
        "*-3 * * * *",
        "1,,2 * * * *",
        "９ * * * *",
    ],
)
def test_what_is_no_schedule_is_refused_with_a_sentence(bad: str) -> None:
    with pytest.raises(BadInput):
        cron.parse(bad)


def test_a_window_is_open_from_its_firing_until_its_duration_is_over() -> None:
    nine_to_five = cron.parse("0 9 * * *")
    eight_hours = 8 * 3600.0
    assert not nine_to_five.is_open(at("2026-11-15T08:59:59Z"), eight_hours)
    assert nine_to_five.is_open(at("2026-11-15T09:00:00Z"), eight_hours)
    assert nine_to_five.is_open(at("2026-11-15T16:59:59Z"), eight_hours)
    assert not nine_to_five.is_open(at("2026-11-15T17:00:00Z"), eight_hours)


def test_a_window_longer_than_a_day_is_open_across_midnight() -> None:
    weekend = cron.parse("0 0 * * sat")
    assert weekend.is_open(at("2026-11-15T23:59:00Z"), 48 * 3600.0)
    assert not weekend.is_open(at("2026-11-16T00:00:00Z"), 48 * 3600.0)


@given(st.floats(0, 4e9), st.sampled_from(["*/7 3 * * *", "0 0 1 * mon", "@hourly", "15,45 */6 10-20 * *"]))
def test_the_next_firing_is_after_the_moment_and_nothing_fires_between(moment: float, text: str) -> None:
    schedule = cron.parse(text)
    found = schedule.next_after(moment)
    assert found is not None
    assert found > moment
    assert schedule.next_after(moment, until=found - 60) is None
