"""A market over the bundled region, and a test server that sells a few types, so that asking takes no time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES
from tools.aws_server import AwsServer
from tools.aws_server import types as server_types

from dovetail.clouds.aws import load
from dovetail.clouds.aws import region as regions
from dovetail.clouds.aws.access import Access, Counts, Pace
from dovetail.clouds.aws.class_terms import ClassTerms
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.discovery import Discovery, Habits
from dovetail.clouds.aws.market import AwsMarket, Defaults
from dovetail.clouds.aws.region import Region
from dovetail.clouds.aws.reservation_counts import Counts as Rooms
from dovetail.clouds.aws.resolved import HeldReservation
from dovetail.clouds.options import DEFAULTS
from dovetail.core import labels
from dovetail.core.catalog.offerings import Offering
from dovetail.core.nodepools import NodeClassRef, NodePool

CLASS = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
OTHER = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "other")
POOL, OTHERS = NodePool("general", CLASS), NodePool("others", OTHER)
A, B = "us-east-1a", "us-east-1b"
#: 2026-11-15T00:00:00Z
MIDNIGHT = 1_794_700_800.0


class Clock:
    """Time that passes when told."""

    def __init__(self, now: float = MIDNIGHT) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


#: Enough to tell everything apart by, and few enough that a test takes no time.
FAMILIES = "a1 c5 c6g c7i g5 g6f i4i m1 m4 m5 m6g m8g m8i mac2 p5 r7i t3 t4g trn1"


@cache
def region() -> Region:
    """us-east-1 as the files have it, but for most of its families."""
    answers = load.answers_of("us-east-1", DEFAULTS)
    kept = [one for one in answers.types if one.instance_type.partition(".")[0] in FAMILIES.split()]
    return regions.read(replace(answers, types=kept))


def terms(*zones: str, **more: Any) -> ClassTerms:
    return ClassTerms(frozenset((zone, f"subnet-{zone}") for zone in zones or (A, B)), **more)


def market(
    said: ClassTerms | None = None, held: Iterable[HeldReservation] = (), clock: Clock | None = None
) -> AwsMarket:
    """A market with one class."""
    made = AwsMarket(region(), Rooms(), Defaults(now=clock or Clock()))
    made.set_class(CLASS, said or terms(), held)
    return made


def rows(found: AwsMarket, name: str, capacity_type: str = labels.ON_DEMAND, pool: NodePool = POOL) -> list[Offering]:
    return [row for row in found.offerings(pool).get(name, ()) if row.capacity_type == capacity_type]


def sells_only(names: Iterable[str], patch: pytest.MonkeyPatch) -> None:
    """Have the server know these types and no others."""
    kept = frozenset(names)
    patch.setattr(server_types, "INSTANCE_TYPES", {name: INSTANCE_TYPES[name] for name in sorted(kept)})
    places: Mapping[str, Any] = MappingProxyType(
        {
            kind: {
                place: [one for one in offered if one["InstanceType"] in kept]
                for place, offered in where.items()
                if place == "us-east-1"
            }
            for kind, where in INSTANCE_TYPE_OFFERINGS.items()
        }
    )
    patch.setattr(server_types, "INSTANCE_TYPE_OFFERINGS", places)


def discovering(
    server: AwsServer,
    scenario: Callable[[Discovery, AwsMarket], Awaitable[None]],
    clock: Clock | None = None,
    **habits: Any,
) -> Counts:
    """Run a scenario with a market that one can have look at the server; which calls were made."""
    counts = Counts()

    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    async def whole() -> None:
        now = clock or Clock()
        made = AwsMarket(region(), Rooms(), Defaults(now=now))
        made.set_class(CLASS, terms())
        async with Aws(Access("us-east-1", server.url), counts, Pace(sleep=at_once)) as aws:
            await scenario(Discovery(aws, made, Habits(now=now, **habits)), made)

    asyncio.run(whole())
    return counts
