"""More plans that are wrong in one respect, and the parts the checker is made of."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from tests.builders import expression
from tests.core.scheduling.small import LARGE, TYPES, planned, reserved, shape, waiting, world
from tests.core.scheduling.test_rules_disks import GROWTH, problem, storing
from tests.core.strategies import compound, states

from dovetail.core import labels
from dovetail.core.nodepools import MinValuesPolicy
from dovetail.core.requirements import Operator, Requirement, Requirements, is_in, requirement
from dovetail.core.resources import EPHEMERAL_STORAGE, GIB, Resources
from dovetail.core.scheduling.check import check
from dovetail.core.scheduling.check_spots import Domains, covers
from dovetail.core.scheduling.disks import GrownDisk
from dovetail.core.scheduling.problem import Plan, Problem

ALONE = world(waiting(1, shape()))
PLAN = planned(ALONE)
CLAIM = PLAN.claims[0]


def codes(of: Problem, plan: Plan) -> set[str]:
    return {one.code for one in check(of, plan)}


def first(plan: Plan = PLAN, **changes: object) -> Plan:
    return replace(plan, claims=(replace(plan.claims[0], **changes), *plan.claims[1:]))  # type: ignore[arg-type]


def test_two_claims_are_not_called_the_same() -> None:
    two = world(waiting(2, shape(LARGE)), types=TYPES[:1])
    plan = planned(two)
    assert codes(two, plan) == set()
    assert codes(two, first(plan, name=plan.claims[1].name)) == {"named-twice"}


def test_a_claim_is_of_a_pool_that_is_there_and_bought_for_somebody() -> None:
    assert "unknown-pool" in codes(ALONE, first(pool=replace(CLAIM.pool, name="other")))
    empty = replace(PLAN, claims=(CLAIM, replace(CLAIM, name="pool-2", pods=())))
    assert codes(ALONE, empty) == {"no-pods"}


def test_no_type_is_listed_twice() -> None:
    assert "types-twice" in codes(ALONE, first(types=(CLAIM.types[0], *CLAIM.types)))


def test_a_claim_asks_for_something_that_can_be_and_for_no_host_by_name() -> None:
    torn = CLAIM.requirements & Requirements([is_in(labels.ZONE, "z1")]) & Requirements([is_in(labels.ZONE, "z2")])
    assert "contradiction" in codes(ALONE, first(requirements=torn))
    named = CLAIM.requirements & Requirements([is_in(labels.HOSTNAME, "node-1")])
    assert "hostname" in codes(ALONE, first(requirements=named))


def test_a_disk_grows_only_where_it_may_and_as_far() -> None:
    grown = problem(waiting(1, storing(100)))
    plan = planned(grown)
    assert codes(grown, plan) == set()
    limited = replace(CLAIM.pool, limits=Resources({EPHEMERAL_STORAGE: 10_000 * GIB}))
    held = replace(grown, snapshot=replace(grown.snapshot, pools=(limited,)))
    assert "disk" in codes(held, first(plan, pool=limited))
    largest = GrownDisk(GROWTH.largest_bytes, GROWTH.largest_bytes)
    assert "disk" not in codes(grown, first(plan, disk=largest))
    assert "disk" in codes(grown, first(plan, disk=replace(largest, size_bytes=largest.size_bytes + 1)))


def test_a_claim_of_a_strict_pool_does_not_carry_smaller_min_values() -> None:
    names = ("m4", "m8", "m9")
    strict = replace(
        CLAIM.pool,
        requirements=Requirements([is_in(labels.INSTANCE_TYPE, *names, min_values=2)]),
        min_values_policy=MinValuesPolicy.STRICT,
    )
    of = replace(ALONE, snapshot=replace(ALONE.snapshot, pools=(strict,)))
    for promised, wrong in ((2, False), (1, True)):
        wanted = CLAIM.requirements & Requirements([is_in(labels.INSTANCE_TYPE, *names, min_values=promised)])
        said = [str(one) for one in check(of, first(pool=strict, requirements=wanted))]
        assert any("carries smaller minValues than its pool" in one for one in said) is wrong


def test_types_that_say_nothing_of_a_label_reach_no_value_of_it() -> None:
    wanted = Requirements([requirement("example.com/family", Operator.EXISTS, min_values=1)])
    strict = replace(CLAIM.pool, requirements=wanted, min_values_policy=MinValuesPolicy.STRICT)
    of = replace(ALONE, snapshot=replace(ALONE.snapshot, pools=(strict,)))
    said = [str(one) for one in check(of, first(pool=strict))]
    assert any("reaches 0 values of example.com/family, not 1" in one for one in said)


def test_a_claim_that_holds_a_reservation_is_not_bought_at_the_market() -> None:
    of = world(waiting(1, shape()), types=(reserved(TYPES[0], 1),))
    plan = planned(of)
    either = plan.claims[0].requirements.without(labels.CAPACITY_TYPE) & Requirements(
        [is_in(labels.CAPACITY_TYPE, labels.RESERVED, labels.ON_DEMAND)]
    )
    assert "reservation-mixed" not in codes(of, plan)
    assert "reservation-mixed" in codes(of, first(plan, requirements=either))


# ---- its parts


@given(compound(), compound())
def test_what_covers_another_admits_all_that_it_may_be(asked: Requirement, defined: Requirement) -> None:
    if covers(asked, defined):
        assert all(asked.admits(state) for state in states(asked, defined) if defined.admits(state))


@pytest.mark.parametrize(
    ("asked", "defined", "covered"),
    [
        (("In", "a b"), ("In", "a"), True),
        (("In", "a"), ("In", "a b"), False),
        (("In", "a"), ("Exists",), False),
        (("Exists",), ("NotIn", "a"), False),
        (("NotIn", "a"), ("NotIn", "a b"), True),
        (("NotIn", "a b"), ("NotIn", "a"), False),
        (("Gte", "2"), ("Gte", "2"), True),
        (("Gte", "2"), ("Gte", "1"), False),
        (("Gte", "2"), ("Lte", "5"), False),
        (("Lte", "5"), ("Lte", "5"), True),
        (("Lte", "5"), ("Lte", "6"), False),
        (("Lte", "5"), ("Gte", "2"), False),
    ],
)
def test_what_covers_what(asked: tuple[str, ...], defined: tuple[str, ...], covered: bool) -> None:
    assert covers(expression("k", *asked), expression("k", *defined)) is covered


def test_a_label_nobody_gave_is_what_only_an_absent_one_covers() -> None:
    assert covers(expression("k", "DoesNotExist"), None)
    assert not covers(expression("k", "Exists"), None)


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        (Domains(frozenset("ab")), Domains(frozenset("bc")), True),
        (Domains(frozenset("a")), Domains(frozenset("b")), False),
        (Domains(frozenset(), unknown=True), Domains(frozenset("a")), True),
        (Domains(frozenset(), unknown=True), Domains(frozenset(), unknown=True), True),
        (Domains(frozenset(), unknown=True), Domains(frozenset(), absent=True), False),
    ],
)
def test_two_domains_may_meet_where_one_value_could_be_both(one: Domains, other: Domains, may: bool) -> None:
    assert one.may_meet(other) is may
    assert other.may_meet(one) is may
