"""EC2's answers, as far as we read them: DescribeInstanceTypes and our own files beside it.

Names are the API's. What an answer leaves out means "no" or "none", which is what the defaults say; data/README.md
lists the fields our files drop for that reason. Bounds are here so that an impossible machine is refused with the
path to the field that is impossible.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

_Positive = Annotated[int, msgspec.Meta(ge=1, le=2**40)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**40)]


class _Answer(msgspec.Struct, frozen=True, rename="pascal", gc=False):
    """EC2 spells its fields in PascalCase. Answers hold texts and numbers and no circles: the collector can pass by."""


class ProcessorInfo(_Answer, frozen=True):
    supported_architectures: tuple[str, ...] = ()
    manufacturer: str = ""
    sustained_clock_speed_in_ghz: Annotated[float, msgspec.Meta(ge=0, le=1000)] | None = None
    supported_features: tuple[str, ...] = ()


class VCpuInfo(_Answer, frozen=True):
    default_v_cpus: _Positive = msgspec.field(name="DefaultVCpus")


class MemoryInfo(_Answer, frozen=True):
    size_in_mib: _Positive = msgspec.field(name="SizeInMiB")


class EbsOptimizedInfo(_Answer, frozen=True):
    maximum_bandwidth_in_mbps: _Count = 0


class EbsInfo(_Answer, frozen=True):
    ebs_optimized_support: str = "unsupported"
    ebs_optimized_info: EbsOptimizedInfo | None = None
    maximum_ebs_attachments: _Count | None = None
    attachment_limit_type: str = "shared"


class NetworkCard(_Answer, frozen=True):
    network_card_index: _Count = 0
    maximum_network_interfaces: _Count = 0


class EfaInfo(_Answer, frozen=True):
    maximum_efa_interfaces: _Count = 0


class NetworkInfo(_Answer, frozen=True):
    maximum_network_interfaces: _Count = 0
    ipv4_addresses_per_interface: _Count = 0
    default_network_card_index: _Count = 0
    network_cards: tuple[NetworkCard, ...] = ()
    efa_info: EfaInfo | None = None
    ena_support: str = "unsupported"
    encryption_in_transit_supported: bool = False

    @property
    def default_card_interfaces(self) -> int:
        """How many interfaces the default card takes: pods get their addresses there and nowhere else."""
        for card in self.network_cards:
            if card.network_card_index == self.default_network_card_index:
                return card.maximum_network_interfaces
        return self.maximum_network_interfaces


class DeviceMemory(_Answer, frozen=True):
    size_in_mib: _Count = msgspec.field(name="SizeInMiB", default=0)


class Gpu(_Answer, frozen=True):
    name: str = ""
    manufacturer: str = ""
    count: _Count = 0
    logical_gpu_count: _Count | None = None
    memory_info: DeviceMemory = DeviceMemory()

    @property
    def devices(self) -> int:
        """How many the node's device plugin will offer.

        A slice of a GPU (g6f.*, gr6f.*) is reported as 0 GPUs and 1 *logical* GPU; a pod that asks for one gets the
        slice. Counting `Count`, as a peer does, makes these types useless to the only pods they are made for.
        """
        return self.count or self.logical_gpu_count or 0


class GpuInfo(_Answer, frozen=True):
    gpus: tuple[Gpu, ...] = ()


class Accelerator(_Answer, frozen=True):
    name: str = ""
    manufacturer: str = ""
    count: _Count = 0


class InferenceAcceleratorInfo(_Answer, frozen=True):
    accelerators: tuple[Accelerator, ...] = ()


class NeuronCores(_Answer, frozen=True):
    count: _Count = 0


class NeuronDevice(_Answer, frozen=True):
    name: str = ""
    count: _Count = 0
    core_info: NeuronCores = NeuronCores()


class NeuronInfo(_Answer, frozen=True):
    neuron_devices: tuple[NeuronDevice, ...] = ()


class InstanceStorageInfo(_Answer, frozen=True):
    total_size_in_gb: _Count = msgspec.field(name="TotalSizeInGB", default=0)
    nvme_support: str = "unsupported"


class PlacementGroupInfo(_Answer, frozen=True):
    supported_strategies: tuple[str, ...] = ()


class TypeAnswer(_Answer, frozen=True):
    """One entry of DescribeInstanceTypes."""

    instance_type: str
    processor_info: ProcessorInfo
    v_cpu_info: VCpuInfo = msgspec.field(name="VCpuInfo")
    memory_info: MemoryInfo
    hypervisor: str | None = None
    ebs_info: EbsInfo = EbsInfo()
    network_info: NetworkInfo = NetworkInfo()
    gpu_info: GpuInfo = GpuInfo()
    neuron_info: NeuronInfo = NeuronInfo()
    inference_accelerator_info: InferenceAcceleratorInfo = InferenceAcceleratorInfo()
    instance_storage_info: InstanceStorageInfo | None = None
    supported_usage_classes: tuple[str, ...] = ()
    supported_virtualization_types: tuple[str, ...] = ()
    nitro_enclaves_support: str = "unsupported"
    placement_group_info: PlacementGroupInfo = PlacementGroupInfo()


class ZoneRow(_Answer, frozen=True):
    """A zone and the types it sells."""

    zone_name: Annotated[str, msgspec.Meta(min_length=1)]
    zone_id: str = ""
    instance_types: tuple[str, ...] = ()


class NetworkRow(msgspec.Struct, frozen=True, rename="camel"):
    """What EC2's API does not tell about a type's network."""

    instance_type: str
    bandwidth_mbps: _Count | None = None
    branch_enis: _Count = 0
    is_trunking_compatible: bool = False
