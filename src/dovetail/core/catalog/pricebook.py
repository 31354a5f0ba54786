"""The price book: what a user's contract makes of list prices.

Four kinds of entry, imported as data:

    price        replaces the list price of matching rows
    discount     takes a percentage off (several apply one after the other)
    extra        adds a fixed amount an hour per node: a disk, a license, an agent's fee
    commitment   a savings plan or reserved instances: so many dollars or machines at a better rate, then list price

The first three change the rows of the catalog. A commitment is finite, so what it is worth depends on what runs
already; it is settled over a fleet (`settle`) and asked for at the margin (`next_price`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import lru_cache
from typing import Final, Generic, TypeVar

from dovetail.core.catalog.offerings import Offering, sorted_offerings
from dovetail.core.catalog.prices import Price, Source, dollars


@dataclass(frozen=True, slots=True)
class Scope:
    """Which rows an entry is about; what is left out matches all. A type may be a pattern: `m5.*`."""

    instance_type: str = "*"
    capacity_type: str | None = None
    zone: str | None = None
    region: str | None = None

    def covers(self, instance_type: str, capacity_type: str | None, zone: str | None, region: str) -> bool:
        return (
            (self.capacity_type is None or self.capacity_type == capacity_type)
            and (self.zone is None or self.zone == zone)
            and (self.region is None or self.region == region)
            and fnmatchcase(instance_type, self.instance_type)
        )

    @property
    def is_pattern(self) -> bool:
        return any(mark in self.instance_type for mark in "*?[")

    @property
    def precision(self) -> tuple[bool, int, bool, int]:
        """A named type beats a pattern; then the entry that says more wins, and naming a family says something.

        Between equals a zone beats a region, then the longer pattern the shorter, then the later entry the earlier.
        """
        said = sum(part is not None for part in (self.capacity_type, self.zone, self.region))
        return (not self.is_pattern, said + (self.instance_type != "*"), self.zone is not None, len(self.instance_type))


@dataclass(frozen=True, slots=True)
class ListedPrice:
    scope: Scope
    nanodollars: int
    source: Source


@dataclass(frozen=True, slots=True)
class Discount:
    scope: Scope
    percent: Fraction
    name: str = "discount"


@dataclass(frozen=True, slots=True)
class Extra:
    scope: Scope
    nanodollars: int
    name: str = "extra"


@dataclass(frozen=True, slots=True)
class Commitment:
    """So many machines, or so many dollars an hour at the committed rate, at `percent` off."""

    name: str
    scope: Scope
    percent: Fraction
    instances: int | None = None
    nanodollars: int | None = None


A = TypeVar("A")
E = TypeVar("E", "ListedPrice", "Discount", "Extra")


class _ByType(Generic[E]):
    """Entries by the type they name, patterns apart: a book of ten thousand prices says little about any one type."""

    __slots__ = ("_named", "_patterns")

    def __init__(self, entries: Iterable[E]) -> None:
        self._named: dict[str, list[tuple[int, E]]] = {}
        self._patterns: list[tuple[int, E]] = []
        for number, one in enumerate(entries):
            if one.scope.is_pattern:
                self._patterns.append((number, one))
            else:
                self._named.setdefault(one.scope.instance_type, []).append((number, one))

    def about(self, instance_type: str) -> tuple[E, ...]:
        """What may concern a type, in the order it was entered."""
        found = [one for one in self._patterns if fnmatchcase(instance_type, one[1].scope.instance_type)]
        found += self._named.get(instance_type, ())
        return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))


@dataclass(frozen=True, slots=True)
class PriceBook:
    prices: tuple[ListedPrice, ...] = ()
    discounts: tuple[Discount, ...] = ()
    extras: tuple[Extra, ...] = ()
    commitments: tuple[Commitment, ...] = ()
    _prices: _ByType[ListedPrice] = field(init=False, compare=False, repr=False)
    _discounts: _ByType[Discount] = field(init=False, compare=False, repr=False)
    _extras: _ByType[Extra] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_prices", _ByType(self.prices))
        object.__setattr__(self, "_discounts", _ByType(self.discounts))
        object.__setattr__(self, "_extras", _ByType(self.extras))

    @property
    def changes_rows(self) -> bool:
        return bool(self.prices or self.discounts or self.extras)

    def merged(self, newer: PriceBook) -> PriceBook:
        """Both books; where they speak of the same thing, the newer one counts, so importing again is safe.

        The same thing is: a price of one scope, a discount or extra of one name and scope, a commitment of one name.
        """
        return PriceBook(
            _replaced(self.prices, newer.prices, lambda one: one.scope),
            _replaced(self.discounts, newer.discounts, lambda one: (one.name, one.scope)),
            _replaced(self.extras, newer.extras, lambda one: (one.name, one.scope)),
            _replaced(self.commitments, newer.commitments, lambda one: one.name),
        )

    def applied(self, instance_type: str, region: str, rows: tuple[Offering, ...]) -> tuple[Offering, ...]:
        """The rows at the user's prices; the same tuple where the book says nothing about them."""
        if not self.changes_rows:
            return rows
        about = _About(
            self._prices.about(instance_type), self._discounts.about(instance_type), self._extras.about(instance_type)
        )
        if not (about.prices or about.discounts or about.extras):
            return rows
        found = tuple(_row(about, (instance_type, row.capacity_type, row.zone, region), row) for row in rows)
        return sorted_offerings(found) if any(a is not b for a, b in zip(found, rows, strict=True)) else rows


@dataclass(frozen=True, slots=True)
class _About:
    """The entries that may concern one type."""

    prices: tuple[ListedPrice, ...]
    discounts: tuple[Discount, ...]
    extras: tuple[Extra, ...]


def _row(about: _About, where: tuple[str, str | None, str | None, str], row: Offering) -> Offering:
    listed = max(
        (one for one in reversed(about.prices) if one.scope.covers(*where)),
        key=lambda one: one.scope.precision,
        default=None,
    )
    price = row.price if listed is None else Price(listed.nanodollars, listed.source)
    if price is None:
        return row
    discounts = tuple(one for one in about.discounts if one.scope.covers(*where))
    extras = tuple(one for one in about.extras if one.scope.covers(*where))
    if discounts or extras:
        price = Price(_charged(price.nanodollars, discounts, extras), _told(price.source, discounts, extras))
    return row if price == row.price else replace(row, price=price)


EMPTY_BOOK: Final = PriceBook()


def _replaced(old: tuple[A, ...], new: tuple[A, ...], about: Callable[[A], Hashable]) -> tuple[A, ...]:
    """The old entries that no new one is about, then the new ones; of several about one thing the last."""
    kept = {about(one): one for one in old}
    for one in new:
        kept.pop(about(one), None)
        kept[about(one)] = one
    return tuple(kept.values())


def _charged(nanodollars: int, discounts: tuple[Discount, ...], extras: tuple[Extra, ...]) -> int:
    amount = Fraction(nanodollars)
    for one in discounts:
        amount *= 1 - one.percent / 100
    return round(amount) + sum(one.nanodollars for one in extras)


@lru_cache(maxsize=1024)
def _told(source: Source, discounts: tuple[Discount, ...], extras: tuple[Extra, ...]) -> Source:
    parts = [source.detail] if source.detail else []
    parts += [f"less {float(one.percent):g}% {one.name}" for one in discounts]
    parts += [f"plus {dollars(one.nanodollars)} {one.name}" for one in extras]
    return replace(source, detail="; ".join(parts))


@dataclass(frozen=True, slots=True)
class Usage:
    """Machines that run: so many of a type, at this list price each."""

    instance_type: str
    capacity_type: str | None
    zone: str | None
    nanodollars: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class Settled:
    """What a fleet costs an hour, and what every commitment has left."""

    total_nanodollars: int
    list_nanodollars: int
    left: Mapping[str, Fraction]

    @property
    def saved_nanodollars(self) -> int:
        return self.list_nanodollars - self.total_nanodollars


def settle(book: PriceBook, region: str, fleet: Iterable[Usage]) -> Settled:
    """Spend the commitments where they save most: the best rate first, on the most expensive machines first."""
    left = {one.name: _size(one) for one in book.commitments}
    total, at_list = Fraction(0), 0
    for usage in sorted(fleet, key=lambda one: (-one.nanodollars, one.instance_type, one.zone or "")):
        at_list += usage.nanodollars * usage.count
        for _ in range(usage.count):
            total += _charge_one(book, region, usage, left)
    return Settled(round(total), at_list, left)


def next_price(book: PriceBook, region: str, usage: Usage, settled: Settled) -> int:
    """What one more such machine would cost, after what runs has used its share of the commitments."""
    return round(_charge_one(book, region, usage, dict(settled.left)))


def _size(one: Commitment) -> Fraction:
    return Fraction(one.instances if one.instances is not None else one.nanodollars or 0)


def _charge_one(book: PriceBook, region: str, usage: Usage, left: dict[str, Fraction]) -> Fraction:
    """Charge one machine and take its share off the commitments that cover it, several if the first runs out."""
    uncovered, cost = Fraction(1), Fraction(0)
    for one in sorted(book.commitments, key=lambda each: (-each.percent, each.name)):
        if not uncovered:
            break
        if not one.scope.covers(usage.instance_type, usage.capacity_type, usage.zone, region):
            continue
        rate = usage.nanodollars * (1 - one.percent / 100)
        each = Fraction(1) if one.instances is not None else rate
        share = uncovered if not each else min(uncovered, left[one.name] / each)
        left[one.name] -= share * each
        cost += share * rate
        uncovered -= share
    return cost + uncovered * usage.nanodollars
