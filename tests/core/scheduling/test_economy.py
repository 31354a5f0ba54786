"""Plans do not end up on machines whose memory nobody uses."""

from __future__ import annotations

from collections import Counter

from tests.core.scheduling.small import asks, having, kind, planned, shape, spread, tally, waiting, world

from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.economy import economical
from dovetail.core.scheduling.problem import Plan
from dovetail.core.scheduling.solve import solve

GIB = 2**30
#: As much cpu as eight of the small ones, and as much money as a hundred.
GIANT = having(kind("giant", 64, 40.0), {"memory": 12_000 * GIB, "pods": 1000})
SMALL = kind("small", 8, 0.4)


def bought(plan: Plan) -> Counter[str]:
    return Counter(one.choice.instance_type.name for one in plan.claims)


def test_many_small_pods_go_to_machines_worth_their_money_and_not_to_the_largest():
    plan = planned(world(waiting(60, shape(asks(1000))), types=(GIANT, SMALL)))
    assert bought(plan) == {"small": 8}


def test_a_pod_that_needs_the_giant_still_gets_it():
    huge = waiting(1, shape(asks(1000, 4000)), "huge")
    plan = planned(world((*huge, *waiting(30, shape(asks(1000)))), types=(GIANT, SMALL)))
    assert bought(plan) == {"giant": 1}


def test_a_zone_that_sells_only_giants_still_gets_its_share_of_spread_pods():
    only_there = having(kind("giant", 64, 40.0, zones="z3"), {"memory": 12_000 * GIB, "pods": 1000})
    plan = planned(world(waiting(30, shape(asks(1000), spread=spread())), types=(only_there, SMALL)))
    assert tally(plan) == {"z1": 10, "z2": 10, "z3": 10}


def test_a_zone_that_sells_only_giants_brings_none_to_pods_that_may_go_anywhere() -> None:
    only_there = having(kind("giant", 64, 40.0, zones="z3"), {"memory": 12_000 * GIB, "pods": 1000})
    plan = planned(world(waiting(60, shape(asks(1000))), types=(only_there, SMALL)))
    assert bought(plan) == {"small": 8}


def test_a_plan_on_types_of_one_price_is_not_made_twice():
    problem = world(waiting(40, shape(asks(1000))))
    assert list(economical(Compiled(problem), solve(problem))) == []


def test_a_single_pod_on_a_dear_machine_has_no_choice():
    problem = world(waiting(1, shape(asks(1000, 4000))), types=(GIANT, SMALL))
    assert list(economical(Compiled(problem), solve(problem))) == []
