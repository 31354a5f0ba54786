"""What is seen at a glance is what a plan would say."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.disruption.clusters import member, pods, world
from tests.core.disruption.random_clusters import cluster

from dovetail.core import labels
from dovetail.core.disruption.ample import Ample
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.scenes import settle, staged
from dovetail.core.pods import Affinity, HostPort, PodTerm, Spread
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.solve import replan
from dovetail.core.selectors import Selector

WEB = Selector(Requirements([is_in("app", "web")]))


def compiled(made: World) -> Compiled:
    return Compiled(staged(made, settle(made), saving=True))


def seen(made: World, name: str) -> set[str]:
    """The witnesses for a node, by name."""
    found = compiled(made)
    mask = Ample(found).witnesses(name)
    return {one for one, number in found.table.numbers.items() if mask >> number & 1}


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_where_there_is_a_witness_a_plan_buys_nothing_and_leaves_nobody_out(seed: int) -> None:
    found = compiled(cluster(seed, nodes=14))
    ample = Ample(found)
    for name in found.table.numbers:
        if ample.witnesses(name):
            plan = replan(found, [name])
            assert not plan.claims, name
            assert not plan.refused, name


def test_a_node_with_room_for_all_of_another_is_its_witness() -> None:
    made = world(member("a", pods=pods("web", 3)), member("b", "m8"))
    assert seen(made, "a") == {"b"}


def test_room_for_some_of_them_on_each_of_two_nodes_is_left_to_a_plan() -> None:
    made = world(member("a", pods=pods("web", 4, cpu=1000)), member("b", "m2"), member("c", "m2"))
    assert seen(made, "a") == set()
    assert not replan(compiled(made), ["a"]).claims


def test_pods_spread_over_zones_need_a_witness_in_every_zone() -> None:
    spread = (Spread(labels.ZONE, 1, WEB),)
    a = member("a", pods=pods("web", spread=spread))
    one = member("b", zone="z1")
    assert seen(world(a, one), "a") == set()
    assert seen(world(a, one, member("c", zone="z2")), "a") == {"b", "c"}


def test_a_node_that_has_one_already_is_no_witness_for_pods_that_keep_apart() -> None:
    apart = Affinity((PodTerm(labels.HOSTNAME, WEB),))
    a, b = (member(name, pods=[replace(pod, name=f"{name}-web") for pod in pods("web", apart=apart)]) for name in "ab")
    assert seen(world(a, b), "a") == set()
    assert seen(world(a, b, member("c")), "a") == {"c"}


def test_a_witness_has_to_hold_all_that_keep_apart_from_each_other_so_there_is_none() -> None:
    apart = Affinity((PodTerm(labels.HOSTNAME, WEB),))
    a = member("a", pods=pods("web", 2, apart=apart))
    assert seen(world(a, member("b"), member("c")), "a") == set()


def test_ports_are_left_to_a_plan() -> None:
    made = world(member("a", pods=pods("web", ports=(HostPort(80),))), member("b"))
    assert seen(made, "a") == set()
