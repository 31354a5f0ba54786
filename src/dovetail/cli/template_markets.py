"""What pools buy that draw on machines of Cluster API: of a region's listing, what their template says and no more."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dovetail.api.cluster_api import fleet
from dovetail.api.cluster_api.fleet import Fleet
from dovetail.api.world import World
from dovetail.cli.console import Console
from dovetail.cli.machine_prices import PriceLists
from dovetail.core.catalog.listing import Listing
from dovetail.core.errors import BadField, BadInput, Place
from dovetail.core.machines import templates
from dovetail.core.nodepools import NodePool


@dataclass(frozen=True, slots=True)
class Sold:
    """The pools, with what is wrong with some, and by name what the others can buy."""

    pools: tuple[NodePool, ...]
    listings: Mapping[str, Listing]


def opened(world: World, pools: Iterable[NodePool], flags: Namespace, console: Console) -> Sold:
    """A pool whose template cannot be used gets that as its problem."""
    seen, lists = fleet.read(world.machines), PriceLists(flags, console)
    console.problems(seen.problems)
    told: list[NodePool] = []
    found: dict[str, Listing] = {}
    for pool in pools:
        try:
            found[pool.name] = _listing(pool, seen, lists)
        except BadInput as problem:
            why = problem.problem if isinstance(problem, BadField) else str(problem)
            console.problems([BadField(Place(f"NodePool {pool.name}", "spec.template.spec.nodeClassRef"), why)])
            pool = replace(pool, problem=why)
        told.append(pool)
    return Sold(tuple(told), found)


def _listing(pool: NodePool, seen: Fleet, lists: PriceLists) -> Listing:
    ref = pool.node_class
    item = fleet.template_named(seen, ref.kind, ref.name)
    one = fleet.template(seen, item, fleet.TEMPLATES[ref.kind])
    region, zones = lists.stands(one.wanted.cloud, one.region, one.zones)
    return templates.narrowed(lists.listing(one.wanted.cloud, region), replace(one, region=region, zones=zones))
