"""A cold start on AWS, in a process of its own: from nothing to a catalogue of live types and prices to plan with.

`python -m bench.aws_cold URL` prints figures as JSON.

Lag is how much later than asked for the event loop comes round, looked at every 5 ms. A stretch in which nobody can
look is one look however long it is, so the longest is told as well as the 99th percentile. On a machine that others use
lag is theirs as much as ours, so what the loop's own thread worked between two looks is told beside it.
"""

import asyncio
import json
import statistics
import sys
import time
from pathlib import Path

from bench import measure
from dovetail.clouds.aws import region as regions
from dovetail.clouds.aws.access import Access, Counts
from dovetail.clouds.aws.class_terms import ClassTerms
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.discovery import Discovery
from dovetail.clouds.aws.freshness import Subject
from dovetail.clouds.aws.market import AwsMarket
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.nodepools import NodeClassRef, NodePool

REGION = "us-east-1"
CLASS = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
POOL = NodePool("default", CLASS)
LOOK_SECONDS = 0.005


def terms(market: AwsMarket) -> ClassTerms:
    """A class with a subnet in each zone."""
    return ClassTerms(frozenset((zone.zone_name, f"subnet-{zone.zone_name}") for zone in market.region.zones))


class Looks:
    """How late the loop was, and how long its own thread worked, at each look."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self.worked: list[float] = []

    async def run(self) -> None:
        while True:
            due, began = time.perf_counter() + LOOK_SECONDS, time.thread_time()
            await asyncio.sleep(LOOK_SECONDS)
            self.late.append(max(0.0, time.perf_counter() - due))
            self.worked.append(time.thread_time() - began)


async def cold(url: str) -> dict[str, float]:
    began, worked = time.perf_counter(), time.process_time()
    looks, counts = Looks(), Counts()
    looking = asyncio.create_task(looks.run())
    market = AwsMarket(await asyncio.to_thread(regions.bundled, REGION))
    await asyncio.to_thread(market.warm)
    market.set_class(CLASS, terms(market))
    cache = CatalogCache(market, region=REGION)
    types = len(cache.catalog(POOL, 0.0))
    from_files = time.perf_counter() - began
    async with Aws(Access(REGION, url), counts) as aws:
        finding = Discovery(aws, market)
        assert await finding.once(), finding.freshness
        types = len(cache.catalog(POOL, 0.0))
        took, busy = time.perf_counter() - began, time.process_time() - worked
        looking.cancel()
        calls = sum(counts.calls.values())
        by_subject = {subject.name: await _calls(finding, subject, counts) for subject in Subject}
    return {
        "seconds": took,
        "from_files": from_files,
        "busy": busy,
        "types": types,
        "zones": len(market.region.zones),
        "calls": calls,
        "late": statistics.quantiles(looks.late, n=100)[98],
        "latest": max(looks.late),
        "worked": statistics.quantiles(looks.worked, n=100)[98],
        "longest": max(looks.worked),
        "megabytes": peak(),
        **by_subject,
    }


async def _calls(finding: Discovery, subject: Subject, counts: Counts) -> float:
    before = sum(counts.calls.values())
    await finding.refresh(subject)
    return sum(counts.calls.values()) - before


def peak() -> float:
    """Megabytes of the whole process, interpreter and SDK and all, at their most."""
    status = Path("/proc/self/status")
    if not status.exists():
        return measure.resident()
    line = next(one for one in status.read_text(encoding="ascii").splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / measure.MEGABYTE


if __name__ == "__main__":
    print(json.dumps(asyncio.run(cold(sys.argv[1]))))
