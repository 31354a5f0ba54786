"""NodeOverlays: a user's price or extra capacity for every type that matches (S2.6).

Overlays are judged all at once, heaviest first and, at one weight, by name from the end of the alphabet. Per row of
offerings the first price wins, per resource the first capacity; nothing accumulates. Two overlays of one weight that
want the same row or resource conflict: the one judged later is refused as a whole, in every pool, and the refusal
names both.

Stacking, from the bottom up: the cloud's price, the price book (imports, discounts, extras), the InstanceType's own
offerings, the overlay. An overlay therefore adjusts what an InstanceType says, never the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from dovetail.core.catalog.offerings import InstanceType, Offering, sorted_offerings
from dovetail.core.catalog.prices import Adjustment, Price, Source, SourceKind
from dovetail.core.catalog.specs import Spec
from dovetail.core.requirements import Requirements
from dovetail.core.resources import HUGEPAGES, MEMORY, NOTHING, Resources


@dataclass(frozen=True, slots=True)
class NodeOverlay:
    name: str
    requirements: Requirements
    adjustment: Adjustment | None = None
    capacity: Resources = NOTHING
    weight: int = 0


def in_order(overlays: Iterable[NodeOverlay]) -> list[NodeOverlay]:
    """Heaviest first, then by name descending: who is judged first wins."""
    by_name = sorted(overlays, key=lambda one: one.name, reverse=True)
    return sorted(by_name, key=lambda one: -one.weight)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two overlays of one weight that want to decide the same thing."""

    overlay: str
    other: str
    instance_type: str
    about: str

    def __str__(self) -> str:
        return (
            f"conflicts with overlay {self.other}: both have this weight and set the {self.about} of "
            f"{self.instance_type}; give {self.overlay} or {self.other} another weight"
        )


#: Per type name, the positions of the rows an overlay matches; a type without a matching row is not in it.
Matches = Mapping[str, frozenset[int]]


def match(overlay: NodeOverlay, pool_labels: Requirements, types: Iterable[InstanceType]) -> Matches:
    """Which rows of which types an overlay speaks of, for pools that carry these labels.

    What only the pool's labels decide is decided once. Everything the overlay names must be known of the node, by
    its type or by the row it is bought by (strictly: a key nobody defines does not match).
    """
    wanted = overlay.requirements
    of_pool = Requirements(one for one in wanted if pool_labels.mentions(one.key))
    if not pool_labels.compatible(of_pool):
        return {}
    shared = Requirements(one for one in pool_labels if wanted.mentions(one.key))
    of_type = wanted if not len(shared) else wanted.without(*(one.key for one in of_pool))
    found: dict[str, frozenset[int]] = {}
    # Thousands of rows share a dozen label sets, so each set is judged once.
    judged: dict[int, tuple[Requirements, bool]] = {}

    def suits(row: Requirements) -> bool:
        known = judged.get(id(row))
        if known is None:
            known = judged[id(row)] = (row, row.intersects(wanted))
        return known[1]

    for one in types:
        if not one.requirements.intersects(of_type) or not one.requirements.intersects(shared):
            continue
        open_keys = [each.key for each in of_type if not one.requirements.mentions(each.key) and not each.absent]
        rows = frozenset(
            position
            for position, row in enumerate(one.offerings)
            if suits(row.requirements) and (not open_keys or all(row.requirements.mentions(key) for key in open_keys))
        )
        if rows:
            found[one.name] = rows
    return found


def conflicts(ordered: Sequence[NodeOverlay], views: Sequence[Mapping[str, Matches]]) -> dict[str, Conflict]:
    """The overlays that must stay out, by name, each with the one it clashes with.

    `ordered` is who is judged first; every view holds, by overlay name, what matches in it. A clash in any view keeps
    an overlay out of all of them, and one that is out clashes with nobody.
    """
    accepted: list[NodeOverlay] = []
    found: dict[str, Conflict] = {}
    for one in ordered:
        rivals = [other for other in accepted if other.weight == one.weight]
        clash = next((problem for other in rivals for view in views for problem in _clashes(one, other, view)), None)
        if clash is None:
            accepted.append(one)
        else:
            found[one.name] = clash
    return found


def _clashes(one: NodeOverlay, other: NodeOverlay, view: Mapping[str, Matches]) -> Iterator[Conflict]:
    common = sorted(set(one.capacity) & set(other.capacity))
    priced = one.adjustment is not None and other.adjustment is not None
    if not common and not priced:
        return
    mine, theirs = view.get(one.name, {}), view.get(other.name, {})
    for type_name in sorted(mine.keys() & theirs.keys()):
        if priced and mine[type_name] & theirs[type_name]:
            yield Conflict(one.name, other.name, type_name, "price")
        if common:
            yield Conflict(one.name, other.name, type_name, common[0])


Touching = Sequence[tuple[NodeOverlay, frozenset[int]]]


@dataclass(frozen=True, slots=True)
class Worn:
    """A type with its overlays on, and what it was made from, so that another view can tell that it is its own."""

    rows: tuple[Offering, ...]
    touching: Touching
    result: InstanceType


def overlaid(base: InstanceType, touching: Touching, twin: Worn | None = None) -> InstanceType:
    """A type with its overlays on, given in order with the rows each touches; the same object where none does.

    `twin` is the type as another view made it; its prices are taken over where they began from the same ones.
    """
    prices: dict[int, NodeOverlay] = {}
    capacity: dict[str, int] = {}
    for overlay, rows in touching:
        if overlay.adjustment is not None:
            for position in rows:
                prices.setdefault(position, overlay)
        for name, amount in overlay.capacity.items():
            capacity.setdefault(name, amount)
    if not prices and not capacity:
        return base
    if not prices:
        offerings = base.offerings
    elif twin is not None and twin.rows is base.offerings and twin.touching == touching:
        offerings = twin.result.offerings
    else:
        offerings = sorted_offerings(
            _repriced(row, prices[position]) if position in prices else row
            for position, row in enumerate(base.offerings)
        )
    # Overlays change neither zones nor capacity types, so what the type requires stays as it was.
    spec = _with_capacity(base.spec, capacity) if capacity else base.spec
    return InstanceType(spec, offerings, base.requirements, bool(prices), bool(capacity))


def _with_capacity(spec: Spec, capacity: Mapping[str, int]) -> Spec:
    """More of some resources; huge pages come out of the memory, as they do on the node."""
    allocatable = dict(spec.allocatable.merged(capacity))
    for name, amount in capacity.items():
        if name.startswith(HUGEPAGES):
            left = allocatable.get(MEMORY, 0) + spec.capacity.of(name) - amount
            allocatable[MEMORY] = max(0, left)
    return replace(spec, capacity=spec.capacity.merged(capacity), allocatable=Resources(allocatable))


def _repriced(row: Offering, overlay: NodeOverlay) -> Offering:
    """An unpriced row can be given a price; there is nothing in it to adjust."""
    adjustment = overlay.adjustment
    assert adjustment is not None
    if row.price is None and adjustment.replace_nanodollars is None:
        return row
    amount = adjustment.apply(0 if row.price is None else row.price.nanodollars)
    currency = row.price.source.currency if row.price is not None else "USD"
    price = Price(amount, _overlay_source(overlay.name, currency))
    return Offering(row.requirements, row.zone, row.capacity_type, price, row.available, row.count, row.reservations)


@lru_cache(maxsize=1024)
def _overlay_source(name: str, currency: str) -> Source:
    return Source(SourceKind.OVERLAY, f"NodeOverlay {name}", currency=currency)
