"""What all pools together may lose at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.disruption.clusters import NOW, Member, decided, member, policy
from tests.core.disruption.random_clusters import cluster

from dovetail.core.disruption.budgets import AHEAD, Ahead, Budget, Ledger, Rules, Standing, allowance, of_cluster
from dovetail.core.disruption.passes import Decided, decide
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code
from dovetail.core.disruption.stages import is_away
from dovetail.core.errors import BadValue


def fleet(count: int) -> list[Member]:
    """So many empty nodes of each of two pools."""
    return [member(f"{pool}{number}", pool=pool) for pool in ("a", "b") for number in range(count)]


def emptied(*budgets: Budget, count: int = 6) -> Decided:
    pools = [policy(name, budgets=(Budget("50%"),)) for name in ("a", "b")]
    return decided(*fleet(count), pools=pools, cluster=budgets)


def test_pools_share_what_the_cluster_allows() -> None:
    assert len(emptied().commands) == 6
    assert len(emptied(Budget("4")).commands) == 4
    assert len(emptied(Budget("10%")).commands) == 2, "a tenth of twelve, rounded up"
    assert len(emptied(Budget("100%")).commands) == 6, "pools keep to their own budgets"


def test_the_refusal_names_the_budget_that_is_tighter() -> None:
    texts = {one.text for one in emptied(Budget("4")).refusals.values() if one.code is Code.BUDGET}
    assert texts == {
        "the cluster lets no more nodes go now: disruption-budget[0] (nodes 4) allows 4, 4 are away",
        "NodePool a lets no more nodes go now: budgets[0] (nodes 50%) allows 3, 3 are away",
    }


def test_a_cluster_budget_may_name_reasons() -> None:
    assert len(emptied(Budget("0", frozenset({Reason.DRIFTED}))).commands) == 6


def test_nodes_of_several_pools_are_counted_together() -> None:
    book = Ledger(
        Rules(dict.fromkeys("ab", (Budget("9"),)), cluster=(Budget("3"),)), dict.fromkeys("ab", Standing(9)), NOW
    )
    assert book.takes({"a": 2, "b": 1}, Reason.EMPTY)
    assert not book.takes({"a": 2, "b": 2}, Reason.EMPTY)
    assert not book.takes({"a": 2, "b": 2, "c": 0}, Reason.EMPTY)


def test_who_wants_no_more_may_go_on_though_more_are_away_than_the_cluster_allows() -> None:
    book = Ledger(Rules(cluster=(Budget("1"),)), {"a": Standing(9, away=2)}, NOW)
    assert book.takes({}, Reason.EMPTY)
    assert not book.takes({"a": 1}, Reason.EMPTY)


def test_nodes_that_are_away_count_for_the_cluster_whichever_pool_they_are_of() -> None:
    book = Ledger(
        Rules({"a": (Budget("9"),)}, cluster=(Budget("5"),)), {"a": Standing(9), "b": Standing(9, away=2)}, NOW
    )
    assert book.remaining("a", Reason.EMPTY) == 3
    assert not book.takes({"a": 2, "b": 2}, Reason.EMPTY)
    book.take("b", 3)
    assert book.copy().remaining("a", Reason.EMPTY) == 0
    assert book.full(["a", "b"], {}, Reason.EMPTY) == {"a", "b"}


def test_a_setting_is_read() -> None:
    assert of_cluster("10%; Drifted: 5; empty, Underutilized: 20%") == (
        Budget("10%"),
        Budget("5", frozenset({Reason.DRIFTED})),
        Budget("20%", frozenset({Reason.EMPTY, Reason.UNDERUTILIZED})),
    )
    assert of_cluster("") == ()


@pytest.mark.parametrize("text", ["101%", "ten", "Tired: 5", "5 5"])
def test_a_setting_that_cannot_be_read_is_bad_input(text: str) -> None:
    with pytest.raises(BadValue):
        of_cluster(text)


@given(st.integers(0, 10**6), st.integers(0, 6))
@settings(max_examples=40, deadline=None)
def test_no_pass_lets_more_go_than_the_cluster_allows(seed: int, most: int) -> None:
    limited = replace(cluster(seed), cluster=(Budget(str(most)),))
    away = sum(is_away(one, limited) for one in limited.machines.values())
    going = [
        one
        for command in decide(limited).commands
        if command.why != "overdue"
        for one in command.candidates
        if one.machine.is_initialized
    ]
    assert len(going) <= max(0, most - away)


def test_more_than_the_cluster_ever_lets_go_at_once_never_has_its_turn() -> None:
    book = Ledger(Rules({"a": (Budget("9"),)}, cluster=(Budget("2"),)), {"a": Standing(9)}, NOW)
    assert book.ever_takes({"a": 2}, Reason.EMPTY)
    assert not book.ever_takes({"a": 3}, Reason.EMPTY)


def test_what_is_decided_ahead_of_its_turn_is_a_few_times_what_the_cluster_lets_go() -> None:
    book = Ahead(Rules({"a": (Budget("9"),)}, cluster=(Budget("2"),)), {"a": Standing(9)}, NOW)
    assert book.remaining("a", Reason.EMPTY) == 2 * AHEAD
    book.take("a", 3)
    assert book.remaining("a", Reason.EMPTY) == 2 * AHEAD - 3


def test_an_allowance_says_which_budget_it_comes_from() -> None:
    drifts = (Budget("0", frozenset({Reason.DRIFTED})), Budget("4"))
    assert str(allowance(drifts, Reason.EMPTY, 9, NOW)) == "budgets[1] (nodes 4) allows 4"
    assert str(allowance((), Reason.EMPTY, 9, NOW)) == "no budget limits it now"
    assert "cannot be read" in str(allowance((Budget("many"),), Reason.EMPTY, 9, NOW))
