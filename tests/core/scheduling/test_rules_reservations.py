"""Reserved capacity: used first, only as needed, never more often than it is there (spec §5, newest §7; S3.5–S3.13)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.scheduling.small import (
    LARGE,
    RESERVATION,
    TYPES,
    also_spot,
    bound,
    checked,
    kind,
    market,
    near,
    node,
    only,
    planned,
    pool_of,
    refused,
    reserved,
    shape,
    sizes,
    spread,
    waiting,
    where,
    world,
)

from dovetail.core import labels
from dovetail.core.catalog.offerings import instance_type, unavailable
from dovetail.core.requirements import Operator, is_in, is_not_in, requirement
from dovetail.core.resources import Resources
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.problem import Plan
from dovetail.core.scheduling.solve import replan

M4, M8 = TYPES
ONLY_RESERVED = is_in(labels.CAPACITY_TYPE, labels.RESERVED)


def held(plan: Plan) -> list[str]:
    """The reservation each claim holds, "" for one that is bought at the market."""
    return ["".join(one.reservation_ids) for one in plan.claims]


def test_no_more_claims_are_planned_into_a_reservation_than_it_has_room() -> None:
    """S3.5, §5.2."""
    plan = planned(world(waiting(4, shape(LARGE)), types=(reserved(M4, 2),)))
    assert sorted(held(plan)) == ["", "", "cr-1", "cr-1"]


def test_of_ten_thousand_pods_that_keep_apart_one_gets_the_one_reserved_instance_in_one_pass() -> None:
    """S3.13."""
    problem = world(waiting(10_000, shape(apart=near(labels.HOSTNAME))), types=(reserved(M4, 1), M8))
    plan = replan(Compiled(problem))
    assert len(plan.claims) == 10_000
    assert sorted(held(plan))[-2:] == ["", "cr-1"]
    assert plan.refused == ()
    assert {len(one.pods) for one in plan.claims} == {1}
    # The checker compares every pod with every other, so it judges a smaller world of the same kind.
    fewer = world(waiting(200, shape(apart=near(labels.HOSTNAME))), types=(reserved(M4, 1), M8))
    assert sorted(held(planned(fewer)))[-2:] == ["", "cr-1"]


def test_reserved_capacity_is_used_before_spot_and_on_demand() -> None:
    """S3.7, §5.1: it is priced near nothing, so that cheapest is first (S3.6)."""
    (claim,) = planned(world(waiting(1, shape()), types=(reserved(also_spot(M4, 0.0005), 1),))).claims
    assert claim.reservation_ids == ("cr-1",)
    assert claim.choice.offering.capacity_type == labels.RESERVED


def test_reserved_capacity_is_used_only_as_needed() -> None:
    """S3.7: pods that fit on one node take one unit, and none where a node has room already."""
    plenty = (reserved(M4, 5),)
    assert held(planned(world(waiting(4, shape()), types=plenty))) == ["cr-1"]
    assert held(planned(world(waiting(1, shape()), (node("n1"),), types=plenty))) == []


def test_a_reserved_claim_says_so_and_names_its_reservation_and_its_type() -> None:
    """§5.4."""
    (claim,) = planned(world(waiting(1, shape()), types=(reserved(M4, 1), M8))).claims
    said = claim.requirements
    assert (said.value(labels.CAPACITY_TYPE), said.value(RESERVATION)) == (labels.RESERVED, "cr-1")
    assert (said.value(labels.INSTANCE_TYPE), [one.name for one in claim.types]) == ("m4", ["m4"])


def test_a_claim_bought_at_the_market_does_not_offer_to_be_reserved() -> None:
    """§5.4, newest §12: though a reservation suits, once it is full."""
    plan = planned(world(waiting(2, shape(LARGE)), types=(reserved(M4, 1),)))
    (bought,) = (one for one in plan.claims if not one.reservation_ids)
    assert bought.requirements.value(labels.CAPACITY_TYPE) == labels.ON_DEMAND


def test_the_cheaper_price_counts_where_no_reservation_suits() -> None:
    """S3.7: a pod that may not be where the reservation is."""
    elsewhere = shape(selector=only(labels.ZONE, "z2"))
    assert held(planned(world(waiting(1, elsewhere), types=(reserved(M4, 1),)))) == [""]
    on_demand = shape(selector=only(labels.CAPACITY_TYPE, labels.ON_DEMAND))
    assert held(planned(world(waiting(1, on_demand), types=(reserved(M4, 1),)))) == [""]


def test_pods_may_ask_for_one_reservation_or_for_none() -> None:
    """§5.1: the reservation's name is a label like others."""
    types = (reserved(M4, 1, "cr-1"), reserved(M8, 1, "cr-2"))
    chosen = shape(selector=only(RESERVATION, "cr-2"))
    assert held(planned(world(waiting(1, chosen), types=types))) == ["cr-2"]
    pool = pool_of("pool", is_not_in(labels.CAPACITY_TYPE, labels.RESERVED))
    assert held(planned(world(waiting(1, shape()), types=types, pool=pool))) == [""]


def test_a_reservation_seen_through_two_pools_has_its_room_once() -> None:
    """§5.2, §5.5."""
    shapes = [shape(LARGE, selector=only(labels.NODEPOOL, name)) for name in ("a", "b")]
    pods = (*waiting(1, shapes[0], "a"), *waiting(1, shapes[1], "b"))
    plan = planned(market(pods, pool_of("a"), pool_of("b"), types=(reserved(M4, 1),)))
    assert sorted(held(plan)) == ["", "cr-1"]


def test_a_holder_with_another_option_makes_way_in_the_same_pass() -> None:
    """§5.5; the peer holds all it could use and lets others wait for the next loop."""
    types = (reserved(M4, 1, "cr-1"), reserved(M8, 1, "cr-2"))
    picky = shape(LARGE, selector=only(labels.INSTANCE_TYPE, "m4"), priority=-1)
    plan = planned(world((*waiting(1, shape(LARGE), "any"), *waiting(1, picky, "picky")), types=types))
    assert sorted(held(plan)) == ["cr-1", "cr-2"]


def test_a_reserved_claim_takes_no_pod_that_would_cost_it_its_reservation() -> None:
    """§5.3."""
    elsewhere = shape(selector=only(labels.ZONE, "z2"), priority=-1)
    plan = planned(world((*waiting(1, shape(), "here"), *waiting(1, elsewhere, "there")), types=(reserved(M4, 1),)))
    assert held(plan) == ["cr-1", ""]


def test_a_full_reservation_beside_the_market_gives_way_to_it_at_once() -> None:
    """newest §7."""
    assert held(planned(world(waiting(1, shape()), types=(reserved(M4, 0),)))) == [""]


def test_a_full_reservation_with_nothing_beside_it_leaves_pods_waiting() -> None:
    """newest §7: whether it was full before or is full by this plan."""
    pool = pool_of("pool", ONLY_RESERVED)
    assert refused(checked(world(waiting(1, shape()), types=(reserved(M4, 0),), pool=pool))) == {"pod-0"}
    plan = checked(world(waiting(2, shape(LARGE)), types=(reserved(M4, 1),), pool=pool))
    assert (held(plan), refused(plan)) == (["cr-1"], {"pod-1"})


def test_pods_beyond_a_reservation_go_to_the_next_pool_in_the_same_pass() -> None:
    """newest §7; the peer defers them."""
    pools = (pool_of("a", ONLY_RESERVED, weight=1), pool_of("b", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)))
    plan = planned(market(waiting(2, shape(LARGE)), *pools, types=(reserved(M4, 1),)))
    assert [(one.pool.name, bool(one.reservation_ids)) for one in plan.claims] == [("a", True), ("b", False)]


def test_a_reservation_that_is_not_healthy_is_not_used() -> None:
    """§5.1."""
    one = reserved(M4, 1)
    rows = tuple(unavailable(row) if row.reservations else row for row in one.offerings)
    assert held(planned(world(waiting(1, shape()), types=(instance_type(one.spec, rows),)))) == [""]


def test_nothing_is_reserved_with_the_gate_off() -> None:
    """§5.3."""
    assert held(planned(world(waiting(2, shape(LARGE)), types=(reserved(M4, 2),), reserved_capacity=False))) == ["", ""]
    only_reserved = pool_of("pool", ONLY_RESERVED)
    off = world(waiting(1, shape()), types=(reserved(M4, 1),), pool=only_reserved, reserved_capacity=False)
    assert refused(checked(off)) == {"pod-0"}


def test_reservations_are_used_within_limits() -> None:
    """S3.5 with §3.5."""
    limited = pool_of("pool", limits=Resources({"nodes": 1}))
    plan = checked(world(waiting(2, shape(LARGE)), types=(reserved(M4, 2),), pool=limited))
    assert (held(plan), len(refused(plan))) == (["cr-1"], 1)


@pytest.mark.parametrize("room", [0, 1, 3])
def test_reserved_claims_join_a_spread(room: int) -> None:
    """S3.7 with §4.5: the reservation's zone gets its share and no more."""
    plan = planned(world(waiting(4, shape(LARGE, spread=spread())), types=(reserved(M4, room),)))
    assert sizes(plan) == [1, 1, 1, 1]
    assert sum(map(bool, held(plan))) == min(room, 2)


def test_several_reservations_behind_one_row_have_their_room_together() -> None:
    """S3.5."""
    one = reserved(M4, 2)
    (row,) = (row for row in one.offerings if row.reservations)
    (first,) = row.reservations
    both = (replace(first, available=1, total=1), replace(first, id="cr-2", available=1, total=1))
    joined = replace(row, reservations=both, requirements=row.requirements.without(RESERVATION))
    rest = tuple(other for other in one.offerings if not other.reservations)
    plan = planned(world(waiting(3, shape(LARGE)), types=(instance_type(one.spec, (joined, *rest)),)))
    assert sorted(held(plan)) == ["", "cr-1", "cr-2"]


def test_a_reservation_that_is_good_for_several_types_keeps_min_values_by_all_of_them() -> None:
    """S3.7 with S4.2: it is used, and the claim stays open to both."""
    varied = pool_of("pool", requirement(labels.INSTANCE_TYPE, Operator.EXISTS, min_values=2))
    types = (reserved(M4, 1), reserved(M8, 1))
    (claim,) = planned(world(waiting(1, shape()), types=types, pool=varied)).claims
    assert (claim.reservation_ids, [one.name for one in claim.types]) == (("cr-1",), ["m4", "m8"])


def test_the_cheapest_reservation_that_suits_is_used_first() -> None:
    """S3.6: reservations keep their order among themselves."""
    types = (reserved(kind("a8", 8, 0.4), 1, "cr-dear", 0.0004), reserved(kind("b4", 4, 0.2), 1, "cr-cheap", 0.0002))
    assert held(planned(world(waiting(1, shape()), types=types))) == ["cr-cheap"]


def test_a_reserved_node_that_would_leave_is_replaced_at_the_market_where_its_reservation_is_full() -> None:
    """§5.3, fallback."""
    problem = world((bound("n1", shape(LARGE)),), (node("n1"),), types=(reserved(M4, 0),))
    plan = replan(Compiled(problem), without=["n1"])
    assert (where(plan), held(plan)) == ({"bound": "pool-1"}, [""])
