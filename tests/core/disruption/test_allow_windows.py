"""Windows in which nodes may go, as people write them, and what clocks do to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.api.disruption import zones
from dovetail.core import timestamps
from dovetail.core.disruption import policies
from dovetail.core.disruption.allow_windows import ANNOTATION, Windows, read
from dovetail.core.disruption.budgets import UNLIMITED, Budget, allowance
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.zones import only_utc
from dovetail.core.errors import BadValue

DAY = 86400.0
HALF_HOUR = 1800
#: A Monday.
MONDAY = timestamps.seconds("2026-11-16T00:00:00Z")


def at(text: str) -> float:
    return timestamps.seconds(text)


def windows(text: str) -> Windows:
    found = read(text, zones.named)
    assert found.problems == ()
    return found


def is_open(text: str, moment: str, reason: Reason = Reason.UNDERUTILIZED) -> bool:
    return windows(text).is_open(reason, at(moment))


def hours(text: str, day: str, reason: Reason = Reason.UNDERUTILIZED) -> float:
    """For how many hours windows are open in the 24 before noon of a day."""
    found, start = windows(text), at(f"{day}T12:00:00Z") - DAY
    return sum(found.is_open(reason, start + step) for step in range(0, int(DAY), HALF_HOUR)) / 2


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-11-16T07:59:59Z", False),
        ("2026-11-16T08:00:00Z", True),
        ("2026-11-16T15:59:59Z", True),
        ("2026-11-16T16:00:00Z", False),
        ("2026-11-21T10:00:00Z", False),
    ],
)
def test_a_window_is_open_while_a_clock_on_the_wall_there_is_within_it(moment: str, expected: bool) -> None:
    assert is_open("Mon-Fri 09:00-17:00 Europe/Berlin", moment) is expected


def test_the_same_window_is_another_hour_in_summer() -> None:
    assert is_open("Mon-Fri 09:00-17:00 Europe/Berlin", "2026-07-15T07:30:00Z")
    assert not is_open("Mon-Fri 09:00-17:00 Europe/Berlin", "2026-07-15T15:30:00Z")


def test_a_window_over_midnight_belongs_to_the_day_it_begins_on() -> None:
    assert is_open("Fri 22:00-04:00", "2026-11-20T23:00:00Z")
    assert is_open("Fri 22:00-04:00", "2026-11-21T03:59:00Z")
    assert not is_open("Fri 22:00-04:00", "2026-11-20T03:00:00Z")


def test_several_times_days_and_windows_may_be_named() -> None:
    text = "Mon,Wed 09:00-12:00,13:00-17:00; Sat-Mon 20:00-24:00"
    assert is_open(text, "2026-11-18T13:30:00Z")
    assert not is_open(text, "2026-11-18T12:30:00Z")
    assert is_open(text, "2026-11-22T20:30:00Z")
    assert is_open(text, "2026-11-16T20:30:00Z"), "from Saturday over Sunday to Monday"
    assert not is_open(text, "2026-11-17T20:30:00Z"), "and not on Tuesday"


def test_days_and_zone_may_be_left_out() -> None:
    assert hours("10:00-12:00", "2026-11-21") == 2.0
    assert hours("daily 10:00-12:00", "2026-11-21") == 2.0


def test_a_reason_with_windows_of_its_own_keeps_to_them_alone() -> None:
    text = "Mon-Fri 09:00-17:00; Drifted, Expired: Sat 10:00-12:00"
    assert not is_open(text, "2026-11-16T10:00:00Z", Reason.DRIFTED)
    assert is_open(text, "2026-11-16T10:00:00Z", Reason.EMPTY)
    assert is_open(text, "2026-11-21T10:00:00Z", Reason.DRIFTED)


def test_repair_waits_only_for_windows_that_name_it() -> None:
    night = "2026-11-16T03:00:00Z"
    assert is_open("Mon-Fri 09:00-17:00", night, Reason.UNHEALTHY)
    assert not is_open("Mon-Fri 09:00-17:00; unhealthy: 09:00-17:00", night, Reason.UNHEALTHY)


def test_a_pool_without_windows_is_always_open() -> None:
    assert Windows().is_open(Reason.DRIFTED, MONDAY)
    assert Windows().next_change(Reason.DRIFTED, MONDAY, MONDAY + DAY) is None


# ---- clocks that are turned: Berlin went forward on 29 March 2026 at 02:00 and back on 25 October at 03:00


def test_a_window_that_clocks_skip_does_not_open_that_day() -> None:
    assert hours("02:00-03:00 Europe/Berlin", "2026-03-29") == 0.0
    assert hours("02:00-03:00 Europe/Berlin", "2026-03-30") == 1.0


def test_a_window_with_the_gap_inside_is_an_hour_shorter() -> None:
    assert hours("01:00-05:00 Europe/Berlin", "2026-03-29") == 3.0


def test_an_hour_that_comes_twice_is_open_twice() -> None:
    assert hours("02:00-03:00 Europe/Berlin", "2026-10-25") == 2.0
    assert hours("01:00-05:00 Europe/Berlin", "2026-10-25") == 5.0


def test_changes_on_the_days_clocks_are_turned_are_found_where_they_are() -> None:
    found = windows("02:30-03:30 Europe/Berlin")
    gap = at("2026-03-29T00:30:00Z")
    assert found.next_change(Reason.EMPTY, gap, gap + DAY) == at("2026-03-29T01:00:00Z"), "clocks jump into it"
    marks, moment = [], at("2026-10-25T00:00:00Z")
    while (change := found.next_change(Reason.EMPTY, moment, at("2026-10-25T12:00:00Z"))) is not None:
        marks.append(timestamps.text(change)[11:16])
        moment = change
    assert marks == ["00:30", "01:00", "01:30", "02:30"], "open, back, open again, closed"


TEXTS = st.sampled_from(
    [
        "Mon-Fri 09:00-17:00 Europe/Berlin",
        "22:00-04:00 America/New_York",
        "Sun 02:30-03:30 Europe/Berlin",
        "Sat-Sun 00:00-24:00 Asia/Kathmandu; Wed 12:00-12:05",
        "02:00-02:45 Australia/Lord_Howe",
        "Fri 23:30-01:00 Africa/Casablanca; 05:00-06:00",
    ]
)
MOMENTS = st.integers(int(at("2026-01-01T00:00:00Z")), int(at("2028-01-01T00:00:00Z"))).map(float)


@given(TEXTS, MOMENTS, st.integers(0, 14 * 86400))
def test_nothing_changes_before_the_next_change_and_something_does_then(text: str, now: float, step: int) -> None:
    found = windows(text)
    change = found.next_change(Reason.DRIFTED, now, now + 14 * DAY)
    state = found.is_open(Reason.DRIFTED, now)
    assert change is not None
    assert found.is_open(Reason.DRIFTED, change) != state
    between = now + min(step, (change - now) * step / (14 * DAY))
    assert found.is_open(Reason.DRIFTED, min(between, change - 0.5) if change - 0.5 > now else now) == state


# ---- what cannot be read


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Mon-Fri 9-17", "'9-17' is no time of day; write it as 09:00-17:00"),
        ("Mon-Fri", "'Mon-Fri' is no window; write it as Mon-Fri 09:00-17:00 Europe/Berlin"),
        ("Mun 09:00-17:00", "'Mun' is no day; there are Mon, Tue, Wed, Thu, Fri, Sat, Sun"),
        ("09:00-25:00", "'09:00-25:00' is no time of day; it goes from 00:00 to 24:00"),
        ("24:00-02:00", "'24:00-02:00' is no time of day; it goes from 00:00 to 24:00"),
        ("09:60-10:00", "'09:60-10:00' is no time of day; it goes from 00:00 to 24:00"),
        ("Tired: 09:00-17:00", "'Tired' is no reason; there are Empty, Drifted, Underutilized, Unhealthy, Expired"),
        ("09:00-17:00 Europe/Berlim", "'Europe/Berlim' is no time zone that is known here"),
        ("", "it names no window"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(text: str, sentence: str) -> None:
    (problem,) = read(text, zones.named).problems
    assert problem.startswith(f"window 1: {sentence}")


def test_a_window_that_cannot_be_read_never_opens_and_the_others_stay() -> None:
    found = read("Drifted: Mun 09:00-17:00; Mon 09:00-17:00", zones.named)
    noon = MONDAY + DAY / 2
    assert not found.is_open(Reason.DRIFTED, noon)
    assert found.is_open(Reason.EMPTY, noon)
    said = str(allowance((Budget("50%"),), Reason.DRIFTED, 10, noon, found))
    assert said == (
        f"{ANNOTATION} never opens as it cannot be read: 'Mun' is no day; there are Mon, Tue, Wed, Thu, Fri, Sat, Sun"
    )


def test_outside_of_its_windows_a_pool_allows_nothing_and_says_which_they_are() -> None:
    found = allowance((Budget("50%"),), Reason.EMPTY, 10, MONDAY, windows("Mon 09:00-17:00"))
    assert found.count == 0
    assert str(found) == f"{ANNOTATION} (Mon 09:00-17:00) is closed for Empty"
    assert allowance((), Reason.EMPTY, 10, MONDAY + DAY / 2, windows("Mon 09:00-17:00")).count == UNLIMITED


@given(st.text(max_size=60))
def test_no_text_makes_reading_fail(text: str) -> None:
    read(text, zones.named)


# ---- a pool's annotations


def test_the_pools_time_zone_is_that_of_windows_that_name_none() -> None:
    said = policies.said({ANNOTATION: "09:00-17:00", policies.TIME_ZONE: "Asia/Tokyo"}, zones.named)
    assert said.problems == ()
    assert said.windows.is_open(Reason.EMPTY, at("2026-11-16T00:30:00Z"))


def test_a_time_zone_nobody_knows_stops_what_depends_on_it_and_nothing_else() -> None:
    told = {ANNOTATION: "09:00-17:00; Drifted: 09:00-17:00 UTC", policies.TIME_ZONE: "Mars/Olympus"}
    said = policies.said(told, zones.named)
    assert [key for key, _ in said.problems] == [policies.TIME_ZONE, ANNOTATION]
    noon = MONDAY + DAY / 2
    assert not said.windows.is_open(Reason.EMPTY, noon)
    assert said.windows.is_open(Reason.DRIFTED, noon), "this one names its zone"


def test_more_windows_than_anybody_needs_are_none_and_never_open() -> None:
    found = read(";".join(["Mon-Fri 22:00-06:00 UTC"] * 1000), zones.named)
    assert len(found.problems) == 1
    assert "these are more than" in found.problems[0]
    assert not found.is_open(Reason.EMPTY, MONDAY + 23 * 3600)


def test_where_no_time_zones_are_known_only_utc_is() -> None:
    assert only_utc("UTC").text(at("2026-03-29T03:00:59Z")) == "2026-03-29 03:00 UTC"
    with pytest.raises(BadValue, match="'Europe/Berlin' is not a time zone that is known here; UTC is"):
        only_utc("Europe/Berlin")
    assert zones.named("Europe/Berlin").text(at("2026-03-29T01:00:00Z")) == "2026-03-29 03:00 Europe/Berlin"
