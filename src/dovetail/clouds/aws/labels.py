"""The labels an EC2 node carries, told from its type.

A label a type does not have is listed as absent, not left out: a pod that wants a GPU name must not land on a type
that says nothing about GPUs, and one that wants none must be able to say so.
"""

from __future__ import annotations

import re
from typing import Final

from dovetail.clouds.aws.wire import NetworkRow, TypeAnswer
from dovetail.clouds.interned import LabelValue, yes_or_no
from dovetail.core import labels
from dovetail.core.requirements import Requirements

_DOMAIN: Final = "karpenter.k8s.aws"
ZONE_ID: Final = "topology.k8s.aws/zone-id"
RESERVATION_ID: Final = f"{_DOMAIN}/capacity-reservation-id"
RESERVATION_TYPE: Final = f"{_DOMAIN}/capacity-reservation-type"
RESERVATION_INTERRUPTIBLE: Final = f"{_DOMAIN}/capacity-reservation-interruptible"
PLACEMENT_GROUP_ID: Final = f"{_DOMAIN}/placement-group-id"
PLACEMENT_GROUP_PARTITION: Final = f"{_DOMAIN}/placement-group-partition"
NITRO_SANDBOX: Final = f"{_DOMAIN}/nitro-sandbox"

CATEGORY: Final = f"{_DOMAIN}/instance-category"
FAMILY: Final = f"{_DOMAIN}/instance-family"
GENERATION: Final = f"{_DOMAIN}/instance-generation"
SIZE: Final = f"{_DOMAIN}/instance-size"
FLEX: Final = f"{_DOMAIN}/instance-capability-flex"
CPU: Final = f"{_DOMAIN}/instance-cpu"
CPU_MANUFACTURER: Final = f"{_DOMAIN}/instance-cpu-manufacturer"
CPU_CLOCK_MHZ: Final = f"{_DOMAIN}/instance-cpu-sustained-clock-speed-mhz"
MEMORY: Final = f"{_DOMAIN}/instance-memory"
EBS_BANDWIDTH: Final = f"{_DOMAIN}/instance-ebs-bandwidth"
NETWORK_BANDWIDTH: Final = f"{_DOMAIN}/instance-network-bandwidth"
LOCAL_NVME: Final = f"{_DOMAIN}/instance-local-nvme"
GPU_NAME: Final = f"{_DOMAIN}/instance-gpu-name"
GPU_MANUFACTURER: Final = f"{_DOMAIN}/instance-gpu-manufacturer"
GPU_COUNT: Final = f"{_DOMAIN}/instance-gpu-count"
GPU_MEMORY: Final = f"{_DOMAIN}/instance-gpu-memory"
ACCELERATOR_NAME: Final = f"{_DOMAIN}/instance-accelerator-name"
ACCELERATOR_MANUFACTURER: Final = f"{_DOMAIN}/instance-accelerator-manufacturer"
ACCELERATOR_COUNT: Final = f"{_DOMAIN}/instance-accelerator-count"
HYPERVISOR: Final = f"{_DOMAIN}/instance-hypervisor"
ENCRYPTION_IN_TRANSIT: Final = f"{_DOMAIN}/instance-encryption-in-transit-supported"
TENANCY: Final = labels.TENANCY

OF_A_TYPE: Final = frozenset(
    {
        CATEGORY,
        FAMILY,
        GENERATION,
        SIZE,
        FLEX,
        CPU,
        CPU_MANUFACTURER,
        CPU_CLOCK_MHZ,
        MEMORY,
        EBS_BANDWIDTH,
        NETWORK_BANDWIDTH,
        LOCAL_NVME,
        GPU_NAME,
        GPU_MANUFACTURER,
        GPU_COUNT,
        GPU_MEMORY,
        ACCELERATOR_NAME,
        ACCELERATOR_MANUFACTURER,
        ACCELERATOR_COUNT,
        HYPERVISOR,
        ENCRYPTION_IN_TRANSIT,
        TENANCY,
        NITRO_SANDBOX,
    }
)
DIALECT: Final = labels.Dialect(
    well_known=labels.WELL_KNOWN
    | OF_A_TYPE
    | {
        ZONE_ID,
        RESERVATION_ID,
        RESERVATION_TYPE,
        RESERVATION_INTERRUPTIBLE,
        PLACEMENT_GROUP_ID,
        PLACEMENT_GROUP_PARTITION,
    }
)

ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64", "x86_64_mac": "amd64", "arm64_mac": "arm64"}
_TENANCIES: Final = labels.VALUED[labels.TENANCY].all
_NAME: Final = re.compile(r"(?P<category>[a-z]+)(?:-[0-9]+tb)?(?P<generation>[0-9]+)", re.ASCII)
_NOT_A_WORD: Final = re.compile(r"[^a-z0-9]+", re.ASCII)
_LONGEST: Final = 63


def kebab(text: str) -> str:
    """A name as people write it in a label: `RTX PRO 4500` is rtx-pro-4500."""
    return _NOT_A_WORD.sub("-", text.lower()).strip("-")[:_LONGEST].rstrip("-")


def architecture(one: TypeAnswer) -> str | None:
    """The architecture nodes report. A type that runs both 32- and 64-bit x86 runs the latter."""
    for name in one.processor_info.supported_architectures:
        if name in ARCHITECTURES:
            return ARCHITECTURES[name]
    return None


def is_mac(one: TypeAnswer) -> bool:
    found = one.processor_info.supported_architectures
    return bool(found) and all(name.endswith("_mac") for name in found)


def of_type(one: TypeAnswer, network: NetworkRow | None, region: str, windows: bool) -> dict[str, LabelValue]:
    """Every label that follows from the type itself; zones and capacity types follow from its offerings."""
    arch = architecture(one)
    system: LabelValue = "darwin" if is_mac(one) else "linux"
    if windows and arch == "amd64" and system == "linux":
        system = ("linux", "windows")
    return {
        labels.INSTANCE_TYPE: one.instance_type,
        labels.ARCH: arch,
        labels.OS: system,
        labels.REGION: region,
        **_from_name(one.instance_type),
        **_of_machine(one, network),
        **_of_gpu(one),
        **_of_accelerator(one),
        TENANCY: _TENANCIES,
    }


def _from_name(name: str) -> dict[str, LabelValue]:
    family, _, size = name.partition(".")
    parts = _NAME.match(family)
    return {
        FAMILY: family,
        SIZE: size or None,
        CATEGORY: parts["category"] if parts else None,
        GENERATION: parts["generation"] if parts else None,
        FLEX: yes_or_no("-flex" in family),
    }


def _of_machine(one: TypeAnswer, network: NetworkRow | None) -> dict[str, LabelValue]:
    processor, ebs, storage = one.processor_info, one.ebs_info, one.instance_storage_info
    clock = processor.sustained_clock_speed_in_ghz
    bandwidth = network.bandwidth_mbps if network else None
    ebs_bandwidth = ebs.ebs_optimized_info.maximum_bandwidth_in_mbps if ebs.ebs_optimized_info else 0
    nvme = storage.total_size_in_gb if storage and storage.nvme_support != "unsupported" else 0
    return {
        CPU: str(one.v_cpu_info.default_v_cpus),
        CPU_MANUFACTURER: kebab(processor.manufacturer) or None,
        CPU_CLOCK_MHZ: str(round(clock * 1000)) if clock else None,
        MEMORY: str(one.memory_info.size_in_mib),
        EBS_BANDWIDTH: str(ebs_bandwidth) if ebs_bandwidth and ebs.ebs_optimized_support == "default" else None,
        NETWORK_BANDWIDTH: str(bandwidth) if bandwidth else None,
        LOCAL_NVME: str(nvme) if nvme else None,
        HYPERVISOR: one.hypervisor or None,
        ENCRYPTION_IN_TRANSIT: yes_or_no(one.network_info.encryption_in_transit_supported),
        NITRO_SANDBOX: yes_or_no(one.nitro_enclaves_support == "supported"),
    }


_NO_GPU: Final[dict[str, LabelValue]] = dict.fromkeys((GPU_NAME, GPU_MANUFACTURER, GPU_COUNT, GPU_MEMORY))
_NO_ACCELERATOR: Final[dict[str, LabelValue]] = dict.fromkeys(
    (ACCELERATOR_NAME, ACCELERATOR_MANUFACTURER, ACCELERATOR_COUNT)
)


def _of_gpu(one: TypeAnswer) -> dict[str, LabelValue]:
    """Only for a type with one kind of GPU: two kinds have no single name."""
    if len(one.gpu_info.gpus) != 1:
        return _NO_GPU
    (gpu,) = one.gpu_info.gpus
    return {
        GPU_NAME: kebab(gpu.name) or None,
        GPU_MANUFACTURER: kebab(gpu.manufacturer) or None,
        GPU_COUNT: str(gpu.devices),
        GPU_MEMORY: str(gpu.memory_info.size_in_mib),
    }


def _of_accelerator(one: TypeAnswer) -> dict[str, LabelValue]:
    """AWS's own chips are listed twice, as Neuron devices and as inference accelerators; the former knows more."""
    devices, others = one.neuron_info.neuron_devices, one.inference_accelerator_info.accelerators
    if len(devices) == 1:
        name, maker, count = devices[0].name, "aws", devices[0].count
    elif not devices and len(others) == 1:
        name, maker, count = others[0].name, others[0].manufacturer, others[0].count
    else:
        return _NO_ACCELERATOR
    return {
        ACCELERATOR_NAME: kebab(name) or None,
        ACCELERATOR_MANUFACTURER: kebab(maker) or None,
        ACCELERATOR_COUNT: str(count),
    }


def is_exotic(has: Requirements) -> bool:
    """Bare metal, and what has accelerators: dear, and slow to come."""
    counts = (has.get(key) for key in (GPU_COUNT, ACCELERATOR_COUNT))
    return (has.value(SIZE) or "").startswith("metal") or any(one is not None and one.values for one in counts)
