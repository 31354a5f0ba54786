"""Machines a cloud takes away: replaced first where time allows, drained at once where it does not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.disruption.clusters import NOW, TYPES, Member, kind, member, pods, policy, world

from dovetail.core import labels
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.interrupting import Interrupted, Warned, interrupted, timing
from dovetail.core.disruption.orchestration import Running, Seen, next_step
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.lifecycle.interruption import EVENTS, REBALANCE, SPOT
from dovetail.core.requirements import is_in

#: What a new node takes by default until pods run on it.
START = 120.0


@pytest.mark.parametrize(
    ("warned", "first", "drain_by"),
    [
        (Warned(SPOT, NOW + 120), False, NOW),
        (Warned(SPOT, NOW + 160), True, NOW + 120),
        (Warned(SPOT, NOW + 600), True, NOW + 560),
        (Warned(SPOT, NOW - 5), False, NOW),
        (Warned(SPOT), False, NOW),
        (Warned(REBALANCE), True, None),
        (Warned(REBALANCE, NOW + 60), False, NOW),
    ],
)
def test_the_replacement_comes_first_where_it_is_up_before_the_drain_must_begin(
    warned: Warned, first: bool, drain_by: float | None
) -> None:
    found = timing(warned, NOW, START)
    assert (found.first, found.drain_by) == (first, drain_by)


def test_a_node_that_starts_faster_leaves_time_where_another_does_not() -> None:
    assert timing(Warned(SPOT, NOW + 120), NOW, 40.0).first
    assert timing(Warned(SPOT, NOW + 120), NOW, START).why == (
        "120 s are left, and a replacement takes 120: it is drained at once"
    )
    assert not timing(Warned(SPOT, NOW + 120), NOW, 40.0, drain_seconds=90.0).first, "its pods take long to stop"


def taken(*members: Member, warned: dict[str, Warned], **more: Any) -> tuple[Interrupted, ...]:
    return interrupted(world(*members, **more), warned)


def test_what_its_pods_need_is_planned_and_bought() -> None:
    (found,) = taken(member("a", pods=pods("web", 7)), warned={"a": Warned(SPOT, NOW + 600)})
    command = found.command
    assert (command.reason, command.decision) == (Reason.INTERRUPTED, Decision.REPLACE)
    assert len(command.replacements) == 1
    assert found.timing.first


def test_nothing_is_bought_where_its_pods_fit_elsewhere_and_nothing_is_waited_for() -> None:
    (found,) = taken(member("a", pods=pods("web", 2)), member("b"), warned={"a": Warned(SPOT, NOW + 120)})
    assert found.command.decision is Decision.DELETE
    assert found.timing.first, "there is room already"


def test_nobody_is_moved_from_one_machine_that_goes_to_another() -> None:
    found = taken(
        member("a", pods=pods("web", 2)),
        member("b", pods=pods("db", 2)),
        warned={"a": Warned(SPOT, NOW + 120), "b": Warned(SPOT, NOW + 120)},
    )
    assert all(not one.command.group.placed for one in found)
    assert sorted(name for one in found for name in one.command.names) == ["a", "b"]


def test_pods_that_find_no_place_do_not_hold_a_machine_the_cloud_takes() -> None:
    only_spot = policy("pool", is_in(labels.CAPACITY_TYPE, labels.SPOT))
    (found,) = taken(
        member("a", pods=pods("web", 7), capacity_type=labels.SPOT),
        warned={"a": Warned(SPOT, NOW + 600)},
        pools=[only_spot],
        types=(kind("m4", 4, 0.2),),
    )
    assert found.command.decision is Decision.DELETE
    assert len(found.command.group.refused) == 7


def test_budgets_are_not_asked() -> None:
    assert taken(member("a"), warned={"a": Warned(SPOT)}, pools=[policy(budgets=(Budget("0"),))])
    assert taken(member("a"), warned={"a": Warned(SPOT)}, cluster=(Budget("0"),))


@pytest.mark.parametrize("name", ["gone", "marked", "foreign"])
def test_machines_nobody_can_plan_for_are_left_out(name: str) -> None:
    some = [member("marked", marked=True), member("foreign", pool="other")]
    assert taken(*some, warned={name: Warned(SPOT)}, types=TYPES) == ()


# ---- on its way


def running(drain_by: float | None) -> Running:
    (found,) = taken(member("a", pods=pods("web", 7)), warned={"a": Warned(SPOT, NOW + 600)})
    return Running(found.command, NOW, ("new",), drain_by=drain_by)


def test_the_drain_begins_when_the_replacement_is_up_or_its_time_has_come() -> None:
    one = running(NOW + 100)
    assert next_step(one, {"new": Seen.COMING}, 1, NOW + 50).drain == ()
    assert next_step(one, {"new": Seen.UP}, 1, NOW + 50).drain == ("a",)
    late = next_step(one, {"new": Seen.COMING}, 1, NOW + 100)
    assert (late.drain, late.failed) == (("a",), "")


def test_a_replacement_that_is_lost_does_not_save_the_node() -> None:
    found = next_step(running(NOW + 100), {"new": Seen.GONE}, 1, NOW + 50)
    assert (found.drain, found.failed) == (("a",), "")
    assert next_step(running(None), {"new": Seen.GONE}, 1, NOW + 50).failed, "after a mere recommendation it stays"


def test_people_are_told_of_a_recommendation() -> None:
    assert EVENTS[REBALANCE][0] == "SpotRebalanceRecommendation"
