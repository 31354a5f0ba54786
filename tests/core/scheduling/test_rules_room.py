"""What of a node is taken: ports, volumes and sizes (spec §3, newest §7)."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest
from tests.builders import hardware, spec
from tests.core.scheduling.small import (
    DISK,
    SMALL,
    TYPES,
    asks,
    bound,
    checked,
    having,
    kind,
    kinds_of,
    node,
    only,
    planned,
    refused,
    row,
    shape,
    sizes,
    spread,
    tally,
    waiting,
    where,
    world,
)

from dovetail.core import labels
from dovetail.core.catalog.offerings import instance_type
from dovetail.core.pods import DaemonSet, HostPort, Volumes
from dovetail.core.resources import GIB, Resources

# ---- ports


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (HostPort(80), HostPort(80), False),
        (HostPort(80), HostPort(81), True),
        (HostPort(80), HostPort(80, "UDP"), True),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.2"), True),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.1"), False),
        (HostPort(80, ip="10.0.0.1"), HostPort(80), False),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="::"), False),
    ],
)
def test_pods_that_want_the_same_port_of_a_node_are_not_on_one(one: HostPort, other: HostPort, together: bool) -> None:
    """§3.8: on claims, and beside what runs on a node."""
    first, second = shape(ports=(one,)), shape(ports=(other,))
    plan = planned(world((*waiting(1, first, "a"), *waiting(1, second, "b"))))
    assert (len(plan.claims) == 1) is together
    running = world((bound("n1", first), *waiting(1, second)), (node("n1"),), types=())
    assert bool(checked(running).placed) is together


# ---- volumes


def at(*zones: str, attached: tuple[str, ...] = ()) -> Volumes:
    return Volumes(tuple(only(labels.ZONE, zone) for zone in zones), tuple((DISK, name) for name in attached))


def test_a_pod_goes_where_its_volumes_are() -> None:
    """§3.9, on nodes and on claims."""
    pods = waiting(1, shape(volumes=at("z2")))
    assert where(planned(world(pods, (node("n1"), node("n2", "z2")), types=()))) == {"pod-0": "n2"}
    assert tally(planned(world(pods))) == {"z2": 1}
    assert refused(checked(world(waiting(1, shape(volumes=at("z9"))), (node("n1"),)))) == {"pod-0"}


def test_any_of_the_places_of_a_volume_will_do_the_first_that_can_be_had() -> None:
    """§3.9."""
    assert tally(planned(world(waiting(1, shape(volumes=at("z9", "z2", "z1")))))) == {"z2": 1}
    assert tally(planned(world(waiting(1, shape(volumes=at("z2", "z1"), selector=only(labels.ZONE, "z1")))))) == {
        "z1": 1
    }


def test_a_volume_s_place_takes_no_domain_out_of_a_spread() -> None:
    """§3.9: its zones are not part of what the pod asks for, so the other zone stays empty and holds it back."""
    plan = checked(world(waiting(2, shape(volumes=at("z1"), spread=spread()))))
    assert (tally(plan), len(refused(plan))) == ({"z1": 1}, 1)


def test_a_node_attaches_no_more_volumes_than_it_can() -> None:
    """§3.9: what runs there counts, a claim that two pods share counts once, other drivers do not matter."""
    tight = node("n1", volume_limits=((DISK, 2),))
    running = bound("n1", shape(volumes=at(attached=("a",))))
    for wanted, fits in (
        (at(attached=("b",)), True),
        (at(attached=("a", "b")), True),
        (at(attached=("b", "c")), False),
        (Volumes(attached=(("other.csi.example.com", "b"), ("other.csi.example.com", "c"))), True),
    ):
        plan = checked(world((running, *waiting(1, shape(volumes=wanted))), (tight,), types=()))
        assert bool(plan.placed) is fits


def test_until_a_driver_has_come_up_on_a_node_its_type_says_how_many_volumes_it_attaches() -> None:
    """newest §7: a machine on its way has no CSINode yet, and takes no more than its type does all the same."""
    coming = node("n1")
    coming = replace(coming, labels=MappingProxyType({**coming.labels, labels.INSTANCE_TYPE: "m4"}), ready=False)
    pods = tuple(one for name in "abc" for one in waiting(1, shape(volumes=at(attached=(name,))), name))
    types = (kind("m4", 4, 0.2, volumes=2),)
    for stated, here in (((), 2), (((DISK, 1),), 1), (((DISK, 2**31 - 1),), 3), ((("other", 1),), 2)):
        plan = checked(world(pods, (replace(coming, volume_limits=stated),), types=types))
        assert [len(one.pods) for one in plan.placed] == [here]
        assert not plan.refused
    assert len(checked(world(pods, (replace(coming, pool=None),), types=types)).placed[0].pods) == 3


def test_a_type_that_attaches_too_few_volumes_is_not_bought() -> None:
    """newest §7; a type that states no limit has none."""
    types = (kind("m4", 4, 0.2, volumes=1), kind("m8", 8, 0.4, volumes=2), kind("m9", 9, 0.9))
    for volumes, left in ((("a",), ["m4", "m8", "m9"]), (("a", "b"), ["m8", "m9"]), (("a", "b", "c"), ["m9"])):
        assert kinds_of(world(waiting(1, shape(volumes=at(attached=volumes))), types=types)) == [left]


def test_pods_share_a_claim_as_long_as_a_type_attaches_all_their_volumes() -> None:
    """newest §7: volumes of all pods of a claim, each once."""
    types = (kind("m4", 4, 0.2, volumes=2),)
    pods = tuple(pod for name in "abc" for pod in waiting(1, shape(volumes=at(attached=(name,))), name))
    assert sizes(planned(world(pods, types=types))) == [2, 1]
    assert sizes(planned(world(waiting(3, shape(volumes=at(attached=("a",)))), types=types))) == [3]


# ---- sizes


@pytest.mark.parametrize(
    ("more", "fits"),
    [
        ({}, True),
        ({"cpu": 4000, "memory": 16 * GIB}, True),
        ({"cpu": 4001}, False),
        ({"memory": 16 * GIB + 1}, False),
        ({"example.com/gpu": 0}, True),
        ({"example.com/gpu": 1}, False),
    ],
)
def test_a_pod_fits_if_everything_it_asks_for_is_there(more: dict[str, int], fits: bool) -> None:
    """§3.10: to the last unit; what is missing counts as nothing, and nothing is asked of it by zero."""
    pods = waiting(1, shape(SMALL.merged(more)))
    assert bool(checked(world(pods, types=TYPES[:1])).claims) is fits
    assert bool(checked(world(pods, (node("n1"),), types=())).placed) is fits


def test_a_node_that_holds_more_than_it_should_of_anything_takes_nobody() -> None:
    """§3.10."""
    gpu = "example.com/gpu"
    overdrawn = bound("n1", shape(SMALL.merged({gpu: 1})))
    plan = planned(world((overdrawn, *waiting(1, shape())), (node("n1"), node("n2")), types=()))
    assert where(plan) == {"pod-0": "n2"}


def test_a_type_whose_daemons_ask_for_more_than_it_has_is_not_bought() -> None:
    """§3.10: nothing fits where there is less than nothing, though a pod asks for none of it."""
    greedy = (DaemonSet("greedy", shape(Resources({"cpu": 100, "memory": 17 * GIB, "pods": 1}))),)
    pods = waiting(1, shape(Resources({"cpu": 500, "pods": 1})))
    assert kinds_of(world(pods, daemons=greedy)) == [["m8"]]


def test_huge_pages_are_a_resource_of_their_own_and_come_out_of_memory() -> None:
    """§3.10."""
    paged = instance_type(
        spec(hardware("paged", cpu=4, gib=16, devices=Resources({"hugepages-2Mi": 4 * GIB}), pods=20)),
        (row("z1", 0.1),),
    )
    for wanted, fits in (
        (asks(500, 12), True),
        (asks(500, 13), False),
        (SMALL.merged({"hugepages-2Mi": 4 * GIB}), True),
        (SMALL.merged({"hugepages-2Mi": 4 * GIB + 1}), False),
    ):
        assert bool(checked(world(waiting(1, shape(wanted)), types=(paged,))).claims) is fits


def test_a_node_holds_no_more_pods_than_it_may() -> None:
    """§3.10: a pod asks for one place among them."""
    tiny = (having(kind("m4", 4, 0.2), {"pods": 3}),)
    assert sizes(planned(world(waiting(7, shape(asks(10))), types=tiny))) == [3, 3, 1]
