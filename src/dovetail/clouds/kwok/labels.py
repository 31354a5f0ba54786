"""The labels a kwok node carries, told from its type's name and size."""

from __future__ import annotations

import re
from typing import Final

from dovetail.clouds.interned import LabelValue
from dovetail.core import labels

_DOMAIN: Final = "karpenter.kwok.sh"
SIZE: Final = f"{_DOMAIN}/instance-size"
FAMILY: Final = f"{_DOMAIN}/instance-family"
CPU: Final = f"{_DOMAIN}/instance-cpu"
MEMORY: Final = f"{_DOMAIN}/instance-memory"
RESERVATION_ID: Final = f"{_DOMAIN}/reservation-id"
WELL_KNOWN: Final = labels.WELL_KNOWN | {SIZE, FAMILY, CPU, MEMORY, RESERVATION_ID}
DIALECT: Final = labels.Dialect(well_known=WELL_KNOWN)

#: A name in EC2's fashion, `m5.large`; others have the cpu count for a size.
_EC2_NAME: Final = re.compile(r"[a-z0-9-]+\.(?P<size>[a-z0-9-]+)", re.ASCII)
_FAMILY_END: Final = re.compile(r"[.-]")


def family_of(name: str) -> str:
    """What stands before the first dot or dash, or else the first letter."""
    family, *rest = _FAMILY_END.split(name, maxsplit=1)
    return family if rest else name[:1]


def of_type(name: str, cpu: str, memory: str, arch: str, systems: tuple[str, ...]) -> dict[str, LabelValue]:
    size = _EC2_NAME.fullmatch(name)
    return {
        labels.INSTANCE_TYPE: name,
        labels.ARCH: arch,
        labels.OS: systems,
        SIZE: size["size"] if size else cpu,
        FAMILY: family_of(name) or None,
        CPU: cpu,
        MEMORY: memory,
    }
