"""The catalogue kwok comes with, made by rule: 144 types that follow one price formula.

families c, s, m (2, 4, 8 GiB a core) × 12 sizes × amd64, arm64 × linux, windows
price = 0.025 a core + 0.001 a gigabyte (10⁹ bytes); spot is 0.7 of it
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from dovetail.clouds.interned import Interned
from dovetail.clouds.kwok import labels as kwok_labels
from dovetail.core import labels, quantity
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.density import Fixed
from dovetail.core.catalog.hardware import Disk, Hardware
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering, sorted_offerings
from dovetail.core.catalog.overhead import FlatOverhead
from dovetail.core.catalog.prices import Price, Source, SourceKind
from dovetail.core.requirements import Requirements
from dovetail.core.resources import CPU, GIB, MEMORY, MIB, Resources

REGION: Final = "test-region"
ZONES: Final = ("test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d")
_GIB_PER_CPU: Final = {"c": 2, "s": 4, "m": 8}
_CPUS: Final = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256)
_ARCHITECTURES: Final = ("amd64", "arm64")
_SYSTEMS: Final = ("linux", "windows")
_PODS_PER_CPU, _MOST_PODS = 16, 1024
_DISK_BYTES: Final = 20 * GIB

_CPU_NANODOLLARS: Final = 25_000_000
_BYTES_PER_NANODOLLAR: Final = 1000
_SPOT_SHARE: Final = Fraction(7, 10)
SOURCE: Final = Source(SourceKind.MODELLED, "0.025 a core + 0.001 a gigabyte")
SPOT_SOURCE: Final = Source(SourceKind.MODELLED, "0.7 of on-demand")

#: No hypervisor takes anything; every node holds the same little back.
RULES: Final = NodeRules(
    density=Fixed(110, "Kubernetes' default"),
    vm_overhead=FlatOverhead(Fraction(0)),
    flat_overhead=Resources({CPU: 100, MEMORY: 10 * MIB}),
)


def price_of(cpus: int, memory_bytes: int) -> Fraction:
    """The on-demand price in nanodollars, exactly; it is rounded only where it is put on a row."""
    return cpus * _CPU_NANODOLLARS + Fraction(memory_bytes, _BYTES_PER_NANODOLLAR)


def listing(disk_bytes: int | None = None) -> Listing:
    """The whole catalogue, in its four zones."""
    interned, disk = Interned(), Disk(_DISK_BYTES if disk_bytes is None else disk_bytes)
    places = {
        (zone, capacity_type): interned.requirements({labels.CAPACITY_TYPE: capacity_type, labels.ZONE: zone})
        for zone in ZONES
        for capacity_type in (labels.ON_DEMAND, labels.SPOT)
    }
    hardware: list[Hardware] = []
    offerings: dict[str, tuple[Offering, ...]] = {}
    list_prices: dict[str, Price] = {}
    for cpus, family, system, arch in _shapes():
        name = f"{family}-{cpus}x-{arch}-{system}"
        memory = _GIB_PER_CPU[family] * cpus * GIB
        told = kwok_labels.of_type(name, str(cpus), str(quantity.of_bytes(memory)), arch, (system,))
        hardware.append(
            Hardware(
                name=name,
                cpu_millis=cpus * 1000,
                memory_bytes=memory,
                requirements=interned.requirements(told),
                disk=disk,
                pods=min(cpus * _PODS_PER_CPU, _MOST_PODS),
                family=family,
                source="kwok's generic catalogue",
            )
        )
        exact = price_of(cpus, memory)
        list_prices[name] = Price(round(exact), SOURCE)
        spot = Price(round(exact * _SPOT_SHARE), SPOT_SOURCE)
        offerings[name] = sorted_offerings(_rows(places, list_prices[name], spot))
    return Listing("kwok", REGION, tuple(hardware), offerings, list_prices, RULES, kwok_labels.DIALECT)


def _shapes() -> Iterator[tuple[int, str, str, str]]:
    for cpus in _CPUS:
        for family in _GIB_PER_CPU:
            for system in _SYSTEMS:
                for arch in _ARCHITECTURES:
                    yield cpus, family, system, arch


def _rows(places: dict[tuple[str, str], Requirements], on_demand: Price, spot: Price) -> Iterator[Offering]:
    prices = {labels.ON_DEMAND: on_demand, labels.SPOT: spot}
    for (zone, capacity_type), requirements in places.items():
        yield Offering(requirements, zone, capacity_type, prices[capacity_type])
