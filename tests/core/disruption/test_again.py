"""A pass that uses what the last one knew decides what a pass from scratch decides; one with patience, nearly so."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenarios.worlds_disruption import Size, fleet, with_pod_gone
from tests.core.disruption.changing import changed, with_nodes, with_pods
from tests.core.disruption.clusters import kind, member, pods, policy, world
from tests.core.disruption.random_clusters import cluster
from tests.core.disruption.test_disruption_laws import violations

from dovetail.core.catalog.layers import Catalog
from dovetail.core.disruption.again import PATIENCE_SECONDS, Judgements
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.passes import decide
from dovetail.core.disruption.reasons import Reason
from dovetail.core.pods import PodState, Volumes
from dovetail.core.scheduling.shelf import Shelf

seeds = st.integers(0, 10**6)
SMALL = Size(40, 600, seed=3)


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_whatever_changes_a_kept_pass_decides_as_one_from_scratch(seed: int) -> None:
    dice = Random(seed)
    world, kept, shelf = cluster(seed, nodes=12), Judgements(patience=0.0), Shelf()
    for _ in range(5):
        assert decide(world, shelf, kept) == decide(world)
        world = changed(world, dice)


@given(seeds)
@example(1350).via("some wait to return to spot; the rest must not count on their going")
@example(1422).via("one that was to go stays; the rest must not count on its going")
@settings(max_examples=20, deadline=None)
def test_with_patience_every_node_is_answered_and_every_pod_moved_has_a_place(seed: int) -> None:
    dice = Random(seed)
    world, kept, shelf = cluster(seed, nodes=12, repair=False), Judgements(), Shelf()
    for _ in range(5):
        found = decide(world, shelf, kept)
        names = [name for one in found.commands for name in one.names]
        assert set(world.machines) == set(names) | set(found.refusals)
        waiting = [pod for pod in world.problem.snapshot.pods if pod.node is None]
        if not waiting and not any(node.leaving for node in world.problem.snapshot.nodes):
            going = [one for one in found.commands if one.reason is not Reason.EXPIRED or one.why != "overdue"]
            assert violations(world, going) == ()
        world = changed(world, dice)


def test_when_patience_ends_it_is_decided_as_from_scratch() -> None:
    world, kept, shelf = fleet(SMALL), Judgements(), Shelf()
    decide(world, shelf, kept)
    for number in (5, 50, 100):
        world = with_pod_gone(world, number)
        decide(world, shelf, kept)
    world = replace(world, now=world.now + PATIENCE_SECONDS)
    assert decide(world, shelf, kept) == decide(world)


def test_where_nothing_changed_nothing_is_asked() -> None:
    world, kept, shelf = fleet(SMALL), Judgements(), Shelf()
    first = decide(world, shelf, kept)
    before = dict(kept.memory.judgements)
    again = decide(replace(world, now=world.now + 1), shelf, kept)
    assert [one.names for one in again.commands] == [one.names for one in first.commands]
    assert again.refusals == first.refusals
    assert all(kept.memory.judgements[name] is one for name, one in before.items())


def test_what_was_chosen_is_chosen_anew_where_another_pod_has_taken_the_room() -> None:
    world, kept, shelf = fleet(SMALL), Judgements(), Shelf()
    target = next(placed.node for one in decide(world, shelf, kept).commands for placed in one.group.placed)
    (late,) = pods("late", owner="DaemonSet", requests=target.allocatable)
    filled = replace(late, node=target.name, state=PodState.BOUND)
    world = with_pods(world, (*world.problem.snapshot.pods, filled))
    found = decide(world, shelf, kept)
    assert found.commands
    assert target.name not in {placed.node.name for one in found.commands for placed in one.group.placed}


def test_after_one_pod_changed_only_what_rests_on_its_node_is_judged_again() -> None:
    world, kept, shelf = fleet(SMALL), Judgements(), Shelf()
    decide(world, shelf, kept)
    before = dict(kept.memory.judgements)
    decide(with_pod_gone(world, 17), shelf, kept)
    anew = [name for name, one in kept.memory.judgements.items() if before.get(name) is not one]
    assert world.problem.snapshot.pods[17].node in anew
    assert len(anew) < len(before) / 2


def test_a_pod_store_that_makes_a_pod_anew_is_not_taken_for_the_same() -> None:
    """Plans name pods by identity: one that is equal and another object must not be looked for in vain."""
    world, kept, shelf = fleet(SMALL), Judgements(patience=0.0), Shelf()
    decide(world, shelf, kept)
    anew = with_pods(world, tuple(replace(pod) for pod in world.problem.snapshot.pods))
    assert decide(anew, shelf, kept) == decide(anew)


def test_a_pool_that_is_sold_something_else_is_looked_at_anew_though_another_is_not() -> None:
    first, second = policy("first"), policy("second")
    before = world(
        member("a", pods=pods("web", 2), pool="first"),
        member("b", pods=pods("db", 2), pool="second"),
        pools=[first, second],
    )
    kept, shelf = Judgements(patience=0.0), Shelf()
    decide(before, shelf, kept)
    known = dict(before.problem.catalogs["second"].types)
    del known["m4"]
    catalogs = {**before.problem.catalogs, "second": Catalog(known)}
    after = replace(before, problem=replace(before.problem, catalogs=catalogs))
    assert decide(after, shelf, kept) == decide(after)


# ---- answers in doubt: all of them rest on one node, whose room changes

HOSTS = tuple(f"n{number}" for number in range(5))


def crowded() -> World:
    """Five nodes with a hundred pods each, and one that would take all of any; no glance tells, as they have disks."""
    types = (kind("m32", 32, 1.6),)
    hosts = [
        member(name, "m32", pods=pods(name, 100, 100, 0.1, volumes=Volumes((), (("disk", name),))), types=types)
        for name in HOSTS
    ]
    return world(member("big", "m32", types=types), *hosts, types=types, pools=[policy(budgets=(Budget("0"),))])


def a_little_less(made: World, seconds: float) -> World:
    """Somewhat later, with less room on the node that would take them."""
    nodes = made.problem.snapshot.nodes
    less = replace(nodes[0], allocatable=nodes[0].allocatable.merged({"cpu": nodes[0].allocatable.of("cpu") - 1}))
    return replace(with_nodes(made, (less, *nodes[1:])), now=made.now + seconds)


def test_answers_in_doubt_are_asked_again_a_few_at_a_time_those_longest_in_doubt_first() -> None:
    made, kept, shelf = crowded(), Judgements(), Shelf()
    waiting = []
    for _ in range(4):
        decide(made, shelf, kept)
        waiting.append(set(kept.memory.doubted))
        made = a_little_less(made, 1.0)
    assert waiting == [set(), {"n2", "n3", "n4"}, {"n4", "n0", "n1"}, {"n1", "n2", "n3"}]


def test_answers_that_were_in_doubt_for_long_are_asked_again_however_many_they_are() -> None:
    made, kept, shelf = crowded(), Judgements(), Shelf()
    for _ in range(2):
        decide(made, shelf, kept)
        made = a_little_less(made, PATIENCE_SECONDS)
    assert set(kept.memory.doubted) == {"n2", "n3", "n4"}
    decide(made, shelf, kept)
    assert set(kept.memory.doubted) == {"n0", "n1"}
