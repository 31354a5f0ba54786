"""What-ifs: what a cluster looks like once all that is under way is done, and what asking costs."""

from __future__ import annotations

import pytest
from tests.core.disruption.clusters import member, pods, policy, world

from dovetail.core import labels
from dovetail.core.disruption.scenes import Scene, settle
from dovetail.core.requirements import Requirement, is_in, is_not_in

TEAM = "example.com/team"


def coming(*wanted: Requirement) -> dict[str, str]:
    """The labels of the node that is bought for a pod that waits, by a pool that wants this."""
    made = world(pools=[policy("pool", *wanted)], waiting=pods("web"))
    (node,) = settle(made).nodes.values()
    assert not node.ready
    return dict(node.labels)


def test_a_node_to_be_bought_is_of_the_type_and_in_the_zone_it_would_be_bought() -> None:
    found = coming()
    assert (found[labels.INSTANCE_TYPE], found[labels.ZONE]) == ("m2", "z1")


@pytest.mark.parametrize("wanted", [is_in(TEAM, "red", "blue"), is_not_in(TEAM, "red")])
def test_a_node_to_be_bought_does_not_have_a_label_yet_that_could_say_several_things(wanted: Requirement) -> None:
    assert TEAM not in coming(wanted)
    assert coming(is_in(TEAM, "red"))[TEAM] == "red"


def test_asking_about_the_same_nodes_again_costs_nothing() -> None:
    scene = Scene(world(member("a", pods=pods("web", 2)), member("b", pods=pods("db")), member("c", "m8")).problem)
    first = scene.what_if("ab")
    assert scene.effort == 3
    assert scene.what_if("ba") is first
    assert scene.effort == 3
    assert scene.asked() == {frozenset("ab")}


def test_asking_about_single_nodes_is_no_effort() -> None:
    scene = Scene(world(member("a", pods=pods("web", 2)), member("b")).problem)
    scene.what_if("a")
    assert scene.effort == 0
    assert scene.asked() == frozenset()
