"""minValues: how many values of a label a claim stays open to (S4.2–S4.8; spec §1.7, §3.13, newest §7).

That minValues is no more than the values given (S4.1) is tested where pools are read:
`tests/api/test_world.py::test_a_broken_pool_has_a_problem_and_the_others_go_on`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.scheduling.small import (
    LARGE,
    TYPES,
    also_spot,
    checked,
    kind,
    market,
    node,
    only,
    planned,
    pool_of,
    refused,
    shape,
    sizes,
    waiting,
    where,
    world,
)

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, instance_type
from dovetail.core.nodepools import MinValuesPolicy, NodePool
from dovetail.core.requirements import Operator, Requirement, is_in, requirement
from dovetail.core.resources import Resources
from dovetail.core.scheduling.problem import Claim

FAMILY, SIZE = "example.com/family", "example.com/size"
BEST_EFFORT, STRICT = MinValuesPolicy.BEST_EFFORT, MinValuesPolicy.STRICT


def varied(key: str, count: int) -> Requirement:
    return requirement(key, Operator.EXISTS, min_values=count)


def wanting(count: int, name: str = "pool", key: str = labels.INSTANCE_TYPE, **more: object) -> NodePool:
    return pool_of(name, varied(key, count), **more)


def of_family(one: InstanceType, *family: str) -> InstanceType:
    said = one.spec.requirements & only(FAMILY, *family)
    return instance_type(replace(one.spec, requirements=said), one.offerings)


def raised(one: InstanceType, size: str) -> InstanceType:
    said = one.spec.requirements & only(SIZE, size)
    return instance_type(replace(one.spec, requirements=said), one.offerings)


def promised(claim: Claim, key: str = labels.INSTANCE_TYPE) -> int | None:
    said = claim.requirements.get(key)
    assert said is not None
    return said.min_values


# ---- how it is counted


def test_a_claim_that_would_fall_below_takes_no_more_pods_and_a_new_one_opens() -> None:
    """S4.2: two large pods would leave one type."""
    pods = waiting(3, shape(LARGE))
    assert sizes(planned(world(pods))) == [2, 1]
    plan = planned(world(pods, pool=wanting(2)))
    assert sizes(plan) == [1, 1, 1]
    assert all(len(one.types) == 2 for one in plan.claims)


def test_smaller_pods_still_join_a_claim_that_larger_ones_may_not() -> None:
    """S4.2: what keeps it flexible is welcome."""
    pods = (*waiting(2, shape(LARGE), "large"), *waiting(2, shape(), "small"))
    assert sizes(planned(world(pods, types=(*TYPES, kind("m5", 4, 0.3)), pool=wanting(3)))) == [3, 1]


def test_a_claim_promises_what_its_pool_wants() -> None:
    """§3.12: for every launch after this one."""
    (claim,) = planned(world(waiting(1, shape()), pool=wanting(2))).claims
    assert (promised(claim), claim.min_values_relaxed) == (2, False)


def test_of_several_requirements_on_one_label_the_largest_number_counts() -> None:
    """§1.7."""
    both = pool_of("pool", varied(labels.INSTANCE_TYPE, 1), varied(labels.INSTANCE_TYPE, 3))
    assert refused(checked(world(waiting(1, shape()), pool=both))) == {"pod-0"}


def test_every_label_with_min_values_is_kept() -> None:
    """§1.7."""
    types = (of_family(TYPES[0], "m"), of_family(TYPES[1], "m"), of_family(kind("c4", 4, 0.3), "c"))
    both = pool_of("pool", varied(labels.INSTANCE_TYPE, 2), varied(FAMILY, 2))
    (claim,) = planned(world(waiting(1, shape()), types=types, pool=both)).claims
    assert {one.name for one in claim.types} == {"m4", "m8", "c4"}
    assert refused(checked(world(waiting(1, shape()), types=types[:2], pool=both))) == {"pod-0"}


@pytest.mark.parametrize("key", [labels.ZONE, labels.CAPACITY_TYPE])
def test_zones_and_capacity_types_are_counted_as_they_can_be_bought(key: str) -> None:
    """§1.7."""
    types = (also_spot(TYPES[0], 0.1),)
    assert planned(world(waiting(1, shape()), types=types, pool=wanting(2, key=key))).claims
    assert refused(checked(world(waiting(1, shape()), types=types, pool=wanting(3, key=key)))) == {"pod-0"}


def test_only_values_that_a_claim_may_still_take_count() -> None:
    """newest §7: a pod pinned to one zone leaves one zone, whatever its types could do."""
    pinned = shape(selector=only(labels.ZONE, "z1"))
    assert refused(checked(world(waiting(1, pinned), pool=wanting(2, key=labels.ZONE)))) == {"pod-0"}
    listed = pool_of("pool", is_in(FAMILY, "a", "b", "c", min_values=2))
    types = tuple(of_family(kind(f"{name}4", 4, 0.2), name) for name in "abc")
    chosen = shape(selector=only(FAMILY, "a"))
    assert refused(checked(world(waiting(1, chosen), types=types, pool=listed))) == {"pod-0"}
    assert planned(world(waiting(1, shape(selector=only(FAMILY, "a", "b"))), types=types, pool=listed)).claims


def test_a_type_that_may_be_several_things_counts_only_as_what_the_claim_may_be() -> None:
    """newest §7; before, the peer counted what its types could be elsewhere."""
    either = (of_family(TYPES[0], "a", "b"),)
    assert planned(world(waiting(1, shape()), types=either, pool=wanting(2, key=FAMILY))).claims
    chosen = shape(selector=only(FAMILY, "a"))
    assert refused(checked(world(waiting(1, chosen), types=either, pool=wanting(2, key=FAMILY)))) == {"pod-0"}


def test_types_beyond_a_limit_do_not_count() -> None:
    """§3.5 with S4.2."""
    limits = Resources({"cpu": 7000})
    assert refused(checked(world(waiting(1, shape()), pool=wanting(2, limits=limits)))) == {"pod-0"}


# ---- where it cannot be had


def test_a_pod_that_cannot_meet_it_alone_goes_to_the_next_pool_by_weight() -> None:
    """S4.3."""
    pools = (wanting(2, "a", weight=9), pool_of("b", weight=5), pool_of("c", weight=7))
    (claim,) = planned(market(waiting(1, shape(LARGE.merged({"cpu": 5000}))), *pools)).claims
    assert claim.pool.name == "c"


def test_a_pod_that_no_pool_can_serve_is_told_the_label_the_wanted_and_the_reached_number() -> None:
    """S4.3."""
    (found,) = checked(world(waiting(1, shape(LARGE.merged({"cpu": 5000}))), pool=wanting(2))).refused
    (one,) = found.pools
    assert one.code == "min-values"
    assert one.reason.endswith(f"{labels.INSTANCE_TYPE} wants 2, 1 left")


def test_a_pod_for_which_the_cut_alone_breaks_it_goes_to_the_next_pool_by_weight() -> None:
    """S4.3, S4.7: a claim that no list of so many types can keep is not opened."""
    pools = (wanting(2, "a", weight=9), pool_of("b", weight=5))
    plan = planned(market(waiting(2, shape()), *pools, max_types=1))
    assert {claim.pool.name for claim in plan.claims} == {"b"}


def test_a_claim_is_not_opened_where_its_values_need_more_types_than_it_may_name() -> None:
    """S4.2, S4.7: three families need three types, and two may be named."""
    types = (
        of_family(kind("m4a", 4, 0.2), "a"),
        of_family(kind("m4b", 4, 0.2), "b"),
        of_family(kind("m4c", 4, 0.2), "c"),
    )
    pool = pool_of("a", varied(FAMILY, 3), weight=9)
    plan = planned(market(waiting(1, shape()), pool, pool_of("b"), types=types, max_types=2))
    assert [claim.pool.name for claim in plan.claims] == ["b"]


def test_types_that_serve_several_labels_are_found_where_the_list_is_short() -> None:
    """S4.7: the cheapest type of each value would be four, and two have all values between them."""
    both = {"m1": ("a", "x"), "m2": ("a", "y"), "m3": ("b", "x"), "m4": ("b", "y")}
    types = tuple(
        raised(of_family(kind(name, 4, 0.1 * at), family), size)
        for at, (name, (family, size)) in enumerate(both.items(), 1)
    )
    pool = pool_of("pool", varied(FAMILY, 2), varied(SIZE, 2))
    (claim,) = planned(world(waiting(1, shape()), types=types, pool=pool, max_types=2)).claims
    assert len(claim.types) == 2


# ---- when the list is cut


def test_cutting_the_list_of_types_keeps_the_cheapest_of_every_value_that_is_needed() -> None:
    """S4.7."""
    types = (
        of_family(kind("m1", 4, 0.1), "m"),
        of_family(kind("m2", 4, 0.2), "m"),
        of_family(kind("m3", 4, 0.3), "m"),
        of_family(kind("c1", 4, 0.8), "c"),
        of_family(kind("c2", 4, 0.9), "c"),
    )
    (claim,) = planned(world(waiting(1, shape()), types=types, pool=wanting(2, key=FAMILY), max_types=2)).claims
    assert [one.name for one in claim.types] == ["m1", "c1"]


def test_where_the_list_is_too_short_for_what_is_wanted_the_pods_wait() -> None:
    """§3.12, Strict."""
    plan = checked(world(waiting(2, shape()), pool=wanting(2), max_types=1))
    assert (plan.claims, refused(plan)) == ((), {"pod-0", "pod-1"})


# ---- the policy


def test_under_best_effort_a_claim_takes_what_there_is_and_says_so() -> None:
    """S4.8, §3.13: it promises what it reaches."""
    (claim,) = planned(world(waiting(1, shape()), pool=wanting(3), min_values=BEST_EFFORT)).claims
    assert (promised(claim), claim.min_values_relaxed) == (2, True)


def test_under_best_effort_a_cut_list_keeps_the_claim_and_promises_less() -> None:
    """S4.8, §3.12: what the cut leaves is not checked against what was wanted."""
    problem = world(waiting(1, shape()), pool=wanting(2), max_types=1, min_values=BEST_EFFORT)
    (claim,) = planned(problem).claims
    assert (promised(claim), claim.min_values_relaxed, len(claim.types)) == (1, True, 1)


def test_where_a_limit_leaves_too_few_values_the_reason_names_key_wanted_and_reached() -> None:
    """S4.3."""
    plan = checked(world(waiting(1, shape()), pool=wanting(2, limits=Resources({"cpu": 7000}))))
    ((refusal,),) = (one.pools for one in plan.refused)
    assert refusal.code == "min-values"
    assert "node.kubernetes.io/instance-type wants 2, 1 left" in refusal.reason


def test_under_best_effort_nothing_is_relaxed_that_can_be_kept() -> None:
    """S4.8."""
    (claim,) = planned(world(waiting(1, shape()), pool=wanting(2), min_values=BEST_EFFORT)).claims
    assert (promised(claim), claim.min_values_relaxed) == (2, False)


def test_under_best_effort_a_pool_is_relaxed_before_a_lighter_one_is_tried() -> None:
    """S4.8, §3.13."""
    pools = (wanting(3, "a", weight=1), pool_of("b"))
    (claim,) = planned(market(waiting(1, shape()), *pools, min_values=BEST_EFFORT)).claims
    assert claim.pool.name == "a"
    (claim,) = planned(market(waiting(1, shape()), *pools, min_values=STRICT)).claims
    assert claim.pool.name == "b"


def test_pods_that_join_a_relaxed_claim_keep_what_it_reaches() -> None:
    """S4.8, §3.13: relaxed once, when it is opened."""
    plan = planned(world(waiting(3, shape(LARGE)), pool=wanting(3), min_values=BEST_EFFORT))
    assert sizes(plan) == [1, 1, 1]
    assert [promised(one) for one in plan.claims] == [2, 2, 2]


@pytest.mark.parametrize("for_all", list(MinValuesPolicy))
def test_a_pool_s_own_policy_goes_before_that_for_all(for_all: MinValuesPolicy) -> None:
    """S4.8."""
    lenient = wanting(3, min_values_policy=BEST_EFFORT)
    assert planned(world(waiting(1, shape()), pool=lenient, min_values=for_all)).claims
    firm = wanting(3, min_values_policy=STRICT)
    assert refused(checked(world(waiting(1, shape()), pool=firm, min_values=for_all))) == {"pod-0"}


def test_min_values_are_no_demand_on_nodes_that_are_there() -> None:
    """§3.3."""
    unmet = pool_of("pool", varied(labels.INSTANCE_TYPE, 9))
    plan = checked(world(waiting(2, shape(LARGE)), (node("n1"),), pool=unmet))
    assert (where(plan), refused(plan)) == ({"pod-0": "n1"}, {"pod-1"})
