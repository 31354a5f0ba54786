"""What the node keeps for itself where the user does not say: kube-reserved and its companions, by strategy (S2.11).

Three clouds publish three rules. EKS goes by how many pods a node can hold, GKE and AKS by how much memory it has.
A band is (up to, thousandths of the part in this band); the last band has no end.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dovetail.core.catalog.density import pods_by_interface
from dovetail.core.catalog.hardware import Disk, Hardware
from dovetail.core.kubelet import ReserveStrategy, Threshold
from dovetail.core.resources import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, NOTHING, Resources

Bands = tuple[tuple[int | None, int], ...]

#: 6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % beyond; in 1/10,000.
_CPU_GKE: Final[Bands] = ((1000, 600), (2000, 100), (4000, 50), (None, 25))
#: 6 %, 4 %, 2 % to the fourth core, 1 % beyond.
_CPU_AKS: Final[Bands] = ((1000, 600), (2000, 400), (4000, 200), (None, 100))
#: 25 % to 4 GiB, 20 % to 8, 10 % to 16, 6 % to 128, 2 % beyond.
_MEMORY_TIERS: Final[Bands] = (
    (4 * GIB, 2500),
    (8 * GIB, 2000),
    (16 * GIB, 1000),
    (128 * GIB, 600),
    (None, 200),
)
_SHARED_CORE_CPU_MILLIS: Final = 1060
_TINY_MEMORY_BYTES: Final = 255 * MIB
_EKS_PER_POD_BYTES: Final = 11 * MIB
_EKS_BASE_BYTES: Final = 255 * MIB
_AKS_129_PER_POD_BYTES: Final = 20 * MIB
_AKS_129_BASE_BYTES: Final = 50 * MIB
#: GKE holds back this much of 1, 2, 3 or more local SSDs.
_GKE_LOCAL_DISK_BYTES: Final = (50 * GIB, 75 * GIB, 100 * GIB)

TEN_PERCENT: Final = Threshold(percent=Fraction(10))


def by_bands(total: int, bands: Bands) -> int:
    """Add up each band's share, each truncated on its own, as the published tables do."""
    taken, below = 0, 0
    for end, share in bands:
        top = total if end is None else min(total, end)
        if top > below:
            taken += (top - below) * share // 10_000
            below = top
    return taken


@dataclass(frozen=True, slots=True)
class Reserve:
    """What one strategy holds back by default, and the sentence for each part."""

    kube: Resources
    system: Resources
    eviction_memory: Threshold
    eviction_storage: Threshold
    rules: tuple[tuple[str, str], ...]
    system_rules: tuple[tuple[str, str], ...] = ()

    def rule(self, resource: str) -> str:
        return dict(self.rules).get(resource, "")

    def system_rule(self, resource: str) -> str:
        return dict(self.system_rules).get(resource, "")


def reserve(strategy: ReserveStrategy, hardware: Hardware, pods: int) -> Reserve:
    """What a node of this hardware, limited to this many pods, keeps for itself."""
    match strategy:
        case ReserveStrategy.EKS:
            return _eks(hardware, pods)
        case ReserveStrategy.GKE:
            return _gke(hardware)
        case ReserveStrategy.AKS | ReserveStrategy.AKS_129:
            return _aks(hardware, pods, modern=strategy is ReserveStrategy.AKS_129)
        case ReserveStrategy.NONE:
            return Reserve(NOTHING, NOTHING, Threshold(), Threshold(), ())


def _eks(hardware: Hardware, pods: int) -> Reserve:
    # The agent sizes itself by what the interfaces could hold, even where maxPods allows fewer.
    counted = pods_by_interface(hardware.interfaces) if hardware.interfaces is not None else pods
    kube = Resources(
        {
            CPU: by_bands(hardware.cpu_millis, _CPU_GKE),
            MEMORY: _EKS_PER_POD_BYTES * counted + _EKS_BASE_BYTES,
            EPHEMERAL_STORAGE: GIB,
        }
    )
    rules = (
        (CPU, "6% of the first core, 1% of the second, 0.5% of the next two, 0.25% beyond"),
        (MEMORY, f"11Mi × {counted} pods + 255Mi"),
        (EPHEMERAL_STORAGE, "1Gi"),
    )
    return Reserve(kube, NOTHING, Threshold(100 * MIB), TEN_PERCENT, rules)


def _gke(hardware: Hardware) -> Reserve:
    if hardware.shared_core:
        cpu, cpu_rule = _SHARED_CORE_CPU_MILLIS, "flat 1060m on shared-core machines"
    else:
        cpu = by_bands(hardware.cpu_millis, _CPU_GKE)
        cpu_rule = "6% of the first core, 1% of the second, 0.5% of the next two, 0.25% beyond"
    if hardware.memory_bytes <= GIB:
        memory, memory_rule = _TINY_MEMORY_BYTES, "255Mi at 1 GiB and below"
    else:
        memory = by_bands(hardware.memory_bytes, _MEMORY_TIERS) // MIB * MIB
        memory_rule = "25% to 4 GiB, 20% to 8, 10% to 16, 6% to 128, 2% beyond"
    storage, storage_rule = _gke_storage(hardware.disk)
    kube = Resources({CPU: cpu, MEMORY: memory})
    system = Resources({CPU: 100, EPHEMERAL_STORAGE: storage})
    rules = ((CPU, cpu_rule), (MEMORY, memory_rule))
    system_rules = ((CPU, "100m for kube-proxy, which runs as a mirror pod"), (EPHEMERAL_STORAGE, storage_rule))
    return Reserve(kube, system, Threshold(100 * MIB), TEN_PERCENT, rules, system_rules)


def _gke_storage(disk: Disk) -> tuple[int, str]:
    if disk.local_disks:
        return _GKE_LOCAL_DISK_BYTES[min(disk.local_disks, 3) - 1], f"{disk.local_disks} local disks"
    held = min(disk.size_bytes // 2, disk.size_bytes * 35 // 100 + 6 * GIB, 100 * GIB)
    return held, "the least of 50%, 35% + 6Gi and 100Gi of the boot disk"


def _aks(hardware: Hardware, pods: int, *, modern: bool) -> Reserve:
    cpu = by_bands(hardware.cpu_millis, _CPU_AKS)
    if modern:
        memory = min(_AKS_129_PER_POD_BYTES * pods + _AKS_129_BASE_BYTES, hardware.memory_bytes // 4)
        memory_rule, eviction = f"the less of 20Mi × {pods} pods + 50Mi and 25% of memory", Threshold(100 * MIB)
    else:
        memory, eviction = by_bands(hardware.memory_bytes, _MEMORY_TIERS), Threshold(750 * MIB)
        memory_rule = "25% to 4 GiB, 20% to 8, 10% to 16, 6% to 128, 2% beyond"
    rules = (
        (CPU, "6% of the first core, 4% of the second, 2% to the fourth, 1% beyond"),
        (MEMORY, memory_rule),
    )
    return Reserve(Resources({CPU: cpu, MEMORY: memory // MIB * MIB}), NOTHING, eviction, Threshold(), rules)
