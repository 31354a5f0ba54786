"""A pool that had to buy back what it gave up is believed less, and more again with time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.disruption.clusters import NOW, Member, decided, member, pods, policy, said, world

from dovetail.core.disruption import regrets
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.policies import PAYBACK_SECONDS, Thresholds
from dovetail.core.disruption.refusals import Code
from dovetail.core.disruption.regrets import NO_REGRETS, Regrets
from dovetail.core.disruption.waking import next_wake

POOL = policy()


def bought_back(*seconds_ago: float) -> Regrets:
    return Regrets(bought={"pool": tuple(sorted(NOW - ago for ago in seconds_ago))})


def smaller() -> Member:
    """A node whose pods would do with a quarter of it: that pays back in 55 s."""
    return member("a", "m8", pods=pods("web", 3))


def test_only_what_is_bought_before_the_last_move_has_paid_back_is_a_regret() -> None:
    assert NO_REGRETS.after_purchase(POOL, NOW) is NO_REGRETS, "nothing was given up"
    moved = NO_REGRETS.after_move(["pool"], NOW)
    assert moved.after_purchase(POOL, NOW + PAYBACK_SECONDS).bought == {}
    assert moved.after_purchase(policy("other"), NOW + 60).bought == {}
    assert moved.after_purchase(POOL, NOW + 60).bought == {"pool": (NOW + 60,)}
    off = policy(thresholds=Thresholds(payback=0.0))
    assert moved.after_purchase(off, NOW + 60).bought == {}, "a pool without the rule has no regrets either"


def test_as_many_are_remembered_as_the_largest_pool_needs() -> None:
    one = NO_REGRETS.after_move(["pool"], NOW)
    for second in range(200):
        one = one.after_purchase(POOL, NOW + second)
    assert one.bought["pool"] == tuple(NOW + second for second in range(100, 200))
    assert one.last("pool", 1_000_000) == NOW + 100


@pytest.mark.parametrize(
    ("ago", "believed"), [(0, 15), (479, 15), (480, 30), (959, 30), (960, 60), (14_400, 480), (28_799, 960)]
)
def test_a_saving_is_counted_on_for_a_sixteenth_of_the_time_since_in_steps(ago: float, believed: float) -> None:
    seen = world(regrets=bought_back(ago))
    assert regrets.horizons(seen) == {"pool": believed}
    wakes = next_wake(seen)
    assert wakes is not None
    assert wakes == NOW - ago + 16 * min(2 * believed, PAYBACK_SECONDS)
    then = replace(seen, now=wakes)
    assert regrets.horizons(then).get("pool", PAYBACK_SECONDS) > believed


def test_after_long_enough_a_pool_is_believed_again() -> None:
    seen = world(regrets=bought_back(16 * PAYBACK_SECONDS))
    assert regrets.horizons(seen) == {}
    assert next_wake(seen) is None


def test_a_clock_that_was_set_back_leaves_the_least() -> None:
    assert regrets.horizons(world(regrets=bought_back(-3600))) == {"pool": 15.0}


def test_a_shorter_payback_than_the_least_stays_what_it_is() -> None:
    short = policy(thresholds=Thresholds(payback=10.0))
    assert regrets.horizons(world(pools=[short], regrets=bought_back(0))) == {"pool": 10.0}


def test_a_large_pool_may_buy_one_in_a_hundred() -> None:
    def of(count: int) -> World:
        nodes = [member(f"n{number}") for number in range(count)]
        return world(*nodes, regrets=bought_back(2000, 100))

    assert regrets.horizons(of(199)) == {"pool": 15.0}
    assert regrets.horizons(of(200)) == {"pool": 120.0}, "the last but one counts"
    assert regrets.horizons(of(300)) == {}, "two are not enough"


def test_what_takes_longer_than_is_believed_is_not_done_and_says_so() -> None:
    found = decided(smaller(), regrets=bought_back(60))
    assert said(found) == []
    refusal = found.refusals["a"]
    assert refusal.code is Code.PAYBACK
    assert "pays back in 55 s, and NodePool pool bought back lately what it had given up" in refusal.text
    assert refusal.text.endswith("for now 15 s is allowed")
    assert said(decided(smaller(), regrets=bought_back(960))) == ["replace a -> m2"]


def test_who_can_go_for_next_to_nothing_goes_all_the_same() -> None:
    nodes = member("a", pods=pods("web", 1)), member("b", pods=pods("db", 5))
    assert said(decided(*nodes, regrets=bought_back(0))) == ["delete a"]


def test_choices_are_compared_by_what_is_believed() -> None:
    (command,) = decided(smaller(), regrets=bought_back(960)).commands
    assert command.horizon == 60.0
    (trusted,) = decided(smaller()).commands
    assert trusted.horizon > 3600
