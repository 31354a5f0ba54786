"""Label keys: their names, their aliases, and which of them users may set.

Keys are canonical past the door: every requirement, label map and offering goes through `canonical` when it is
built, so `beta.kubernetes.io/arch` and `kubernetes.io/arch` can never be two constraints. A provider adds its own
aliases and well-known keys as a `Dialect`, which is a value handed down from the composition root; nothing here is
a registry that somebody could forget to fill.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dovetail.core.errors import BadValue, shown

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
HOSTNAME: Final = "kubernetes.io/hostname"
WINDOWS_BUILD: Final = "node.kubernetes.io/windows-build"
NODEPOOL: Final = "karpenter.sh/nodepool"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
PRICE: Final = "karpenter.sh/price"

ON_DEMAND: Final = "on-demand"
SPOT: Final = "spot"
RESERVED: Final = "reserved"
CAPACITY_TYPES: Final = (RESERVED, SPOT, ON_DEMAND)

TENANCY: Final = "karpenter.k8s.aws/instance-tenancy"


@dataclass(frozen=True, slots=True)
class Values:
    """The values a key may have, and what one of them is called."""

    noun: str
    all: tuple[str, ...]

    def of(self, values: Iterable[str]) -> frozenset[str]:
        return frozenset(self.all) & frozenset(values)

    @property
    def hint(self) -> str:
        return f"use one of {', '.join(self.all)}"


#: Keys whose values are known. A list may name others beside them, for a later release, but not others alone.
VALUED: Final[Mapping[str, Values]] = MappingProxyType(
    {CAPACITY_TYPE: Values("capacity type", CAPACITY_TYPES), TENANCY: Values("tenancy", ("default", "dedicated"))}
)

WELL_KNOWN: Final = frozenset(
    {NODEPOOL, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, WINDOWS_BUILD},
)
ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "failure-domain.beta.kubernetes.io/zone": ZONE,
        "failure-domain.beta.kubernetes.io/region": REGION,
        "beta.kubernetes.io/arch": ARCH,
        "beta.kubernetes.io/os": OS,
        "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
        # The clouds' own spellings of the zone, put on volumes by their CSI drivers.
        "topology.ebs.csi.aws.com/zone": ZONE,
        "topology.gke.io/zone": ZONE,
        "topology.disk.csi.azure.com/zone": ZONE,
    }
)
_RESERVED_DOMAIN: Final = "karpenter.sh"


def canonical(key: str) -> str:
    """The one spelling of a key."""
    return ALIASES.get(key, key)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one provider adds to the vocabulary of labels.

    `well_known` keys may be left undefined by a NodePool and still match; `values` maps a canonical key to
    spellings of its values (Azure's CSI driver writes an empty zone where the topology label says "0").
    """

    well_known: frozenset[str] = WELL_KNOWN
    values: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))

    def value(self, key: str, value: str) -> str:
        spellings = self.values.get(key)
        return spellings.get(value, value) if spellings else value


KUBERNETES: Final[Dialect] = Dialect()


def is_restricted(key: str, well_known: frozenset[str] = WELL_KNOWN) -> bool:
    """Whether users may not set or select this key: the hostname, and the reserved domain's unknown keys."""
    if key == HOSTNAME:
        return True
    if key in well_known:
        return False
    domain, slash, _ = key.partition("/")
    return bool(slash) and (domain == _RESERVED_DOMAIN or domain.endswith("." + _RESERVED_DOMAIN))


_NAME: Final = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)"
_DNS_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_KEY: Final = re.compile(rf"(?:(?P<prefix>{_DNS_LABEL}(?:\.{_DNS_LABEL})*)/)?(?P<name>{_NAME})", re.ASCII)
_VALUE: Final = re.compile(rf"{_NAME}?", re.ASCII)
_NAME_LENGTH: Final = 63
_PREFIX_LENGTH: Final = 253


def check_key(key: str) -> None:
    """Refuse what Kubernetes would refuse as a label key."""
    match = _KEY.fullmatch(key)
    if match is None or len(match["name"]) > _NAME_LENGTH or len(match["prefix"] or "") > _PREFIX_LENGTH:
        raise BadValue(f"{shown(key)} is not a label key; write prefix/name, such as topology.kubernetes.io/zone")


def check_value(value: str) -> None:
    """Refuse what Kubernetes would refuse as a label value."""
    if len(value) > _NAME_LENGTH or _VALUE.fullmatch(value) is None:
        raise BadValue(
            f"{shown(value)} is not a label value; use at most 63 letters, digits, '-', '_' or '.', "
            "beginning and ending with a letter or digit"
        )
