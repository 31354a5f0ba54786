"""Buying and returning machines: a claim becomes an order, and what the cloud says becomes an outcome.

The order is worked out from the claim alone, against the catalog as it is now: the rows that suit its requirements and
can be bought, cheapest first, reservations before everything. So a process that died while buying asks for the same
thing again, and a claim written by hand is as good as one of ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.clouds import port
from dovetail.clouds.port import Cloud, CloudError, NoCapacity, NoClass, NotFound
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.instances import ClassNotReady, Instance, Option, Order, Outcome
from dovetail.core.instances import NoCapacity as NoCapacityOutcome
from dovetail.core.nodeclaims import Meta, NodeClaim
from dovetail.core.nodepools import NodeClassRef, NodePool

_RESERVED: Final = "reserved"
_NOTHING: Final = "no instance type that can be bought now meets the claim's requirements"
_NO_CLASS: Final = NodeClassRef("", "", "")


@dataclass(slots=True)
class Machines:
    """The one cloud of this process, its catalog, and the pools whose claims it fills."""

    cloud: Cloud
    catalogs: CatalogCache
    pools: Callable[[], Mapping[str, NodePool]]
    now: Callable[[], float] = time.time

    async def launch(self, claim: NodeClaim) -> Outcome:
        """An order that nothing fills goes to the cloud all the same: it may have filled it before, or know better why
        there is nothing, such as a class that nobody has looked at yet."""
        order = self.order(claim)
        if not isinstance(order, Order):
            return order
        try:
            instance = await self.cloud.launch(order)
        except NoCapacity as empty:
            self._learn(empty.shortages)
            told = order.options or isinstance(empty, NoClass)
            return port.outcome(empty) if told else NoCapacityOutcome(_NOTHING)
        except CloudError as failed:
            self._learn(failed.shortages)
            return port.outcome(failed)
        self._learn(instance.missed)
        return instance

    def _learn(self, shortages: Iterable[Shortage]) -> None:
        self.catalogs.mark_all(shortages, self.now())

    async def terminate(self, claim: NodeClaim) -> bool:
        """Whether the machine is gone. Any other trouble than that is the caller's to try again."""
        try:
            await self.cloud.terminate(claim)
        except NotFound:
            return True
        return False

    async def give_back(self, machine: Instance) -> None:
        """A machine nobody claims. One that is gone already is no trouble."""
        await self.terminate(
            NodeClaim(Meta(machine.claim or machine.provider_id), _NO_CLASS, provider_id=machine.provider_id)
        )

    def order(self, claim: NodeClaim) -> Order | Outcome:
        pool = self.pools().get(claim.pool or "")
        seen = pool or NodePool(claim.pool or claim.name, claim.node_class)
        try:
            types = self.catalogs.catalog(seen, self.now()).types
        except CloudError as failed:
            return ClassNotReady(str(failed))
        options = sorted(_options(claim, types.values()), key=_rank)
        return Order(claim, tuple(options), pool)


def _options(claim: NodeClaim, types: Iterable[InstanceType]) -> Iterator[Option]:
    """Every row of every type that the claim's requirements leave open. A label only one side speaks of is no matter:
    the claim's own come from its pool's template, the type's from the cloud."""
    wanted = claim.requirements
    named = wanted.get(labels.INSTANCE_TYPE)
    for one in types:
        if named is not None and not named.admits(one.name):
            continue
        if not claim.requests.fits_in(one.allocatable) or not one.requirements.intersects(wanted):
            continue
        for row in one.offerings:
            if row.launchable and row.requirements.intersects(wanted):
                yield Option(one, row)


def _rank(option: Option) -> tuple[bool, tuple[bool, int, str, str], str]:
    """What is paid for already comes first, then the cheapest."""
    return (option.offering.capacity_type != _RESERVED, option.offering.order, option.instance_type.name)
