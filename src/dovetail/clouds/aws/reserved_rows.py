"""Reserved offerings of one node class (S3.2–S3.7): what it holds, how many of it are free, and until when.

Reservations of one type, zone and kind are one row with one count (S3.4); which of them a launch names is decided then.
A plain one, a capacity block and one that its owner may take back carry different labels, so each kind has its own row.
A row costs a thousandth of on-demand (S3.6). One that is full stays on the list with nothing left, one that has ended
or is about to is taken off.

Grouping is done when the class's selection changes. When counts move, every group is looked at and only those with
another count are made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.reservation_counts import Counts
from dovetail.clouds.aws.resolved import CAPACITY_BLOCK, HeldReservation
from dovetail.clouds.interned import yes_or_no
from dovetail.clouds.listed import reserved_at
from dovetail.core import labels
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.offerings import Offering
from dovetail.core.catalog.prices import Price
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.requirements import Requirements, is_in

#: EC2 takes the machines of a block back half an hour before its end, and ten minutes before that they are drained.
BLOCK_LEAD_SECONDS: Final = 40 * 60.0
Held = tuple[HeldReservation, ...]


def sold_until(one: HeldReservation) -> float | None:
    """From when on nothing is bought from it any more."""
    if one.ends_at is None or one.kind != CAPACITY_BLOCK:
        return one.ends_at
    return one.ends_at - BLOCK_LEAD_SECONDS


def is_sold(one: HeldReservation, now: float) -> bool:
    end = sold_until(one)
    return not one.expiring and (end is None or now < end)


@dataclass(slots=True)
class _Group:
    """Reservations that are one row, and the row as it was last made."""

    zone: str
    held: Held
    requirements: Requirements
    counts: tuple[int, ...] = ()
    price: Price | None = None
    row: Offering | None = None

    def made(self, counts: tuple[int, ...], on_demand: Price | None) -> Offering:
        if self.row is None or counts != self.counts or on_demand != self.price:
            self.counts, self.price = counts, on_demand
            rooms = sorted(map(_room, self.held, counts), key=lambda one: (-one.available, one.id))
            self.row = Offering(
                requirements=self.requirements,
                zone=self.zone,
                capacity_type=labels.RESERVED,
                price=reserved_at(on_demand),
                count=sum(counts),
                reservations=tuple(rooms),
            )
        return self.row


@dataclass(slots=True)
class ReservedRows:
    """The reserved rows of one class, by type."""

    held: Held
    zone_ids: Mapping[str, str]
    now: float
    _groups: dict[str, list[_Group]] = field(init=False)

    def __post_init__(self) -> None:
        grouped: dict[tuple[str, str, str, bool], list[HeldReservation]] = {}
        for one in self.held:
            if is_sold(one, self.now):
                grouped.setdefault((one.instance_type, one.zone, one.kind, one.interruptible), []).append(one)
        self._groups = {}
        for (name, zone, kind, interruptible), held in sorted(grouped.items()):
            told = _labels(held, zone, self.zone_ids.get(zone, ""), kind, interruptible)
            self._groups.setdefault(name, []).append(_Group(zone, tuple(held), told))

    @property
    def next_change(self) -> float | None:
        """When the first of those that are sold now stops being so."""
        ends = [end for one in self.held if is_sold(one, self.now) and (end := sold_until(one)) is not None]
        return min(ends, default=None)

    def rows(self, counts: Counts, listing: Listing) -> Iterator[tuple[str, list[Offering]]]:
        """The rows of each type that has any, the same objects as long as nothing about them changed."""
        left = counts.left
        for name, groups in self._groups.items():
            prices = _on_demand(listing, name)
            anywhere = listing.list_prices.get(name)
            yield (
                name,
                [one.made(tuple(left(each.id) for each in one.held), prices.get(one.zone, anywhere)) for one in groups],
            )


def _on_demand(listing: Listing, name: str) -> dict[str, Price]:
    rows = listing.offerings.get(name, ())
    return {row.zone: row.price for row in rows if row.zone and row.price and row.capacity_type == labels.ON_DEMAND}


def _room(one: HeldReservation, left: int) -> Reservation:
    return Reservation(one.id, one.instance_type, one.zone, left, left, one.kind, one.owner, one.ends_at)


def _labels(held: Iterable[HeldReservation], zone: str, zone_id: str, kind: str, interruptible: bool) -> Requirements:
    return Requirements(
        [
            is_in(labels.CAPACITY_TYPE, labels.RESERVED),
            is_in(labels.ZONE, zone),
            is_in(aws_labels.RESERVATION_ID, *(one.id for one in held)),
            is_in(aws_labels.RESERVATION_TYPE, kind),
            is_in(aws_labels.RESERVATION_INTERRUPTIBLE, yes_or_no(interruptible)),
            *([is_in(aws_labels.ZONE_ID, zone_id)] if zone_id else ()),
        ]
    )
