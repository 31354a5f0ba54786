"""EC2 instance types, in the shape DescribeInstanceTypes answers with, cut to what a provisioner reads.

What is dropped is dropped only where its absence means the same: false flags, "unsupported", and a default
network card of 0. README.md beside the data lists these defaults.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

from .output import Catalogue, Provenance
from .sources import Sources

MEMBER = "moto/ec2/resources/instance_types.json.gz"

# True keeps a field whole; a dict keeps it and cuts inside it.
KEPT: dict[str, Any] = {
    "InstanceType": True,
    "CurrentGeneration": True,
    "BareMetal": True,
    "Hypervisor": True,
    "ProcessorInfo": {"Manufacturer": True, "SupportedArchitectures": True, "SustainedClockSpeedInGhz": True},
    "VCpuInfo": {"DefaultVCpus": True},
    "MemoryInfo": True,
    "EbsInfo": {
        "EbsOptimizedSupport": True,
        "EbsOptimizedInfo": {"MaximumBandwidthInMbps": True},
        "MaximumEbsAttachments": True,
        "AttachmentLimitType": True,
    },
    "NetworkInfo": {
        "MaximumNetworkInterfaces": True,
        "Ipv4AddressesPerInterface": True,
        "DefaultNetworkCardIndex": True,
        "NetworkCards": {"NetworkCardIndex": True, "MaximumNetworkInterfaces": True},
        "EfaSupported": True,
        "EfaInfo": True,
        "EnaSupport": True,
        "EncryptionInTransitSupported": True,
    },
    "GpuInfo": {
        "Gpus": {
            "Name": True,
            "Manufacturer": True,
            "Count": True,
            "LogicalGpuCount": True,
            "GpuPartitionSize": True,
            "MemoryInfo": True,
        },
        "TotalGpuMemoryInMiB": True,
    },
    "NeuronInfo": True,
    "InferenceAcceleratorInfo": True,
    "InstanceStorageInfo": {"TotalSizeInGB": True, "NvmeSupport": True},
    "SupportedUsageClasses": True,
    "SupportedVirtualizationTypes": True,
    "NitroEnclavesSupport": True,
    "PlacementGroupInfo": True,
    "SupportedFeatures": True,
}
# A live answer says these aloud; a reader that finds nothing must assume the same.
DEFAULTS: dict[str, Any] = {"DefaultNetworkCardIndex": 0}


def write(catalogue: Catalogue, sources: Sources) -> dict[str, dict[str, Any]]:
    raw: dict[str, Any] = json.loads(gzip.decompress(sources.moto.read(MEMBER)))
    types = {name: _cut(raw[name], KEPT) for name in sorted(raw)}
    provenance = Provenance(
        sources.moto.cite(MEMBER),
        sources.moto.packed_on(MEMBER),
        sources.moto.license,
        "DescribeInstanceTypes entries, cut to the fields read here; false and unsupported fields dropped.",
    )
    catalogue.write("aws/types.jsonl.gz", types.values(), provenance)
    return types


def _cut(value: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """The fields of `kept`, in the order of `kept`, without those that say nothing."""
    result = {}
    for key, inner in kept.items():
        if (found := value.get(key)) is None:
            continue
        if inner is not True:
            found = [_cut(one, inner) for one in found] if isinstance(found, list) else _cut(found, inner)
        if found is False or found in ("unsupported", [], {}) or (key in DEFAULTS and found == DEFAULTS[key]):
            continue
        result[key] = found
    return result
