"""Worlds nobody meant: what cannot be had is refused, in finite time, and harms nobody else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.scheduling.small import (
    TYPES,
    app,
    asks,
    checked,
    market,
    near,
    node,
    only,
    planned,
    pool_of,
    refused,
    shape,
    sizes,
    spread,
    tally,
    waiting,
    where,
    world,
)

from dovetail.core import labels
from dovetail.core.pods import Affinity, PodTerm
from dovetail.core.requirements import Operator, requirement
from dovetail.core.resources import Resources


@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
@pytest.mark.parametrize("round_", [2, 3, 7])
def test_pods_that_wait_for_each_other_in_a_circle_are_refused_and_the_rest_is_planned(key: str, round_: int) -> None:
    """Nobody may be first, so nobody ever comes."""
    circle = tuple(
        pod
        for at in range(round_)
        for pod in waiting(
            2, shape(labels=(("app", f"a{at}"),), near=near(key, app(f"a{(at + 1) % round_}"))), f"circle{at}"
        )
    )
    plan = checked(world((*circle, *waiting(3, shape()))))
    assert {name.partition("-")[0] for name in refused(plan)} == {f"circle{at}" for at in range(round_)}
    assert set(where(plan)) == {"pod-0", "pod-1", "pod-2"}


def test_a_circle_that_one_of_its_pods_can_enter_alone_is_planned() -> None:
    first = shape(labels=(("app", "a"),), near=near(labels.ZONE, app("b")))
    second = shape(labels=(("app", "b"),), near=near(labels.ZONE, app("b")))
    plan = planned(world((*waiting(2, first, "a"), *waiting(2, second, "b"))))
    assert len(tally(plan)) == 1


@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_a_pod_that_wants_to_be_near_and_apart_from_itself_is_alone_at_most(key: str) -> None:
    """The first is nobody's neighbour; a second would have to be, and must not."""
    torn = shape(near=near(key), apart=near(key))
    plan = checked(world((*waiting(3, torn, "torn"), *waiting(1, shape(labels=(("app", "db"),))))))
    assert len(refused(plan)) == 2
    assert "pod-0" in where(plan)


def test_terms_that_select_everybody_everywhere_end() -> None:
    """Anti-affinity to all pods: each has a node for itself, and no more come than nodes may be bought."""
    loner = shape(apart=Affinity((PodTerm(labels.HOSTNAME, app("web")),)))
    limited = pool_of(limits=Resources({"nodes": 2}))
    plan = checked(world(waiting(5, loner), pool=limited))
    assert (len(plan.claims), len(refused(plan))) == (2, 3)


def test_a_pool_that_cannot_be_used_leaves_the_others_planning() -> None:
    """§3.1."""
    for broken in (replace(pool_of("a", weight=9), problem="spec.limits.cpu: 'many' is not a quantity"),):
        plan = planned(market(waiting(2, shape()), broken, pool_of("b")))
        assert {claim.pool.name for claim in plan.claims} == {"b"}


def test_demands_that_contradict_each_other_are_told_and_harm_nobody() -> None:
    torn = shape(selector=only(labels.ZONE, "z1"), terms=(only(labels.ZONE, "z2"),))
    plan = checked(world((*waiting(1, torn, "torn"), *waiting(1, shape()))))
    assert refused(plan) == {"torn-0"}


# ---- very many pods of one shape


@pytest.mark.parametrize("limits", [None, Resources({"cpu": 400_000}), Resources({"cpu": 30_000})])
@pytest.mark.parametrize("least", [None, 2])
def test_pods_that_are_spread_are_shared_out_at_once_whether_or_not_the_pool_is_limited(
    limits: Resources | None, least: int | None
) -> None:
    """As many as the limit is sure to last for go at once, the rest one by one: the skew holds in any case."""
    varied = (requirement(labels.INSTANCE_TYPE, Operator.EXISTS, min_values=least),) if least else ()
    plan = checked(world(waiting(150, shape(asks(500), spread=spread())), pool=pool_of("pool", *varied, limits=limits)))
    counts = tally(plan)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert bool(plan.refused) is (limits is not None and limits.of("cpu") == 30_000)


def test_sharing_out_in_portions_fills_open_claims_before_it_opens_others() -> None:
    """A limit lets only some be shared out at a time; the next portion goes on where the last one ended."""
    pods = waiting(60, shape(asks(1000), spread=spread()))
    free = planned(world(pods))
    portions = planned(world(pods, pool=pool_of(limits=Resources({"cpu": 100_000}))))
    assert sizes(portions) == sizes(free)


def test_a_spread_over_nodes_that_are_there_is_shared_out_the_same() -> None:
    there = (node("n1", "z1", 8), node("n2", "z2", 8))
    limited = pool_of(limits=Resources({"cpu": 200_000}))
    plan = planned(world(waiting(40, shape(asks(1000), spread=spread())), there, types=TYPES, pool=limited))
    assert tally(plan) == {"z1": 20, "z2": 20}
