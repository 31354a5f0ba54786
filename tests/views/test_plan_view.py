"""Plans for people: bars, folded lines, and one reason for all who wait for it."""

from __future__ import annotations

from dovetail.core.pods import Pod, Shape
from dovetail.core.scheduling.obstacles import Obstacle
from dovetail.core.scheduling.problem import Plan, PoolRefusal, Refused
from dovetail.views import plan, plan_difference
from dovetail.views.paint import Style
from dovetail.views.plan import Planning


def waiting(*names: str, reason: str = "too big") -> Refused:
    pools = (PoolRefusal("a", Obstacle.RESOURCES, reason), PoolRefusal("b", Obstacle.TAINTS, "tainted"))
    return Refused(tuple(Pod(name, Shape()) for name in names), f"a: {reason}", pools, "nearly")


def test_a_bar_shows_the_share():
    assert plan.bar(1, 2).text == "████····  50%"
    assert plan.bar(9, 10) == ("███████·  90%", Style.GOOD)
    assert plan.bar(3, 2).text == "████████ 150%"
    assert plan.bar(1, 0).text == "–"


def test_a_reason_is_told_once_for_all_who_wait_for_it():
    found = plan.text(Planning(Plan(refused=(waiting("x"), waiting("y", "z"), waiting("w", reason="full"))), {}))
    assert found.count("too big") == 1
    assert "default/x, default/y, default/z" in found
    assert "4 pods waiting" in found
    assert "b: tainted" in found


def test_many_names_are_cut():
    found = plan.text(Planning(Plan(refused=(waiting(*(f"p{at}" for at in range(2000))),)), {}))
    assert "and 1,996 more" in found


def test_equal_plans_do_not_differ():
    one = Planning(Plan(refused=(waiting("x"),)), {})
    assert plan_difference.text(plan_difference.compare(one, one)) == "no differences\n"


def test_a_pod_that_comes_and_waits_is_a_difference():
    before, after = Planning(Plan(), {}), Planning(Plan(refused=(waiting("x"),)), {})
    (move,) = plan_difference.compare(before, after).moved
    assert (move.pod, move.before, move.after) == ("default/x", "not there", "waits")
