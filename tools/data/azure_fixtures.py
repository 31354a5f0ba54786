"""Reads the recorded Microsoft.Compute/skus answers, back into the shape the API gave them in."""

from __future__ import annotations

import re
from typing import Any

ENTRY = re.compile(r"^\t\t\{\n(.*?)^\t\t\},?\n", re.MULTILINE | re.DOTALL)
CAPABILITY = re.compile(r'\{Name: lo\.ToPtr\("(\w+)"\), Value: lo\.ToPtr\("([^"]*)"\)\}')
KEPT = (
    "vCPUs",
    "MemoryGB",
    "GPUs",
    "CpuArchitectureType",
    "LowPriorityCapable",
    "PremiumIO",
    "AcceleratedNetworkingEnabled",
    "HyperVGenerations",
    "EphemeralOSDiskSupported",
    "CachedDiskBytes",
    "MaxResourceVolumeMB",
    "NvmeDiskSizeInMiB",
    "SupportedEphemeralOSDiskPlacements",
    "EncryptionAtHostSupported",
    "TrustedLaunchDisabled",
    "UltraSSDAvailable",
    "MaxDataDiskCount",
    "MaxNetworkInterfaces",
)


def entries(text: str) -> list[dict[str, Any]]:
    return [_entry(block) for block in ENTRY.findall(text)]


def _entry(block: str) -> dict[str, Any]:
    found = dict(CAPABILITY.findall(block))
    location = _required(block, r'LocationInfo:.*?Location: lo\.ToPtr\("(\w+)"\)')
    zones = re.findall(r'"(\d+)"', block.split("Zones: &[]string{")[-1])
    return {
        "name": _pointer(block, "Name"),
        "family": _pointer(block, "Family"),
        "size": _pointer(block, "Size"),
        "tier": _pointer(block, "Tier"),
        "resourceType": _pointer(block, "ResourceType"),
        "locations": [location],
        "locationInfo": [{"location": location, "zones": sorted(zones)}],
        "capabilities": [{"name": name, "value": found[name]} for name in KEPT if name in found],
        "restrictions": _restrictions(block),
    }


def _restrictions(block: str) -> list[dict[str, Any]]:
    """Each restriction in the recordings is of one location; zonal ones also list the zones."""
    found = []
    for part in block.split("Capabilities:")[0].split("ResourceSkuRestrictionsType(")[1:]:
        info = part.split("RestrictionInfo:")[1]
        locations, zones = info.split("Zones:")
        found.append(
            {
                "type": _required(part, r'"(\w+)"'),
                "values": re.findall(r'"([\w-]+)"', part.split("Values:")[1].split("}")[0]),
                "restrictionInfo": {
                    "locations": re.findall(r'"([\w-]+)"', locations),
                    "zones": re.findall(r'"(\d+)"', zones.split("}")[0]),
                },
                "reasonCode": _required(part, r'ReasonCode:\s+"(\w+)"'),
            }
        )
    return found


def _pointer(block: str, field: str) -> str:
    return _required(block, rf'^\t\t\t{field}:\s+lo\.ToPtr\("([^"]*)"\)')


def _required(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    assert found, f"no {pattern} in {text[:200]}"
    return found[1]
