"""What the node keeps for itself, by each cloud's published rule (S2.11)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import grown, hardware

from dovetail.core.catalog.hardware import Disk, Interfaces
from dovetail.core.catalog.reserves import by_bands, reserve
from dovetail.core.kubelet import ReserveStrategy
from dovetail.core.resources import GIB, MIB

EKS, GKE, AKS, AKS_129, NONE = (
    ReserveStrategy.EKS,
    ReserveStrategy.GKE,
    ReserveStrategy.AKS,
    ReserveStrategy.AKS_129,
    ReserveStrategy.NONE,
)


@pytest.mark.parametrize(
    ("cpu", "millis"), [(1, 60), (2, 70), (4, 80), (8, 90), (16, 110), (32, 150), (64, 230), (192, 550)]
)
@pytest.mark.parametrize("strategy", [EKS, GKE])
def test_eks_and_gke_hold_back_the_same_cpu_S2_11(strategy: ReserveStrategy, cpu: int, millis: int) -> None:
    assert reserve(strategy, hardware(cpu=cpu), 110).kube.cpu_millis == millis


@pytest.mark.parametrize(("cpu", "millis"), [(2, 100), (4, 140), (8, 180), (16, 260), (64, 740)])
def test_aks_holds_back_cpu_by_its_own_bands_S2_11(cpu: int, millis: int) -> None:
    assert reserve(AKS, hardware(cpu=cpu), 110).kube.cpu_millis == millis


@pytest.mark.parametrize(("gib", "mib"), [(8, 1843), (16, 2662), (32, 3645), (64, 5611), (256, 12165)])
@pytest.mark.parametrize("strategy", [AKS, GKE])
def test_gke_and_aks_go_by_tiers_of_memory_S2_11(strategy: ReserveStrategy, gib: int, mib: int) -> None:
    assert reserve(strategy, hardware(gib=gib), 110).kube.memory_bytes == mib * MIB


@pytest.mark.parametrize(
    ("count", "each", "mib"), [(2, 2, 299), (3, 10, 574), (4, 15, 893), (8, 30, 2829), (15, 50, 8362)]
)
def test_eks_goes_by_how_many_pods_the_interfaces_hold_S2_11(count: int, each: int, mib: int) -> None:
    held = reserve(EKS, hardware(interfaces=Interfaces(count, each)), pods=5)
    assert held.kube.memory_bytes == mib * MIB
    assert held.kube.of("ephemeral-storage") == GIB


def test_eks_goes_by_the_pod_limit_where_interfaces_are_unknown() -> None:
    assert reserve(EKS, hardware(), pods=110).kube.memory_bytes == (11 * 110 + 255) * MIB


@pytest.mark.parametrize(("gib", "pods", "mib"), [(8, 30, 650), (8, 250, 2048), (64, 110, 2250), (1, 110, 256)])
def test_aks_since_1_29_goes_by_pods_up_to_a_quarter_S2_11(gib: int, pods: int, mib: int) -> None:
    assert reserve(AKS_129, hardware(gib=gib), pods).kube.memory_bytes == mib * MIB


@pytest.mark.parametrize(("strategy", "mib"), [(EKS, 100), (GKE, 100), (AKS, 750), (AKS_129, 100), (NONE, 0)])
def test_each_strategy_has_its_eviction_threshold_for_memory(strategy: ReserveStrategy, mib: int) -> None:
    assert reserve(strategy, hardware(), 110).eviction_memory.of(8 * GIB) == mib * MIB


@pytest.mark.parametrize(("strategy", "share"), [(EKS, 10), (GKE, 10), (AKS, 0), (NONE, 0)])
def test_each_strategy_has_its_eviction_threshold_for_storage(strategy: ReserveStrategy, share: int) -> None:
    assert reserve(strategy, hardware(), 110).eviction_storage.of(1000) == 10 * share


def test_gke_gives_a_tiny_machine_a_flat_amount() -> None:
    assert reserve(GKE, hardware(gib=1), 110).kube.memory_bytes == 255 * MIB
    assert reserve(GKE, grown(hardware(), 2), 110).kube.memory_bytes == 512 * MIB


def test_gke_gives_shared_cores_a_flat_amount() -> None:
    assert reserve(GKE, hardware(shared_core=True), 110).kube.cpu_millis == 1060


@pytest.mark.parametrize(("disks", "gib"), [(1, 50), (2, 75), (3, 100), (8, 100)])
def test_gke_holds_back_local_disks_by_their_number(disks: int, gib: int) -> None:
    machine = hardware(disk=Disk(375 * GIB * disks, disks))
    assert reserve(GKE, machine, 110).system.of("ephemeral-storage") == gib * GIB


@pytest.mark.parametrize(("size", "held"), [(20, 10), (40, 20), (100, 41), (500, 100)])
def test_gke_holds_back_the_least_of_three_shares_of_a_boot_disk(size: int, held: int) -> None:
    assert reserve(GKE, hardware(disk=Disk(size * GIB)), 110).system.of("ephemeral-storage") == held * GIB


def test_without_a_strategy_nothing_is_held_back() -> None:
    held = reserve(NONE, hardware(), 110)
    assert not held.kube
    assert not held.system


@pytest.mark.parametrize("strategy", list(ReserveStrategy))
def test_every_amount_held_back_has_a_sentence_of_its_own_S2_14(strategy: ReserveStrategy) -> None:
    held = reserve(strategy, hardware(), 110)
    assert all(held.rule(name) for name in held.kube)
    assert all(held.system_rule(name) for name in held.system)
    assert not {*map(held.rule, held.kube)} & {*map(held.system_rule, held.system)}


BANDS = ((1000, 600), (2000, 100), (None, 25))


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_bands_never_fall_as_the_machine_grows(a: int, more: int) -> None:
    assert 0 <= by_bands(a, BANDS) <= by_bands(a + more, BANDS) <= a + more


def test_each_band_is_truncated_on_its_own() -> None:
    assert by_bands(999, BANDS) == 59
    assert by_bands(1999, BANDS) == 60 + 9
    assert by_bands(0, BANDS) == 0
