"""Reasons: why a pod waits, per pool the first constraint that fails, with what would nearly have done (spec §3.11)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.scheduling.small import (
    DISK,
    LARGE,
    SMALL,
    TAINT,
    TYPES,
    app,
    asks,
    bound,
    checked,
    having,
    kind,
    market,
    near,
    node,
    only,
    pool_of,
    refused,
    reserved,
    shape,
    spread,
    waiting,
    world,
)

from dovetail.core import labels
from dovetail.core.catalog.offerings import instance_type, unavailable
from dovetail.core.pods import DaemonSet, HostPort, Volumes
from dovetail.core.requirements import Operator, is_in, requirement
from dovetail.core.resources import GIB, Resources
from dovetail.core.scheduling.problem import Problem, Refused

RACK = "example.com/rack"
SOLD_OUT = tuple(instance_type(one.spec, tuple(map(unavailable, one.offerings))) for one in TYPES)
#: Much cpu and little memory, and the other way round.
WIDE, DEEP = having(kind("wide", 8, 0.4), {"memory": 8 * GIB}), kind("deep", 6, 0.3)
VARIED = requirement(labels.INSTANCE_TYPE, Operator.EXISTS, min_values=2)
ZONES = requirement(labels.ZONE, Operator.EXISTS, min_values=2)

#: By what stands in the way: a world in which that is all that does, the code, and what is said.
WORLDS: dict[str, tuple[Problem, str, str]] = {
    "a taint": (
        world(waiting(1, shape()), pool=pool_of(taints=(TAINT,))),
        "taints",
        "does not tolerate example.com/dedicated:NoSchedule",
    ),
    "a label the pool contradicts": (
        world(waiting(1, shape(selector=only(labels.ZONE, "z2"))), pool=pool_of("pool", is_in(labels.ZONE, "z1"))),
        "requirements",
        "incompatible requirements, key topology.kubernetes.io/zone",
    ),
    "a label nobody knows": (
        world(waiting(1, shape(selector=only(RACK, "r1")))),
        "requirements",
        'incompatible requirements, label "example.com/rack" does not have known values',
    ),
    "a label no type has": (
        world(waiting(1, shape(selector=only(labels.INSTANCE_TYPE, "m5")))),
        "instance-types",
        "no instance type met all requirements, node.kubernetes.io/instance-type In [m5]",
    ),
    "a pool without types": (
        world(waiting(1, shape()), types=()),
        "instance-types",
        "the pool's requirements leave no instance type at all",
    ),
    "an empty market": (
        world(waiting(1, shape()), types=SOLD_OUT),
        "offerings",
        "no instance type that suits is for sale just now with any labels",
    ),
    "its size": (
        world(waiting(1, shape(asks(9000)))),
        "resources",
        "asks for 9 cpu; the largest allowed type, m8, has 8 for pods",
    ),
    "its sizes together": (
        world(waiting(1, shape(asks(7000, 20))), types=(WIDE, DEEP)),
        "resources",
        "no single type has enough of everything it asks for",
    ),
    "a port a daemon holds": (
        world(waiting(1, shape(ports=(HostPort(80),))), daemons=(DaemonSet("proxy", shape(ports=(HostPort(80),))),)),
        "host-ports",
        "a daemon holds one of the host ports 80/TCP on every type that is large enough",
    ),
    "the place of its volume": (
        world(waiting(1, shape(volumes=Volumes((only(labels.ZONE, "z9"),))))),
        "volumes",
        "its volumes can only be used where topology.kubernetes.io/zone In [z9], and the pool does not go there",
    ),
    "the number of its volumes": (
        world(
            waiting(1, shape(volumes=Volumes(attached=((DISK, "a"), (DISK, "b"))))),
            types=(kind("m4", 4, 0.2, volumes=1),),
        ),
        "volumes",
        "would exceed volume limit for all instance type options",
    ),
    "a limit": (
        world(waiting(1, shape()), pool=pool_of(limits=Resources({"cpu": 3000}))),
        "limits",
        "all available instance types exceed limits for nodepool; 3 cpu is left",
    ),
    "minValues": (
        world(waiting(1, shape(asks(5000))), pool=pool_of("pool", VARIED)),
        "min-values",
        "minValues requirement is not met for label(s): node.kubernetes.io/instance-type wants 2, 1 left",
    ),
    "a full reservation": (
        world(
            waiting(2, shape(LARGE)),
            types=(reserved(TYPES[0], 1),),
            pool=pool_of("pool", is_in(labels.CAPACITY_TYPE, labels.RESERVED)),
        ),
        "reservations",
        "every reservation that suits is full, and the pool may not buy anything else",
    ),
    "a spread": (
        world(waiting(3, shape(spread=spread(min_domains=3)))),
        "topology",
        "unsatisfiable topology constraint for topology spread, key=topology.kubernetes.io/zone (counts: z1 1, z2 1)",
    ),
    "company that is nowhere": (
        world(waiting(1, shape(near=near(labels.HOSTNAME, app("db"))))),
        "topology",
        "unsatisfiable topology constraint for pod affinity, key=kubernetes.io/hostname",
    ),
    "distance from others": (
        world(waiting(3, shape(apart=near(labels.ZONE)))),
        "topology",
        "unsatisfiable topology constraint for pod anti-affinity, key=topology.kubernetes.io/zone (counts: z1 1, z2 1)",
    ),
    "the place of its volume, where nothing is large enough": (
        world(
            waiting(1, shape(asks(6000), volumes=Volumes((only(labels.ZONE, "z1"),)))),
            types=(kind("m4", 4, 0.2), kind("m8", 8, 0.4, "z2")),
        ),
        "volumes",
        "its volumes can only be used where topology.kubernetes.io/zone In [z1], and there it is refused: "
        "asks for 6 cpu; the largest allowed type, m4, has 4 for pods",
    ),
    "a spread where nothing is large enough": (
        world(
            waiting(2, shape(asks(6000), spread=spread())),
            types=(kind("m4", 4, 0.2, "z1 z2"), kind("m8", 8, 0.4, "z2")),
        ),
        "resources",
        "topology leaves topology.kubernetes.io/zone to be z1, one for each node, and there it is refused: "
        "asks for 6 cpu; the largest allowed type, m4, has 4 for pods",
    ),
    "minValues of a label that a spread decides": (
        world(waiting(1, shape(spread=spread())), pool=pool_of("pool", ZONES)),
        "min-values",
        "topology leaves topology.kubernetes.io/zone to be z1 or z2, one for each node, and there it is refused: "
        "minValues requirement is not met for label(s): topology.kubernetes.io/zone wants 2, 1 left",
    ),
    "minValues of a label that a volume decides": (
        world(waiting(1, shape(volumes=Volumes((only(labels.ZONE, "z1"),)))), pool=pool_of("pool", ZONES)),
        "min-values",
        "minValues requirement is not met for label(s): topology.kubernetes.io/zone wants 2, 1 left",
    ),
    "a spread and a volume that go different ways": (
        world(
            (bound("n1", shape()), *waiting(1, shape(spread=spread(), volumes=Volumes((only(labels.ZONE, "z1"),))))),
            (node("n1", cpus=1),),
        ),
        "topology",
        "unsatisfiable topology constraint for topology spread, key=topology.kubernetes.io/zone (counts: z1 1)",
    ),
    "more values than a claim can name types for": (
        world(waiting(1, shape()), pool=pool_of("pool", VARIED), max_types=1),
        "min-values",
        "minValues requirement is not met by as many types as a claim names, 1: "
        "node.kubernetes.io/instance-type wants 2",
    ),
    "two things that each leave another type": (
        world(
            waiting(1, shape(ports=(HostPort(80),), volumes=Volumes(attached=((DISK, "a"), (DISK, "b"))))),
            types=(kind("m4", 4, 0.2), kind("m8", 8, 0.4, volumes=1)),
            daemons=(DaemonSet("proxy", shape(ports=(HostPort(80),), selector=only(labels.INSTANCE_TYPE, "m4"))),),
        ),
        "crowded",
        "no new node may be opened for it, and none that is there has room",
    ),
}


def waits(problem: Problem) -> Refused:
    """The one group of pods that the plan leaves waiting."""
    (found,) = checked(problem).refused
    return found


@pytest.mark.parametrize("what", WORLDS)
def test_what_stands_in_the_way_is_told_by_a_code_and_a_sentence(what: str) -> None:
    """§3.11: every rule by which a pool refuses."""
    problem, code, said = WORLDS[what]
    found = waits(problem)
    (one,) = found.pools
    assert (one.pool, one.code) == ("pool", code)
    assert one.reason.startswith(said)
    assert found.reason == f"pool: {one.reason}"


def test_every_code_is_reached_by_a_world() -> None:
    told = {code for _, code, _ in WORLDS.values()}
    assert told == {
        "taints",
        "requirements",
        "instance-types",
        "offerings",
        "resources",
        "host-ports",
        "volumes",
        "limits",
        "min-values",
        "reservations",
        "topology",
        "crowded",
    }


def test_a_world_without_pools_says_so() -> None:
    """§3.1."""
    problem = world(waiting(1, shape()))
    none = replace(problem, snapshot=replace(problem.snapshot, pools=()))
    assert waits(none).reason == "no NodePool can buy nodes: there is none that is ready, dynamic and has a catalog"
    assert waits(none).pools == ()


def test_the_pool_that_came_closest_is_told_first_and_then_by_name() -> None:
    """§3.2: all pools are told, whatever their weight."""
    pools = (
        pool_of("fenced", weight=50, taints=(TAINT,)),
        pool_of("small", limits=Resources({"cpu": 1000})),
        pool_of("elsewhere", is_in(labels.ZONE, "z2"), weight=20),
        pool_of("also-fenced", taints=(TAINT,)),
    )
    found = waits(market(waiting(1, shape(selector=only(labels.ZONE, "z1"))), *pools))
    assert [(one.pool, one.code) for one in found.pools] == [
        ("small", "limits"),
        ("elsewhere", "requirements"),
        ("also-fenced", "taints"),
        ("fenced", "taints"),
    ]
    assert found.reason.startswith("small: ")


def test_of_several_required_terms_the_one_that_came_closest_is_told() -> None:
    either = shape(asks(9000), terms=(only(RACK, "r1"), only(labels.ZONE, "z1")))
    assert [one.code for one in waits(world(waiting(1, either))).pools] == ["resources"]


def test_pods_of_one_shape_that_wait_are_told_of_together() -> None:
    """Folded: one reason with all its pods, and another for another shape."""
    pods = (*waiting(3, shape(asks(9000)), "huge"), *waiting(2, shape(selector=only(RACK, "r1")), "racked"))
    plan = checked(world(pods))
    assert [[pod.name for pod in one.pods] for one in plan.refused] == [
        ["huge-0", "huge-1", "huge-2"],
        ["racked-0", "racked-1"],
    ]


def test_a_limit_that_this_very_plan_exhausts_is_told_as_such() -> None:
    """§3.5: what it would buy is counted."""
    plan = checked(world(waiting(3, shape(apart=near(labels.HOSTNAME))), pool=pool_of(limits=Resources({"nodes": 2}))))
    (found,) = plan.refused
    assert refused(plan) == {"pod-2"}
    assert found.pools[0].reason == "all available instance types exceed limits for nodepool; 0 nodes is left"


@pytest.mark.parametrize(
    ("requests", "told"),
    [
        (asks(9000), "fits m8 if it asked 8 cpu instead of 9"),
        (asks(8400), "fits m8 if it asked 8 cpu instead of 8400m"),
        (asks(500, 40), "fits m8 if it asked 32Gi memory instead of 40Gi"),
        (SMALL.merged({"example.com/gpu": 1}), None),
    ],
)
def test_the_nearest_miss_names_the_type_and_what_would_have_fitted(requests: Resources, told: str | None) -> None:
    """§3.11."""
    assert waits(world(waiting(1, shape(requests)))).nearest_miss == told


def test_the_nearest_miss_of_several_resources_is_the_type_that_lacks_least() -> None:
    """§3.11."""
    found = waits(world(waiting(1, shape(asks(7000, 20))), types=(WIDE, DEEP)))
    assert found.nearest_miss == "fits deep if it asked 6 cpu instead of 7"


def test_the_nearest_miss_leaves_room_for_daemons() -> None:
    """§3.6."""
    agent = DaemonSet("agent", shape(asks(1000)))
    found = waits(world(waiting(1, shape(asks(8000))), daemons=(agent,)))
    assert found.nearest_miss == "fits m8 if it asked 7 cpu instead of 8"


def test_a_pod_that_is_placed_has_no_reason_to_wait() -> None:
    plan = checked(world((*waiting(1, shape(asks(9000)), "huge"), *waiting(1, shape())), (node("n1"),)))
    assert refused(plan) == {"huge-0"}
