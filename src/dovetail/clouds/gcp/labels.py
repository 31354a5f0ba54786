"""The labels a GKE node carries, told from its machine type."""

from __future__ import annotations

import re
from typing import Final

from dovetail.clouds.gcp.wire import MachineType
from dovetail.clouds.interned import LabelValue
from dovetail.core import labels

_DOMAIN: Final = "karpenter.k8s.gcp"
FAMILY: Final = f"{_DOMAIN}/instance-family"
SHAPE: Final = f"{_DOMAIN}/instance-shape"
GENERATION: Final = f"{_DOMAIN}/instance-generation"
SIZE: Final = f"{_DOMAIN}/instance-size"
CPU: Final = f"{_DOMAIN}/instance-cpu"
MEMORY: Final = f"{_DOMAIN}/instance-memory"
GPU_NAME: Final = f"{_DOMAIN}/instance-gpu-name"
GPU_MANUFACTURER: Final = f"{_DOMAIN}/instance-gpu-manufacturer"
GPU_COUNT: Final = f"{_DOMAIN}/instance-gpu-count"
GPU_MEMORY: Final = f"{_DOMAIN}/instance-gpu-memory"
RESERVATION_ID: Final = f"{_DOMAIN}/capacity-reservation-id"
ZONE_ID: Final = "topology.k8s.gcp/zone-id"
#: GKE's own labels.
GKE_ACCELERATOR: Final = "cloud.google.com/gke-accelerator"
GKE_PROVISIONING: Final = "cloud.google.com/gke-provisioning"

DIALECT: Final = labels.Dialect(
    well_known=labels.WELL_KNOWN
    | {
        FAMILY,
        SHAPE,
        GENERATION,
        SIZE,
        CPU,
        MEMORY,
        GPU_NAME,
        GPU_MANUFACTURER,
        GPU_COUNT,
        GPU_MEMORY,
        RESERVATION_ID,
        ZONE_ID,
        GKE_ACCELERATOR,
        GKE_PROVISIONING,
    }
)
_GENERATION: Final = re.compile(r"[0-9]+", re.ASCII)
_LONG_NAME: Final = 3


def of_type(one: MachineType, region: str, windows: bool) -> dict[str, LabelValue]:
    """Every label that follows from the type; `c3-standard-22-lssd` is family c3, shape standard, size 22."""
    parts = one.name.split("-")
    generation = _GENERATION.search(parts[0])
    arch = "arm64" if one.architecture == "ARM64" else "amd64"
    gpu = one.accelerators[0].guest_accelerator_type if len(one.accelerators) == 1 else None
    return {
        labels.INSTANCE_TYPE: one.name,
        labels.ARCH: arch,
        labels.OS: ("linux", "windows") if windows and arch == "amd64" else "linux",
        labels.REGION: region,
        FAMILY: parts[0],
        SHAPE: parts[1] if len(parts) > 1 else None,
        SIZE: parts[-2] if len(parts) > _LONG_NAME else parts[-1],
        GENERATION: generation[0] if generation else None,
        CPU: str(one.guest_cpus),
        MEMORY: str(one.memory_mb),
        GPU_NAME: gpu,
        GPU_MANUFACTURER: gpu.partition("-")[0] if gpu else None,
        GPU_COUNT: str(one.accelerators[0].guest_accelerator_count) if gpu else None,
        # No answer tells it; a pod that asks for an amount must not be sent to a type that does not know.
        GPU_MEMORY: None,
        GKE_ACCELERATOR: gpu,
    }
