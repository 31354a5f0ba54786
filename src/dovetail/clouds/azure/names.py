"""What an Azure size's name says: `Standard_NC24ads_A100_v4` is family N, series NCads_v4, 24 cores, an A100."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NAME: Final = re.compile(
    r"(?P<tier>Standard|Basic)_(?P<letters>[A-Z]+)(?P<cpus>[0-9]+)(?P<constrained>-[0-9]+)?(?P<features>[a-z]*)"
    r"(?:_(?P<accelerator>[A-Z][A-Za-z0-9]*))?(?:_(?P<extra>[a-z]{2,}))?(?:_v(?P<version>[0-9]+))?(?:_Promo)?",
    re.ASCII,
)
#: By the accelerator in the name, and by the series of those whose names leave it out.
_MAKERS: Final = {
    "A10": "nvidia",
    "A100": "nvidia",
    "H100": "nvidia",
    "H200": "nvidia",
    "GB200": "nvidia",
    "T4": "nvidia",
    "V100": "nvidia",
    "P100": "nvidia",
    "P40": "nvidia",
    "K80": "nvidia",
    "M60": "nvidia",
    "MI25": "amd",
    "MI300X": "amd",
    "V710": "amd",
}
_BY_SERIES: Final = {
    "NC": "K80",
    "NCr": "K80",
    "NCs_v2": "P100",
    "NCrs_v2": "P100",
    "NCs_v3": "V100",
    "NCrs_v3": "V100",
    "NDs": "P40",
    "NDrs": "P40",
    "NDrs_v2": "V100",
    "NDasr_v4": "A100",
    "NDamsr_v4": "A100",
    "NV": "M60",
    "NVs_v2": "M60",
    "NVs_v3": "M60",
    "NVas_v4": "MI25",
}


@dataclass(frozen=True, slots=True)
class SizeName:
    """The parts of a name."""

    tier: str
    letters: str
    features: str
    version: str
    accelerator: str | None
    constrained: bool

    @property
    def family(self) -> str:
        """The first letter: D, E, F, N … The letters after it belong to the series."""
        return self.letters[0]

    @property
    def series(self) -> str:
        return f"{self.letters}{self.features}" + (f"_v{self.version}" if self.version else "")

    @property
    def is_confidential(self) -> bool:
        return self.letters in ("DC", "EC", "NCC")

    @property
    def gpu(self) -> tuple[str, str] | None:
        """The GPU's name and maker, where we know them: then the node image has a driver for it."""
        name = self.accelerator or _BY_SERIES.get(self.series)
        return (name, _MAKERS[name]) if name in _MAKERS else None


def parse_name(name: str) -> SizeName | None:
    """The parts, or None for a name of another shape; such a size is sold, but has no series."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    return SizeName(
        tier=found["tier"],
        letters=found["letters"],
        features=found["features"],
        version=found["version"] or "",
        accelerator=found["accelerator"],
        constrained=found["constrained"] is not None,
    )
