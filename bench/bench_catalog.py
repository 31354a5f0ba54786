"""The catalog: loading it, sharing it between pools, and what a change costs; the peer beside us on the same types.

The types are exported once, in the format the peer's kwok provider reads, and both sides work on the whole AWS region.
Where the peer's figure depends on whether any overlay is in force, both cases are shown: without one it only hands
out references, as we do.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from bench import measure, peer
from bench.report import RESULTS, Row, higher, lower
from dovetail.clouds.kwok.export import export_types
from dovetail.clouds.listed import ListedMarket
from dovetail.clouds.load import load
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.overlays import NodeOverlay
from dovetail.core.catalog.prices import parse_adjustment
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.labels import ARCH, CAPACITY_TYPE, INSTANCE_TYPE, ON_DEMAND, OS, SPOT, ZONE
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.requirements import Requirements, is_in, is_not_in, requirement
from dovetail.core.vocabulary import Vocabulary

NAME = "catalog"
POOLS, CLASSES, TOUCHED = 20, 2, 50
EVERY_TYPE = NodeOverlay("discount", Requirements(), parse_adjustment("-5%"))


def _pools(count: int = POOLS, classes: int = CLASSES) -> list[NodePool]:
    """Pools whose classes differ in a kubelet setting, so that every class has specs of its own."""
    return [
        NodePool(
            f"pool-{number}",
            NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", f"class-{number % classes}"),
            kubelet=KubeletSettings(max_pods=100 + number % classes),
        )
        for number in range(count)
    ]


class _World:
    """A cache with every pool's catalog asked for once."""

    def __init__(self, pools: list[NodePool], *overlays: NodeOverlay) -> None:
        self.pools = pools
        self.listing = load("aws", "us-east-1")
        self.cache = CatalogCache(ListedMarket(self.listing), region="us-east-1")
        self.cache.set_overlays(overlays)
        self.serve(0.0)

    def serve(self, now: float) -> None:
        for pool in self.pools:
            self.cache.catalog(pool, now)


def one_pool(overlay: str) -> object:
    """For the memory row: a process with one pool's catalog."""
    return _World(_pools(1), *([EVERY_TYPE] if overlay == "overlay" else []))


def all_pools(overlay: str) -> object:
    return _World(_pools(), *([EVERY_TYPE] if overlay == "overlay" else []))


def _beyond_one_pool(overlay: str) -> float:
    first = measure.memory("bench.bench_catalog:one_pool", overlay).held
    every = measure.memory("bench.bench_catalog:all_pools", overlay).held
    return max(0.0, (every - first) / first * 100)


def loaded() -> object:
    """For the rows about loading: one region, from file to usable catalog."""
    return _World(_pools(1))


def _ice(*overlays: NodeOverlay) -> tuple[float, int]:
    """Seconds from a capacity error until every pool was served anew, and the rows it rebuilt."""
    world = _World(_pools(), *overlays)
    moments = iter(range(1, 10_000))
    zones = sorted({row.zone for row in world.listing.offerings["m5.large"] if row.zone})
    shortage = Shortage("m5.large", zones[0], SPOT)
    rebuilt = 0

    def mark() -> None:
        nonlocal rebuilt
        now = next(moments) * 1000.0  # so much later that the last one has lapsed
        rebuilt = world.cache.mark(shortage, now)
        world.serve(now)

    return measure.median_seconds(mark, repeats=41, prepare=lambda: world.serve(next(moments) * 1000.0)), rebuilt


def _overlay_change() -> tuple[float, int]:
    """Seconds from a change to an overlay that touches fifty types until every pool was served anew."""
    world = _World(_pools())
    names = sorted(name for name, rows in world.listing.offerings.items() if rows)[:TOUCHED]
    wanted = Requirements([is_in(INSTANCE_TYPE, *names)])
    percents = iter(range(1, 1000))
    rebuilt = 0

    def change() -> None:
        nonlocal rebuilt
        percent = next(percents) % 90 + 1
        rebuilt = world.cache.set_overlays([NodeOverlay("fifty", wanted, parse_adjustment(f"-{percent}%"))])
        world.serve(0.0)

    return measure.median_seconds(change, repeats=11), rebuilt


def _node_and_pod(world: _World) -> tuple[list[Requirements], Requirements]:
    """Every type's labels, and what a pool and a pod ask of them: the operands of the peer's row."""
    types = [row.requirements for row in world.cache.catalog(world.pools[0], 0.0).types.values()]
    zones = sorted({value for one in types if (zone := one.get(ZONE)) for value in zone.values})
    asked = Requirements(
        [
            is_in(ARCH, "amd64"),
            is_in(OS, "linux"),
            is_in(CAPACITY_TYPE, SPOT, ON_DEMAND),
            is_in(ZONE, *zones[:2]),
            requirement("karpenter.k8s.aws/instance-cpu", "Gt", ["3"]),
            is_not_in("karpenter.k8s.aws/instance-family", "t2", "t3", "m1"),
        ]
    )
    return types, asked


def _intersects(world: _World) -> tuple[float, float, float]:
    """Per second: the compiled test, the plain one, and the plain compatibility test."""
    types, asked = _node_and_pod(world)
    vocabulary = Vocabulary([*types, asked])
    compiled, mask, meet = [vocabulary.compile(one) for one in types], vocabulary.compile(asked), vocabulary.meet

    def batch(work: Callable[[Any], bool], operands: list[Any]) -> Callable[[], object]:
        return lambda: [work(one) for one in operands]

    known = frozenset(one.key for one in asked)
    return (
        measure.per_second(batch(lambda one: meet(one, mask), compiled), len(types)),
        measure.per_second(batch(asked.intersects, types), len(types)),
        measure.per_second(batch(lambda one: one.compatible(asked, known), types), len(types)),
    )


def _lookup(reservations: int) -> float:
    """Seconds to look at the reserved row of a type, with so many reservations selected."""
    market = ListedMarket(load("aws", "us-east-1"))
    names = sorted(name for name, rows in market.listing.offerings.items() if rows)
    zone = next(row.zone for row in market.listing.offerings[names[0]] if row.zone)
    market.set_reservations(
        Reservation(f"cr-{number}", names[number % len(names)], zone, 1, 1) for number in range(reservations)
    )
    cache, pool = CatalogCache(market), _pools(1)[0]
    cache.catalog(pool, 0.0)

    def look() -> object:
        types = cache.catalog(pool, 0.0).types
        return [one.launchable for name in names for one in types[name].offerings]

    rows = len(look())  # type: ignore[arg-type]
    return measure.median_seconds(look, repeats=9) / rows


@cache
def _exported() -> Path:
    """The region in the peer's format, written once; types no zone sells have nothing to compare and stay out."""
    path = RESULTS / "aws-us-east-1.kwok.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    sold = [one for one in export_types(load("aws", "us-east-1")) if one["offerings"]]
    path.write_text(json.dumps(sold), encoding="utf-8")
    return path


def run() -> list[Row]:
    theirs = peer.run("catalog", "--types", str(_exported()), "--pools", str(POOLS), "--classes", str(CLASSES))
    ice, ice_rows = _ice()
    ice_overlaid, _ = _ice(EVERY_TYPE)
    change, change_rows = _overlay_change()
    compiled, plain, compatible = _intersects(_World(_pools(1)))
    few, many = _lookup(1), _lookup(10_000)
    memory = measure.memory("bench.bench_catalog:loaded")
    return [
        lower(
            "load a region cold, file to usable catalog",
            "s",
            measure.cold_seconds("bench.bench_catalog:loaded"),
            theirs.get("load"),
            limit=0.35,
        ),
        lower("load: memory held", "MB", memory.held, theirs.get("load_heap"), limit=60),
        lower("load: memory at the peak", "MB", memory.peak, theirs.get("load_peak_rss"), limit=60),
        lower(
            f"{POOLS} pools on {CLASSES} classes: memory beyond one pool's",
            "%",
            _beyond_one_pool(""),
            theirs.get("pools_memory_no_overlay"),
            limit=10,
        ),
        lower(
            "the same with an overlay on every type",
            "%",
            _beyond_one_pool("overlay"),
            theirs.get("pools_memory"),
        ),
        lower("refresh after one capacity error", "s", ice, theirs.get("ice_refresh_no_overlay"), limit=0.001),
        lower("the same with an overlay on every type", "s", ice_overlaid, theirs.get("ice_refresh")),
        lower("rows rebuilt by that, all classes together", "rows", ice_rows, limit=CLASSES),
        lower(f"overlay change touching {TOUCHED} types", "s", change, theirs.get("overlay_change"), limit=0.005),
        lower("rows rebuilt by that, all classes together", "rows", change_rows, limit=TOUCHED * CLASSES),
        higher("requirements: intersects, compiled", "op/s", compiled, theirs.get("intersects"), limit=1_000_000),
        higher("requirements: intersects, plain", "op/s", plain, theirs.get("intersects")),
        higher("requirements: compatible, plain", "op/s", compatible, theirs.get("compatible")),
        lower("look at an offering, 1 reservation selected", "s", few),
        lower("look at an offering, 10,000 reservations selected", "s", many, limit=few * 2),
    ]
