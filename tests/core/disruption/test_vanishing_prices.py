"""Prices that vanish, before a pass or between its two looks: a sentence, never a crash."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest
from tests.core.disruption.clusters import TYPES, kind, member, pods, policy, said, world

from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, instance_type
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.passes import decide
from dovetail.core.disruption.reasons import ConsolidationPolicy
from dovetail.core.disruption.refusals import Code
from dovetail.core.disruption.validation import judge_again

DEAR, CHEAP = kind("x4", 4, 0.9), kind("m4", 4, 0.2)


def without_price(one: InstanceType) -> InstanceType:
    return instance_type(one.spec, tuple(replace(row, price=None) for row in one.offerings))


def cluster(*types: InstanceType) -> World:
    """One dear node that a cheaper one could replace."""
    return world(member("a", "x4", pods=pods("web", 7), types=types), types=types)


def test_with_prices_the_node_is_replaced() -> None:
    assert said(decide(cluster(DEAR, CHEAP))) == ["replace a -> m4"]


@pytest.mark.parametrize(
    ("types", "text"),
    [
        ((without_price(DEAR), CHEAP), "nobody knows what a costs now: nothing can be said to be cheaper"),
        ((DEAR, without_price(CHEAP)), "Can't replace with a cheaper node"),
        (
            (without_price(DEAR), without_price(CHEAP)),
            "nobody knows what a, m4 costs now: nothing can be said to be cheaper",
        ),
        ((CHEAP,), "instance type x4 is not known"),
        ((), "NodePool pool is not found, or nothing is known of what it can buy"),
    ],
)
def test_without_them_it_stays_and_says_why(types: tuple[InstanceType, ...], text: str) -> None:
    found = decide(cluster(*types))
    assert said(found) == []
    assert found.refusals["a"].text.startswith(text)


@pytest.mark.parametrize(
    ("types", "code"),
    [
        ((without_price(DEAR), CHEAP), Code.NO_PRICE),
        ((DEAR, without_price(CHEAP)), Code.NOT_CHEAPER),
        ((CHEAP,), Code.UNKNOWN_TYPE),
        ((), Code.CHURN),
    ],
)
def test_a_command_whose_prices_vanish_before_it_starts_is_dropped(types: tuple[InstanceType, ...], code: Code) -> None:
    (command,) = decide(cluster(DEAR, CHEAP)).commands
    again = judge_again(command, cluster(*types))
    assert again.commands == ()
    assert [refusal.code for _, refusal in again.refusals] == [code]


def test_a_pool_that_weighs_moves_against_its_whole_cost_survives_having_none() -> None:
    balanced = policy(policy=ConsolidationPolicy.BALANCED)
    bare = tuple(without_price(one) for one in TYPES)
    found = decide(
        world(member("a", pods=pods("web", 3)), member("b", pods=pods("db", 3)), pools=[balanced], types=bare)
    )
    assert set(found.refusals) | {name for one in found.commands for name in one.names} == {"a", "b"}


def test_a_catalog_that_is_gone_altogether_leaves_everybody_alone() -> None:
    made = cluster(DEAR, CHEAP)
    empty = replace(made, problem=replace(made.problem, catalogs={"pool": Catalog(MappingProxyType({}))}))
    assert said(decide(empty)) == []
