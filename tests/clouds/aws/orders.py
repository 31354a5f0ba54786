"""Orders of a few real types, and a node class to launch them with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from tests.listings import load_once
from tools.aws_server import Account, World

from dovetail.clouds.aws.resolved import Image, ResolvedClass, Subnet
from dovetail.clouds.listed import ListedMarket
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.catalog.prices import NANO
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.instances import Option, Order
from dovetail.core.nodeclaims import FINALIZER, Meta, NodeClaim
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.requirements import Requirement, Requirements, is_in

CLASS = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
POOL = NodePool("general", CLASS)
ZONES = ("us-east-1a", "us-east-1b")
ON_DEMAND = (labels.ON_DEMAND,)
ANY = (labels.RESERVED, labels.SPOT, labels.ON_DEMAND)


@cache
def kinds(reservations: tuple[Reservation, ...] = ()) -> Mapping[str, InstanceType]:
    """Every type of us-east-1, as the pool sees it."""
    return CatalogCache(ListedMarket(load_once("aws"), reservations=reservations)).catalog(POOL, 0.0).types


def claim(name: str = "general-a1b2c", wanted: Iterable[Requirement] = (), **more: Any) -> NodeClaim:
    told = {labels.NODEPOOL: "general", CLASS.label_key: CLASS.name}
    annotations = more.pop("annotations", {})
    about = Meta(
        name,
        uid=f"uid-{name}",
        labels=MappingProxyType(told),
        annotations=MappingProxyType(annotations),
        finalizers=(FINALIZER,),
    )
    return NodeClaim(about, CLASS, Requirements([is_in(labels.OS, "linux"), *wanted]), **more)


def order(
    types: Iterable[str] = ("m5.large",),
    capacity: Iterable[str] = ON_DEMAND,
    zones: Iterable[str] = ZONES,
    reservations: tuple[Reservation, ...] = (),
    bought_for: NodeClaim | None = None,
) -> Order:
    """An order for any row of these types in these zones, what is reserved first, then the cheapest."""
    allowed, places = frozenset(capacity), frozenset(zones)
    options = [
        Option(kind, row)
        for kind in (kinds(reservations)[name] for name in types)
        for row in kind.offerings
        if row.capacity_type in allowed and row.zone in places and row.launchable
    ]
    options.sort(key=lambda one: (one.offering.capacity_type != labels.RESERVED, one.offering.order))
    return Order(bought_for or claim(), tuple(options), POOL)


def resolved(account: Account | None = None, zones: Iterable[str] = ZONES, **more: Any) -> ResolvedClass:
    """A node class with a subnet in each zone and an image for each architecture."""
    subnets = account.subnets if account else {zone: f"subnet-{zone}" for zone in zones}
    ids = account.zone_ids if account else {zone: f"id-{zone}" for zone in zones}
    images = account.images if account else {("al2023", "x86_64"): "ami-x86", ("al2023", "arm64"): "ami-arm"}
    told: dict[str, Any] = {
        "ref": CLASS,
        "subnets": tuple(Subnet(subnets[zone], zone, ids[zone]) for zone in zones),
        "security_groups": account.security_groups if account else ("sg-1",),
        "images": (
            Image(images["al2023", "x86_64"], requirements=Requirements([is_in(labels.ARCH, "amd64")])),
            Image(images["al2023", "arm64"], requirements=Requirements([is_in(labels.ARCH, "arm64")])),
        ),
        "profile": account.profile if account else "profile",
        "hash": "12345",
        "hash_version": "v6",
    }
    return ResolvedClass(**{**told, **more})


def price(world: World, *names: str) -> None:
    """Have EC2 ask the prices our catalogue has."""
    for name in names:
        for row in kinds()[name].offerings:
            if row.price is not None and row.zone is not None:
                amount = row.price.nanodollars / NANO
                if row.capacity_type == labels.SPOT:
                    world.spot[name, row.zone] = amount
                else:
                    world.on_demand[name] = amount
