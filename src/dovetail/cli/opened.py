"""The catalogue a verb looks at: a listing, the user's prices and objects on it, seen through one pool."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from dovetail.api import manifests
from dovetail.api.manifests import Manifests
from dovetail.cli import files, listings, stored_prices
from dovetail.cli.console import Console
from dovetail.clouds.listed import ListedMarket
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.overlays import NodeOverlay, in_order
from dovetail.core.catalog.overrides import Override
from dovetail.core.catalog.pricebook import EMPTY_BOOK, PriceBook
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.errors import BadField, BadInput, Place
from dovetail.core.kubelet import MAX_PODS, KubeletSettings, ReserveStrategy
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.settings import INSTANCE_TYPE_CACHING, NODE_OVERLAY
from dovetail.views.type_list import Listed

#: What a pool's node class is called where nobody gave one.
NODE_CLASSES: Final[Mapping[str, NodeClassRef]] = {
    "aws": NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
    "azure": NodeClassRef("karpenter.azure.com", "AKSNodeClass", "default"),
    "gcp": NodeClassRef("karpenter.k8s.gcp", "GCENodeClass", "default"),
    "kwok": NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default"),
}
#: One moment is all a command lasts, so any will do.
_NOW: Final = 0.0


@dataclass(frozen=True, slots=True)
class Opened:
    """A catalogue, and everything that went into it."""

    listing: Listing
    pool: NodePool
    rules: SpecRules
    catalog: Catalog
    book: PriceBook
    overrides: Mapping[str, Override]
    overlays: tuple[NodeOverlay, ...]

    def listed(self, name: str) -> Listed:
        return Listed(self.catalog.types[name], self.listing.list_prices.get(name))

    @property
    def everything(self) -> dict[str, Listed]:
        return {name: self.listed(name) for name in self.catalog.types}


def open_catalog(flags: Namespace, console: Console) -> Opened:
    """Read all that a verb's flags name. What cannot be used is remembered by the console; the rest is here."""
    with console.doing("reading the catalogue"):
        listing = listings.named(flags, console)
        found = _manifests(flags, console)
        pool = _pool(flags, found, listing.cloud, console)
        return joined(listing, pool, book_for(flags, console), console, found)


def book_for(flags: Namespace, console: Console) -> PriceBook:
    """The stored book, and this call's on top.

    A catalogue from a file is taken as it stands, since an exported one has the user's prices in it already;
    only what the call itself names is put on it.
    """
    book = EMPTY_BOOK if flags.catalog else stored_prices.load(console)
    for name in flags.prices or ():
        book = book.merged(stored_prices.taken(stored_prices.read(name, console), console))
    return book


def joined(
    listing: Listing, pool: NodePool, book: PriceBook, console: Console, found: Manifests = manifests.NONE
) -> Opened:
    """Put the layers together, as the controller would."""
    market = ListedMarket(listing)
    cache = CatalogCache(market, region=listing.region, caching=console.settings.gate(INSTANCE_TYPE_CACHING))
    cache.set_book(book)
    cache.set_overrides(found.overrides)
    if not console.settings.gate(NODE_OVERLAY) and found.overlays:
        console.note(f"the gate {NODE_OVERLAY} is off: {len(found.overlays)} overlays are not applied")
        found = replace(found, overlays=())
    cache.set_overlays(found.overlays)
    catalog = cache.catalog(pool, _NOW)
    refused = cache.refused_overlays
    console.problems(BadField(Place(f"NodeOverlay {name}"), str(why)) for name, why in refused.items())
    for one in found.overrides:
        if one.name not in catalog.types:
            console.note(f"InstanceType {one.name}: {listing.cloud} {listing.region} has no such type")
    return Opened(
        listing=listing,
        pool=pool,
        rules=market.spec_rules(pool),
        catalog=catalog,
        book=book,
        overrides={one.name: one for one in found.overrides},
        overlays=tuple(one for one in in_order(found.overlays) if one.name not in refused),
    )


def _manifests(flags: Namespace, console: Console) -> Manifests:
    found = manifests.read(files.manifests(flags.file or (), console), formulas=console.settings.formulas)
    console.problems(found.problems)
    if found.skipped:
        kinds = ", ".join(sorted(set(found.skipped)))
        console.note(f"skipped {len(found.skipped)} objects the catalogue has no use for: {kinds}")
    return found


def _pool(flags: Namespace, found: Manifests, cloud: str, console: Console) -> NodePool:
    """The pool to look through: the one named, the only one, the heaviest, or a bare one."""
    pools = sorted(found.pools, key=lambda one: (-one.weight, one.name))
    if flags.nodepool is not None:
        pools = [one for one in pools if one.name == flags.nodepool]
        if not pools:
            raise BadInput(f"--nodepool: there is no NodePool {flags.nodepool[:60]!r} in the files")
    if len(pools) > 1:
        console.note(f"looking through NodePool {pools[0].name}; choose another with --nodepool")
    pool = pools[0] if pools else _bare(found, cloud)
    return replace(pool, kubelet=with_flags(pool.kubelet, flags))


def _bare(found: Manifests, cloud: str) -> NodePool:
    """A pool that says nothing of its own; if the files hold one node class, it launches with that."""
    classes = list(found.node_classes.items())
    if len(classes) == 1:
        return NodePool("default", classes[0][0], kubelet=classes[0][1])
    return NodePool("default", NODE_CLASSES[cloud])


def with_flags(kubelet: KubeletSettings, flags: Namespace) -> KubeletSettings:
    if flags.max_pods is not None:
        others = tuple(one for one in kubelet.worked if one.setting != MAX_PODS)
        kubelet = replace(kubelet, max_pods=flags.max_pods, worked=others)
    if flags.pods_per_core is not None:
        kubelet = replace(kubelet, pods_per_core=flags.pods_per_core or None)
    if flags.reserve_strategy is not None:
        kubelet = kubelet.with_reserve(ReserveStrategy(flags.reserve_strategy))
    return kubelet
