"""What each pool costs an hour, by the catalog as it is now (§5.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dovetail.clouds.port import CloudError
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.metrics import Metrics, Sample
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.prices import NANO
from dovetail.core.lifecycle.pools import PoolRecord
from dovetail.core.nodeclaims import NodeClaim

ERRORS = "nodepools_cost_tracker_errors_total"


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
        return found or 0


def price_of(catalog: Catalog, claim: NodeClaim) -> int | None:
    told = claim.meta.labels
    kind = catalog.types.get(told.get(labels.INSTANCE_TYPE, ""))
    wanted = (told.get(labels.ZONE), told.get(labels.CAPACITY_TYPE))
    for row in kind.offerings if kind is not None else ():
        if row.price is not None and (row.zone, row.capacity_type) == wanted:
            return row.price.nanodollars
    return None
