"""A rung of an order made into a fleet: subnets chosen, launch templates there, tags worked out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws import tags
from dovetail.clouds.aws.addresses import Addresses
from dovetail.clouds.aws.choices import Rung, Way
from dovetail.clouds.aws.contents import SANDBOX, Content, data_of, market_of
from dovetail.clouds.aws.described import EFA, Machine
from dovetail.clouds.aws.fleet import OWN_PRICES, Bought, Fleet, Pool
from dovetail.clouds.aws.resolved import (
    DEFAULT_RESERVATION,
    Boot,
    Image,
    ResolvedClass,
    Subnet,
)
from dovetail.clouds.aws.templates import Templates
from dovetail.core.catalog.prices import NANO
from dovetail.core.nodeclaims import MIN_VALUES_RELAXED, NodeClaim
from dovetail.core.resources import PODS


@dataclass(frozen=True, slots=True)
class Shape:
    """A fleet, and what each of its pools is to the order it was made for."""

    fleet: Fleet
    ways: Mapping[Pool, Way]
    subnets: Mapping[str, Subnet]
    tenancy: str = "default"
    placement_group: str = ""
    partition: int = 0
    #: Whether its machines have interfaces for EFA.
    efa: bool = False

    @property
    def addresses(self) -> int:
        """How many addresses a machine takes at least: one for each pod it may have."""
        return min((way.kind.capacity.of(PODS) for way in self.ways.values()), default=0)


class Shaper:
    """Makes fleets of rungs."""

    def __init__(self, cluster: str, templates: Templates, addresses: Addresses) -> None:
        self._cluster, self._templates, self._addresses = cluster, templates, addresses

    async def shape(self, rung: Rung, claim: NodeClaim, resolved: ResolvedClass) -> Shape | None:
        """None if no subnet in any of its zones has an address left."""
        subnets = self._addresses.chosen(resolved.subnets)
        ways = [way for way in rung.ways if way.zone in subnets]
        if not ways:
            return None
        told = tags.of_machine(claim, self._cluster, resolved.tags)
        contents = [_content(way, rung, claim, resolved) for way in ways]
        names = await self._ensured(contents, resolved, told)
        pools = {
            _pool(way, subnets[way.zone], content.image_id, names[content]): way
            for way, content in zip(ways, contents, strict=True)
        }
        group = resolved.placement_group
        fleet = Fleet(
            capacity_type=rung.capacity_type,
            pools=tuple(pools),
            tags=tuple(sorted(told.items())),
            market=market_of(ways[0].reservation),
            own_prices=any(_priced_by_us(way) for way in ways),
            context="" if MIN_VALUES_RELAXED in claim.meta.annotations else resolved.context,
            within=_within(group.id, _partition(claim)) if group else (),
        )
        return Shape(
            fleet,
            pools,
            subnets,
            _tenancy(claim),
            group.id if group else "",
            _partition(claim),
            bool(claim.requests.of(EFA)) or any(one.efa_only for one in resolved.network.interfaces),
        )

    async def _ensured(
        self, contents: list[Content], resolved: ResolvedClass, told: Mapping[str, str]
    ) -> Mapping[Content, str]:
        distinct = list(dict.fromkeys(contents))
        named = resolved.ref.name
        made = (self._templates.ensure(data_of(one, resolved, told), named, told) for one in distinct)
        return dict(zip(distinct, await asyncio.gather(*made), strict=True))

    def forget(self, fleet: Fleet) -> None:
        """Its templates are not there after all."""
        for pool in fleet.pools:
            self._templates.forget(pool.template)


def machine_of(bought: Bought, shape: Shape, told: Mapping[str, str], now: float) -> Machine:
    """A machine as the fleet's answer tells of it; a describe will say the same."""
    pool = bought.pool
    held = shape.ways[pool].reservation
    return Machine(
        id=bought.instance_id,
        instance_type=pool.instance_type,
        zone=pool.zone,
        zone_id=shape.subnets[pool.zone].zone_id,
        capacity_type=shape.fleet.capacity_type,
        image_id=pool.image_id,
        state="pending",
        launched=now,
        reservation_id=held.id if held else "",
        reservation_kind=held.kind if held else DEFAULT_RESERVATION,
        interruptible=bool(held and held.interruptible),
        subnet_id=pool.subnet_id,
        tenancy=shape.tenancy,
        placement_group_id=shape.placement_group,
        partition=shape.partition,
        efa=shape.efa,
        tags=told,
    )


def _content(way: Way, rung: Rung, claim: NodeClaim, resolved: ResolvedClass) -> Content:
    image = resolved.image_for(way.kind) or Image("")
    boot = Boot(image, way.kind, claim.meta.labels, claim.taints, claim.startup_taints)
    wanted = claim.requests.of(EFA)
    return Content(
        image_id=image.id,
        user_data=resolved.user_data(boot),
        capacity_type=rung.capacity_type,
        reservation=way.reservation,
        efas=way.kind.capacity.of(EFA) if wanted else 0,
        tenancy=_tenancy(claim),
        partition=_partition(claim),
        enclaves=bool(claim.requests.of(SANDBOX)),
    )


def _pool(way: Way, subnet: Subnet, image_id: str, template: str) -> Pool:
    price = way.option.offering.price
    return Pool(
        instance_type=way.kind.name,
        zone=way.zone,
        subnet_id=subnet.id,
        image_id=image_id,
        template=template,
        priority=price.nanodollars / NANO if price else 0.0,
        reservation_id=way.reservation.id if way.reservation else "",
    )


def _priced_by_us(way: Way) -> bool:
    price = way.option.offering.price
    return way.kind.price_overlaid or (price is not None and price.source.kind in OWN_PRICES)


def _within(group: str, partition: int) -> tuple[tuple[str, str], ...]:
    part = ((aws_labels.PLACEMENT_GROUP_PARTITION, str(partition)),) if partition else ()
    return ((aws_labels.PLACEMENT_GROUP_ID, group), *part)


def _tenancy(claim: NodeClaim) -> str:
    wish = claim.requirements.get(aws_labels.TENANCY)
    return "dedicated" if wish is not None and not wish.admits("default") else "default"


def _partition(claim: NodeClaim) -> int:
    value = claim.requirements.value(aws_labels.PLACEMENT_GROUP_PARTITION)
    return int(value) if value and value.isdecimal() else 0
