"""The labels an Azure node carries, told from its size."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dovetail.clouds.azure.names import SizeName
from dovetail.clouds.azure.wire import Sku
from dovetail.clouds.interned import LabelValue, yes_or_no
from dovetail.core import labels

_DOMAIN: Final = "karpenter.azure.com"
_AKS: Final = "kubernetes.azure.com"
SKU_NAME: Final = f"{_DOMAIN}/sku-name"
SKU_FAMILY: Final = f"{_DOMAIN}/sku-family"
SKU_SERIES: Final = f"{_DOMAIN}/sku-series"
SKU_VERSION: Final = f"{_DOMAIN}/sku-version"
SKU_CPU: Final = f"{_DOMAIN}/sku-cpu"
SKU_MEMORY: Final = f"{_DOMAIN}/sku-memory"
GPU_NAME: Final = f"{_DOMAIN}/sku-gpu-name"
GPU_MANUFACTURER: Final = f"{_DOMAIN}/sku-gpu-manufacturer"
GPU_COUNT: Final = f"{_DOMAIN}/sku-gpu-count"
ACCELERATED_NETWORKING: Final = f"{_DOMAIN}/sku-networking-accelerated"
PREMIUM_STORAGE: Final = f"{_DOMAIN}/sku-storage-premium-capable"
EPHEMERAL_DISK_GB: Final = f"{_DOMAIN}/sku-storage-ephemeralos-maxsize"
HYPERV_GENERATION: Final = f"{_DOMAIN}/sku-hyperv-generation"
ULTRA_SSD: Final = f"{_DOMAIN}/sku-storage-ultra-ssd"
PLACEMENT_SCOPE: Final = f"{_DOMAIN}/placement-scope"
RESERVATION_ID: Final = f"{_DOMAIN}/capacity-reservation-id"
AKS_CPU: Final = f"{_AKS}/sku-cpu"
AKS_MEMORY: Final = f"{_AKS}/sku-memory"
SCALE_SET_PRIORITY: Final = f"{_AKS}/scalesetpriority"
PRIORITY: Final = f"{_AKS}/priority"

#: The zone label of a machine that is in no particular zone; its disks' CSI driver writes "" for the same.
REGIONAL_ZONE: Final = "0"
DIALECT: Final = labels.Dialect(
    well_known=labels.WELL_KNOWN
    | {
        SKU_NAME,
        SKU_FAMILY,
        SKU_SERIES,
        SKU_VERSION,
        SKU_CPU,
        SKU_MEMORY,
        GPU_NAME,
        GPU_MANUFACTURER,
        GPU_COUNT,
        ACCELERATED_NETWORKING,
        PREMIUM_STORAGE,
        EPHEMERAL_DISK_GB,
        HYPERV_GENERATION,
        ULTRA_SSD,
        PLACEMENT_SCOPE,
        RESERVATION_ID,
        AKS_CPU,
        AKS_MEMORY,
        SCALE_SET_PRIORITY,
        PRIORITY,
        f"{_AKS}/cluster",
        f"{_AKS}/mode",
        f"{_AKS}/os-sku",
        f"{_AKS}/fips_enabled",
        f"{_AKS}/kubelet-identity-client-id",
    },
    values=MappingProxyType({labels.ZONE: MappingProxyType({"": REGIONAL_ZONE})}),
)
ARCHITECTURES: Final = {"x64": "amd64", "Arm64": "arm64"}
_GB: Final = 10**9
_MIB: Final = 2**20


def of_sku(
    sku: Sku, known: Mapping[str, str], name: SizeName | None, region: str, windows: bool
) -> dict[str, LabelValue]:
    """Every label that follows from the size itself; `known` are its capabilities by name."""
    arch = ARCHITECTURES.get(known.get("CpuArchitectureType", "x64"))
    memory = str(memory_mib(known))
    generations = tuple(sorted(one.strip().removeprefix("V") for one in known.get("HyperVGenerations", "").split(",")))
    disk_gb = ephemeral_disk_bytes(known) // _GB
    return {
        labels.INSTANCE_TYPE: sku.name,
        labels.ARCH: arch,
        labels.OS: ("linux", "windows") if windows and arch == "amd64" else "linux",
        labels.REGION: region,
        SKU_NAME: sku.name,
        SKU_FAMILY: name.family if name else None,
        SKU_SERIES: name.series if name else None,
        SKU_VERSION: (name.version or "1") if name else None,
        SKU_CPU: known["vCPUs"],
        AKS_CPU: known["vCPUs"],
        SKU_MEMORY: memory,
        AKS_MEMORY: memory,
        ACCELERATED_NETWORKING: yes_or_no(is_true(known, "AcceleratedNetworkingEnabled")),
        PREMIUM_STORAGE: yes_or_no(is_true(known, "PremiumIO")),
        EPHEMERAL_DISK_GB: str(disk_gb) if disk_gb else None,
        HYPERV_GENERATION: generations if any(generations) else None,
        **_of_gpu(known, name),
    }


def _of_gpu(known: Mapping[str, str], name: SizeName | None) -> dict[str, LabelValue]:
    count = known.get("GPUs", "0")
    gpu = name.gpu if name and count != "0" else None
    return {
        GPU_NAME: gpu[0] if gpu else None,
        GPU_MANUFACTURER: gpu[1] if gpu else None,
        GPU_COUNT: count if gpu else None,
    }


def memory_mib(known: Mapping[str, str]) -> int:
    """MemoryGB is really in GiB, with a fraction for small sizes."""
    return int(float(known["MemoryGB"]) * 1024)


def is_true(known: Mapping[str, str], capability: str) -> bool:
    return known.get(capability, "False") == "True"


def ephemeral_disk_bytes(known: Mapping[str, str]) -> int:
    """The largest system disk that fits on the machine itself: on its NVMe, else its cache, else its scratch disk."""
    if not is_true(known, "EphemeralOSDiskSupported"):
        return 0
    placements = known.get("SupportedEphemeralOSDiskPlacements", "")
    nvme = int(known.get("NvmeDiskSizeInMiB", "0"))
    if nvme and "NvmeDisk" in placements:
        return nvme * _MIB
    return int(known.get("CachedDiskBytes", "0")) or int(known.get("MaxResourceVolumeMB", "0")) * _MIB
