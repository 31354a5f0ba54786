"""`explain pod`, `explain node`: why a pod is where it is, or waits; what is on a node."""

from __future__ import annotations

import json

import pytest
from tests.api.objects import container, expression, node, pod, pool, world_of


@pytest.fixture
def shop(world) -> str:
    return world(
        pool(),
        node(labels={"topology.kubernetes.io/zone": "za"}),
        pod("old", container({"cpu": "3"}), nodeName="node-1"),
        pod("fits", container({"cpu": "1"})),
        pod("web", container({"cpu": "2"}), nodeSelector={"kubernetes.io/arch": "arm64"}),
        pod("huge", container({"cpu": "9999"})),
        pod("gated", schedulingGates=[{"name": "g"}]),
    )


def test_a_waiting_pod_says_why_for_each_pool(dovetail, shop):
    ran = dovetail("explain", "pod", "huge", "-f", shop)
    assert ran.code == 3
    for word in ("default/huge", "has to wait", "general: asks for", "nearest miss"):
        assert word in ran.out


def test_a_pod_with_a_new_node_says_what_removed_the_other_types(dovetail, shop):
    ran = dovetail("explain", "pod", "default/web", "-f", shop, "-o", "json")
    found = json.loads(ran.out)
    removed = found["removed"]
    assert ran.code == 0
    assert found["claim"]["pods"] == ["default/web"]
    assert removed["left"] == len(found["claim"]["instanceTypes"])
    taken = sum(removed[name] for name in ("byPool", "byLabels", "byOfferings", "byResources"))
    assert removed["types"] - taken == removed["left"]
    assert removed["byLabels"] > 0
    assert removed["byResources"] > 0
    text = dovetail("explain", "pod", "web", "-f", shop).out
    for word in ("goes to general-1", "types left", "less, by resources", "shares it with"):
        assert word in text


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fits", "goes to node-1, which is there"),
        ("old", "runs on node-1, which is there"),
        ("gated", "is not planned: it is gated"),
    ],
)
def test_other_fates(dovetail, shop, name, told):
    ran = dovetail("explain", "pod", name, "-f", shop)
    assert (ran.code, told in ran.out) == (0, True)


def test_a_pod_nobody_has_gets_the_nearest_name(dovetail, shop):
    ran = dovetail("explain", "pod", "hug", "-f", shop)
    assert (ran.code, "did you mean huge?" in ran.err) == (2, True)


def test_a_name_in_two_namespaces_must_be_told_apart(dovetail, world):
    file = world(pool(), *(pod("web", about={"namespace": one}) for one in ("a", "b")))
    ran = dovetail("explain", "pod", "web", "-f", file)
    assert (ran.code, "name one of a/web, b/web" in ran.err) == (2, True)


def test_a_node_that_is_there_shows_pods_room_and_what_comes(dovetail, shop):
    found = json.loads(dovetail("explain", "node", "node-1", "-f", shop, "-o", "json").out)
    assert (found["existing"], found["running"], found["coming"]) == (True, ["default/old"], ["default/fits"])
    assert (found["requests"]["cpu"], found["room"]["cpu"]) == ("4", "0")
    text = dovetail("explain", "node", "node-1", "-f", shop).out
    for word in ("is there", "pods to come", "100%", "none: it is not ours"):
        assert word in text


def test_a_node_that_would_be_bought(dovetail, shop):
    text = dovetail("explain", "node", "general-1", "-f", shop).out
    for word in ("would be bought", "the cheapest of", "an hour", "default/web"):
        assert word in text


def test_a_node_nobody_has_gets_the_nearest_name(dovetail, shop):
    ran = dovetail("explain", "node", "node-2", "-f", shop)
    assert (ran.code, "did you mean node-1?" in ran.err) == (2, True)


def test_builders_make_what_they_say():
    assert world_of(pool(requirements=[expression("a", "In", "b")])).snapshot.pools[0].problem is None
