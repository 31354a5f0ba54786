"""What each pool and each node costs an hour, by the catalog as it is now (§5.3), and who says so.

A price is as old as the day on which its source last said it; a figure nobody has confirmed for a month is worth less
than one of today, and both look alike in a sum.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dovetail.clouds.port import CloudError
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.metrics import Metrics, Sample
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.prices import NANO, Price
from dovetail.core.lifecycle.pools import PoolRecord
from dovetail.core.nodeclaims import NodeClaim

ERRORS = "nodepools_cost_tracker_errors_total"
_OURS = "dovetail_"
_NODE = ("node_name", "nodepool", "instance_type", "zone", "capacity_type", "source")


@dataclass(slots=True)
class Costs:
    cluster: Cluster
    catalogs: CatalogCache
    metrics: Metrics
    now: Callable[[], float]
    #: Claims without a price, each told of once.
    _unpriced: set[str] = field(default_factory=set)

    def declare(self) -> None:
        self.metrics.gauge("nodepools_cost_total", "Dollars an hour for a pool's machines.", self._costs, "nodepool")

    def declare_nodes(self) -> None:
        """Series for each node."""
        gauge = self.metrics.gauge
        gauge("node_price", "Dollars an hour for each node, and who says so.", self._prices, *_NODE, prefix=_OURS)
        about = "Since the day on which a node's price was last said."
        gauge("node_price_age_seconds", about, self._ages, *_NODE, prefix=_OURS)

    def _prices(self) -> Iterator[Sample]:
        for told, price in self._priced():
            yield told, price.nanodollars / NANO

    def _ages(self) -> Iterator[Sample]:
        for told, price in self._priced():
            since = _moment(price.source.as_of)
            if since is not None:
                yield told, max(0.0, self.now() - since)

    def _priced(self) -> Iterator[tuple[dict[str, str], Price]]:
        """Every node with a price."""
        for held in tuple(self.cluster.pools):
            record = held.value
            catalog = self._catalog(record)
            for claim in tuple(self.cluster.claims_of_pool(record.name)) if catalog is not None else ():
                price = price_of(catalog, claim) if catalog is not None and claim.node_name else None
                if price is not None:
                    yield _about(claim, record.name, price), price

    def _costs(self) -> Iterator[Sample]:
        self._unpriced &= {one.value.name for one in self.cluster.claims}
        for held in tuple(self.cluster.pools):
            yield {"nodepool": held.value.name}, self._cost(held.value) / NANO

    def _cost(self, record: PoolRecord) -> int:
        bought = [one for one in self.cluster.claims_of_pool(record.name) if one.provider_id]
        if not bought:
            return 0
        catalog = self._catalog(record)
        return sum(self._price(catalog, one, record.name) for one in bought)

    def _catalog(self, record: PoolRecord) -> Catalog | None:
        try:
            return None if record.problem else self.catalogs.catalog(record.pool, self.now())
        except CloudError:
            return None

    def _price(self, catalog: Catalog | None, claim: NodeClaim, pool: str) -> int:
        """In nanodollars; a machine whose price is not known counts as an error, and as nothing."""
        found = price_of(catalog, claim) if catalog is not None else None
        if found is None and claim.name not in self._unpriced:
            self._unpriced.add(claim.name)
            self.metrics.count(ERRORS, {"nodepool": pool})
        return found.nanodollars if found is not None else 0


def price_of(catalog: Catalog, claim: NodeClaim) -> Price | None:
    told = claim.meta.labels
    kind = catalog.types.get(told.get(labels.INSTANCE_TYPE, ""))
    wanted = (told.get(labels.ZONE), told.get(labels.CAPACITY_TYPE))
    for row in kind.offerings if kind is not None else ():
        if row.price is not None and (row.zone, row.capacity_type) == wanted:
            return row.price
    return None


def _about(claim: NodeClaim, pool: str, price: Price) -> dict[str, str]:
    told = claim.meta.labels
    keys = (labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE)
    values = (claim.node_name, pool, *(told.get(key, "") for key in keys), str(price.source.kind))
    return dict(zip(_NODE, values, strict=True))


def _moment(date: str | None) -> float | None:
    try:
        return dt.datetime.fromisoformat(date or "").replace(tzinfo=dt.UTC).timestamp()
    except ValueError:
        return None
