"""A day in which nodes go whenever they may: at no moment are more away than budgets and windows allow."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.disruption.clusters import Member, member, pods, policy, world

from dovetail.api.disruption import zones
from dovetail.core import timestamps
from dovetail.core.disruption import policies
from dovetail.core.disruption.allow_windows import ANNOTATION
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.passes import decide
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.timelines import allowed, next_wake

HOUR = 3600.0
NODES = 8
#: How long a node that was let go is away; another takes its place then.
AWAY = 5000.0
WINDOWS = st.sampled_from(["", "09:00-17:00", "Sun 01:30-03:30 Europe/Berlin; Empty: 04:00-05:00,22:00-23:00", "Mun"])
BUDGETS = st.sampled_from(
    [
        (Budget("50%"),),
        (Budget("3"), Budget("0", frozenset({Reason.EMPTY}), "0 3 * * *", 2 * HOUR)),
        (Budget("100%"), Budget("1", None, "30 2 * * *", 6 * HOUR)),
    ]
)
DAYS = st.sampled_from(["2026-03-29T00:00:00Z", "2026-10-25T00:00:00Z", "2026-11-16T00:00:00Z"])


def fleet(away: dict[str, float], now: float) -> list[Member]:
    return [member(f"n{number}", marked=away.get(f"n{number}", 0.0) > now) for number in range(NODES)]


@given(WINDOWS, BUDGETS, DAYS, st.integers(1, NODES))
@settings(max_examples=12, deadline=None)
def test_at_no_moment_of_a_day_are_more_nodes_away_than_it_lets_go(
    text: str, budgets: tuple[Budget, ...], day: str, most: int
) -> None:
    told = {policies.TIME_ZONE: "Europe/Berlin"} | ({ANNOTATION: text} if text else {})
    of: PoolPolicy = policies.said(told, zones.named).applied(policy(budgets=budgets))
    start = timestamps.seconds(day)
    now, away = start, dict[str, float]()
    while now < start + 24 * HOUR:
        made = world(*fleet(away, now), pools=[of], cluster=(Budget(str(most)),), now=now)
        gone = [name for one in decide(made).commands for name in one.names]
        before = sum(until > now for until in away.values())
        limit = allowed(of, Reason.EMPTY, NODES, now).count
        assert not gone or before + len(gone) <= min(limit, most)
        assert gone or before >= min(limit, most, NODES), "whoever may go goes"
        away.update(dict.fromkeys(gone, now + AWAY))
        now = min(now + 3600.0, next_wake(made) or now + 3600.0)


def test_a_window_that_is_closed_keeps_every_method_away_but_repair() -> None:
    closed = policies.said({ANNOTATION: "00:00-00:01"}, zones.named)
    of = replace(policy(), windows=closed.windows)
    some = [member("a"), member("b", pods=pods("web")), member("c", pods=pods("db"))]
    found = decide(world(*some, pools=[of], now=timestamps.seconds("2026-11-16T12:00:00Z")))
    assert found.commands == ()
    assert found.refusals["a"].text == (
        "NodePool pool lets no more nodes go now: dovetail.dev/allow-windows (00:00-00:01) is closed for Empty, "
        "0 are away"
    )
