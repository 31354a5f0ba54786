"""What a move costs, when it pays back, and that nothing is moved back."""

from dataclasses import replace
from fractions import Fraction
from math import inf

import pytest
from tests.core.disruption.clusters import NOW, decided, kind, member, pods, said

from dovetail.core.disruption import payback
from dovetail.core.disruption.commands import remembered
from dovetail.core.disruption.facts import PodFacts
from dovetail.core.disruption.history import History, Kind, Move
from dovetail.core.disruption.payback import Charges, Evicted
from dovetail.core.disruption.policies import Thresholds
from dovetail.core.disruption.policies import said as annotated
from dovetail.core.disruption.refusals import Code
from dovetail.core.resources import GIB, Resources

NODE = Resources({"cpu": 4000, "memory": 16 * GIB})
HALF = Resources({"cpu": 2000, "memory": 2 * GIB})
HOURLY = 3_600_000_000  # a nanodollar a microsecond


def test_a_pod_has_the_larger_of_its_shares_and_never_more_than_the_node() -> None:
    assert payback.share(HALF, NODE) == 0.5
    assert payback.share(Resources({"memory": 12 * GIB}), NODE) == 0.75
    assert payback.share(Resources({"cpu": 9000}), NODE) == 1.0
    assert payback.share(HALF, Resources()) == 0.0


def test_an_evicted_pod_costs_its_share_until_it_is_ready() -> None:
    assert payback.cost([Evicted(HALF, NODE, HOURLY)], 0, Charges()) == 30_000_000
    assert payback.cost([Evicted(HALF, NODE, HOURLY, ready_seconds=10)], 0, Charges()) == 5_000_000


def test_old_and_new_run_side_by_side_while_the_new_one_starts() -> None:
    assert payback.cost([], HOURLY, Charges(start_seconds=90, daemon_seconds=30)) == 120_000_000


def test_every_eviction_may_have_a_price() -> None:
    evicted = [Evicted(HALF, NODE, 0), Evicted(HALF, NODE, 0, eviction_nanodollars=7)]
    assert payback.cost(evicted, 0, Charges(eviction_nanodollars=5)) == 12


def test_what_saves_nothing_never_pays_back() -> None:
    assert payback.seconds(10, 0) == inf
    assert payback.seconds(0, 0) == 0.0
    assert payback.seconds(0, -1) == inf
    assert payback.seconds(1800, 3600) == 1800.0


def test_annotations_say_what_is_worth_a_move() -> None:
    found = annotated(
        {
            "dovetail.dev/payback": "2h",
            "dovetail.dev/min-savings": "$0.05, 10%",
            "dovetail.dev/eviction-charge": "0.001",
            "dovetail.dev/rollout-canary": "2",
        }
    )
    assert found.thresholds == Thresholds(7200.0, 50_000_000, Fraction(1, 10), 1_000_000)
    assert found.canary == 2
    assert found.problems == ()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("payback", "soon"),
        ("min-savings", "-1"),
        ("eviction-charge", "x"),
        ("rollout-canary", "-2"),
        ("payback", ""),
        ("rollout-canary", "1000000"),
    ],
)
def test_an_annotation_that_cannot_be_read_changes_nothing_and_is_named(key: str, value: str) -> None:
    found = annotated({f"dovetail.dev/{key}": value})
    assert found.thresholds == Thresholds()
    assert [name for name, _ in found.problems] == [f"dovetail.dev/{key}"]


def test_a_share_alone_asks_for_no_amount_and_an_amount_for_no_share() -> None:
    assert annotated({"dovetail.dev/min-savings": "5%"}).thresholds == Thresholds(least_share=Fraction(1, 20))
    assert annotated({"dovetail.dev/min-savings": "0.05"}).thresholds == Thresholds(least_nanodollars=50_000_000)


def test_a_canary_has_six_digits_at_most() -> None:
    assert annotated({"dovetail.dev/rollout-canary": "999999"}).canary == 999_999


def test_zero_switches_the_rule_off() -> None:
    assert annotated({"dovetail.dev/payback": "0s"}).thresholds.payback == 0.0


# ---- history

A, B, C = (Kind("pool", name, "on-demand") for name in "abc")


def moved(**more: object) -> Move:
    return replace(Move(frozenset({"web"}), frozenset({A}), frozenset({B}), NOW, NOW + 1800), **more)  # type: ignore[arg-type]


def test_what_was_moved_from_a_to_b_may_not_go_back_to_a() -> None:
    history = History((moved(),))
    assert history.barred(["web"], [B], NOW + 60) == {A}


def test_others_and_other_kinds_and_later_times_are_free() -> None:
    history = History((moved(),))
    assert history.barred(["db"], [B], NOW + 60) == frozenset()
    assert history.barred(["web"], [C], NOW + 60) == frozenset()
    assert history.barred(["web"], [B], NOW + 1800) == frozenset()


def test_history_forgets_what_no_longer_counts() -> None:
    history = History((moved(),)).after(moved(at=NOW + 3600, until=NOW + 5400))
    assert len(history.moves) == 1


def test_prices_that_wobble_do_not_send_pods_back() -> None:
    owner = PodFacts(owner="ReplicaSet/web")
    before = (kind("x", 4, 0.2), kind("y", 4, 0.1))
    first = decided(member("a", "x", pods=pods("web", 7), facts=owner, types=before), types=before)
    assert said(first) == ["replace a -> y"]
    (command,) = first.commands
    move = remembered(command, ["default/ReplicaSet/web"], 1800.0)
    assert move is not None
    after = (kind("x", 4, 0.05), kind("y", 4, 0.1))
    node = member("b", "y", pods=pods("web", 7), facts=owner, types=after)
    again = decided(node, types=after, history=History((move,)), now=NOW + 600)
    assert said(again) == []
    assert again.refusals["b"].code is Code.SWAPS_BACK
    assert said(decided(node, types=after, history=History((move,)), now=NOW + 7200)) == ["replace b -> x"]


def test_a_command_that_buys_nothing_leaves_no_memory() -> None:
    (command,) = decided(member("a")).commands
    assert remembered(command, [], 1800.0) is None
