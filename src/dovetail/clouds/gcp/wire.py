"""Compute Engine's answers, as far as we read them: machineTypes.list, and our own files beside it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from dovetail.core.catalog.prices import SourceKind

_Positive = Annotated[int, msgspec.Meta(ge=1, le=2**40)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**40)]


class Accelerator(msgspec.Struct, frozen=True, rename="camel"):
    guest_accelerator_type: str
    guest_accelerator_count: _Count = 0


class LocalSsds(msgspec.Struct, frozen=True, rename="camel"):
    partition_count: _Count = 0


class MachineType(msgspec.Struct, frozen=True, rename="camel"):
    """One machine type. `billed_cpus` is our own mark: shared-core types pay for part of a core."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    guest_cpus: _Positive
    memory_mb: _Positive
    architecture: str = "X86_64"
    is_shared_cpu: bool = False
    maximum_persistent_disks: _Count = 0
    accelerators: tuple[Accelerator, ...] = ()
    bundled_local_ssds: LocalSsds = LocalSsds()
    billed_cpus: Annotated[float, msgspec.Meta(gt=0, le=2**20)] | None = None

    @property
    def family(self) -> str:
        return self.name.partition("-")[0]


class RateRow(msgspec.Struct, frozen=True, rename="camel"):
    """What an hour of a vCPU or a GiB of a family costs in a region."""

    family: str
    region: str
    resource: Literal["cpu", "ram"]
    capacity_type: Literal["on-demand", "spot"]
    price: str
    as_of: str | None = None
    source: SourceKind = SourceKind.BUNDLED


class ZonesRow(msgspec.Struct, frozen=True):
    region: str
    zones: tuple[str, ...]
