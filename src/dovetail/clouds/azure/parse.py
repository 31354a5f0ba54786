"""Azure's answers made into a listing.

Prices are the region's, whatever the zone. Every size is sold in each of its zones and once more for the region as a
whole, zone label "0", where Azure picks the zone and does not tell. Sizes AKS cannot make nodes of are listed with
rows that are not available; `refusal` says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from dovetail.clouds.azure import labels as azure_labels
from dovetail.clouds.azure.names import SizeName, parse_name
from dovetail.clouds.azure.wire import LocationInfo, Sku, normal
from dovetail.clouds.interned import Interned, LabelValue, yes_or_no
from dovetail.clouds.options import DEFAULTS, LoadOptions
from dovetail.clouds.pricelist import PriceList
from dovetail.clouds.sorting import sorted_types
from dovetail.core import labels
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.density import Fixed
from dovetail.core.catalog.hardware import Disk, Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering, sorted_offerings
from dovetail.core.errors import BadField, BadValue
from dovetail.core.kubelet import ReserveStrategy
from dovetail.core.requirements import Requirements
from dovetail.core.resources import GIB, MIB, NOTHING, Resources

RULES: Final = NodeRules(density=Fixed(250, "the default of Azure CNI overlay"), reserve=ReserveStrategy.AKS)
DISK_DRIVER: Final = "disk.csi.azure.com"
_DISK_BYTES: Final = 128 * 10**9
_GPU_RESOURCES: Final = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu"}
#: AKS refuses these by name, besides what its least size refuses.
_DENIED: Final = frozenset(
    {
        *(f"Standard_{size}" for size in ("A0", "A1", "A1_v2", "B1s", "B1ms", "F1", "F1s", "E64i_v3", "E64is_v3")),
        *(f"Basic_A{number}" for number in range(5)),
    }
)
_LEAST_CPUS, _LEAST_MEMORY_BYTES = 2, GIB * 7 // 2
_WHOLE: Final = re.compile(r"[0-9]{1,15}", re.ASCII)
_DECIMAL: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", re.ASCII)
_NUMBERS: Final = {
    "vCPUs": _WHOLE,
    "MemoryGB": _DECIMAL,
    "GPUs": _WHOLE,
    "CachedDiskBytes": _WHOLE,
    "MaxResourceVolumeMB": _WHOLE,
    "NvmeDiskSizeInMiB": _WHOLE,
    "MaxDataDiskCount": _WHOLE,
}


@dataclass(frozen=True, slots=True)
class Answers:
    """All that is known about a region."""

    region: str
    skus: Iterable[Sku]
    prices: PriceList = field(default_factory=PriceList)
    source: str = "Microsoft.Compute/skus"
    problems: tuple[BadField, ...] = ()


def listing_of(answers: Answers, options: LoadOptions = DEFAULTS) -> Listing:
    """Sort a region's answers into a listing; a size that cannot be read costs only itself."""
    reading = _Reading(answers, options)
    here = (sku for sku in answers.skus if sku.resource_type == "virtualMachines" and reading.is_here(sku))
    found = sorted_types(here, answers.source, lambda sku: sku.name, reading.size)
    return found.listing("azure", answers, RULES, azure_labels.DIALECT)


def capabilities(sku: Sku) -> dict[str, str]:
    """A size's capabilities by name, those we count with proved to be numbers."""
    known = {one.name: one.value for one in sku.capabilities}
    for name, shape in _NUMBERS.items():
        value = known.get(name)
        if value is not None and shape.fullmatch(value) is None:
            raise BadValue(f"{value[:60]!r} is not a number").at("capabilities", name)
    for name in ("vCPUs", "MemoryGB"):
        if not float(known.get(name, "0")):
            raise BadValue("is missing or 0").at("capabilities", name)
    return known


def refusal(sku: Sku, known: Mapping[str, str], name: SizeName | None, region: str) -> str | None:
    """Why no AKS node can be made of a size in a region, or None."""
    for one in sku.restrictions:
        places = one.restriction_info.locations or one.values
        if one.type == "Location" and region in map(normal, places):
            return f"the subscription may not use it in {region}"
    if sku.name in _DENIED:
        return "AKS refuses this size"
    if int(known["vCPUs"]) < _LEAST_CPUS or azure_labels.memory_mib(known) * MIB < _LEAST_MEMORY_BYTES:
        return "smaller than AKS takes: 2 vCPUs and 3.5 GiB"
    if name is not None and name.constrained:
        return "a size with constrained vCPUs"
    if name is not None and name.is_confidential:
        return "a confidential machine, which needs an image of its own"
    if known.get("GPUs", "0") != "0" and (name is None or name.gpu is None):
        return "a GPU no node image has a driver for"
    return None


class _Reading:
    """One pass over one region's answers: what rows and sizes share is made once and handed around."""

    def __init__(self, answers: Answers, options: LoadOptions) -> None:
        self._answers = answers
        self._windows = options.windows
        self._disk = Disk(_DISK_BYTES if options.disk_bytes is None else options.disk_bytes)
        self._interned = Interned()
        self._places: dict[tuple[str, bool, str], Requirements] = {}

    def is_here(self, sku: Sku) -> bool:
        return any(normal(one) == self._answers.region for one in sku.locations) or self._location(sku) is not None

    def _location(self, sku: Sku) -> LocationInfo | None:
        return next((one for one in sku.location_info if normal(one.location) == self._answers.region), None)

    def size(self, sku: Sku) -> tuple[Hardware, tuple[Offering, ...]]:
        labels.check_value(sku.name)
        known, name = capabilities(sku), parse_name(sku.name)
        why_not = refusal(sku, known, name, self._answers.region)
        rows = sorted_offerings(self._rows(sku, known, available=why_not is None))
        return self._hardware(sku, known, name, why_not), rows

    def _hardware(self, sku: Sku, known: Mapping[str, str], name: SizeName | None, why_not: str | None) -> Hardware:
        told = azure_labels.of_sku(sku, known, name, self._answers.region, self._windows)
        for key, value in told.items():
            for one in (value,) if isinstance(value, str) else value or ():
                self._check(key, one)
        # Said first, as tables cut from the end: nobody recorded such a size, whatever the others came from.
        source = f"derived by rule, not recorded: {sku.derived}" if sku.derived else self._answers.source
        disks = int(known.get("MaxDataDiskCount", "0"))
        return Hardware(
            name=sku.name,
            cpu_millis=int(known["vCPUs"]) * 1000,
            memory_bytes=azure_labels.memory_mib(known) * MIB,
            requirements=self._interned.requirements(told),
            devices=_devices(known, name),
            disk=self._disk,
            # The quota's family: a shortage of one size is a shortage of its larger siblings.
            family=sku.family or (name.series if name else ""),
            volume_limits=((DISK_DRIVER, disks),) if disks else (),
            source=source if why_not is None else f"{source}; not launched: {why_not}",
        )

    def _check(self, key: str, value: str) -> None:
        try:
            labels.check_value(value)
        except BadValue as problem:
            raise problem.at(key) from None

    def _rows(self, sku: Sku, known: Mapping[str, str], *, available: bool) -> Iterator[Offering]:
        prices, region = self._answers.prices, self._answers.region
        sold = [(labels.ON_DEMAND, prices.on_demand.get(sku.name))]
        if azure_labels.is_true(known, "LowPriorityCapable"):
            sold += [(labels.SPOT, price) for price in prices.spot_in(sku.name, (region,))]
        for zone, ultra in self._zones(sku, known):
            for capacity_type, price in sold:
                yield Offering(self._place(zone, ultra, capacity_type), zone, capacity_type, price, available)

    def _zones(self, sku: Sku, known: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
        """The zones a size is sold in, each with whether it has ultra disks there, and the region as a whole."""
        here, region = self._location(sku), self._answers.region
        closed = {
            zone
            for one in sku.restrictions
            if one.type == "Zone" and region in map(normal, one.restriction_info.locations or one.values)
            for zone in one.restriction_info.zones
        }
        everywhere = azure_labels.is_true(known, "UltraSSDAvailable")
        some = {
            zone
            for detail in (here.zone_details if here else ())
            if any(one.name == "UltraSSDAvailable" and one.value == "True" for one in detail.capabilities)
            for zone in detail.name
        }
        for number in sorted(set(here.zones if here else ()) - closed):
            yield f"{region}-{number}", everywhere or number in some
        yield azure_labels.REGIONAL_ZONE, False

    def _place(self, zone: str, ultra: bool, capacity_type: str) -> Requirements:
        """What all rows of a zone and a capacity type have in common: everything but the price."""
        place = self._places.get((zone, ultra, capacity_type))
        if place is None:
            priority = "spot" if capacity_type == labels.SPOT else "regular"
            pairs: dict[str, LabelValue] = {
                labels.ZONE: zone,
                labels.CAPACITY_TYPE: capacity_type,
                azure_labels.SCALE_SET_PRIORITY: priority,
                azure_labels.PRIORITY: priority,
                azure_labels.PLACEMENT_SCOPE: "regional" if zone == azure_labels.REGIONAL_ZONE else "zonal",
                azure_labels.ULTRA_SSD: yes_or_no(ultra),
                azure_labels.RESERVATION_ID: None,
            }
            place = self._places[zone, ultra, capacity_type] = self._interned.requirements(pairs)
        return place


def _devices(known: Mapping[str, str], name: SizeName | None) -> Resources:
    count, gpu = int(known.get("GPUs", "0")), name.gpu if name else None
    return Resources({_GPU_RESOURCES[gpu[1]]: count}) if count and gpu else NOTHING
