"""Which ways to fill an order are tried, and in which order: a ladder of fleets, worked out from the order alone.

A fleet buys one kind of capacity. So an order becomes rungs, tried from the top until one sells: what is reserved (paid
for already), then spot, then on-demand. A peer takes the first rung only and plans anew when it fails; going down the
ladder here saves the round, and the shortages met on the way are told all the same (S3.7, S3.12).

EC2 refuses a fleet that names a type and a zone twice, so where several reservations hold the same, each goes to a rung
of its own, roomiest first. A capacity block is bought one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.resolved import CAPACITY_BLOCK, DEFAULT_RESERVATION, HeldReservation, ResolvedClass
from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.instances import Option, Order
from dovetail.core.nodeclaims import MIN_VALUES_RELAXED, NodeClaim
from dovetail.core.requirements import Requirement

#: EC2 takes a few hundred overrides in a fleet; more types than this make it slower, not luckier (`spec/aws` §0).
MOST_TYPES: Final = 60
#: Each reservation needs a launch template of its own.
MOST_RESERVED: Final = 20
#: How many reservations of one type and zone are tried one after another.
DEEPEST: Final = 3
_CHOSEN: Final = (labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE)
#: On equal prices: plain reservations before blocks before those that their owner may take back.
_KINDS: Final = ((DEFAULT_RESERVATION, False), (CAPACITY_BLOCK, False), (DEFAULT_RESERVATION, True))


@dataclass(frozen=True, slots=True)
class Way:
    """One pool a fleet may buy from: an option in a zone, and the reservation if it is to be that."""

    option: Option
    zone: str
    reservation: HeldReservation | None = None

    @property
    def kind(self) -> InstanceType:
        return self.option.instance_type

    @property
    def nanodollars(self) -> int:
        price = self.option.offering.price
        return _NO_PRICE if price is None else price.nanodollars

    @property
    def order(self) -> tuple[int, str, str]:
        return (self.nanodollars, self.kind.name, self.zone)


@dataclass(frozen=True, slots=True)
class Rung:
    """What one fleet is asked for, cheapest first."""

    capacity_type: str
    ways: tuple[Way, ...]


_NO_PRICE: Final = 1 << 62
_EVERY: Final = 1 << 30


def ladder(order: Order, resolved: ResolvedClass) -> tuple[Rung, ...]:
    """The rungs of an order; none if the class has no image or subnet for any of its options."""
    claim = order.claim
    found = _sorted(_agreeing(order), claim, resolved)
    generic = found.generic if found.generic.ways else found.exotic
    spot, on_demand = (generic.ways.get(one, []) for one in (labels.SPOT, labels.ON_DEMAND))
    rungs = [*_reserved_rungs(found.reserved, claim, resolved)]
    for capacity_type, ways in ((labels.SPOT, _worth_it(spot, on_demand, claim)), (labels.ON_DEMAND, on_demand)):
        kept = _cut(sorted(ways, key=lambda way: way.order), claim)
        if kept:
            rungs.append(Rung(capacity_type, kept))
    return tuple(rungs)


def _agreeing(order: Order) -> Iterable[Option]:
    """The options that agree with what the claim's labels say was chosen: someone may have died after writing those and
    before writing that it was launched."""
    told = order.claim.meta.labels
    kind, zone, capacity_type = (told.get(key) for key in _CHOSEN)
    if kind is None and zone is None and capacity_type is None:
        return order.options
    return (
        one
        for one in order.options
        if kind in (None, one.instance_type.name)
        and (zone is None or one.offering.zone in (None, zone))
        and (capacity_type is None or one.offering.capacity_type in (None, capacity_type))
    )


class _Shelf:
    """Ways to buy by capacity type. Options come cheapest first, so beyond `most` types no further ones are taken."""

    def __init__(self, most: int) -> None:
        self.ways: dict[str, list[Way]] = {}
        self._types: dict[str, set[str]] = {}
        self._most = most

    def put(self, capacity_type: str, option: Option, zones: Iterable[str]) -> None:
        types, name = self._types.setdefault(capacity_type, set()), option.instance_type.name
        if name not in types:
            if len(types) >= self._most:
                return
            types.add(name)
        self.ways.setdefault(capacity_type, []).extend(Way(option, zone) for zone in zones)


@dataclass(slots=True)
class _Found:
    reserved: list[Way]
    generic: _Shelf
    exotic: _Shelf


def _sorted(options: Iterable[Option], claim: NodeClaim, resolved: ResolvedClass) -> _Found:
    """One pass over what may be thousands of rows: what is true of a type is asked once. Bare metal and accelerators
    are put apart, since they are dear and slow to come, unless the claim wants variety (`minValues`)."""
    variety = bool(_min_values(claim))
    most = _EVERY if variety else MOST_TYPES
    found = _Found([], _Shelf(most), _Shelf(most))
    zones, everywhere = resolved.zones, sorted(resolved.zones)
    shelf_of: dict[str, _Shelf | None] = {}
    for option in options:
        kind, row = option.instance_type, option.offering
        if row.zone is not None and row.zone not in zones:
            continue
        name = kind.name
        if name not in shelf_of:
            plain = variety or not aws_labels.is_exotic(kind.requirements)
            shelf_of[name] = None if resolved.image_for(kind) is None else found.generic if plain else found.exotic
        shelf = shelf_of[name]
        if shelf is None:
            continue
        places = everywhere if row.zone is None else (row.zone,)
        if row.capacity_type == labels.RESERVED:
            found.reserved.extend(Way(option, zone) for zone in places)
        else:
            # A row that leaves its capacity type open is bought on demand.
            shelf.put(row.capacity_type or labels.ON_DEMAND, option, places)
    return found


# ---- reservations


def _reserved_rungs(ways: Iterable[Way], claim: NodeClaim, resolved: ResolvedClass) -> Iterator[Rung]:
    groups: dict[tuple[str, bool], dict[tuple[str, str], list[Way]]] = {}
    for way in ways:
        for held in _held(way, claim, resolved):
            pools = groups.setdefault((held.kind, held.interruptible), {})
            pools.setdefault((way.kind.name, way.zone), []).append(Way(way.option, way.zone, held))
    cheapest = {kind: min(one.order for held in pools.values() for one in held) for kind, pools in groups.items()}
    for kind in sorted(groups, key=lambda one: (cheapest[one][0], _rank(one))):
        ranked = sorted(groups[kind].values(), key=lambda held: held[0].order)
        if kind[0] == CAPACITY_BLOCK:
            yield from (Rung(labels.RESERVED, (one,)) for held in ranked for one in held[:DEEPEST])
            continue
        for depth in range(DEEPEST):
            level = tuple(held[depth] for held in ranked[:MOST_RESERVED] if len(held) > depth)
            if level:
                yield Rung(labels.RESERVED, level)


def _rank(kind: tuple[str, bool]) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _held(way: Way, claim: NodeClaim, resolved: ResolvedClass) -> Iterator[HeldReservation]:
    """The reservations behind a row that the claim would take, roomiest first."""
    told, wish = claim.meta.labels.get(aws_labels.RESERVATION_ID), claim.requirements
    rooms = sorted(way.option.offering.reservations, key=lambda one: (-one.available, one.id))
    for room in rooms:
        held = resolved.reservations.get(room.id) or HeldReservation(room.id, room.instance_type, room.zone)
        has = {
            aws_labels.RESERVATION_ID: held.id,
            aws_labels.RESERVATION_TYPE: held.kind,
            aws_labels.RESERVATION_INTERRUPTIBLE: "true" if held.interruptible else "false",
        }
        suits = all((one := wish.get(key)) is None or one.admits(value) for key, value in has.items())
        if suits and room.available > 0 and not held.expiring and told in (None, held.id):
            yield held


# ---- the market


def _min_values(claim: NodeClaim) -> list[Requirement]:
    return [one for one in claim.requirements if one.min_values]


def _worth_it(spot: list[Way], on_demand: list[Way], claim: NodeClaim) -> list[Way]:
    """Spot that costs more than the cheapest machine that nobody takes away is no bargain."""
    if _min_values(claim) or not on_demand:
        return spot
    limit = min(way.nanodollars for way in on_demand)
    return [way for way in spot if way.nanodollars <= limit]


def _cut(ways: list[Way], claim: NodeClaim) -> tuple[Way, ...]:
    """The ways of the cheapest types, so many that the claim's `minValues` still hold (S4.7); none if they cannot."""
    kinds = list({way.kind.name: way.kind for way in ways}.values())
    wanted = _min_values(claim)
    if len(kinds) <= MOST_TYPES:
        return tuple(ways)
    needed = _needed(kinds, wanted)
    if needed is None:
        if MIN_VALUES_RELAXED not in claim.meta.annotations:
            return ()
        needed = []
    kept = {kind.name for kind in needed}
    for kind in kinds:
        if len(kept) >= MOST_TYPES:
            break
        kept.add(kind.name)
    return tuple(way for way in ways if way.kind.name in kept)


def _needed(kinds: list[InstanceType], wanted: list[Requirement]) -> list[InstanceType] | None:
    """The first types that together have as many values as is wanted, None if `MOST_TYPES` are not enough."""
    seen: dict[str, set[str]] = {one.key: set() for one in wanted}
    short = {one.key: one.min_values or 0 for one in wanted}
    found = []
    for kind in kinds:
        news = {key: _values(kind, key) - seen[key] for key in short if len(seen[key]) < short[key]}
        if not news:
            break
        if any(news.values()):
            found.append(kind)
            for key, values in news.items():
                seen[key] |= values
    enough = all(len(seen[key]) >= count for key, count in short.items())
    return found if enough and len(found) <= MOST_TYPES else None


def _values(kind: InstanceType, key: str) -> frozenset[str]:
    has = kind.requirements.get(key)
    return has.values if has is not None and not has.complement else frozenset()
