"""Google Compute Engine's predefined machine types, by their naming rules, in the shape of machineTypes.list.

A family is a set of sizes and, for each shape (standard, highmem, highcpu), the GiB a vCPU has. Types that
follow no such rule are spelt out. Families and variants whose numbers are not certain (z3, c4d, metal) are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .output import Catalogue, Provenance

WRITTEN_ON = "2026-11-15"
MIB = 1024


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    sizes: tuple[int, ...]
    gib_per_vcpu: Mapping[str, float]
    architecture: str = "X86_64"
    fewer: dict[str, tuple[int, ...]] = field(default_factory=dict)  # shapes that have other sizes
    local_ssds: dict[int, int] = field(default_factory=dict)  # vCPUs → 375 GiB partitions of the -lssd variant
    local_ssd_shapes: tuple[str, ...] = ()


USUAL = {"standard": 4, "highmem": 8, "highcpu": 1}
DOUBLE = {"standard": 4, "highmem": 8, "highcpu": 2}
N2D = (2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 224)
FAMILIES = (
    Family("e2", (2, 4, 8, 16, 32), USUAL, fewer={"highmem": (2, 4, 8, 16)}),
    Family(
        "n1",
        (2, 4, 8, 16, 32, 64, 96),
        {"standard": 3.75, "highmem": 6.5, "highcpu": 0.9},
        fewer={"standard": (1, 2, 4, 8, 16, 32, 64, 96)},
    ),
    Family(
        "n2",
        (2, 4, 8, 16, 32, 48, 64, 80, 96),
        USUAL,
        fewer={"standard": (2, 4, 8, 16, 32, 48, 64, 80, 96, 128)},
    ),
    Family("n2d", N2D, USUAL, fewer={"highmem": N2D[:-2]}),
    Family("n4", (2, 4, 8, 16, 32, 48, 64, 80), DOUBLE),
    Family("c2", (4, 8, 16, 30, 60), {"standard": 4}),
    Family("c2d", (2, 4, 8, 16, 32, 56, 112), DOUBLE),
    Family(
        "c3",
        (4, 8, 22, 44, 88, 176),
        DOUBLE,
        local_ssds={4: 1, 8: 2, 22: 4, 44: 8, 88: 16, 176: 32},
        local_ssd_shapes=("standard",),
    ),
    Family(
        "c3d",
        (4, 8, 16, 30, 60, 90, 180, 360),
        DOUBLE,
        local_ssds={8: 1, 16: 1, 30: 2, 60: 4, 90: 8, 180: 16, 360: 32},
        local_ssd_shapes=("standard", "highmem"),
    ),
    Family("c4", (2, 4, 8, 16, 24, 32, 48, 96, 144, 192, 288), {"standard": 3.75, "highmem": 7.75, "highcpu": 2}),
    Family(
        "c4a",
        (1, 2, 4, 8, 16, 32, 48, 64, 72),
        DOUBLE,
        architecture="ARM64",
        local_ssds={4: 1, 8: 2, 16: 4, 32: 6, 48: 10, 64: 14, 72: 16},
        local_ssd_shapes=("standard", "highmem"),
    ),
    Family("t2d", (1, 2, 4, 8, 16, 32, 48, 60), {"standard": 4}),
    Family("t2a", (1, 2, 4, 8, 16, 32, 48), {"standard": 4}, architecture="ARM64"),
    Family("h3", (88,), {"standard": 4}),
)
# name → (vCPUs, MiB, vCPUs billed): their share of a core, not the two threads they see, is what they pay for.
SHARED_CORE = {
    "e2-micro": (2, 1024, 0.25),
    "e2-small": (2, 2048, 0.5),
    "e2-medium": (2, 4096, 1),
    "f1-micro": (1, 614, 1),
    "g1-small": (1, 1740, 1),
}
# name → (vCPUs, GiB)
LARGE_MEMORY = {
    "n2-highmem-128": (128, 864),
    "m1-megamem-96": (96, 1433.6),
    "m1-ultramem-40": (40, 961),
    "m1-ultramem-80": (80, 1922),
    "m1-ultramem-160": (160, 3844),
    "m2-ultramem-208": (208, 5888),
    "m2-ultramem-416": (416, 11776),
    "m2-megamem-416": (416, 5888),
    "m2-hypermem-416": (416, 8832),
    "m3-ultramem-32": (32, 976),
    "m3-ultramem-64": (64, 1952),
    "m3-ultramem-128": (128, 3904),
    "m3-megamem-64": (64, 976),
    "m3-megamem-128": (128, 1952),
}
# name → (vCPUs, GiB, accelerator, how many, bundled 375 GiB partitions)
ACCELERATED = {
    **{f"a2-highgpu-{n}g": (12 * n, 85 * n, "nvidia-tesla-a100", n, 0) for n in (1, 2, 4, 8)},
    "a2-megagpu-16g": (96, 1360, "nvidia-tesla-a100", 16, 0),
    **{f"a2-ultragpu-{n}g": (12 * n, 170 * n, "nvidia-a100-80gb", n, n) for n in (1, 2, 4, 8)},
    **{f"a3-highgpu-{n}g": (26 * n, 234 * n, "nvidia-h100-80gb", n, 2 * n) for n in (1, 2, 4, 8)},
    "a3-megagpu-8g": (208, 1872, "nvidia-h100-mega-80gb", 8, 16),
    "a3-ultragpu-8g": (224, 2952, "nvidia-h200-141gb", 8, 32),
    **{
        f"g2-standard-{vcpus}": (vcpus, 4 * vcpus, "nvidia-l4", gpus, 0)
        for vcpus, gpus in ((4, 1), (8, 1), (12, 1), (16, 1), (24, 2), (32, 1), (48, 4), (96, 8))
    },
}


def write(catalogue: Catalogue) -> None:
    rows = sorted(machine_types(), key=lambda row: str(row["name"]))
    note = (
        "Generated from the families' naming rules and tables written for tools/data, which no package backs and which"
        " were checked only in part. billedCpus, only on shared-core types, is not of the API."
    )
    source = "naming rules in tools/data/gcp_types.py"
    catalogue.write("gcp/types.jsonl.gz", rows, Provenance(source, WRITTEN_ON, "Apache-2.0", note))


def machine_types() -> Iterator[dict[str, Any]]:
    for family in FAMILIES:
        yield from _of(family)
    for name, (vcpus, mib, billed) in SHARED_CORE.items():
        yield {**_row(name, vcpus, mib), "isSharedCpu": True, "maximumPersistentDisks": 16, "billedCpus": billed}
    for name, (vcpus, gib) in LARGE_MEMORY.items():
        yield _row(name, vcpus, int(gib * MIB))
    for name, (vcpus, gib, accelerator, count, partitions) in ACCELERATED.items():
        row = _row(name, vcpus, gib * MIB)
        row["accelerators"] = [{"guestAcceleratorType": accelerator, "guestAcceleratorCount": count}]
        yield _with_ssds(row, partitions)


def _of(family: Family) -> Iterator[dict[str, Any]]:
    for shape, gib in family.gib_per_vcpu.items():
        for vcpus in family.fewer.get(shape, family.sizes):
            mib = round(vcpus * gib * MIB)
            if family.name == "c4":  # whole GiB, rounded down: c4-standard-2 has 7, c4-highmem-2 has 15
                mib = int(vcpus * gib) * MIB
            row = _row(f"{family.name}-{shape}-{vcpus}", vcpus, mib, family.architecture)
            yield row
            if shape in family.local_ssd_shapes and vcpus in family.local_ssds:
                yield _with_ssds({**row, "name": f"{row['name']}-lssd"}, family.local_ssds[vcpus])


def _row(name: str, vcpus: int, mib: int, architecture: str = "X86_64") -> dict[str, Any]:
    return {
        "name": name,
        "guestCpus": vcpus,
        "memoryMb": mib,
        "architecture": architecture,
        "isSharedCpu": False,
        "maximumPersistentDisks": 128,
    }


def _with_ssds(row: dict[str, Any], partitions: int) -> dict[str, Any]:
    return {**row, "bundledLocalSsds": {"partitionCount": partitions}} if partitions else row
