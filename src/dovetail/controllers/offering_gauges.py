"""What can be bought, in numbers, under the peer's names: each type's size, and each row's price and availability.

What several pools see is told once: a row is available if it is to any of them, at the least price that any sees. Rows
of one type are joined when they are printed, so that a scrape of twenty thousand series may pause in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dovetail.clouds.port import CloudError
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.metrics import Metrics, Sample
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.catalog.prices import NANO
from dovetail.core.resources import CPU, MEMORY

_ROW = ("instance_type", "capacity_type", "zone")
Row = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class OfferingGauges:
    cluster: Cluster
    catalogs: CatalogCache
    now: Callable[[], float]

    def declare(self, metrics: Metrics) -> None:
        name, gauge = "cloudprovider_instance_type", metrics.gauge
        gauge(f"{name}_cpu_cores", "Cores of each instance type.", self._cores, "instance_type")
        gauge(f"{name}_memory_bytes", "Memory of each instance type.", self._memory, "instance_type")
        gauge(f"{name}_offering_available", "Whether a row can be bought now.", self._available, *_ROW)
        gauge(f"{name}_offering_price_estimate", "Dollars an hour of a row.", self._prices, *_ROW)

    def _catalogs(self) -> list[Catalog]:
        """Of all pools that can be used; pools whose answers are equal share one."""
        found: dict[int, Catalog] = {}
        for held in tuple(self.cluster.pools):
            if not held.value.problem:
                try:
                    one = self.catalogs.catalog(held.value.pool, self.now())
                except CloudError:
                    continue
                found[id(one)] = one
        return list(found.values())

    def _types(self) -> Iterator[tuple[str, list[InstanceType]]]:
        catalogs = self._catalogs()
        for name in sorted({name for one in catalogs for name in one.types}):
            yield name, [one.types[name] for one in catalogs if name in one.types]

    def _cores(self) -> Iterator[Sample]:
        for name, kinds in self._types():
            yield {"instance_type": name}, kinds[0].capacity.of(CPU) / 1000

    def _memory(self) -> Iterator[Sample]:
        for name, kinds in self._types():
            yield {"instance_type": name}, float(kinds[0].capacity.of(MEMORY))

    def _available(self) -> Iterator[Sample]:
        for name, kinds in self._types():
            told: dict[Row, float] = dict.fromkeys(_places(name, kinds), 0.0)
            for row in (row for kind in kinds for row in kind.offerings if row.launchable):
                told[_key(name, row)] = 1.0
            yield from _samples(told)

    def _prices(self) -> Iterator[Sample]:
        for name, kinds in self._types():
            told: dict[Row, float] = {}
            for row in (row for kind in kinds for row in kind.offerings):
                if row.price is not None:
                    key = _key(name, row)
                    told[key] = min(row.price.nanodollars / NANO, told.get(key, float("inf")))
            yield from _samples(dict.fromkeys(_reserved(name, kinds), 0.0) | told)


def _key(name: str, row: Offering) -> Row:
    return name, row.capacity_type or "", row.zone or ""


def _places(name: str, kinds: list[InstanceType]) -> Iterator[Row]:
    for row in (row for kind in kinds for row in kind.offerings):
        yield _key(name, row)
    yield from _reserved(name, kinds)


def _reserved(name: str, kinds: list[InstanceType]) -> Iterator[Row]:
    """Wherever a type is sold something could be reserved: where nothing is, the series are there and say 0."""
    for zone in {row.zone for kind in kinds for row in kind.offerings if row.zone}:
        yield name, labels.RESERVED, zone


def _samples(told: dict[Row, float]) -> Iterator[Sample]:
    for row, value in sorted(told.items()):
        yield dict(zip(_ROW, row, strict=True)), value
