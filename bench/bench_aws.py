"""AWS: what it sells, heard from its API. The server is the test suite's (moto and our grafts) in a process of its own,
so its answers are as long as EC2's and come sooner. All 1,395 types, six zones, every pool priced.

A cold start is a process that has done nothing yet, until a catalogue of live types and prices can be planned with. The
bundled catalogue can be used long before. Lag is how much later than asked for the event loop comes round, and depends
on who else uses the machine; how long the loop's own thread worked at a stretch does not.

Calls when idle are those of a whole controller, with its lease, its queue, one class and twenty nodes, on a real
control plane, counted for five minutes by the servers that answer them; how often types and prices are asked for is
reckoned. The peer's column there is not measured but what its poll intervals come to for the same class and queue. Spot
prices are looked at every fifteen minutes and not every twelve hours as the peer does.
"""

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from bench import aws_idle, aws_launches, aws_world, measure
from bench.aws_cold import CLASS, POOL, REGION, terms
from bench.aws_world import AwsWorld
from bench.pods_from_json import read_pods
from bench.report import ROOT, Row, lower
from bench.worlds import world
from dovetail.clouds.aws import region as regions
from dovetail.clouds.aws import spot_history
from dovetail.clouds.aws.discovery import INTERVALS
from dovetail.clouds.aws.freshness import Subject
from dovetail.clouds.aws.market import AwsMarket
from dovetail.clouds.aws.region import Region
from dovetail.clouds.aws.reservation_counts import Counts
from dovetail.clouds.aws.resolved import HeldReservation
from dovetail.controllers.solving import rested
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.labels import SPOT
from dovetail.core.scheduling.problem import Options, Problem
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.solve import solve
from dovetail.core.snapshot import Snapshot

NAME: Final = "aws"
ON_REQUEST: Final = True
RESERVATIONS: Final = 10_000
FREE: Final = 100
PODS: Final = 5_000
CLAIMS: Final = 500
#: What the peer's batching rules come to: a fleet, a look and an end each for so many at once, a launch template looked
#: for and made, three looks at what the class selects, and a tag for each machine.
_PEER_BATCHES: Final = 8 + CLAIMS
#: The peer's poll intervals (specification of AWS, constants), as calls a minute with one class and a queue: instances
#: by the loop that corrects labels and the one that collects.
_PEER_MINUTE: Final = {
    "DescribeSubnets": 1.0,
    "DescribeSecurityGroups": 1.0,
    "DescribeImages": 1.0,
    "DescribeInstanceStatus": 3.0,
    "DescribeInstances": 1.5,
    "ReceiveMessage": 3.0,
}
_PEER_DISCOVERY_MINUTES: Final = 12 * 60
_DISCOVERY: Final = frozenset(
    {"DescribeInstanceTypes", "DescribeInstanceTypeOfferings", "DescribeSpotPriceHistory", "GetProducts"}
)
_RUNS: Final = 3
_TURNS: Final = 61


def run() -> list[Row]:
    with aws_world.running() as served:
        cold = _cold(served)
        return [*cold.rows, *_launches(served), *_idle(cold), *_refreshes(), *_reservations()]


# ---- from the API


@dataclass(frozen=True, slots=True)
class Cold:
    """What a cold start took, and how many calls each subject of discovery needs for one look."""

    rows: list[Row]
    looks: dict[Subject, float]


def _cold(served: AwsWorld) -> Cold:
    runs = [_started(served) for _ in range(_RUNS)]
    told = {key: statistics.median(one[key] for one in runs) for key in runs[0]}
    what = f"{told['types']:,.0f} types, {told['zones']:.0f} zones"
    rows = [
        lower(f"cold start to a usable catalogue from the API ({what})", "s", told["seconds"], limit=6.0),
        lower("– processor time of ours in it", "s", told["busy"]),
        lower("– the bundled catalogue is usable after", "s", told["from_files"]),
        lower("– memory of the whole process at its peak", "MB", max(one["megabytes"] for one in runs), limit=220),
        lower("– event-loop lag, 99th percentile", "s", told["late"], limit=0.05),
        lower("– the longest lag", "s", told["latest"]),
        lower("– work of the loop's own thread at a stretch, 99th percentile", "s", told["worked"], limit=0.05),
        lower("– the longest such stretch", "s", told["longest"]),
        lower("– calls made", "count", told["calls"]),
    ]
    return Cold(rows, {subject: told[subject.name] for subject in Subject})


def _started(served: AwsWorld) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.aws_cold", served.url]
    environment = {**os.environ, **aws_world.ENVIRONMENT}
    ran = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return found


def _launches(served: AwsWorld) -> list[Row]:
    os.environ.update(aws_world.ENVIRONMENT)
    served.calls()
    bought = asyncio.run(aws_launches.bought_and_ended(served.url, CLAIMS))
    calls = served.calls()
    told = ", ".join(f"{name} {count}" for name, count in sorted(calls.items()))
    what = f"API calls for {CLAIMS} claims, bought, looked at, tagged and ended ({told})"
    return [
        lower(what, "count", sum(calls.values()), limit=_PEER_BATCHES),
        lower("– machines they bought", "count", bought, limit=CLAIMS),
    ]


def _idle(cold: Cold) -> list[Row]:
    """Types and prices are looked at so seldom that no measurement of minutes sees them: they are reckoned."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench.aws_idle"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    found = json.loads(ran.stdout.splitlines()[-1])
    seen = {name: count for name, count in found["aws"].items() if name not in _DISCOVERY}
    ours = {subject: calls * 60 / INTERVALS[subject] for subject, calls in cold.looks.items()}
    peer = sum(_PEER_MINUTE.values()) + sum(cold.looks.values()) / _PEER_DISCOVERY_MINUTES
    told = ", ".join(f"{name} {count:.1f}" for name, count in seen.items())
    total = sum(seen.values()) + sum(ours.values())
    what = f"AWS calls when idle, a minute, {aws_idle.NODES} nodes ({told}, types and prices {sum(ours.values()):.1f})"
    kube = {"leases": 0.0, **found["kube"]}
    others = sum(count for name, count in kube.items() if name != "leases")
    return [
        lower(what, "count", total, peer, limit=peer),
        lower("– of them for spot prices, which are looked at every 15 minutes", "count", ours[Subject.SPOT]),
        lower("Kubernetes calls when idle, a minute: keeping the lease", "count", kube["leases"], 30.0, limit=30),
        lower("– all others", "count", others),
    ]


# ---- in memory


def _market(held: Iterable[HeldReservation] = (), rooms: int = 0, free: int = RESERVATIONS) -> AwsMarket:
    """`rooms` machines are left in the first `free` reservations, none in the others."""
    counts, given = Counts(), tuple(held)
    counts.saw(((one.id, rooms if at < free else 0) for at, one in enumerate(given)), 0.0)
    made = AwsMarket(regions.bundled(REGION), counts)
    made.set_class(CLASS, terms(made), given)
    return made


def _refreshes() -> list[Row]:
    market = _market()
    cache = CatalogCache(market, region=REGION)
    cache.catalog(POOL, 0.0)
    names = iter(sorted(market.region.types) * 2)
    zone = market.region.zones[0].zone_name

    def one_error() -> None:
        cache.mark(Shortage(next(names), zone, SPOT), 0.0)
        cache.catalog(POOL, 0.0)

    ice = measure.median_seconds(one_error, repeats=51, warm_up=3)
    few, every = (_poll(market, cache, share) for share in (50, 1))
    return [
        lower("offerings refreshed after one capacity error", "s", ice, limit=0.001),
        lower("offerings refreshed after a spot-price poll, every price another", "s", every, limit=0.15),
        lower("– the same, one in fifty another", "s", few, limit=0.15),
    ]


def _poll(market: AwsMarket, cache: CatalogCache, one_in: int) -> float:
    """Processor time from EC2's records to the new catalogue."""
    turns = iter(range(1, 1000))

    def poll() -> None:
        records = _records(market.region, next(turns), one_in)
        began = time.process_time()
        found, _ = spot_history.prices_of(records, "2026-11-15")
        spot = regions.merged(market.region.prices.spot, found)
        prices = replace(market.region.prices, spot=spot, spot_whole=True)
        market.set_region(regions.repriced(market.region, prices))
        cache.catalog(POOL, 0.0)
        seconds.append(time.process_time() - began)

    seconds: list[float] = []
    for _ in range(8):
        gc.collect()
        poll()
    return statistics.median(seconds[2:])


def _records(region: Region, turn: int, one_in: int) -> list[dict[str, object]]:
    pools = [(name, row.zone) for name, rows in region.listing.offerings.items() for row in rows]
    return [
        {
            "InstanceType": name,
            "AvailabilityZone": zone,
            "SpotPrice": f"{1 + at + (turn if at % one_in == 0 else 0)}e-4",
        }
        for at, (name, zone) in enumerate(sorted(set(pools), key=str))
    ]


# ---- reservations


def _held(market: AwsMarket, count: int) -> list[HeldReservation]:
    """Spread evenly over all types and zones that sell any."""
    pools = [(name, row.zone) for name, rows in market.region.listing.offerings.items() for row in rows if row.zone]
    places = sorted(set(pools))
    return [HeldReservation(f"cr-{number:05d}", *places[number % len(places)]) for number in range(count)]


def _reservations() -> list[Row]:
    """All used up, a few with room, and room in each. A plan on reserved machines is another plan, and may take less
    time: nothing it buys is dear, so that it is not made again with cheaper types."""
    plain = _market()
    held = _held(plain, RESERVATIONS)
    markets = (plain, _market(held), _market(held, rooms=1, free=FREE), _market(held, rooms=1))
    plans = [_plans(one, PODS) for one in markets]
    none = min(_seconds(plans[0]) for _ in range(3))
    used_up, few, every = (_extra(plans[0], one, turns=_TURNS) for one in plans[1:])
    label = f"{RESERVATIONS:,} reservations selected, {PODS:,} pods to plan: extra time"
    return [
        lower(f"{PODS:,} pods to plan, no reservation selected", "s", none),
        lower(f"{label}, all of them used up", "%", used_up, limit=5),
        lower(f"{label}, {FREE} of them with room", "%", few, limit=5),
        lower(f"{label}, room in each", "%", every, limit=5),
    ]


def _plans(market: AwsMarket, pods: int) -> Callable[[], object]:
    catalog = CatalogCache(market, region=REGION).catalog(POOL, 0.0)
    snapshot = Snapshot((), read_pods(world(f"diverse-{pods}").pods), (POOL,))
    asked = Problem(snapshot, {POOL.name: catalog}, Options(well_known=market.region.listing.dialect.well_known))
    shelf = Shelf()
    return lambda: rested(solve, asked, shelf)


def _extra(plain: Callable[[], object], other: Callable[[], object], turns: int) -> float:
    """How much more processor time the other takes, in percent: the middle of many pairs. The two of a pair follow each
    other at once, now one first and now the other, as the machine's own speed changes by the second."""
    shares = []
    for turn in range(turns):
        seconds = {one: _seconds(one) for one in ((plain, other) if turn % 2 else (other, plain))}
        shares.append(seconds[other] / seconds[plain])
    return 100 * (statistics.median(shares) - 1)


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began
