"""Disks that grow with the pods planned onto a node (S2.10, S2.12)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import hardware
from tests.core.scheduling.small import asks, checked, pool_of, refused, row, shape, waiting, world

from dovetail.core.catalog.allocatable import NodeRules, Settings
from dovetail.core.catalog.hardware import Disk
from dovetail.core.catalog.offerings import InstanceType, instance_type, sorted_offerings
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.kubelet import KubeletSettings, ReserveStrategy
from dovetail.core.nodepools import NodePool
from dovetail.core.pods import DaemonSet, Pod, Shape
from dovetail.core.resources import EPHEMERAL_STORAGE, GIB, Resources
from dovetail.core.scheduling.disks import GrownDisk, Growth
from dovetail.core.scheduling.problem import Plan, Problem

RULES = SpecRules(KubeletSettings(), NodeRules(reserve=ReserveStrategy.EKS))
GROWTH = Growth(RULES, 1000 * GIB)


def kind(name: str = "m4", disk: Disk = Disk(20 * GIB), settings: Settings = Settings()) -> InstanceType:  # noqa: B008
    machine = replace(hardware(name), cpu_millis=16_000, memory_bytes=64 * GIB, disk=disk, interfaces=None, pods=50)
    return instance_type(RULES.spec_of(machine, settings), sorted_offerings([row("z1", 0.2)]))


def storing(gib: int) -> Shape:
    return shape(asks(100, **{EPHEMERAL_STORAGE: gib * GIB}))


def problem(pods: tuple[Pod, ...], *types: InstanceType, pool: NodePool | None = None, **more: object) -> Problem:
    plain = world(pods, types=types or (kind(),), pool=pool, **more)  # type: ignore[arg-type]
    return replace(plain, options=replace(plain.options, growing={"pool": GROWTH}))


def disk(plan: Plan) -> GrownDisk | None:
    (claim,) = plan.claims
    return claim.disk


def test_a_pod_that_needs_a_larger_disk_gets_a_node_with_one() -> None:
    """S2.12: a node is launched with the disk its pods need, what is held back of it included."""
    (claim,) = checked(problem(waiting(1, storing(100)))).claims
    assert claim.disk == GrownDisk(113 * GIB, claim.allocatable.of(EPHEMERAL_STORAGE))
    assert claim.allocatable.of(EPHEMERAL_STORAGE) >= 100 * GIB


def test_a_disk_holds_all_pods_on_its_node_and_what_daemons_take() -> None:
    """S2.12: it grows with the pods planned onto it."""
    agent = DaemonSet("agent", storing(10))
    alone = disk(checked(problem(waiting(2, storing(45)), daemons=(agent,))))
    assert alone is not None
    assert alone.size_bytes == RULES.disk_for(kind().spec.hardware, 100 * GIB)


def test_pods_for_which_the_default_will_do_leave_the_disk_as_it_is() -> None:
    """S2.10: they count, and fit."""
    assert disk(checked(problem(waiting(2, storing(5))))) is None
    assert disk(checked(problem(waiting(1, shape())))) is None


def test_a_node_holds_no_more_than_the_largest_disk_gives() -> None:
    plan = checked(problem((*waiting(1, storing(2000), "huge"), *waiting(3, storing(400)))))
    assert refused(plan) == {"huge-0"}
    assert sorted(len(claim.pods) for claim in plan.claims) == [1, 2]
    (one,) = plan.refused
    assert one.nearest_miss is not None
    assert "ephemeral-storage instead of 2000Gi" in one.nearest_miss


@pytest.mark.parametrize(
    "fixed",
    [
        kind(disk=Disk(20 * GIB, local_disks=1)),
        kind(settings=Settings(Resources({EPHEMERAL_STORAGE: 30 * GIB}))),
    ],
)
def test_local_disks_and_sizes_a_user_states_are_what_they_are(fixed: InstanceType) -> None:
    """S2.2, S2.12."""
    assert refused(checked(problem(waiting(1, storing(100)), fixed))) == {"pod-0"}


def test_where_a_large_local_disk_will_do_the_claim_may_be_either() -> None:
    both = (kind(), kind("i4", Disk(500 * GIB, local_disks=1)))
    (claim,) = checked(problem(waiting(1, storing(100)), *both)).claims
    assert [one.name for one in claim.types] == ["i4", "m4"]
    assert claim.disk is not None


def test_disks_do_not_grow_where_the_pool_limits_storage_or_says_nothing_of_growing() -> None:
    limited = pool_of(limits=Resources({EPHEMERAL_STORAGE: 10_000 * GIB}))
    assert refused(checked(problem(waiting(1, storing(100)), pool=limited))) == {"pod-0"}
    assert refused(checked(world(waiting(1, storing(100)), types=(kind(),)))) == {"pod-0"}


@given(st.lists(st.integers(0, 300), min_size=1, max_size=6), st.sampled_from((5, 20, 80)))
def test_a_disk_is_large_enough_and_no_larger_than_it_must_be(sizes: list[int], default: int) -> None:
    """S2.12, for any pods: the checker finds room for them, and a GiB less would not do."""
    pods = tuple(Pod(f"p{at}", storing(gib), f"p{at}") for at, gib in enumerate(sizes))
    found = checked(problem(pods, kind(disk=Disk(default * GIB))))
    assert not found.refused
    for claim in found.claims:
        asked = sum(pod.shape.requests.of(EPHEMERAL_STORAGE) for pod in claim.pods)
        if claim.disk is None:
            assert asked <= claim.allocatable.of(EPHEMERAL_STORAGE)
        else:
            assert asked > GROWTH.room_on(kind(), claim.disk.size_bytes - GIB)
