"""The checker catches every kind of violation: valid plans are made wrong in one respect, and it says which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.core.scheduling.small import (
    DISK,
    LARGE,
    TAINT,
    TYPES,
    WEB,
    bound,
    kind,
    near,
    node,
    planned,
    reserved,
    row,
    shape,
    spread,
    waiting,
    world,
)

from dovetail.core import labels
from dovetail.core.nodepools import MinValuesPolicy
from dovetail.core.pods import DaemonSet, HostPort, Pod, Policy, Shape, Volumes
from dovetail.core.requirements import Requirements, is_in, is_not_in
from dovetail.core.resources import GIB, Resources
from dovetail.core.scheduling.check import check
from dovetail.core.scheduling.problem import Choice, Claim, Placed, Plan, Problem, Refused
from dovetail.core.selectors import Selector
from dovetail.core.taints import Effect, Taint


def codes(problem: Problem, plan: Plan) -> set[str]:
    return {one.code for one in check(problem, plan)}


def first(plan: Plan, **changes: object) -> Plan:
    """The plan with its first claim changed."""
    return replace(plan, claims=(replace(plan.claims[0], **changes), *plan.claims[1:]))  # type: ignore[arg-type]


def reshaped(problem: Problem, plan: Plan, change: Callable[[Pod], Shape]) -> tuple[Problem, Plan]:
    """The same plan for pods that ask for something else: nobody looked at what they ask for now."""

    def anew(pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
        return tuple(replace(pod, shape=change(pod)) if pod.node is None else pod for pod in pods)

    claims = tuple(replace(one, pods=anew(one.pods)) for one in plan.claims)
    placed = tuple(replace(one, pods=anew(one.pods)) for one in plan.placed)
    snapshot = replace(problem.snapshot, pods=anew(problem.snapshot.pods))
    return replace(problem, snapshot=snapshot), Plan(claims, placed, plan.refused)


def asking(problem: Problem, plan: Plan, /, **more: object) -> set[str]:
    """What the checker says once every pod that waits asks for more."""
    return codes(*reshaped(problem, plan, lambda pod: replace(pod.shape, **more)))  # type: ignore[arg-type]


# ---- who is in the plan


def test_a_pod_that_is_left_out_is_missed() -> None:
    problem = world(waiting(2, shape()))
    plan = planned(problem)
    assert codes(problem, first(plan, pods=plan.claims[0].pods[:1])) == {"forgotten"}


def test_a_pod_planned_twice_or_never_heard_of_is_noticed() -> None:
    problem = world(waiting(2, shape()))
    plan = planned(problem)
    assert codes(problem, replace(plan, refused=(Refused(problem.snapshot.pods[:1], "why"),))) == {"uninvited"}
    assert codes(problem, replace(plan, refused=(Refused(waiting(1, shape(), "other"), "why"),))) == {"uninvited"}


def test_pods_of_a_node_that_leaves_have_to_be_in_the_plan_and_its_daemons_must_not() -> None:
    daemon = replace(bound("n1", shape(), "daemon"), owner="DaemonSet")
    problem = world((bound("n1", shape()), daemon), (node("n1", leaving=True),))
    plan = planned(problem)
    assert [pod.name for pod in plan.claims[0].pods] == ["bound"]
    assert "forgotten" in codes(problem, Plan())
    assert "uninvited" in codes(problem, first(plan, pods=(*plan.claims[0].pods, daemon)))


def test_nothing_is_placed_on_a_node_that_leaves_or_is_not_there() -> None:
    problem = world(waiting(1, shape()), (node("n1"),))
    plan = planned(problem)
    leaving = problem.snapshot.without("n1")
    going = replace(plan, placed=(Placed(leaving.nodes[0], plan.placed[0].pods),))
    assert codes(replace(problem, snapshot=leaving), going) == {"leaving-node"}
    assert codes(problem, replace(plan, placed=(Placed(node("n2"), plan.placed[0].pods),))) == {"unknown-node"}


def test_a_pod_that_cannot_be_read_is_not_planned() -> None:
    problem = world(waiting(1, shape()))
    assert asking(problem, planned(problem), problem="its selector cannot be read") == {"problem"}


# ---- one node


def test_a_node_holds_no_more_than_it_has_left_beside_bound_pods_and_daemons() -> None:
    room_for = (bound("n1", shape(Resources({"cpu": 1000, "memory": GIB, "pods": 1}))),)
    problem = world((*waiting(1, shape(LARGE)), *room_for), (node("n1"),))
    plan = planned(problem)
    assert plan.placed
    assert asking(problem, plan, requests=Resources({"cpu": 3001, "pods": 1})) == {"room"}
    daemons = (DaemonSet("agent", shape(Resources({"cpu": 1, "pods": 1}))),)
    assert codes(replace(problem, snapshot=replace(problem.snapshot, daemons=daemons)), plan) == {"room"}


def test_pods_and_daemons_fit_on_every_type_a_claim_may_become() -> None:
    problem = world(waiting(1, shape(Resources({"cpu": 4000, "memory": GIB, "pods": 1}))))
    plan = planned(problem)
    assert [one.name for one in plan.claims[0].types] == ["m4", "m8"]
    daemons = (DaemonSet("agent", shape(Resources({"cpu": 100, "pods": 1}))),)
    assert codes(replace(problem, snapshot=replace(problem.snapshot, daemons=daemons)), plan) == {"room"}


def test_hard_taints_are_tolerated_on_nodes_and_claims_and_soft_ones_need_not_be() -> None:
    problem = world(waiting(1, shape()), (node("n1"),))
    plan = planned(problem)
    for effect, found in ((Effect.NO_SCHEDULE, {"taints"}), (Effect.PREFER_NO_SCHEDULE, set())):
        tainted = node("n1", taints=(Taint("example.com/dedicated", effect),))
        other = replace(problem, snapshot=replace(problem.snapshot, nodes=(tainted,)))
        assert codes(other, replace(plan, placed=(Placed(tainted, plan.placed[0].pods),))) == found
    problem = world(waiting(1, shape()))
    pool = replace(problem.snapshot.pools[0], taints=(TAINT,))
    other = replace(problem, snapshot=replace(problem.snapshot, pools=(pool,)))
    assert codes(other, first(planned(problem), pool=pool)) == {"taints"}


def test_a_node_has_the_labels_its_pods_select_by_one_of_their_terms() -> None:
    problem = world(waiting(1, shape()), (node("n1"),))
    plan = planned(problem)
    here, there = Requirements([is_in(labels.ZONE, "z1")]), Requirements([is_in(labels.ZONE, "z2")])
    assert asking(problem, plan, terms=(there, here)) == set()
    assert asking(problem, plan, terms=(there,)) == {"labels"}
    assert asking(problem, plan, selector=Requirements([is_in(labels.REGION, "r1")])) == {"labels"}


def test_a_claim_is_held_to_what_its_pods_select_in_every_way_it_may_be_launched() -> None:
    chosen = shape(selector=Requirements([is_in(labels.ZONE, "z1")]))
    problem = world(waiting(1, chosen))
    plan = planned(problem)
    loose = plan.claims[0].requirements.without(labels.ZONE)
    assert codes(problem, first(plan, requirements=loose)) == {"labels"}


def test_ports_of_one_node_clash_with_those_of_pods_and_of_daemons() -> None:
    problem = world(waiting(2, shape()))
    plan = planned(problem)
    assert asking(problem, plan, ports=(HostPort(80),)) == {"ports"}
    alone = world(waiting(1, shape(ports=(HostPort(80),))))
    daemons = (DaemonSet("agent", shape(Resources({}), ports=(HostPort(80),))),)
    other = replace(alone, snapshot=replace(alone.snapshot, daemons=daemons))
    assert codes(other, planned(alone)) == {"ports"}


def test_volumes_are_where_the_node_is_and_no_more_than_it_attaches() -> None:
    problem = world(waiting(1, shape()), (node("n1", volume_limits=((DISK, 1),)),))
    plan = planned(problem)
    there = Volumes((Requirements([is_in(labels.ZONE, "z2")]),))
    assert asking(problem, plan, volumes=there) == {"volume-place"}
    assert asking(problem, plan, volumes=Volumes(attached=((DISK, "a"), (DISK, "b")))) == {"attachments"}
    bought = world(waiting(1, shape()), types=(kind("m4", 4, 0.2, volumes=1),))
    assert asking(bought, planned(bought), volumes=there) == {"volume-place"}
    assert asking(bought, planned(bought), volumes=Volumes(attached=((DISK, "a"), (DISK, "b")))) == {"attachments"}


# ---- between pods


def test_pods_in_one_zone_are_skewed_while_another_is_on_offer() -> None:
    problem = world(waiting(2, shape(selector=Requirements([is_in(labels.ZONE, "z1")]))))
    plan = planned(problem)
    free = lambda pod: replace(pod.shape, selector=Requirements(), spread=spread())  # noqa: E731
    assert codes(*reshaped(problem, plan, free)) == {"skew"}
    # With one zone to choose from, there is nothing to be even with, unless minDomains says that there should be.
    assert asking(problem, plan, spread=spread()) == set()
    assert asking(problem, plan, spread=spread(min_domains=2)) == {"skew"}
    assert asking(problem, plan, spread=spread(skew=2, min_domains=2)) == set()
    assert codes(*reshaped(problem, plan, lambda pod: replace(pod.shape, spread=spread(hard=False)))) == set()


def test_taints_take_zones_out_of_the_counting_only_where_they_are_honoured() -> None:
    fenced = node("n2", "z2", taints=(TAINT,))
    problem = world(waiting(2, shape()), (node("n1"), fenced), types=())
    plan = planned(problem)
    assert asking(problem, plan, spread=spread()) == {"skew"}
    assert asking(problem, plan, spread=spread(node_taints=Policy.HONOR)) == set()


def test_a_host_holds_no_more_of_a_spread_than_its_skew() -> None:
    problem = world(waiting(2, shape()))
    plan = planned(problem)
    assert asking(problem, plan, spread=spread(labels.HOSTNAME)) == {"skew"}
    assert asking(problem, plan, spread=spread(labels.HOSTNAME, 2)) == set()
    assert asking(problem, plan, spread=spread("example.com/rack", 2)) == {"spread-domain"}


def test_company_is_in_the_same_domain_or_the_pod_is_the_first_of_all() -> None:
    problem = world(waiting(2, shape(LARGE)), types=TYPES[:1])
    plan = planned(problem)
    assert len(plan.claims) == 2
    assert asking(problem, plan, near=near(labels.HOSTNAME)) == {"affinity"}
    assert asking(problem, plan, near=near(labels.ARCH)) == set()
    # The zones of the two claims are open, so nobody knows whether they will be one.
    assert asking(problem, plan, near=near(labels.ZONE)) == {"affinity"}
    nobody = Selector(Requirements([is_in("app", "db")]))
    assert "affinity" in asking(problem, plan, near=near(labels.ARCH, nobody))
    assert "affinity-domain" in asking(problem, plan, near=near("example.com/rack"))


def test_nobody_is_first_where_company_is_bound_elsewhere() -> None:
    problem = world((*waiting(1, shape(LARGE)), bound("n1", shape(LARGE))), (node("n1"),))
    plan = planned(problem)
    assert "affinity" in asking(problem, plan, near=near(labels.HOSTNAME))


def test_two_pods_that_wait_for_each_other_never_come() -> None:
    db = replace(shape(), labels=(("app", "db"),))
    problem = world((*waiting(1, shape()), *waiting(1, db, "db")))
    plan = planned(problem)
    other = {"web": Selector(Requirements([is_in("app", "db")])), "db": WEB}
    wishing = lambda pod: replace(pod.shape, near=near(labels.HOSTNAME, other[dict(pod.shape.labels)["app"]]))  # noqa: E731
    assert codes(*reshaped(problem, plan, wishing)) == {"affinity-circle"}


def test_pods_that_keep_apart_are_not_together_nor_where_they_might_turn_out_to_be() -> None:
    problem = world(waiting(2, shape(LARGE)), types=TYPES[:1])
    plan = planned(problem)
    assert asking(problem, plan, apart=near(labels.HOSTNAME)) == set()
    assert asking(problem, plan, apart=near(labels.ZONE)) == {"anti-affinity"}
    together = world(waiting(2, shape()))
    assert asking(together, planned(together), apart=near(labels.HOSTNAME)) == {"anti-affinity"}


def test_a_bound_pod_keeps_others_away() -> None:
    shy = replace(shape(), labels=(("app", "db"),), apart=near(labels.HOSTNAME))
    problem = world(waiting(1, shape()), (node("n1"),))
    plan = planned(problem)
    crowded = replace(problem, snapshot=problem.snapshot.with_pods(bound("n1", shy)))
    assert codes(crowded, plan) == {"anti-affinity"}


# ---- claims


def with_pool(problem: Problem, plan: Plan, /, **changes: object) -> tuple[Problem, Plan]:
    """The pool is another than when the plan was made."""
    pool = replace(problem.snapshot.pools[0], **changes)  # type: ignore[arg-type]
    claims = tuple(replace(one, pool=pool) for one in plan.claims)
    return replace(problem, snapshot=replace(problem.snapshot, pools=(pool,))), replace(plan, claims=claims)


@pytest.mark.parametrize("changes", [{"replicas": 1}, {"ready": False}, {"problem": "cannot be read"}])
def test_a_pool_that_may_not_buy_does_not(changes: dict[str, object]) -> None:
    problem = world(waiting(1, shape()))
    assert codes(*with_pool(problem, planned(problem), **changes)) == {"unusable-pool"}


def test_limits_hold_however_claims_are_launched() -> None:
    problem = world(waiting(1, shape()), (node("n1", cpus=1, allocatable=Resources({})),))
    plan = planned(problem)
    for limits, found in (
        ({"cpu": 9000, "nodes": 2}, set()),
        ({"cpu": 8999}, {"limits"}),
        ({"nodes": 1}, {"limits"}),
    ):
        assert codes(*with_pool(problem, plan, limits=Resources(limits))) == found


def test_a_claim_is_no_wider_than_its_pool_and_says_no_more() -> None:
    problem = world(waiting(1, shape()))
    plan = planned(problem)
    narrow = Requirements([is_in(labels.ZONE, "z1")])
    assert codes(*with_pool(problem, plan, requirements=narrow)) == {"wider-than-pool"}
    foreign = plan.claims[0].requirements & Requirements([is_in("example.com/rack", "r1")])
    assert codes(problem, first(plan, requirements=foreign)) == {"foreign-key"}


def test_a_claim_says_which_types_and_capacity_types_it_may_become() -> None:
    problem = world(waiting(1, shape()))
    plan = planned(problem)
    said = plan.claims[0].requirements
    assert codes(problem, first(plan, requirements=said.without(labels.INSTANCE_TYPE))) == {"instance-types"}
    assert codes(problem, first(plan, types=plan.claims[0].types[:1])) == {"instance-types"}
    assert codes(problem, first(plan, requirements=said.without(labels.CAPACITY_TYPE))) == {"capacity-types"}


def test_types_are_known_launchable_few_enough_and_cheapest_first() -> None:
    problem = world(waiting(1, shape()))
    plan = planned(problem)
    claim = plan.claims[0]
    assert codes(problem, first(plan, types=claim.types[::-1])) == {"types-order"}
    assert codes(replace(problem, options=replace(problem.options, max_types=1)), plan) == {"too-many-types"}
    stranger = kind("m8", 16, 0.4)
    assert "unknown-type" in codes(problem, first(plan, types=(claim.types[0], stranger)))
    pinned = claim.requirements & Requirements([is_not_in(labels.ZONE, "z1", "z2")])
    assert "dead-type" in codes(problem, first(plan, requirements=pinned))


def test_the_choice_is_the_cheapest_way_to_launch() -> None:
    problem = world(waiting(1, shape()))
    plan = planned(problem)
    dear = plan.claims[0].types[1]
    assert codes(problem, first(plan, choice=Choice(dear, dear.offerings[0]))) == {"choice-price"}
    elsewhere = Choice(TYPES[0], row("z3", 0.1))
    assert codes(problem, first(plan, choice=elsewhere)) == {"choice"}


def test_a_claim_asks_at_least_for_what_its_pods_do() -> None:
    problem = world(waiting(1, shape()))
    assert codes(problem, first(planned(problem), requests=Resources({"cpu": 499}))) == {"requests"}


def flexible(plan: Plan, count: int) -> Claim:
    """The first claim, promising so many types."""
    claim = plan.claims[0]
    wanted = Requirements([is_in(labels.INSTANCE_TYPE, "m4", "m8", "m9", min_values=count)])
    return replace(claim, requirements=claim.requirements & wanted)


def test_min_values_are_kept_under_strict_and_told_truly_otherwise() -> None:
    problem = world(waiting(1, shape()))
    plan = planned(problem)
    for count, policy, found in (
        (2, MinValuesPolicy.STRICT, set()),
        (3, MinValuesPolicy.STRICT, {"min-values"}),
        (3, MinValuesPolicy.BEST_EFFORT, {"min-values"}),
    ):
        wanted = Requirements([is_in(labels.INSTANCE_TYPE, "m4", "m8", "m9", min_values=count)])
        made = replace(plan, claims=(flexible(plan, count),))
        assert codes(*with_pool(problem, made, requirements=wanted, min_values_policy=policy)) == found
    relaxed = replace(plan, claims=(replace(flexible(plan, 2), min_values_relaxed=False),))
    wanted = Requirements([is_in(labels.INSTANCE_TYPE, "m4", "m8", "m9", min_values=3)])
    best_effort = {"requirements": wanted, "min_values_policy": MinValuesPolicy.BEST_EFFORT}
    assert codes(*with_pool(problem, relaxed, **best_effort)) == {"min-values-flag"}


def test_a_reservation_is_planned_into_no_more_often_than_it_has_room() -> None:
    roomy = world(waiting(2, shape(LARGE)), types=(reserved(TYPES[0], 2),))
    plan = planned(roomy)
    assert [one.reservation_ids for one in plan.claims] == [("cr-1",), ("cr-1",)]
    tight = world(waiting(2, shape(LARGE)), types=(reserved(TYPES[0], 1),))
    kinds = tuple(tight.catalogs["pool"].types.values())
    row_left = next(one for one in kinds[0].offerings if one.reservations)
    claims = tuple(replace(one, types=kinds, choice=Choice(kinds[0], row_left)) for one in plan.claims)
    assert codes(tight, replace(plan, claims=claims)) == {"reservations"}


def test_a_claim_names_the_reservations_it_may_be_launched_into() -> None:
    problem = world(waiting(1, shape()), types=(reserved(TYPES[0], 1),))
    plan = planned(problem)
    assert codes(problem, first(plan, reservation_ids=())) == {"reservation-unnamed"}
    assert codes(problem, first(plan, reservation_ids=("cr-1", "cr-2"))) == {"reservation-unusable"}
    off = replace(problem, options=replace(problem.options, reserved_capacity=False))
    assert codes(off, plan) == {"reservations-off"}
