"""Azure's answers, as far as we read them: Microsoft.Compute/skus."""

from __future__ import annotations

from typing import Annotated

import msgspec


class Capability(msgspec.Struct, frozen=True):
    """A fact about a size; every value is text."""

    name: str
    value: str


class ZoneDetail(msgspec.Struct, frozen=True):
    """Capabilities a size has in some zones only."""

    name: tuple[str, ...] = ()
    capabilities: tuple[Capability, ...] = ()


class LocationInfo(msgspec.Struct, frozen=True, rename="camel"):
    location: str
    zones: tuple[str, ...] = ()
    zone_details: tuple[ZoneDetail, ...] = ()


class RestrictionInfo(msgspec.Struct, frozen=True):
    locations: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()


class Restriction(msgspec.Struct, frozen=True, rename="camel"):
    """Where a subscription may not use a size."""

    type: str
    values: tuple[str, ...] = ()
    restriction_info: RestrictionInfo = RestrictionInfo()
    reason_code: str = ""


class Sku(msgspec.Struct, frozen=True, rename="camel"):
    """One size. `derived` is our own mark: the sentence that made an entry nobody recorded."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    family: str = ""
    size: str = ""
    resource_type: str = "virtualMachines"
    locations: tuple[str, ...] = ()
    location_info: tuple[LocationInfo, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    restrictions: tuple[Restriction, ...] = ()
    derived: str = ""


def normal(location: str) -> str:
    """The API writes `EastUS`, `eastus` and `East US` for one region."""
    return location.replace(" ", "").lower()
