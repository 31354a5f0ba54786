"""When nodes may go: budgets and windows over time, in one answer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.disruption.clusters import policy, world

from dovetail.api.disruption import zones
from dovetail.core import timestamps
from dovetail.core.disruption import policies
from dovetail.core.disruption.allow_windows import ANNOTATION
from dovetail.core.disruption.budgets import UNLIMITED, Budget, problem_of
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import BUDGETED, Reason
from dovetail.core.disruption.timelines import allowed, next_wake, stretches

HOUR, DAY = 3600.0, 86400.0
BERLIN = "Europe/Berlin"


def at(text: str) -> float:
    return timestamps.seconds(text)


def pool(*budgets: Budget, **annotations: str) -> PoolPolicy:
    told = {f"dovetail.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
    return policies.said(told, zones.named).applied(policy(budgets=budgets or (Budget("100%"),)))


def block(schedule: str, duration: float, **more: Any) -> Budget:
    return Budget("0", schedule=schedule, duration=duration, **more)


def blocked(of: PoolPolicy, since: str, until: str) -> list[str]:
    """When nothing may go, as times of day in UTC."""
    found = stretches(of, Reason.DRIFTED, 10, at(since), at(until))
    return [f"{_clock(one.since)}-{_clock(one.until)}" for one in found if not one.count]


def _clock(moment: float) -> str:
    return timestamps.text(moment)[11:16]


# ---- schedules in a time zone


def test_a_schedule_follows_the_clocks_of_the_pools_time_zone() -> None:
    of = pool(block("0 9 * * *", 8 * HOUR), timezone=BERLIN)
    assert blocked(of, "2026-01-15T00:00:00Z", "2026-01-16T00:00:00Z") == ["08:00-16:00"]
    assert blocked(of, "2026-07-15T00:00:00Z", "2026-07-16T00:00:00Z") == ["07:00-15:00"]


def test_a_firing_that_clocks_skip_fires_when_the_gap_is_over() -> None:
    of = pool(block("30 2 * * *", 2 * HOUR), timezone=BERLIN)
    assert blocked(of, "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z") == ["01:00-03:00"]


def test_a_firing_that_comes_twice_fires_twice() -> None:
    of = pool(block("30 2 * * *", HOUR / 2), timezone=BERLIN)
    assert blocked(of, "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z") == ["00:30-01:00", "01:30-02:00"]


def test_every_hour_is_every_hour_on_days_clocks_are_turned_as_well() -> None:
    of = pool(block("@hourly", 600.0), timezone=BERLIN)
    for day in ("2026-03-29", "2026-10-25"):
        found = blocked(of, f"{day}T00:00:00Z", f"{day}T05:00:00Z")
        assert found == ["00:00-00:10", "01:00-01:10", "02:00-02:10", "03:00-03:10", "04:00-04:10"]


def test_a_time_zone_nobody_knows_stops_scheduled_budgets_and_leaves_the_others() -> None:
    scheduled = block("0 9 * * *", HOUR, reasons=frozenset({Reason.DRIFTED}))
    of = pool(scheduled, Budget("5"), timezone="Mars/Olympus")
    assert "'Mars/Olympus' is no time zone" in (problem_of(of.budgets[0]) or "")
    assert allowed(of, Reason.DRIFTED, 10, at("2026-01-15T03:00:00Z")).count == 0
    assert allowed(of, Reason.EMPTY, 10, at("2026-01-15T03:00:00Z")).count == 5


# ---- one answer


def test_one_answer_says_how_many_and_until_when() -> None:
    of = pool(Budget("2"), allow_windows="Mon-Fri 09:00-17:00 Europe/Berlin")
    found = allowed(of, Reason.EMPTY, 10, at("2026-11-16T10:00:00Z"))
    assert (found.count, found.changes) == (2, at("2026-11-16T16:00:00Z"))
    closed = allowed(of, Reason.EMPTY, 10, at("2026-11-20T17:00:00Z"))
    assert (closed.count, closed.changes) == (0, at("2026-11-23T08:00:00Z")), "over the weekend"


def test_a_budget_that_changes_nothing_is_no_change() -> None:
    of = pool(Budget("2"), Budget("5", schedule="0 12 * * *", duration=HOUR))
    assert allowed(of, Reason.EMPTY, 10, at("2026-11-16T10:00:00Z")).changes is None


def test_a_budget_that_blocks_without_a_pause_never_changes() -> None:
    of = pool(block("*/10 * * * *", 600.0))
    found = allowed(of, Reason.EMPTY, 10, at("2026-11-16T10:00:00Z"))
    assert (found.count, found.changes) == (0, None)


def test_the_loop_wakes_when_the_first_pool_opens_or_closes() -> None:
    noon = at("2026-11-16T12:00:00Z")
    early, late = pool(allow_windows="13:00-14:00"), policy("other", budgets=(block("0 15 * * *", HOUR),))
    assert next_wake(world(pools=[early, late], now=noon)) == noon + HOUR
    assert next_wake(world(pools=[late], now=noon)) == noon + 3 * HOUR
    assert next_wake(world(pools=[policy()], now=noon)) is None


BUDGETS = st.lists(
    st.sampled_from(
        [
            Budget("20%"),
            Budget("3"),
            Budget("0", frozenset({Reason.DRIFTED}), "0 2 * * *", 4 * HOUR),
            Budget("1", None, "30 2 * * 6,0", 90 * 60.0),
            Budget("0", frozenset({Reason.EMPTY}), "@hourly", 900.0),
            Budget("50%", None, "nonsense", 900.0),
        ]
    ),
    max_size=3,
)
TEXTS = st.sampled_from(
    ["", "Mon-Fri 09:00-17:00", "22:00-04:00 America/New_York; Drifted: Sat-Sun 02:00-03:30", "Mun"]
)
STARTS = st.sampled_from(["2026-03-28T00:00:00Z", "2026-10-24T05:00:00Z", "2026-11-01T00:00:00Z"])


@given(BUDGETS, TEXTS, STARTS, st.sampled_from(BUDGETED), st.lists(st.integers(0, 3 * 86400), min_size=1, max_size=8))
def test_what_is_drawn_is_what_is_allowed_at_every_moment(
    budgets: list[Budget], text: str, start: str, reason: Reason, steps: list[int]
) -> None:
    told = {policies.TIME_ZONE: BERLIN} | ({ANNOTATION: text} if text else {})
    of = policies.said(told, zones.named).applied(policy(budgets=tuple(budgets)))
    since = at(start)
    drawn = stretches(of, reason, 10, since, since + 3 * DAY)
    assert drawn[0].since == since
    assert drawn[-1].until == since + 3 * DAY
    assert all(one.until == other.since for one, other in pairwise(drawn))
    assert all(one.count != other.count for one, other in pairwise(drawn))
    for step in steps:
        moment = min(since + step, since + 3 * DAY - 1)
        (here,) = [one for one in drawn if one.since <= moment < one.until]
        assert allowed(of, reason, 10, moment).count == here.count


def test_a_pool_that_says_nothing_is_limited_by_the_default_alone() -> None:
    assert allowed(policy(budgets=()), Reason.EMPTY, 10, 0.0).count == UNLIMITED


@pytest.mark.parametrize("name", ["Europe", "../../etc/passwd", "Nowhere/Town", "", "Zürich"])
def test_only_names_of_the_database_are_time_zones(name: str) -> None:
    said = policies.said({policies.TIME_ZONE: name}, zones.named)
    assert said.zone is None
    assert "is no time zone" in said.problems[0][1]
