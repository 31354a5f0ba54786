"""What random worlds once found wrong with the solver, each made as small as it goes."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import node_class
from tests.core.scheduling.small import (
    LARGE,
    TYPES,
    WEB,
    bound,
    kind,
    near,
    node,
    planned,
    reserved,
    shape,
    spread,
    waiting,
    world,
)

from dovetail.core import labels
from dovetail.core.nodepools import MinValuesPolicy, NodePool
from dovetail.core.pods import Policy
from dovetail.core.requirements import Operator, Requirements, exists, is_in, is_not_in, requirement
from dovetail.core.resources import Resources
from dovetail.core.scheduling.check import check
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.solve import replan, solve
from dovetail.core.taints import Effect, Taint

RACK = "example.com/rack"
CORES = (("n1", 8), ("n2", 4))


def pool(*wanted: object, **more: object) -> NodePool:
    return replace(NodePool("pool", node_class(), Requirements(wanted)), **more)  # type: ignore[arg-type]


def flexible(count: int) -> object:
    return requirement(labels.INSTANCE_TYPE, Operator.EXISTS, min_values=count)


def test_a_best_effort_claim_carries_the_min_values_it_reaches() -> None:
    wanting = pool(flexible(3), min_values_policy=MinValuesPolicy.BEST_EFFORT)
    (claim,) = planned(world(waiting(1, shape()), pool=wanting)).claims
    said = claim.requirements.get(labels.INSTANCE_TYPE)
    assert said is not None
    assert (said.min_values, claim.min_values_relaxed) == (2, True)


def test_a_reserved_claim_says_which_reservation_it_is_for() -> None:
    (claim,) = planned(world(waiting(1, shape()), types=(reserved(TYPES[0], 1),))).claims
    assert claim.requirements.value("example.com/reservation-id") == claim.reservation_ids[0] == "cr-1"


def test_one_reservation_has_to_be_flexible_enough_by_itself() -> None:
    kinds = (reserved(TYPES[0], 1, "cr-1"), reserved(TYPES[1], 1, "cr-2"))
    (claim,) = planned(world(waiting(1, shape()), types=kinds, pool=pool(flexible(2)))).claims
    assert claim.reservation_ids == ()


def test_a_spread_counts_a_claim_only_if_it_passes_however_it_is_launched() -> None:
    # The claim of the first pods may become either type; to pods that select the one, its zone is as good as empty.
    early = shape(selector=Requirements([is_in(labels.ZONE, "z1")]), priority=1)
    late = shape(selector=Requirements([is_in(labels.INSTANCE_TYPE, "m8")]), spread=spread())
    planned(world((*waiting(3, early, "early"), *waiting(2, late, "late"))))


def test_a_label_that_must_be_there_is_a_domain_whatever_its_value() -> None:
    problem = world(waiting(2, shape(apart=near(RACK))), pool=pool(exists(RACK)))
    plan = solve(problem)
    assert check(problem, plan) == ()
    assert len(plan.claims) == 1


def test_a_label_nobody_insisted_on_does_not_appear_beside_pods_it_would_bring_too_near() -> None:
    picky = shape(selector=Requirements([is_in(RACK, "r1")]), apart=near(RACK))
    problem = world((*waiting(1, shape(LARGE), "any"), *waiting(1, picky)), pool=pool(is_not_in(RACK, "r2")))
    assert len(planned(problem).claims) == 2


def test_nobody_starts_company_while_there_is_some_out_of_reach() -> None:
    far = shape(selector=Requirements([is_in(labels.ZONE, "z2")]), near=near(labels.ZONE))
    problem = world((*waiting(1, far), bound("n1", shape())), (node("n1"),))
    assert solve(problem).claims == ()


def test_a_taint_that_only_prefers_pods_elsewhere_takes_no_domain_out_of_a_spread() -> None:
    reluctant = node("n2", "z2", cpus=1, taints=(Taint("example.com/old", Effect.PREFER_NO_SCHEDULE),))
    even = shape(LARGE, spread=spread(node_taints=Policy.HONOR))
    problem = world(waiting(2, even), (node("n1", cpus=8), reluctant), types=())
    plan = solve(problem)
    assert check(problem, plan) == ()
    assert [len(one.pods) for one in plan.placed] == [1]


def test_cutting_the_list_of_types_keeps_as_many_values_as_were_promised() -> None:
    zoned = (kind("a2", 2, 0.1, "z1"), kind("a4", 4, 0.2, "z1"), kind("a8", 8, 0.3, "z1"), kind("b8", 8, 0.9, "z2"))
    wanting = pool(requirement(labels.ZONE, Operator.EXISTS, min_values=2))
    (claim,) = planned(world(waiting(1, shape()), types=zoned, pool=wanting, max_types=2)).claims
    assert [one.name for one in claim.types] == ["a2", "b8"]


def test_a_claim_sets_aside_what_its_min_values_need_of_a_limit() -> None:
    wanting = pool(flexible(2), limits=Resources({"cpu": 12000}))
    problem = world(waiting(3, shape(LARGE, apart=near(labels.HOSTNAME))), pool=wanting)
    plan = solve(problem)
    assert check(problem, plan) == ()
    assert [len(one.types) for one in plan.claims] == [2]


def test_pods_are_shared_out_only_over_domains_that_can_be_bought() -> None:
    # Racks are on nodes only, and the emptier one takes one more; the fuller one must not go on without it.
    racked = tuple(replace(node(name, cpus=cpus), labels={**node(name).labels, RACK: name}) for name, cpus in CORES)
    there = (bound("n1", shape(), "one"), bound("n1", shape(), "two"))
    problem = world((*waiting(4, shape(LARGE, spread=spread(RACK))), *there), racked)
    plan = solve(problem)
    assert check(problem, plan) == ()
    assert [(one.node.name, len(one.pods)) for one in plan.placed] == [("n2", 1)]


def test_a_zone_that_only_types_out_of_question_are_sold_in_does_not_hold_a_spread_back() -> None:
    kinds = (kind("m4", 4, 0.2, "z1"), kind("x4", 4, 0.2, "z2"))
    picky = shape(selector=Requirements([is_in(labels.INSTANCE_TYPE, "m4")]), spread=spread())
    assert len(planned(world(waiting(3, picky), types=kinds)).claims[0].pods) == 3


def test_a_node_without_the_label_is_too_near_to_nobody() -> None:
    racked = replace(node("n1"), labels={**node("n1").labels, RACK: "r1"})
    shy = shape(apart=near(RACK, WEB))
    plan = planned(world(waiting(2, shy), (racked, node("n2")), types=()))
    assert sorted(len(one.pods) for one in plan.placed) == [1, 1]


def test_a_what_if_hands_back_what_the_leaving_node_took_of_a_limit() -> None:
    limited = pool(limits=Resources({"nodes": 1}))
    problem = world((bound("n1", shape()),), (node("n1"),), pool=limited)
    assert len(replan(Compiled(problem), ["n1"]).claims) == 1
