"""Compute Engine's answers made into a listing.

Prices are the region's. A family without rates is listed without a price. The bundled files do not tell which zone
sells which type, so each is listed in every zone of its region; a live answer says, with `sold_in`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dovetail.clouds.gcp import labels as gcp_labels
from dovetail.clouds.gcp.wire import MachineType
from dovetail.clouds.interned import Interned, LabelValue
from dovetail.clouds.options import DEFAULTS, LoadOptions
from dovetail.clouds.pricelist import PriceList
from dovetail.clouds.sorting import sorted_types
from dovetail.core import labels
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.density import Fixed
from dovetail.core.catalog.hardware import Disk, Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering, sorted_offerings
from dovetail.core.errors import BadField
from dovetail.core.kubelet import ReserveStrategy
from dovetail.core.requirements import Requirements
from dovetail.core.resources import GIB, MIB, NOTHING, Resources

RULES: Final = NodeRules(density=Fixed(110, "GKE's default"), reserve=ReserveStrategy.GKE)
DISK_DRIVER: Final = "pd.csi.storage.gke.io"
_DISK_BYTES: Final = 100 * GIB
_LOCAL_SSD_BYTES: Final = 375 * GIB
#: Storage-optimised machines have larger local disks.
_LARGE_LOCAL_SSDS: Final = {"z3": 3000 * GIB}
#: The only types GKE holds a flat 1060m back on; f1 and g1 share cores too, and have fewer than that.
_SHARED_CORE: Final = frozenset({"e2-micro", "e2-small", "e2-medium"})
_PROVISIONING: Final = {labels.ON_DEMAND: "standard", labels.SPOT: "spot"}


@dataclass(frozen=True, slots=True)
class Answers:
    """All that is known about a region. `sold_in` are a type's zones; a type not named there is sold in all."""

    region: str
    types: Iterable[MachineType]
    zones: Sequence[str]
    prices: PriceList = field(default_factory=PriceList)
    sold_in: Mapping[str, Sequence[str]] = field(default_factory=dict)
    source: str = "Compute Engine machineTypes"
    problems: tuple[BadField, ...] = ()


def listing_of(answers: Answers, options: LoadOptions = DEFAULTS) -> Listing:
    """Sort a region's answers into a listing; a type that cannot be read costs only itself."""
    reading = _Reading(answers, options)
    found = sorted_types(
        answers.types,
        answers.source,
        lambda one: one.name,
        lambda one: (reading.hardware(one), sorted_offerings(reading.rows(one))),
    )
    return found.listing("gcp", answers, RULES, gcp_labels.DIALECT)


def devices_of(one: MachineType) -> Resources:
    """Every accelerator counts, not every entry: `a2-highgpu-8g` has one entry and eight GPUs."""
    found: dict[str, int] = {}
    for accelerator in one.accelerators:
        kind = accelerator.guest_accelerator_type
        resource = "nvidia.com/gpu" if kind.startswith("nvidia") else "google.com/tpu"
        found[resource] = found.get(resource, 0) + accelerator.guest_accelerator_count
    return Resources(found) if found else NOTHING


def disk_of(one: MachineType, boot: Disk) -> Disk:
    """Pods' scratch space is on the local SSDs where the type brings some, else on the boot disk."""
    count = one.bundled_local_ssds.partition_count
    return Disk(count * _LARGE_LOCAL_SSDS.get(one.family, _LOCAL_SSD_BYTES), count) if count else boot


class _Reading:
    """One pass over one region's answers: what rows and types share is made once and handed around."""

    def __init__(self, answers: Answers, options: LoadOptions) -> None:
        self._answers = answers
        self._windows = options.windows
        self._boot = Disk(_DISK_BYTES if options.disk_bytes is None else options.disk_bytes)
        self._interned = Interned()
        self._places: dict[tuple[str, str], Requirements] = {}

    def hardware(self, one: MachineType) -> Hardware:
        told = gcp_labels.of_type(one, self._answers.region, self._windows)
        for value in (one.name, told[gcp_labels.GPU_NAME]):
            labels.check_value(value if isinstance(value, str) else "")
        disks = one.maximum_persistent_disks - 1  # the boot disk is one of them
        return Hardware(
            name=one.name,
            cpu_millis=one.guest_cpus * 1000,
            memory_bytes=one.memory_mb * MIB,
            requirements=self._interned.requirements(told),
            devices=devices_of(one),
            disk=disk_of(one, self._boot),
            shared_core=one.name in _SHARED_CORE,
            family=one.family,
            volume_limits=((DISK_DRIVER, disks),) if disks > 0 else (),
            source=self._answers.source,
        )

    def rows(self, one: MachineType) -> Iterator[Offering]:
        prices, name = self._answers.prices, one.name
        zones = self._answers.sold_in.get(name, self._answers.zones)
        on_demand = prices.on_demand.get(name)
        # Asked by region, not by zone: Google's spot prices do not differ between zones, so a model's should not.
        (spot,) = prices.spot_in(name, (self._answers.region,))
        for zone in zones:
            for capacity_type, price in ((labels.ON_DEMAND, on_demand), (labels.SPOT, spot)):
                yield Offering(self._place(zone, capacity_type), zone, capacity_type, price)

    def _place(self, zone: str, capacity_type: str) -> Requirements:
        """What all rows of a zone and a capacity type have in common: everything but the price."""
        place = self._places.get((zone, capacity_type))
        if place is None:
            pairs: dict[str, LabelValue] = {
                labels.ZONE: zone,
                labels.CAPACITY_TYPE: capacity_type,
                gcp_labels.GKE_PROVISIONING: _PROVISIONING[capacity_type],
                gcp_labels.RESERVATION_ID: None,
            }
            place = self._places[zone, capacity_type] = self._interned.requirements(pairs)
        return place
