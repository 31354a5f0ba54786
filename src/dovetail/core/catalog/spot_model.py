"""A model of spot prices, for when no cloud can be asked: demos, tests, and regions without a price history.

A spot price is the on-demand price less two things. The *type* has a discount of its own, by how much of it
stands idle; and each *zone* strays from that, mildly for most types and wildly for a few. So

    spot = on-demand × (1 − discount(type)) × stray(type, zone)

Both are drawn through quantile functions, piecewise-linear inverses of a cumulative distribution, from numbers
that come from the names by hashing. The same type and zone therefore always have the same price, everywhere,
and a price never depends on which other types are in the catalogue. Over the us-east-1 catalogue the discounts
come out with deciles 51 % (p10), 68 % (p50) and 86 % (p90), and the dearest zone of a type costs 1.20 times its
cheapest at the median and 2.13 times at p90.

The stray of a zone is (1 + h) / (1 − h), where h is uniform between −s and s and s, the type's spread, is below
one. In logarithms it is symmetric: a zone is as often a quarter dearer as a fifth cheaper.

All arithmetic is on integers, in millionths, so no platform rounds differently. The digests of types and zones
are remembered; a call then costs one multiplication to mix them and one division.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

MILLION = 1_000_000
WORD = (1 << 64) - 1
MIX = 0x9E3779B97F4A7C15  # 2⁶⁴ / golden ratio, odd: multiplying by it carries every bit into the high ones
REMEMBERED = 8192  # more types and zones than any cloud's regions together list

# (probability, value), both in millionths. What the type's spot costs of on-demand before zones stray …
TYPE_SHARE = (
    (0, 90_000),
    (100_000, 146_000),
    (300_000, 245_000),
    (500_000, 328_000),
    (700_000, 398_000),
    (900_000, 468_000),
    (1_000_000, 590_000),
)
# … and how far they stray.
ZONE_SPREAD = (
    (0, 5_000),
    (250_000, 36_000),
    (500_000, 72_000),
    (750_000, 150_000),
    (900_000, 275_000),
    (1_000_000, 420_000),
)
CHEAPEST = 40_000  # no discount above 96 %
DEAREST = 950_000  # and none below 5 %


class _Type(NamedTuple):
    share: int
    spread: int
    seed: int


def modelled_spot(on_demand_nanodollars: int, instance_type: str, zone: str) -> int:
    """The spot price per hour, in nanodollars: always above zero and below on-demand."""
    if on_demand_nanodollars < 2:
        raise ValueError(f"no price lies between 0 and {on_demand_nanodollars} nanodollars")
    share, spread, seed = _type(instance_type)
    mixed = ((seed ^ _zone(zone)) * MIX & WORD) >> 32
    stray = spread * (mixed - 0x80000000) >> 31  # −spread … spread
    part = share * (MILLION + stray) // (MILLION - stray)
    part = min(max(part, CHEAPEST), DEAREST)
    return max(on_demand_nanodollars * part // MILLION, 1)


@lru_cache(maxsize=REMEMBERED)
def _type(instance_type: str) -> _Type:
    digest = blake2b(instance_type.encode(), digest_size=16, person=b"spot-type").digest()
    share = _quantile(TYPE_SHARE, int.from_bytes(digest[:4], "big"))
    spread = _quantile(ZONE_SPREAD, int.from_bytes(digest[4:8], "big"))
    return _Type(share, spread, int.from_bytes(digest[8:], "big"))


@lru_cache(maxsize=REMEMBERED)
def _zone(zone: str) -> int:
    return int.from_bytes(blake2b(zone.encode(), digest_size=8, person=b"spot-zone").digest(), "big")


def _quantile(knots: tuple[tuple[int, int], ...], drawn: int) -> int:
    """The value at probability `drawn` / 2³², on the line between the two knots around it."""
    probability = drawn * MILLION >> 32
    for (left, low), (right, high) in pairwise(knots):
        if probability < right:
            return low + (high - low) * (probability - left) // (right - left)
    return knots[-1][1]
