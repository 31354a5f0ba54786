"""What each pool of a world can buy: pools matched to clouds, each with its catalogue and the user's layers on it."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dovetail.api import kinds
from dovetail.api.world import World
from dovetail.cli import listings, opened
from dovetail.cli.console import Console
from dovetail.clouds import load as clouds
from dovetail.clouds.listed import ListedMarket
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.errors import BadField, Place
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.nodes import Node
from dovetail.core.resources import GIB
from dovetail.core.scheduling.disks import Growth
from dovetail.core.snapshot import Snapshot
from dovetail.settings import INSTANCE_TYPE_CACHING, NODE_OVERLAY

_CLOUD_OF: Final[Mapping[str, str]] = {ref.kind: cloud for cloud, ref in opened.NODE_CLASSES.items()}
#: Node classes that are templates of Cluster API's machines.
TEMPLATES: Final = frozenset(kind.name for kind in kinds.INFRA_TEMPLATES)
#: The catalogue everybody uses where a flag names one.
_CHOSEN: Final = ""
_NOW: Final = 0.0
#: The largest system disk by cloud: gp3, an AKS system disk, a persistent disk. A kwok node has what it says.
_LARGEST_DISKS: Final[Mapping[str, int]] = {"aws": 16 * 1024 * GIB, "azure": 2048 * GIB, "gcp": 64 * 1024 * GIB}
#: Where a node class says how large its disks are.
_DISK_FIELDS: Final = ("blockDeviceMappings", "osDiskSizeGB", "disks")


@dataclass(frozen=True, slots=True)
class Markets:
    """Catalogues by pool, the listings behind them by cloud, and which labels they know."""

    catalogs: Mapping[str, Catalog]
    listings: Mapping[str, Listing]
    well_known: frozenset[str]
    #: By pool, how the disks of its nodes may grow.
    growing: Mapping[str, Growth] = field(default_factory=dict)

    def type_of(self, node: Node) -> InstanceType | None:
        """The type a node says it is, if anybody here sells it."""
        name = node.labels.get(labels.INSTANCE_TYPE, "")
        own = self.catalogs.get(node.pool or "")
        for catalog in (own,) if own is not None else self.catalogs.values():
            if name in catalog.types:
                return catalog.types[name]
        return None


def open_markets(world: World, flags: Namespace, console: Console) -> tuple[World, Markets]:
    """The catalogues of every pool; a pool no catalogue is found for gets that as its problem."""
    explicit = flags.catalog is not None or flags.cloud is not None
    by_cloud: dict[str, list[NodePool]] = {}
    pools: list[NodePool] = []
    drawing: list[NodePool] = []
    for one in world.snapshot.pools:
        if one.node_class.kind in TEMPLATES and one.problem is None:
            drawing.append(one)
            continue
        cloud = _CHOSEN if explicit else _CLOUD_OF.get(one.node_class.kind)
        if cloud is None and one.problem is None:
            told = f"nobody knows which cloud a {one.node_class.kind} is of; name it with --cloud or --catalog"
            console.problems([BadField(Place(f"NodePool {one.name}", "spec.template.spec.nodeClassRef.kind"), told)])
            one = replace(one, problem=told)
        if cloud is not None and one.problem is None:
            by_cloud.setdefault(cloud, []).append(one)
        pools.append(one)
    if explicit:
        by_cloud.setdefault(_CHOSEN, [])
    catalogs: dict[str, Catalog] = {}
    found: dict[str, Listing] = {}
    growing: dict[str, Growth] = {}
    for cloud, members in by_cloud.items():
        found[cloud] = _listing(cloud, len(by_cloud) == 1, world, flags, console)
        catalogs |= _catalogs(found[cloud], members, world, flags, console)
        growing |= _growing(found[cloud], members, world)
    if drawing:
        from dovetail.cli import template_markets  # few worlds draw on machines

        sold = template_markets.opened(world, drawing, flags, console)
        pools += sold.pools
        for pool in sold.pools:
            if pool.name in sold.listings:
                found[f"{pool.node_class.kind} {pool.node_class.name}"] = sold.listings[pool.name]
                catalogs |= _catalogs(sold.listings[pool.name], [pool], world, flags, console)
    _note_unknown_types(world, catalogs, console)
    well_known = frozenset[str]().union(*(one.dialect.well_known for one in found.values()), labels.WELL_KNOWN)
    markets = Markets(catalogs, found, well_known, growing)
    snapshot = replace(world.snapshot, pools=tuple(pools))
    return replace(world, snapshot=_with_types(snapshot, markets)), markets


def _listing(cloud: str, only: bool, world: World, flags: Namespace, console: Console) -> Listing:
    """A cloud's listing. `only`: no other cloud is looked at, so a region must be one of its own."""
    if flags.catalog is not None:
        return listings.named(flags, console)
    cloud = cloud or flags.cloud
    region = flags.region
    if region is None or not (only or region in clouds.regions(cloud)):
        region = _region(cloud, world, console)
    return listings.named(Namespace(**{**vars(flags), "cloud": cloud, "region": region}), console)


def _region(cloud: str, world: World, console: Console) -> str | None:
    """The region the world itself speaks of: its nodes' label, or what the pools and volumes ask for."""
    if cloud == "kwok":
        return None
    known = frozenset(clouds.regions(cloud))
    said = Counter(region for region in _mentioned(world, known) if region in known)
    if not said:
        return None
    region = min(said, key=lambda one: (-said[one], one))
    if region != clouds.default_region(cloud):
        console.note(f"planning for {cloud} {region}, which the files speak of; choose another with --region")
    return region


def _mentioned(world: World, known: frozenset[str]) -> Iterable[str]:
    for node in world.snapshot.nodes:
        yield node.labels.get(labels.REGION, "")
    for pool in world.snapshot.pools:
        for key in (labels.REGION, labels.ZONE):
            one = pool.requirements.get(key)
            for value in one.values if one is not None and not one.complement else ():
                yield value if key == labels.REGION else _region_of(value, known)


def _region_of(zone: str, known: frozenset[str]) -> str:
    return max((one for one in known if zone.startswith(one)), key=len, default="")


def _catalogs(
    listing: Listing, pools: list[NodePool], world: World, flags: Namespace, console: Console
) -> dict[str, Catalog]:
    """One cache for all pools of a cloud, as the controller has it; overlays are judged over all of them."""
    cache = CatalogCache(
        ListedMarket(listing), region=listing.region, caching=console.settings.gate(INSTANCE_TYPE_CACHING)
    )
    cache.set_book(opened.book_for(flags, console))
    cache.set_overrides(world.manifests.overrides)
    overlays = world.manifests.overlays
    if overlays and not console.settings.gate(NODE_OVERLAY):
        console.note(f"the gate {NODE_OVERLAY} is off: {len(overlays)} overlays are not applied")
        overlays = ()
    cache.set_overlays(overlays)
    for pool in pools:
        cache.catalog(pool, _NOW)
    found = {pool.name: cache.catalog(pool, _NOW) for pool in pools}
    console.problems(BadField(Place(f"NodeOverlay {name}"), str(why)) for name, why in cache.refused_overlays.items())
    return found


def _growing(listing: Listing, pools: list[NodePool], world: World) -> dict[str, Growth]:
    """The pools whose nodes may be given a larger disk: those of a node class that does not say how large (S2.12)."""
    largest = _LARGEST_DISKS.get(listing.cloud)
    if largest is None:
        return {}
    return {
        one.name: Growth(SpecRules(one.kubelet, listing.rules), largest)
        for one in pools
        if not _states_disk(one.node_class, world)
    }


def _states_disk(ref: NodeClassRef, world: World) -> bool:
    document = world.sources.get((ref.kind, ref.name))
    spec = document.value.get("spec") if document is not None and isinstance(document.value, Mapping) else None
    return isinstance(spec, Mapping) and any(spec.get(name) is not None for name in _DISK_FIELDS)


def _note_unknown_types(world: World, catalogs: Mapping[str, Catalog], console: Console) -> None:
    for one in world.manifests.overrides:
        if catalogs and not any(one.name in catalog.types for catalog in catalogs.values()):
            console.note(f"InstanceType {one.name}: no pool can buy such a type")


def _with_types(snapshot: Snapshot, markets: Markets) -> Snapshot:
    """Nodes with what their type says of them: a price, and room or limits they do not state themselves."""
    return replace(snapshot, nodes=tuple(_with_type(node, markets) for node in snapshot.nodes))


def _with_type(node: Node, markets: Markets) -> Node:
    kind = markets.type_of(node)
    if kind is None:
        return node
    row = row_of(node, kind)
    limits = dict(kind.spec.hardware.volume_limits) | dict(node.volume_limits)
    return replace(
        node,
        capacity=node.capacity or kind.capacity,
        allocatable=node.allocatable or (kind.allocatable if not node.capacity else node.allocatable),
        volume_limits=tuple(sorted(limits.items())),
        nanodollars=row.price.nanodollars if row is not None and row.price is not None else node.nanodollars,
    )


def row_of(node: Node, kind: InstanceType) -> Offering | None:
    """The row of the price list a node was bought by: the one its labels fit, cheapest first."""
    zone, capacity_type = node.labels.get(labels.ZONE), node.labels.get(labels.CAPACITY_TYPE)
    for row in kind.offerings:
        if row.zone in (None, zone) and (capacity_type or labels.ON_DEMAND) in (row.capacity_type, None):
            return row
    return None
