"""DescribeInstanceTypes and their offerings: pages, DryRun, and types that moto does not know yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES
from tools.aws_server.graft import Actions, Answer, dry_run, filters_of, matches, page, refused
from tools.aws_server.world import WORLD

_TYPES_PAGE: Final = 100
_OFFERINGS_PAGE: Final = 1000
_FIELDS: Final = {
    "instance-type": "InstanceType",
    "supported-virtualization-type": "SupportedVirtualizationTypes",
    "processor-info.supported-architecture": "ProcessorInfo.SupportedArchitectures",
    "processor-info.supported-features": "ProcessorInfo.SupportedFeatures",
    "supported-usage-class": "SupportedUsageClasses",
    "bare-metal": "BareMetal",
    "current-generation": "CurrentGeneration",
    "hypervisor": "Hypervisor",
}
_OFFERING_FIELDS: Final = {"instance-type": "InstanceType", "location": "Location"}


def sell_new_type(name: str, like: str, zones: tuple[str, ...]) -> None:
    """A type nobody has heard of appears."""
    WORLD.extra_types[name] = {**INSTANCE_TYPES[like], "InstanceType": name, "zones": zones}


def _describe(response: Any) -> Answer:
    dry_run(response)
    names, filters = response._get_param("InstanceTypes", []) or [], filters_of(response)
    known = {**INSTANCE_TYPES, **{name: _without_zones(one) for name, one in WORLD.extra_types.items()}}
    unknown = [name for name in names if name not in known]
    if unknown:
        text = f"The following supplied instance types do not exist: [{', '.join(unknown)}]"
        raise refused("InvalidInstanceType", text)
    found = [known[name] for name in (names or known) if matches(known[name], filters, _FIELDS)]
    here, more = page(response, found, _TYPES_PAGE)
    return {"InstanceTypes": here, "NextToken": more}


def _without_zones(one: Answer) -> Answer:
    return {key: value for key, value in one.items() if key != "zones"}


def _offerings(response: Any) -> Answer:
    dry_run(response)
    kind, region = response._get_param("LocationType") or "region", response.ec2_backend.region_name
    rows = [*INSTANCE_TYPE_OFFERINGS[kind].get(region, []), *_extra(kind)]
    filters = filters_of(response)
    here, more = page(response, [row for row in rows if matches(row, filters, _OFFERING_FIELDS)], _OFFERINGS_PAGE)
    return {"InstanceTypeOfferings": here, "NextToken": more}


def _extra(kind: str) -> Iterator[Answer]:
    if kind == "availability-zone":
        for name, one in WORLD.extra_types.items():
            for zone in one["zones"]:
                yield {"InstanceType": name, "LocationType": kind, "Location": zone}


ACTIONS: Final[Actions] = {"DescribeInstanceTypes": _describe, "DescribeInstanceTypeOfferings": _offerings}
