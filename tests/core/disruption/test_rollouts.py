"""Roll-outs go in waves, stop when what they bring fails, and say how far they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.disruption.clusters import HOUR, NOW, Member, decided, member, pods, policy, world

from dovetail.api.disruption import zones
from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption import policies, rollouts, waves
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.history import Attempt, attempted
from dovetail.core.disruption.passes import Decided
from dovetail.core.disruption.payback import Charges
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code
from dovetail.core.disruption.waves import Wave, Waves
from dovetail.core.errors import BadValue
from dovetail.core.nodeclaims import LAUNCHED, REGISTERED

OLD = {"karpenter.sh/nodepool-hash": "0"}


def old(name: str, **more: Any) -> Member:
    condition = Condition("Drifted", Status.TRUE, "NodePoolDrifted", "NodePoolDrifted", NOW - HOUR)
    return member(name, conditions=(condition,), pods=pods(name, 7), claim_annotations=OLD, **more)


def fresh(name: str, age: float = 1800.0, took: float = 100.0, **more: Any) -> Member:
    return member(name, pods=pods(name, 7), created=NOW - age, since=NOW - age + took, **more)


def late(name: str, age: float = 1800.0) -> Member:
    return member(name, created=NOW - age, since=NOW - age, true=(LAUNCHED, REGISTERED))


def rolling(text: str = "", **more: Any) -> PoolPolicy:
    told = {"consolidate_after": None, "waves": waves.parse(text) if text else Waves(), **more}
    return policy(**told)


def rolled(of: PoolPolicy, *members: Member, **more: Any) -> Decided:
    return decided(*members, pools=[of], **more)


def gone(found: Decided) -> int:
    return sum(len(one.names) for one in found.commands)


def olds(count: int) -> list[Member]:
    return [old(f"old{number:02d}") for number in range(count)]


# ---- waves


def test_each_wave_begins_when_the_one_before_is_up() -> None:
    of = rolling("1, 50%")
    assert gone(rolled(of, *olds(8))) == 1
    assert gone(rolled(of, *olds(7), fresh("f1"))) == 3, "half of eight, of which one is there"
    assert gone(rolled(of, *olds(4), *(fresh(f"f{number}") for number in range(4)))) == 4, "the rest"


def test_a_node_that_is_coming_holds_the_next_wave_up() -> None:
    assert gone(rolled(rolling("1, 50%"), *olds(7), late("f1", age=60.0))) == 0
    assert gone(rolled(rolling("1, 50%"), *olds(7), late("f1", age=HOUR))) == 1, "it will not come, another is tried"


def test_nodes_that_are_on_their_way_out_fill_their_wave() -> None:
    of = rolling("3")
    running = rolled(of, *olds(8)).commands
    assert rollouts.gate(seen(of, *olds(8), running=running), of).room == 0
    assert gone(rolled(of, *olds(8), running=running[:1])) == 3 - len(running[:1][0].names)


def test_a_wave_is_looked_at_for_as_long_as_it_says() -> None:
    of = rolling("1/1h, 100%")
    soaking = rolled(of, *olds(7), fresh("f1", age=1800.0, took=100.0))
    assert gone(soaking) == 0
    assert {one.text for one in soaking.method_refusals.values()} == {
        "NodePool pool has renewed 1 and looks on until the next wave"
    }
    assert gone(rolled(of, *olds(7), fresh("f1", age=2 * HOUR))) == 7
    assert rollouts.wakes(world(*olds(7), fresh("f1"), pools=[of])) == NOW - 1700.0 + HOUR


def test_budgets_hold_inside_a_wave() -> None:
    of = rolling("50%", budgets=(Budget("2"),))
    assert gone(rolled(of, *olds(8))) == 2


def test_a_canary_is_a_first_wave() -> None:
    of = rolling("50%", canary=2)
    assert gone(rolled(of, *olds(8))) == 2
    assert gone(rolled(of, *olds(6), fresh("f1"), fresh("f2"))) == 2


def test_nodes_without_pods_are_in_nobodys_wave() -> None:
    condition = Condition("Drifted", Status.TRUE, "NodePoolDrifted", "NodePoolDrifted", NOW - HOUR)
    empties = [member(f"e{number}", conditions=(condition,), claim_annotations=OLD) for number in range(3)]
    assert gone(rolled(rolling("1, 50%"), *olds(4), *empties)) == 4


def test_a_static_pool_rolls_in_waves_as_well() -> None:
    of = rolling("1, 50%", pool={"replicas": 8})
    assert gone(rolled(of, *olds(8))) == 1
    assert gone(rolled(of, *olds(7), fresh("f1"))) == 3


def test_drift_without_another_hash_is_told_from_what_came_before_it_by_time() -> None:
    condition = Condition("Drifted", Status.TRUE, "AMIDrift", "AMIDrift", NOW - HOUR)
    some = [member(f"o{number}", conditions=(condition,), pods=pods(f"o{number}", 7)) for number in range(4)]
    elder = member("elder", pods=pods("elder", 7))
    of = rolling("1")
    assert gone(rolled(of, *some, elder)) == 1, "a node of last week that is as it should be proves nothing"
    assert gone(rolled(of, *some, elder, fresh("f1"))) == 4


# ---- stopping


def test_a_rollout_stops_when_half_of_the_last_replacements_are_not_ready() -> None:
    bad = [fresh("f1"), fresh("f2"), fresh("f3", ready=False), late("f4")]
    found = rolled(rolling(), *olds(4), *bad)
    assert gone(found) == 0
    assert {one.code for one in found.method_refusals.values()} == {Code.UNHEALTHY_POOL}
    assert found.method_refusals["old00"].text == (
        "2 of the last 4 replacements in NodePool pool did not become ready (f3, f4): replacing more of it waits"
    )


def test_it_goes_on_when_they_have_recovered() -> None:
    assert gone(rolled(rolling(), *olds(4), fresh("f1"), fresh("f2"), fresh("f3"), late("f4"))) == 4


def test_replacements_that_are_gone_again_count_while_they_are_remembered() -> None:
    failed = attempted({}, "pool", Attempt(NOW - 900, False))
    failed = attempted(failed, "pool", Attempt(NOW - 600, False))
    assert gone(rolled(rolling(), *olds(4), attempts=failed)) == 0
    later = NOW + rollouts.MEMORY_SECONDS
    assert gone(rolled(rolling(), *olds(4), attempts=failed, now=later)) == 4
    assert rollouts.wakes(world(pools=[rolling()], attempts=failed)) == NOW - 900 + rollouts.MEMORY_SECONDS


def test_what_came_up_is_not_counted_twice_beside_what_failed() -> None:
    went = (Attempt(NOW - 1700, True), Attempt(NOW - 1600, False), Attempt(NOW - 1500, True), Attempt(NOW - 900, False))
    found = rolled(rolling(), *olds(4), fresh("f1", age=1800.0), fresh("f2", age=1550.0), attempts={"pool": went})
    assert found.method_refusals["old00"].text.startswith("2 of the last 4 replacements in NodePool pool")


def test_later_successes_outweigh_failures_where_no_fresh_node_is_left_to_be_seen() -> None:
    went = tuple(Attempt(NOW - 600 + 60 * at, ok) for at, ok in enumerate((False, False, True, True, True)))
    assert gone(rolled(rolling(), *olds(4), attempts={"pool": went})) == 4


def test_a_static_pool_stops_as_well() -> None:
    found = rolled(rolling(healthy=False, pool={"replicas": 4}), *olds(4))
    assert {one.code for one in found.method_refusals.values()} == {Code.UNHEALTHY_POOL}


# ---- how far it is


def seen(of: PoolPolicy, *members: Member, **more: Any) -> World:
    return world(*members, pools=[of], **more)


def test_progress_counts_what_is_old_going_and_renewed() -> None:
    start = seen(rolling("1, 50%"), *olds(7), fresh("f1"))
    running = decided(*olds(7), fresh("f1"), pools=[rolling("1, 50%")]).commands
    found = rollouts.progress(replace(start, running=running), "pool")
    assert (found.total, found.done, found.going, found.left) == (8, 1, 3, 4)
    assert (found.wave, found.waves) == (1, 2)
    assert found.stopped_because == ""


def test_the_forecast_takes_as_many_at_a_time_as_budgets_allow() -> None:
    each = 100.0 + 60.0
    by_two = rollouts.progress(seen(rolling(budgets=(Budget("2"),)), *olds(8), fresh("f1")), "pool")
    assert by_two.eta_seconds == 4 * each
    at_once = rollouts.progress(seen(rolling(), *olds(8), fresh("f1")), "pool")
    assert at_once.eta_seconds == each


def test_the_forecast_waits_for_windows_and_for_waves() -> None:
    closed = policies.said({"dovetail.dev/allow-windows": "Mon 09:00-10:00"}, zones.named)
    of = replace(rolling(), windows=closed.windows)
    waiting = rollouts.progress(seen(of, *olds(2)), "pool").eta_seconds
    opens = closed.windows.next_change(Reason.DRIFTED, NOW, NOW + 8 * 24 * HOUR)
    assert opens is not None
    assert waiting == opens - NOW + 180.0
    soaking = rollouts.progress(seen(rolling("1/1h"), *olds(4)), "pool").eta_seconds
    assert soaking == 180.0 + HOUR + 180.0


def test_nobody_can_say_when_a_rollout_ends_that_is_not_allowed_or_stopped() -> None:
    assert rollouts.progress(seen(rolling(budgets=(Budget("0"),)), *olds(2)), "pool").eta_seconds is None
    stopped = rollouts.progress(seen(rolling(healthy=False), *olds(2)), "pool")
    assert stopped.eta_seconds is None
    assert stopped.stopped_because.startswith("the last machines of NodePool pool did not come up")
    assert "stopped" in str(stopped)


def test_old_and_new_side_by_side_have_a_price() -> None:
    found = rollouts.progress(seen(rolling(), *olds(4)), "pool")
    assert found.double_running == round(4 * 0.2e9 * 180 / 3600)
    assert str(found) == (
        "NodePool pool: 0 of 4 nodes renewed, 0 under way; done in about 3 min; old and new side by side cost $0.04"
    )


def test_a_replacement_is_never_taken_to_need_less_than_a_second() -> None:
    at_once = Charges(restart_seconds=0.0, start_seconds=0.0, daemon_seconds=0.0)
    assert rollouts.progress(seen(rolling(), old("a"), charges=at_once), "pool").eta_seconds == 1.0


def test_a_pool_without_drift_has_no_rollout() -> None:
    assert rollouts.of_all(seen(rolling(), fresh("f1"))) == {}
    assert list(rollouts.of_all(seen(rolling(), old("a")))) == ["pool"]


# ---- laws

WAVES = st.lists(st.builds(Wave, st.integers(1, 60), st.booleans()), max_size=4).map(lambda some: Waves(tuple(some)))


@given(WAVES, st.integers(1, 200), st.integers(0, 200), st.integers(0, 200))
def test_more_that_is_done_never_sets_a_rollout_back(plan: Waves, total: int, one: int, more: int) -> None:
    few, many = min(one, total), min(one + more, total)
    before, after = plan.stand(total, [0.0] * few, NOW), plan.stand(total, [0.0] * many, NOW)
    assert before.wave <= after.wave
    assert before.goal <= after.goal <= total
    assert before.goal > few or few == total, "there is always something left to do, or nothing left at all"


@given(st.integers(1, 6), st.integers(0, 4), st.sampled_from(["", "1", "1/10m, 50%", "25%, 75%/1m"]), st.integers(1, 3))
def test_a_forecast_is_never_negative_and_none_is_given_only_where_nothing_goes(
    left: int, done: int, text: str, budget: int
) -> None:
    of = rolling(text, budgets=(Budget(str(budget)),))
    found = rollouts.progress(seen(of, *olds(left), *(fresh(f"f{one}") for one in range(done))), "pool")
    assert found.eta_seconds is not None
    assert found.eta_seconds >= (left / budget) * 1.0
    assert found.left == left


@pytest.mark.parametrize("text", ["", "0", "101%", "half", "10,5", "10%,10%", "1/soon", ",".join(["1"] * 40)])
def test_waves_that_cannot_be_read_are_bad_values(text: str) -> None:
    with pytest.raises(BadValue):
        waves.parse(text)


def test_waves_are_an_annotation_and_bad_ones_are_named() -> None:
    said = policies.said({"dovetail.dev/rollout-waves": "1, 10%/30m, 50%"})
    assert str(said.waves) == "1, 10%, 50%"
    bad = policies.said({"dovetail.dev/rollout-waves": "some"})
    assert (bad.waves, bad.problems[0][0]) == (Waves(), "dovetail.dev/rollout-waves")


def test_progress_is_told_with_its_wave_and_its_end_where_they_are_known() -> None:
    begun = rollouts.Rollout("general", total=10, done=2, going=1, wave=0, waves=3, eta_seconds=120.0)
    assert str(begun).startswith(
        "NodePool general: 2 of 10 nodes renewed, 1 under way, wave 1 of 3; done in about 2 min;"
    )
    assert begun.left == 7
    last = replace(begun, wave=3, eta_seconds=None)
    assert str(last).startswith("NodePool general: 2 of 10 nodes renewed, 1 under way; old and new")
    assert bool(waves.parse("1, 50%")) is True
    assert bool(Waves()) is False
