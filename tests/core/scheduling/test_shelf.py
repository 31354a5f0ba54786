"""A shelf keeps what is known of the pools between problems, and nothing that would change a plan."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.scheduling.plans import dumped
from tests.core.scheduling.small import TYPES, kind, market, pool_of, shape, waiting, world
from tests.core.scheduling.worlds import random_world

from dovetail.core.pods import DaemonSet
from dovetail.core.resources import Resources
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.problem import Problem
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.solve import solve

PODS = waiting(3, shape())


@settings(max_examples=40)
@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=4))
def test_plans_made_with_one_shelf_are_those_made_without(seeds: list[int]) -> None:
    """The pools of these worlds have the same names and differ in all else."""
    shelf = Shelf()
    for problem in [random_world(seed) for seed in seeds] * 2:
        assert dumped(solve(problem, shelf)) == dumped(solve(problem))


def test_a_pool_is_looked_up_once_while_nothing_about_it_changes() -> None:
    shelf, problem = Shelf(), world(PODS)
    before = Compiled(problem, shelf)
    later = replace(problem, snapshot=replace(problem.snapshot, pods=waiting(5, shape(), "later")))
    assert Compiled(later, shelf).indexes[0] is before.indexes[0]


def test_a_pool_is_looked_up_anew_when_anything_about_it_changes() -> None:
    shelf, problem = Shelf(), world(PODS)
    small = shape(Resources({"cpu": 100}))
    others = (
        replace(problem, catalogs=world(PODS, types=(*TYPES, kind("m16", 16, 0.8))).catalogs),
        replace(problem, snapshot=replace(problem.snapshot, pools=(pool_of(weight=5),))),
        replace(problem, snapshot=replace(problem.snapshot, daemons=(DaemonSet("logs", small),))),
        replace(problem, options=replace(problem.options, max_types=1)),
    )
    for other in others:
        before = Compiled(problem, shelf)
        assert Compiled(other, shelf).indexes[0] is not before.indexes[0]


def test_a_pool_that_is_gone_is_forgotten() -> None:
    shelf = Shelf()
    both = market(PODS, pool_of("a"), pool_of("b"))
    known = {one.pool.name: one for one in Compiled(both, shelf).indexes}
    Compiled(_with_pools(both, "a"), shelf)
    found = {one.pool.name: one for one in Compiled(both, shelf).indexes}
    assert found["a"] is known["a"]
    assert found["b"] is not known["b"]


def _with_pools(problem: Problem, *names: str) -> Problem:
    pools = tuple(one for one in problem.snapshot.pools if one.name in names)
    return replace(problem, snapshot=replace(problem.snapshot, pools=pools))
