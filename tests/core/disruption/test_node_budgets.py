"""Budgets: how many nodes may be away, for what, and what a broken budget does."""

from hypothesis import given
from hypothesis import strategies as st

from dovetail.core import timestamps
from dovetail.core.disruption.budgets import UNLIMITED, Budget, Ledger, Standing, allowance, problem_of
from dovetail.core.disruption.reasons import Reason

NOON = timestamps.seconds("2026-11-15T12:00:00Z")


def allowed(*budgets: Budget, reason: Reason = Reason.UNDERUTILIZED, nodes: int = 10, now: float = NOON) -> int:
    return allowance(budgets, reason, nodes, now).count


def test_a_percentage_rounds_up() -> None:
    assert allowed(Budget("10%"), nodes=11) == 2
    assert allowed(Budget("10%"), nodes=1) == 1
    assert allowed(Budget("0%"), nodes=100) == 0


def test_the_tightest_budget_wins() -> None:
    assert allowed(Budget("50%"), Budget("3"), Budget("100%")) == 3


def test_a_budget_speaks_of_its_reasons_only() -> None:
    drift_only = Budget("0", frozenset({Reason.DRIFTED}))
    assert allowed(drift_only, reason=Reason.DRIFTED) == 0
    assert allowed(drift_only, reason=Reason.EMPTY) == UNLIMITED


def test_a_budget_without_reasons_also_limits_repair() -> None:
    assert allowed(Budget("0"), reason=Reason.UNHEALTHY) == 0


def test_a_scheduled_budget_limits_nothing_outside_its_window() -> None:
    mornings = Budget("0", schedule="0 8 * * *", duration=2 * 3600)
    assert allowed(mornings) == UNLIMITED
    assert allowed(mornings, now=NOON - 3 * 3600) == 0


def test_a_malformed_budget_stops_its_own_reasons_and_says_which_it_is() -> None:
    broken = Budget("1", frozenset({Reason.DRIFTED}), schedule="@dailyfoo", duration=3600)
    found = allowance((Budget("50%"), broken), Reason.DRIFTED, 10, NOON)
    assert found.count == 0
    assert str(found).startswith("budgets[1] allows nothing as it cannot be read: '@dailyfoo' is no schedule")
    assert allowed(Budget("50%"), broken, reason=Reason.UNDERUTILIZED) == 5


def test_what_is_wrong_with_a_budget_can_be_asked() -> None:
    assert problem_of(Budget("10%")) is None
    assert "neither a number nor a percentage" in (problem_of(Budget("101%")) or "")
    assert problem_of(Budget("1", schedule="@daily")) == "a schedule needs a duration, and a duration a schedule"


def ledger(*budgets: Budget, **standing: int) -> Ledger:
    return Ledger({"pool": budgets}, {"pool": Standing(**standing)}, NOON)


def test_nodes_that_are_away_or_not_ready_use_the_budget_up() -> None:
    found = ledger(Budget("5"), nodes=10, away=2, not_ready=1)
    assert found.remaining("pool", Reason.DRIFTED) == 2
    assert found.remaining("pool", Reason.UNHEALTHY) == 3, "what is broken does not hold up its own repair"


def test_what_one_reason_takes_another_cannot_have() -> None:
    found = ledger(Budget("2"), nodes=10)
    found.take("pool")
    assert found.remaining("pool", Reason.EMPTY) == 1
    assert found.takes({"pool": 1}, Reason.DRIFTED)
    assert not found.takes({"pool": 2}, Reason.DRIFTED)


def test_a_pool_nobody_wrote_budgets_for_has_the_default() -> None:
    assert Ledger({}, {"other": Standing(20)}, NOON).remaining("other", Reason.EMPTY) == 2


@given(st.integers(0, 100), st.integers(0, 5000))
def test_a_percentage_never_allows_more_nodes_than_there_are(percent: int, nodes: int) -> None:
    assert allowed(Budget(f"{percent}%"), nodes=nodes) <= nodes
