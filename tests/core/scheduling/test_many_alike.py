"""Claims that would be the same are opened at once; and a plan leaves nothing behind for the collector."""

from __future__ import annotations

import gc

from tests.core.scheduling.small import (
    LARGE,
    SMALL,
    asks,
    kind,
    near,
    planned,
    pool_of,
    reserved,
    shape,
    waiting,
    where,
    world,
)

from dovetail.core import labels
from dovetail.core.resources import Resources
from dovetail.core.scheduling.check import check
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.packer import Packer
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.solve import solve

ALONE = shape(LARGE, apart=near(labels.HOSTNAME))


def test_pods_that_keep_apart_get_a_claim_each_and_all_claims_are_alike() -> None:
    plan = planned(world(waiting(40, ALONE)))
    assert [claim.name for claim in plan.claims] == [f"pool-{number}" for number in range(1, 41)]
    assert [[pod.name for pod in claim.pods] for claim in plan.claims] == [
        [pod.name] for pod in sorted(waiting(40, ALONE), key=lambda pod: pod.uid)
    ]
    assert len({(claim.types, claim.requirements, claim.requests) for claim in plan.claims}) == 1


def test_smaller_pods_fill_claims_that_were_opened_at_once_from_the_first_on() -> None:
    """Each claim has 5 of 8 cpus left, room for ten of half a cpu."""
    plan = planned(world((*waiting(5, ALONE), *waiting(25, shape(SMALL, labels=()), "tiny"))))
    assert [len(claim.pods) for claim in plan.claims] == [11, 11, 6, 1, 1]


def test_claims_that_are_full_are_not_asked_again() -> None:
    packer = Packer(Compiled(world((*waiting(5, ALONE), *waiting(25, shape(SMALL, labels=()), "tiny")))), [])
    packer.plan()
    cpus = packer.board.levels[packer.board.names.index("cpu")]
    assert [packer.board.claim(number).used[0] for number in range(5)] == [8000, 8000, 5500, 3000, 3000]
    assert cpus.at_least(500) == 0b11100


def test_claims_that_were_opened_at_once_keep_their_own_count() -> None:
    """A pod that would share its node with none of them finds every claim taken."""
    other = shape(SMALL, apart=near(labels.HOSTNAME))
    plan = planned(world((*waiting(5, ALONE), *waiting(1, other, "other"))))
    assert where(plan)["other-0"] == "pool-6"


def test_pods_that_fill_a_node_are_packed_the_same_node_after_node() -> None:
    plan = planned(world(waiting(35, shape(asks(2000)))))
    assert [len(claim.pods) for claim in plan.claims] == [4] * 8 + [3]


def test_a_limit_ends_claims_that_would_be_the_same() -> None:
    pool = pool_of(limits=Resources({"nodes": 3}))
    problem = world(waiting(5, ALONE), pool=pool)
    plan = solve(problem)
    assert check(problem, plan) == ()
    assert (len(plan.claims), sum(len(one.pods) for one in plan.refused)) == (3, 2)


def test_what_was_reserved_is_taken_first_and_the_rest_bought_alike() -> None:
    plan = planned(world(waiting(6, ALONE), types=(reserved(kind("m8", 8, 0.4), 2),)))
    assert [claim.reservation_ids for claim in plan.claims] == [("cr-1",), ("cr-1",), (), (), (), ()]


def test_a_plan_leaves_nothing_behind_for_the_collector() -> None:
    """A controller plans all day: what a plan left in circles would have to be found by walking all it holds."""
    problem = world((*waiting(30, ALONE), *waiting(30, shape(SMALL, near=near(labels.ZONE)), "tiny")))
    shelf = Shelf()
    solve(problem, shelf)
    gc.collect()
    gc.disable()
    try:
        solve(problem, shelf)
        assert gc.collect() == 0
    finally:
        gc.enable()
