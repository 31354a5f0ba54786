"""Memory and capabilities of Azure sizes that are priced but were not recorded, by rule.

A size is derived only if its memory is certain. Series whose memory follows no rule (M, HB, HC, HX, G, H, ND
before A100, NP), confidential series (DC, EC), constrained-vCPU names and promotions are left out.
"""

from __future__ import annotations

from . import azure_names
from .azure_names import Size

# Size → (GiB, GPUs): series that must be spelt out.
B_SMALL = {"1ls": 0.5, "1s": 1, "1ms": 2, "2s": 4, "2ms": 8}
BURSTABLE_V1 = B_SMALL | {"4ms": 16, "8ms": 32, "12ms": 48, "16ms": 64, "20ms": 80}
A_V2 = {"1": 2, "2": 4, "4": 8, "8": 16, "2m": 16, "4m": 32, "8m": 64}
GPU: dict[tuple[str, str, int], dict[int, tuple[float, int]]] = {
    ("NCas", "T4", 3): {4: (28, 1), 8: (56, 1), 16: (110, 1), 64: (440, 4)},
    ("NCs", "", 3): {6: (112, 1), 12: (224, 2), 24: (448, 4)},
    ("NCrs", "", 3): {24: (448, 4)},
    ("NCads", "A100", 4): {24: (220, 1), 48: (440, 2), 96: (880, 4)},
    ("NCads", "H100", 5): {40: (320, 1)},
    ("NCadis", "H100", 5): {80: (640, 2)},
    ("NDasr", "", 4): {96: (900, 8)},
    ("NDisr", "H100", 5): {96: (1900, 8)},
    ("NVads", "A10", 5): {6: (55, 1), 12: (110, 1), 18: (220, 1), 36: (440, 1), 72: (880, 2)},
    ("NVadms", "A10", 5): {36: (880, 1)},
    ("NVs", "", 3): {12: (112, 1), 24: (224, 2), 48: (448, 4)},
}
# The largest E sizes have less than 8 GiB a vCPU: (version, processor letter) → vCPU → GiB.
LARGE_E: dict[tuple[int, str], dict[int, float]] = {
    (3, ""): {64: 432},
    (4, ""): {64: 504},
    (4, "a"): {64: 512, 96: 672},
    (5, ""): {64: 512, 96: 672},
    (5, "a"): {64: 512, 96: 672},
    (5, "p"): {32: 208},
    (6, ""): {64: 512, 96: 768, 128: 1024},
    (6, "a"): {64: 512, 96: 672},
    (6, "p"): {64: 512, 96: 672},
}
REGULAR_E_UP_TO = 48  # vCPU; 32 for Arm version 5, by the table above
ARM_V5_UP_TO = {"D": 64, "E": 32}  # larger Arm v5 names are priced but were never sold


def derive(name: str) -> tuple[dict[str, str], str, Size] | None:
    """Capabilities, the sentence that made them, and the parsed name; None when they are not certain."""
    size = azure_names.parse(name)
    if size is None or (certain := _memory(size)) is None:
        return None
    gib, gpus, rule = certain
    capabilities = {"vCPUs": str(size.vcpus), "MemoryGB": f"{gib:g}"}
    if gpus:
        capabilities["GPUs"] = str(gpus)
    capabilities |= _features(size)
    return capabilities, f"vCPUs from the name; {rule}; features by series and version.", size


def _memory(size: Size) -> tuple[float, int, str] | None:
    if gpu := GPU.get((size.series + size.options, size.accelerator, size.version), {}).get(size.vcpus):
        return *gpu, "memory and GPUs from the series' table"
    if size.accelerator:
        return None
    key = f"{size.vcpus}{size.options}"
    if size.series == "B" and size.version == 1 and key in BURSTABLE_V1:
        return BURSTABLE_V1[key], 0, "memory from the series' table"
    if size.series == "A" and size.version == 2 and key in A_V2:
        return A_V2[key], 0, "memory from the series' table"
    if (ratio := _gib_per_vcpu(size)) is not None:
        return size.vcpus * ratio, 0, f"{ratio:g} GiB a vCPU in this series"
    return None


def _gib_per_vcpu(size: Size) -> float | None:
    options, version = size.options, size.version
    if size.version == 5 and "p" in options and size.vcpus > ARM_V5_UP_TO.get(size.series, 0):
        return None
    if size.series == "B" and version == 2:
        return 0.5 if "t" in options else 2 if "l" in options else 4
    if size.series == "D" and 3 <= version <= 6 and not set(options) & set("ehi"):
        return 2 if "l" in options else 4
    if size.series == "E" and 3 <= version <= 6 and not set(options) & set("i"):
        return _gib_per_vcpu_of_e(size)
    if size.series == "F" and version <= 2 and options in ("", "s"):
        return 2
    if size.series == "F" and version == 6 and "i" not in options:
        return 2 if "l" in options else 8 if "m" in options else 4
    if size.series == "FX" and size.vcpus <= 64:
        return 21
    if size.series == "L" and 2 <= version <= 4 and "i" not in options and size.vcpus <= (80 if version < 4 else 96):
        return 8
    return None


def _gib_per_vcpu_of_e(size: Size) -> float | None:
    processor = next((letter for letter in "ap" if letter in size.options), "")
    irregular = LARGE_E.get((size.version, processor), {})
    if size.vcpus in irregular:
        network = "n" in size.options and size.vcpus > 64  # the network-optimised sizes' tops are not known
        return None if network else irregular[size.vcpus] / size.vcpus
    return 8 if size.vcpus <= REGULAR_E_UP_TO else None


def _features(size: Size) -> dict[str, str]:
    arm, premium, newest = "p" in size.options, "s" in size.options, size.version >= 6
    burstable, plain_old = size.series == "B", "s" not in size.options and size.version <= 4
    found = {
        "CpuArchitectureType": "Arm64" if arm else "x64",
        "LowPriorityCapable": str(not burstable),
        "PremiumIO": str(premium),
        "AcceleratedNetworkingEnabled": str(_accelerated_networking(size)),
        "HyperVGenerations": "V2" if arm or newest else "V1" if plain_old else "V1,V2",
        "EncryptionAtHostSupported": str(premium or size.version >= 5),
    }
    disk = _local_disk(size)
    if disk:
        found |= disk
    return found


def _accelerated_networking(size: Size) -> bool:
    if size.series == "A":
        return False
    if size.series == "B" and size.version == 1:
        return size.vcpus >= 12
    return size.vcpus >= 2


def _local_disk(size: Size) -> dict[str, str]:
    """Only for D and E with a d: 37.5 GiB a vCPU on a resource disk to version 5, 55 GiB on NVMe from 6."""
    if size.series not in ("D", "E") or "d" not in size.options or size.version < 4:
        return {}
    if size.version >= 6:
        disk = {"NvmeDiskSizeInMiB": str(56320 * size.vcpus), "SupportedEphemeralOSDiskPlacements": "NvmeDisk"}
    else:
        disk = {"MaxResourceVolumeMB": str(38400 * size.vcpus), "SupportedEphemeralOSDiskPlacements": "ResourceDisk"}
    return {**disk, "EphemeralOSDiskSupported": str("s" in size.options)}
