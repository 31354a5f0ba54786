"""Shortages: what the market said it has none of, for as long as that is believed (S0.3).

A capacity error names what ran out; every field it leaves open means "any". A shortage touches rows of offerings and
nothing else, and lapses by itself: time is an argument, nobody has to sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.hardware import Hardware
from dovetail.core.catalog.offerings import Offering, unavailable
from dovetail.core.catalog.reservations import emptied
from dovetail.core.requirements import Requirements, is_not_in

#: How long a capacity error is believed unless its cloud says otherwise.
BELIEVED_SECONDS: Final = 180.0


@dataclass(frozen=True, slots=True)
class Shortage:
    """What ran out. `family` with `min_cpu_millis` means: of that family, machines of this size or larger. `within` are
    labels that a row must carry to be meant: a placement group that is full says nothing of machines outside it."""

    instance_type: str | None = None
    zone: str | None = None
    capacity_type: str | None = None
    reservation_id: str | None = None
    family: str | None = None
    min_cpu_millis: int = 0
    within: tuple[tuple[str, str], ...] = ()

    def names_type(self, hardware: Hardware) -> bool:
        if self.instance_type is not None and self.instance_type != hardware.name:
            return False
        return self.family is None or (self.family == hardware.family and hardware.cpu_millis >= self.min_cpu_millis)

    def names_row(self, row: Offering) -> bool:
        """Whether a row is, or could be bought as, one of those that ran out."""
        if self.zone is not None and not _admits(row, labels.ZONE, self.zone):
            return False
        if not all(row.requirements.value(key) == value for key, value in self.within):
            return False
        if self.capacity_type is not None and not _admits(row, labels.CAPACITY_TYPE, self.capacity_type):
            return False
        return self.reservation_id is None or any(one.id == self.reservation_id for one in row.reservations)

    def applied(self, row: Offering) -> Offering:
        """The row with what ran out taken off: a row that is open to any zone keeps the others."""
        if not self.names_row(row):
            return row
        if self.reservation_id is not None:
            left = emptied(row.reservations, self.reservation_id)
            if left is row.reservations:
                return row
            return replace(row, reservations=left, count=sum(one.available for one in left))
        if self.zone is not None and row.zone is None:
            return _narrowed(row, labels.ZONE, self.zone)
        if self.capacity_type is not None and row.capacity_type is None:
            return _narrowed(row, labels.CAPACITY_TYPE, self.capacity_type)
        return unavailable(row)


def _admits(row: Offering, key: str, value: str) -> bool:
    wanted = row.requirements.get(key)
    return wanted is None or wanted.admits(value)


def _narrowed(row: Offering, key: str, value: str) -> Offering:
    """The row without one value of a label it left open."""
    requirements = row.requirements & Requirements([is_not_in(key, value)])
    return replace(row, requirements=requirements)


@dataclass(frozen=True, slots=True)
class Shortages:
    """All that is believed to have run out, each with the time it lapses."""

    until: Mapping[Shortage, float]
    #: Those that name a type, by its name, and under None those that name none: thousands may be believed at once.
    _by_type: Mapping[str | None, tuple[Shortage, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found: dict[str | None, list[Shortage]] = {}
        for one in self.until:
            found.setdefault(one.instance_type, []).append(one)
        object.__setattr__(self, "_by_type", {name: tuple(held) for name, held in found.items()})

    def with_all(self, shortages: Iterable[Shortage], until: float) -> Shortages:
        """Add some; hearing of one again extends it, never shortens it."""
        longest = {one: max(until, self.until.get(one, until)) for one in shortages}
        return Shortages({**self.until, **longest})

    def lapsed(self, now: float) -> tuple[Shortage, ...]:
        return tuple(one for one, until in self.until.items() if until <= now)

    def without(self, gone: Iterable[Shortage]) -> Shortages:
        dropped = frozenset(gone)
        return Shortages({one: until for one, until in self.until.items() if one not in dropped})

    @property
    def next_lapse(self) -> float | None:
        return min(self.until.values(), default=None)

    def applied(self, hardware: Hardware, rows: tuple[Offering, ...]) -> tuple[Offering, ...]:
        """The rows with what ran out marked; the very same tuple when nothing did."""
        possible = (*self._by_type.get(hardware.name, ()), *self._by_type.get(None, ()))
        named = [one for one in possible if one.names_type(hardware)]
        if not named:
            return rows
        found = []
        for row in rows:
            for one in named:
                row = one.applied(row)
            found.append(row)
        return tuple(found) if any(a is not b for a, b in zip(found, rows, strict=True)) else rows


NO_SHORTAGES: Final = Shortages({})
