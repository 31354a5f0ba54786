"""What an Azure VM size's name says: `Standard_D16plds_v5` is series D, 16 vCPUs, options plds, version 5."""

from __future__ import annotations

import re
from dataclasses import dataclass

NAME = re.compile(r"Standard_([A-Z]+)(\d+)([a-z]*)(?:_([A-Z][A-Za-z0-9]*))?(?:_v(\d+))?")


@dataclass(frozen=True, slots=True)
class Size:
    """`options` are the small letters: a AMD, b more disk bandwidth, d local disk, i isolated, l less memory,
    m more memory, n more network, o more local disk, p Arm, r RDMA, s premium storage, t least memory."""

    name: str
    series: str
    vcpus: int
    options: str
    accelerator: str
    version: int

    @property
    def kin(self) -> tuple[str, str, str, int]:
        return self.series, self.options, self.accelerator, self.version


def parse(name: str) -> Size | None:
    """None for constrained-vCPU names (`E8-2s_v5`), promotions, and anything else that is not regular."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    series, vcpus, options, accelerator, version = found.groups()
    return Size(name, series, int(vcpus), options, accelerator or "", int(version or "1"))


def quota_family(size: Size) -> str:
    """The family name quota is counted under, by the pattern of the sizes whose family is known.

    Up to version 5 the options are capitals (`standardDPLDSv5Family`); version 6 keeps them small, and for AMD
    drops the s (`standardDav6Family` is D2as_v6's).
    """
    version = f"v{size.version}" if size.version > 1 else ""
    if size.version >= 6:
        amd = "a" in size.options
        options = size.options.replace("s", "") if amd else size.options
        return f"{'s' if amd else 'S'}tandard{size.series}{options}{version}Family"
    if size.series == "B" and size.version == 1:
        return "standardBSFamily"
    if size.series == "A":  # the larger-memory sizes share the plain ones' quota
        return "standardAv2Family"
    return f"standard{size.series}{size.options.upper()}{size.accelerator}{version}Family"
