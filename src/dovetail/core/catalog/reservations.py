"""Capacity reservations (S3.4–S3.6, S3.14).

What was paid for already should be used first, and no more often than it was paid for. Reservations of one type in one
zone are one row to the scheduler, with their counts added up; which of them a launch names is decided at launch.
Grouping happens once per refresh, so looking at an offering costs the same with ten thousand reservations as with one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

#: A reserved row costs a thousandth of on-demand: near nothing, and in the same order among themselves (S3.6).
RESERVED_DIVISOR: Final = 1000


@dataclass(frozen=True, slots=True)
class Reservation:
    """One reservation: so many machines of a type in a zone, until it ends."""

    id: str
    instance_type: str
    zone: str
    available: int
    total: int
    kind: str = "targeted"
    owner: str = ""
    ends_at: float | None = None

    def open_at(self, now: float) -> bool:
        return self.ends_at is None or now < self.ends_at


@dataclass(frozen=True, slots=True)
class Pool:
    """All reservations of one type in one zone: one offering."""

    instance_type: str
    zone: str
    reservations: tuple[Reservation, ...]

    @property
    def available(self) -> int:
        return sum(one.available for one in self.reservations)


def pooled(reservations: Iterable[Reservation]) -> dict[tuple[str, str], Pool]:
    """Group by type and zone. Inside a pool the roomiest comes first, then by id: the order launches try them in.

    An id that is listed twice counts once, with the smaller number: two selector terms may find the same one.
    """
    by_id: dict[str, Reservation] = {}
    for one in reservations:
        known = by_id.get(one.id)
        if known is None or one.available < known.available:
            by_id[one.id] = one
    groups: dict[tuple[str, str], list[Reservation]] = {}
    for one in by_id.values():
        groups.setdefault((one.instance_type, one.zone), []).append(one)
    return {
        place: Pool(*place, tuple(sorted(group, key=lambda one: (-one.available, one.id))))
        for place, group in groups.items()
    }


def emptied(pool: tuple[Reservation, ...], reservation_id: str) -> tuple[Reservation, ...]:
    """The same reservations, one of them found to be full."""
    if not any(one.id == reservation_id and one.available for one in pool):
        return pool
    return tuple(replace(one, available=0) if one.id == reservation_id else one for one in pool)


def reserved_price(on_demand_nanodollars: int) -> int:
    return on_demand_nanodollars // RESERVED_DIVISOR
