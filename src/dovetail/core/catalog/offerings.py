"""Offerings: the half of the catalog that changes all the time (S0.1).

An offering is a place on the price list: a set of label values (capacity type, zone, and whatever else tells prices
apart, S2.5), a price, whether the market has any, and for a reservation how many. It is frozen; when something changes,
a new row takes its place and everything beside it stays the same object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.prices import Price
from dovetail.core.catalog.reservations import Reservation
from dovetail.core.catalog.specs import Spec
from dovetail.core.requirements import Requirement, Requirements, is_in
from dovetail.core.resources import Resources


@dataclass(frozen=True, slots=True)
class OfferingKey:
    """What names a row: never a joined string."""

    instance_type: str
    zone: str | None
    capacity_type: str | None


@dataclass(frozen=True, slots=True)
class Offering:
    """One way to buy a type. A label that is not among the requirements may have any value (S2.4).

    `available` is the market's health; `count` is how many are left where that is known (a reservation), None where
    it is not limited. `reservations` are those behind the row: one row to the scheduler, told apart at launch (S3.4).
    """

    requirements: Requirements
    zone: str | None
    capacity_type: str | None
    price: Price | None
    available: bool = True
    count: int | None = None
    reservations: tuple[Reservation, ...] = ()

    @property
    def launchable(self) -> bool:
        """Whether one could be bought now: the market has it, and a reservation has room (S3.5)."""
        return self.available and (self.count is None or self.count > 0)

    def priced(self, price: Price | None, available: bool) -> Offering:
        """The row at another price. A poll of prices does this for all of them, hence no `replace`."""
        return Offering(
            self.requirements, self.zone, self.capacity_type, price, available, self.count, self.reservations
        )

    @property
    def order(self) -> tuple[bool, int, str, str]:
        """The stated key for ties: priced first, then cheaper, then by zone and capacity type."""
        amount = 0 if self.price is None else self.price.nanodollars
        return (self.price is None, amount, self.zone or "", self.capacity_type or "")


@lru_cache(maxsize=16384)
def _requirements_of(pairs: tuple[tuple[str, str], ...]) -> Requirements:
    """A catalog has a dozen distinct label sets and thousands of rows, so rows of one kind share one object."""
    return Requirements.of_labels(dict(pairs))


def offering(
    pairs: Mapping[str, str],
    price: Price | None,
    *,
    available: bool = True,
    count: int | None = None,
    reservations: tuple[Reservation, ...] = (),
) -> Offering:
    """A row from its label map."""
    requirements = _requirements_of(tuple(sorted(pairs.items())))
    return Offering(
        requirements,
        requirements.value(labels.ZONE),
        requirements.value(labels.CAPACITY_TYPE),
        price,
        available,
        count,
        reservations,
    )


def sorted_offerings(rows: Iterable[Offering]) -> tuple[Offering, ...]:
    """Rows in their stated order: cheapest first, unpriced last."""
    return tuple(sorted(rows, key=lambda row: row.order))


def unavailable(row: Offering) -> Offering:
    return replace(row, available=False) if row.available else row


#: More answers than this are given up at once: claims ask a type for few sets of zones and kinds of capacity.
_ANSWERS: Final = 256


class _Answers:
    """The rows of a type that claims asked for, by what they asked of the labels in which its rows differ."""

    __slots__ = ("by_asked", "keys")

    def __init__(self, offerings: tuple[Offering, ...]) -> None:
        self.keys = tuple(sorted({one.key for row in offerings for one in row.requirements}))
        self.by_asked: dict[tuple[Requirement | None, ...], tuple[Offering, ...]] = {}


@dataclass(frozen=True, slots=True)
class InstanceType:
    """A type as a pool sees it: the shared spec and the rows it can be bought by."""

    spec: Spec
    offerings: tuple[Offering, ...]
    requirements: Requirements
    price_overlaid: bool = False
    capacity_overlaid: bool = False
    #: Kept here and not in a table of all types: a poll of prices makes new types, and nobody would clear the old out.
    _answers: _Answers | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def capacity(self) -> Resources:
        return self.spec.capacity

    @property
    def allocatable(self) -> Resources:
        return self.spec.allocatable

    @property
    def cheapest(self) -> Offering | None:
        """The cheapest row that can be bought now and has a price."""
        rows = (row for row in self.offerings if row.launchable and row.price is not None)
        return min(rows, key=lambda row: row.order, default=None)

    def rows_for(self, wanted: Requirements) -> tuple[Offering, ...]:
        """The rows a claim with these requirements could be launched by as this type, cheapest first."""
        answers = self._answers
        if answers is None:
            answers = _Answers(self.offerings)
            object.__setattr__(self, "_answers", answers)
        asked = tuple([wanted.get(key) for key in answers.keys])
        found = answers.by_asked.get(asked)
        if found is None:
            if len(answers.by_asked) >= _ANSWERS:
                answers.by_asked.clear()
            told = Requirements(one for one in asked if one is not None)
            launchable = (row for row in self.offerings if row.launchable)
            found = sorted_offerings(row for row in launchable if row.requirements.intersects(told))
            answers.by_asked[asked] = found
        return found


@lru_cache(maxsize=4096)
def _spread(key: str, values: frozenset[str]) -> Requirement:
    return is_in(key, *values)


def instance_type(
    spec: Spec,
    rows: tuple[Offering, ...],
    twin: InstanceType | None = None,
) -> InstanceType:
    """Join the halves: the type's labels, and the zones and capacity types its rows span.

    A row without a zone may be in any, so then the type's zone is left open. `twin` is the same type as joined
    elsewhere; whatever of it is made of the same parts is shared.
    """
    if twin is not None and twin.offerings is rows and twin.spec.requirements is spec.requirements:
        return twin if twin.spec is spec else InstanceType(spec, rows, twin.requirements)
    spans = tuple(_spans(rows))
    if twin is not None and twin.spec.requirements is spec.requirements and _says(twin.requirements, spec, spans):
        return InstanceType(spec, rows, twin.requirements)
    requirements = Requirements((*spec.requirements, *spans)) if spans else spec.requirements
    return InstanceType(spec, rows, requirements)


def _says(known: Requirements, spec: Spec, spans: tuple[Requirement, ...]) -> bool:
    """Whether these are the spec's requirements and just these spans."""
    if len(known) != len(spec.requirements) + len(spans):
        return False
    return all(known.get(one.key) is one for one in spans)


def _spans(rows: tuple[Offering, ...]) -> Iterator[Requirement]:
    for key in (labels.ZONE, labels.CAPACITY_TYPE):
        values = [row.zone if key == labels.ZONE else row.capacity_type for row in rows]
        if values and None not in values:
            yield _spread(key, frozenset(value for value in values if value is not None))
