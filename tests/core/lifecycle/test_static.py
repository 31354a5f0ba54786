"""Static pools: how many to order, and whom to take away (§3.12)."""

from __future__ import annotations

from dataclasses import replace

from tests.core.lifecycle.claims import CLASS, START, claim

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Moment, Status
from dovetail.core.lifecycle import static
from dovetail.core.lifecycle.static import Load, Standing
from dovetail.core.nodeclaims import DISRUPTION_REASON, LAUNCHED, NodeClaim
from dovetail.core.nodepools import NodePool
from dovetail.core.resources import Resources


def pool(replicas: int, nodes: int | None = None) -> NodePool:
    return NodePool("fixed", CLASS, replicas=replicas, limits=None if nodes is None else Resources({"nodes": nodes}))


def named(*names: str) -> tuple[NodeClaim, ...]:
    return tuple(claim(name, true=(LAUNCHED,)) for name in names)


def test_claims_are_sorted_by_what_becomes_of_them():
    gone = claim("gone", deleting=START)
    drifted = Condition(DISRUPTION_REASON, Status.TRUE, "Drifted")
    old = claim("old")
    old = replace(old, conditions=conditions.put(old.conditions, drifted, Moment(START)))
    found = static.standing((*named("a"), gone, old))
    assert [one.name for one in found.active] == ["a"]
    assert (found.replaced, found.deleting) == (1, 1)


def test_what_is_missing_counts_those_that_are_being_replaced():
    assert static.missing(pool(3), Standing(named("a"), replaced=1)) == 1
    assert static.missing(pool(1), Standing(named("a", "b"))) == 0


def test_a_limit_counts_those_that_are_still_going():
    assert static.missing(pool(5, nodes=4), Standing(named("a"), deleting=2)) == 1
    assert static.missing(pool(5, nodes=1), Standing(named("a"), deleting=2)) == 0


def test_the_least_painful_go_first():
    unlaunched = claim("z-unlaunched")
    cheap, dear, protected, empty = named("cheap", "dear", "protected", "empty")
    loads = [
        Load(protected, 1, protected=True, cost=0.1),
        Load(dear, 2, cost=9.0),
        Load(cheap, 2, cost=1.0),
        Load(empty),
        Load(unlaunched),
    ]
    now = Standing(tuple(one.claim for one in loads))
    order = [one.name for one in static.surplus(pool(0), now, loads)]
    assert order == ["z-unlaunched", "empty", "cheap", "dear", "protected"]
    assert [one.name for one in static.surplus(pool(4), now, loads)] == ["z-unlaunched"]


def test_costs_are_about_one_and_bounded():
    assert static.eviction_cost(0, 0) == 1.0
    assert static.eviction_cost(2**31 - 1, 0) == 10.0
    assert static.eviction_cost(0, -(2**31)) == -10.0
    aging = replace(claim(), expire_after=100.0)
    assert static.life_left(aging, START + 75) == 0.25
    assert static.life_left(aging, START + 500) == 0.0
    assert static.life_left(claim(), START + 500) == 1.0
