"""Scaling down takes pods from the nodes that are to become empty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.disruption.clusters import HOUR, NOW, Member, kind, member, pods, policy, world
from tests.core.disruption.random_clusters import cluster

from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.deletion_costs import LEAST, MOST_NODES, wanted, written
from dovetail.core.disruption.facts import PodBudget, PodFacts
from dovetail.core.disruption.scenes import settle

DRIFTED = Condition("Drifted", Status.TRUE, "NodePoolDrifted", "NodePoolDrifted", NOW - HOUR)


def ranks(*members: Member, **more: Any) -> dict[str, int | None]:
    made = world(*members, **more)
    return dict(wanted(made, settle(made)))


def test_the_node_that_is_dearest_for_its_trouble_is_emptied_first() -> None:
    few, many = member("a", pods=pods("web", 1)), member("b", pods=pods("api", 5))
    assert ranks(few, many) == {"a": -2, "b": -1}


def test_drifted_nodes_come_before_others_and_nodes_that_go_before_all() -> None:
    going = member("c", pods=pods("db"), marked=True)
    drifted = member("b", pods=pods("api", 5), conditions=(DRIFTED,))
    assert ranks(member("a", pods=pods("web", 1)), drifted, going) == {"c": LEAST, "b": -2, "a": -1}


def test_nodes_that_may_not_go_say_nothing() -> None:
    held = member("a", pods=pods("web"), facts=PodFacts(budgets=(PodBudget("web", 0),)))
    set_pod = member("b", pods=pods("db", owner="StatefulSet"))
    bare = member("c", pods=pods("lone", owner=""))
    unknown = member("d", "x9", pods=pods("odd"))
    young = member("e", pods=pods("new"), true=())
    assert set(ranks(held, set_pod, bare, unknown, young).values()) == {None}


def test_pods_of_the_system_and_daemons_do_not_pin_a_node() -> None:
    system = pods("dns", owner="StatefulSet", namespace="kube-system")
    some = [*pods("web"), *pods("agent", owner="DaemonSet"), *pods("once", owner="Job"), *system]
    assert ranks(member("a", pods=some)) == {"a": -1}


def test_nodes_beyond_their_budget_and_of_pools_that_never_consolidate_say_nothing() -> None:
    tight = policy(budgets=(Budget("1"),))
    assert ranks(member("a", pods=pods("web")), member("b", pods=pods("api", 4)), pools=[tight]) == {"a": -1, "b": None}
    never = policy(consolidate_after=None)
    assert ranks(member("a", pods=pods("web")), pools=[never]) == {"a": None}
    drifted = member("a", pods=pods("web"), conditions=(DRIFTED,))
    assert ranks(drifted, pools=[never]) == {"a": -1}, "drift does not ask for that"


def test_only_pods_of_replica_sets_are_written_and_only_what_changes() -> None:
    right = PodFacts(deletion_cost="-1")
    some = [*pods("web", 2), *pods("agent", owner="DaemonSet")]
    made = world(member("a", pods=some, facts={"default/web-0": right}))
    assert [(one.pod.name, one.value) for one in written(made, settle(made)).patches] == [("web-1", "-1")]


def test_what_was_written_is_taken_off_again() -> None:
    made = world(
        member("a", pods=pods("web"), facts=PodFacts(deletion_cost="-7")), pools=[policy(consolidate_after=None)]
    )
    assert [one.value for one in written(made, settle(made)).patches] == [None]


def test_so_many_nodes_are_changed_in_one_go_and_the_others_in_the_next() -> None:
    fleet = [member(f"n{number:03d}", pods=pods(f"web{number}")) for number in range(MOST_NODES + 5)]
    going = [member(f"z{number}", pods=pods(f"zeb{number}"), marked=True) for number in range(3)]
    made = world(*fleet, *going)
    first = written(made, settle(made))
    assert len(first.patches) == MOST_NODES + 3
    assert len(first.waiting) == 5
    said = {one.pod.key: PodFacts(deletion_cost=one.value) for one in first.patches}
    second = replace(made, pods=said)
    assert len(written(second, settle(second)).patches) == 5


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_ranks_are_a_row_without_holes_that_ends_at_one_below_zero(seed: int) -> None:
    made = cluster(seed)
    found = [one for one in wanted(made, settle(made)).values() if one is not None and one != LEAST]
    assert found == list(range(-len(found), 0))


def test_a_type_without_a_price_is_not_ranked() -> None:
    bare = kind("m4", 4, 0.2)
    bare = replace(bare, offerings=tuple(replace(row, price=None) for row in bare.offerings))
    assert ranks(member("a", pods=pods("web")), types=(bare,)) == {"a": None}
