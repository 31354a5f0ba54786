"""Thousands of reservations cost a plan next to nothing (S3.14): work is counted here, not time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.scheduling.small import (
    LARGE,
    RESERVATION,
    TYPES,
    kind,
    near,
    only,
    planned,
    pool_of,
    reserved,
    shape,
    spread,
    waiting,
    world,
)

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, instance_type
from dovetail.core.requirements import Requirements, is_in, is_not_in
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.packer import Packer
from dovetail.core.scheduling.problem import Plan, Problem
from dovetail.core.scheduling.reserve import Reservations, Want
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.solve import solve
from dovetail.core.scheduling.states import States

M4, M8 = TYPES
ALONE = shape(apart=near(labels.HOSTNAME))


def held(plan: Plan) -> list[str]:
    return ["".join(one.reservation_ids) for one in plan.claims]


def many(count: int, room: int = 1) -> tuple[InstanceType, ...]:
    """So many types, each with a reservation of its own."""
    return tuple(
        reserved(kind(f"t{at:04d}", 4, round(0.2 + at / 1e3, 3)), room, f"cr-{at:04d}", round(2e-4 + at / 1e6, 6))
        for at in range(count)
    )


def rows_looked_at(problem: Problem) -> tuple[int, Plan]:
    packer = Packer(Compiled(problem), [])
    plan = packer.plan()
    return packer.board.reservations.looked_at, plan


def behind_one_row(one: InstanceType, *names: str) -> InstanceType:
    """The reservations of a type joined to one row that names them all, as AWS rows do."""
    (row,) = (row for row in one.offerings if row.reservations)
    (first,) = row.reservations
    both = tuple(replace(first, id=name, available=1, total=1) for name in names)
    told = Requirements([*row.requirements.without(RESERVATION), is_in(RESERVATION, *names)])
    joined = replace(row, reservations=both, requirements=told, count=len(names))
    rest = tuple(other for other in one.offerings if not other.reservations)
    return instance_type(one.spec, (joined, *rest))


@pytest.mark.parametrize("count", [50, 500])
def test_a_claim_looks_at_one_row_however_many_have_room(count: int) -> None:
    looked_at, plan = rows_looked_at(world(waiting(20, ALONE), types=many(count)))
    assert held(plan) == [f"cr-{number:04d}" for number in range(20)]
    assert looked_at == 20


def test_reservations_that_are_used_up_are_looked_at_once_more_and_never_again() -> None:
    reservations, pods = 20, 200
    looked_at, plan = rows_looked_at(world(waiting(pods, ALONE), types=many(reservations)))
    assert (len(plan.claims), sum(map(bool, held(plan)))) == (pods, reservations)
    # One to take each, and one more each for the first claim that finds nothing.
    assert looked_at == 2 * reservations


def test_claims_that_keep_their_reservation_are_not_asked_by_pods_that_need_a_larger_one() -> None:
    """A reserved claim seems open to every type until nothing else is left to it."""
    small, large = shape(priority=1, apart=near(labels.HOSTNAME)), shape(LARGE)
    problem = world((*waiting(20, small, "small"), *waiting(20, large, "large")), types=many(10))
    packer = Packer(Compiled(problem), [])
    plan = packer.plan()
    assert sum(map(bool, held(plan))) == 10
    kept = [one for one in packer.board.claims if one.reserved]
    assert all(one.kept and one.types.bit_count() == 1 for one in kept)
    assert {packer.board.index(0).names[one.types.bit_length() - 1] for one in kept} == {
        f"t{number:04d}" for number in range(10)
    }


def test_a_claim_that_keeps_its_reservation_is_in_its_zone_whoever_is_on_it() -> None:
    """Pods that have to be in another zone do not ask it in vain."""
    first, others = shape(LARGE, labels=(), priority=1), shape(LARGE, spread=spread())
    plan = planned(world((*waiting(2, first, "first"), *waiting(2, others, "other")), types=(reserved(M4, 1),)))
    (claim,) = (one for one in plan.claims if one.reservation_ids)
    assert [pod.name for pod in claim.pods] == ["first-0"]
    assert claim.requirements.value(labels.ZONE) == "z1"


def test_the_stock_is_looked_up_once_for_a_catalog() -> None:
    problem, shelf = world(waiting(2, ALONE), types=many(5)), Shelf()
    first, again = Compiled(problem, shelf), Compiled(problem, shelf)
    assert first.stock is again.stock
    assert solve(problem, shelf) == solve(problem)


def test_rows_that_differ_only_in_type_and_in_the_names_of_reservations_share_a_slot() -> None:
    (index,) = Compiled(world(waiting(1, shape()), types=many(30))).indexes
    assert len(index.reserved.rows) == 30
    assert [one.types.bit_count() for one in index.reserved.slots] == [30]


def test_a_pod_that_names_one_of_several_reservations_behind_a_row_gets_that_one() -> None:
    types = (behind_one_row(reserved(M4, 2), "cr-1", "cr-2"),)
    chosen = shape(LARGE, selector=only(RESERVATION, "cr-2"))
    assert held(planned(world(waiting(1, chosen), types=types))) == ["cr-2"]
    pool = pool_of("pool", is_not_in(RESERVATION, "cr-1"))
    plan = planned(world(waiting(2, shape(LARGE)), types=types, pool=pool))
    assert sorted(held(plan)) == ["", "cr-2"]


def test_a_holder_makes_way_inside_a_row_for_a_pod_that_names_its_reservation() -> None:
    types = (behind_one_row(reserved(M4, 2), "cr-1", "cr-2"),)
    chosen = shape(LARGE, selector=only(RESERVATION, "cr-1"), priority=-1)
    plan = planned(world((*waiting(1, shape(LARGE), "any"), *waiting(1, chosen, "picky")), types=types))
    assert held(plan) == ["cr-2", "cr-1"]


def test_room_is_made_through_a_chain_of_holders() -> None:
    """The first can use all three, the second two of them, the third one: each move frees the next."""
    types = tuple(reserved(kind(name, 4, 0.2), 1, f"cr-{name}", 0.0001) for name in ("a", "b", "c"))
    free = shape(LARGE)
    two = shape(LARGE, selector=Requirements([is_in(labels.INSTANCE_TYPE, "a", "b")]), priority=-1)
    one = shape(LARGE, selector=only(labels.INSTANCE_TYPE, "a"), priority=-2)
    pods = (*waiting(1, free, "free"), *waiting(1, two, "two"), *waiting(1, one, "one"))
    assert held(planned(world(pods, types=types))) == ["cr-c", "cr-b", "cr-a"]


def test_a_claim_that_finds_no_other_reservation_keeps_its_own() -> None:
    compiled = Compiled(world(waiting(1, shape()), types=(reserved(M4, 1), M8)))
    start = States(compiled.indexes[0]).start
    assert start is not None
    small, large = (1 << compiled.indexes[0].names.index(name) for name in ("m4", "m8"))
    found = Reservations(compiled.stock)
    assert found.take(0, Want(0, start, small))
    assert not found.take(0, Want(0, start, large))
    assert found.held == {0: "cr-1"}
    assert not found.take(1, Want(0, start, small)), "nobody else gets it"
