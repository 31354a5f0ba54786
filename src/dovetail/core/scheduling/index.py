"""One pool's catalog, numbered, so that sets of types and offerings are integers.

Types are bits of one integer. Rows of the price list fall into *slots*: rows whose labels are equal (a zone and a
capacity type, as a rule a dozen in all) share a slot, and a slot knows which types it can deliver. "Which types can
still hold this much" is a bisection into masks prepared per resource, and an AND.

What daemons take is off the top: a type's room is its allocatable less the daemons that would run on it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.nodepools import MinValuesPolicy, NodePool
from dovetail.core.pods import DaemonSet, HostPort
from dovetail.core.requirements import Requirement, Requirements
from dovetail.core.resources import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, NOTHING, Resources
from dovetail.core.scheduling.bitsets import bits, mask_of
from dovetail.core.scheduling.disks import may_grow
from dovetail.core.scheduling.problem import Options
from dovetail.core.scheduling.reserved import ReservedRows
from dovetail.core.taints import PREFER_NO_SCHEDULE_TOLERATED, untolerated

Thresholds = tuple[list[int], list[int]]
#: How many answers an index remembers; it may live as long as its catalog.
_MOST_KEPT: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Slot:
    """Rows with equal labels: which types they can deliver now."""

    requirements: Requirements
    types: int


class PoolIndex:
    """A pool's types, in order of name, and what can be asked of them as a set."""

    __slots__ = (
        "_by_key",
        "_daemon_ports",
        "_frontier",
        "_keys",
        "_largest",
        "_of_slot",
        "_rankings",
        "_rows",
        "_thresholds",
        "all_types",
        "cheapest_in_zone",
        "daemon_sums",
        "growth",
        "most_types",
        "names",
        "pool",
        "reserved",
        "room",
        "slots",
        "template",
        "types",
        "well_known",
    )

    def __init__(self, pool: NodePool, catalog: Catalog, daemons: Sequence[DaemonSet], options: Options) -> None:
        well_known = options.well_known
        strict = (pool.min_values_policy or options.min_values) is MinValuesPolicy.STRICT
        #: As many types a claim may name when its minValues have to be kept; None where they need not be.
        self.most_types = options.max_types if strict else None
        #: How its disks may grow, if they may.
        self.growth = options.growing.get(pool.name) if may_grow(pool) else None
        self.pool = pool
        self.template = pool.template
        self.well_known = well_known
        found = (one for _, one in sorted(catalog.types.items()))
        self.types: tuple[InstanceType, ...] = tuple(one for one in found if one.requirements.intersects(self.template))
        self.names = tuple(one.name for one in self.types)
        self.all_types = (1 << len(self.types)) - 1
        #: Keys that types speak of, and of those that were asked for the distinct requirements on them.
        self._keys: frozenset[str] = frozenset().union(*(one.requirements.keys() for one in self.types))
        self._by_key: dict[str, Sequence[tuple[Requirement, int]]] = {}
        self.slots: tuple[Slot, ...] = ()
        self.reserved = ReservedRows(())
        #: Every row that can be bought now with its type's position, cheapest first, then by the name of its type.
        self._rows: tuple[tuple[int, Offering], ...] = ()
        #: For every slot the numbers of its rows, rising.
        self._of_slot: tuple[list[int], ...] = ()
        self._rankings: dict[int, tuple[tuple[int, Offering], ...]] = {}
        self._number_offerings()
        self._daemon_ports: list[tuple[tuple[HostPort, ...], int]] = []
        #: What daemons take together, with the types on which they take that.
        self.daemon_sums: tuple[tuple[Resources, int], ...] = self._place_daemons(daemons)
        room = [one.allocatable for one in self.types]
        for taken, types in self.daemon_sums:
            for position in bits(types) if taken else ():
                room[position] = room[position] - taken
        self.room: tuple[Resources, ...] = tuple(room)
        self._thresholds: dict[str, Thresholds] = {}
        self._frontier: list[tuple[float, float]] | None = None
        self._largest: dict[tuple[str, int], int] = {}
        sound = 0
        for position, left in enumerate(self.room):
            if all(amount >= 0 or self.room_of(position, name) >= 0 for name, amount in left.items()):
                sound |= 1 << position
        self.all_types = sound

    def limited(self, types: int) -> PoolIndex:
        """The same pool, buying these types only."""
        other = copy(self)
        other.all_types = self.all_types & types
        other._thresholds, other._largest = {}, {}
        return other

    def _number_offerings(self) -> None:
        slots: dict[Requirements, list[tuple[int, Offering]]] = {}
        by_identity: dict[int, list[tuple[int, Offering]]] = {}
        reserved = []
        for position, one in enumerate(self.types):
            for row in one.offerings:
                if not row.available:
                    continue
                if row.count is not None and row.capacity_type == labels.RESERVED:
                    if row.count > 0:
                        reserved.append((1 << position, row))
                    continue
                found = by_identity.get(id(row.requirements))
                if found is None:
                    found = by_identity[id(row.requirements)] = slots.setdefault(row.requirements, [])
                found.append((position, row))
        ordered = sorted(slots.items(), key=lambda pair: str(pair[0]))
        self.slots = tuple(
            Slot(requirements, mask_of([at for at, _ in rows], len(self.types))) for requirements, rows in ordered
        )
        self.reserved = ReservedRows(reserved)
        # Types stand in order of name, so the position breaks ties by name.
        buyable = [
            (row.order, position, number, row)
            for number, (_, rows) in enumerate(ordered)
            for position, row in rows
            if row.launchable
        ]
        buyable.sort(key=itemgetter(0, 1))
        self._rows = tuple((position, row) for _, position, _, row in buyable)
        self._of_slot = tuple([] for _ in ordered)
        #: What each type costs at least in each zone it can be bought in, by the position of the type.
        self.cheapest_in_zone: dict[str | None, dict[int, int]] = {}
        for at, (_, position, number, row) in enumerate(buyable):
            self._of_slot[number].append(at)
            if row.price is not None:
                self.cheapest_in_zone.setdefault(row.zone, {}).setdefault(position, row.price.nanodollars)

    @property
    def frontier(self) -> Sequence[tuple[float, float]]:
        """Nanodollars for a unit of cpu and of memory, of every type for which no other is cheaper in both."""
        if self._frontier is None:
            units = []
            for prices in self.cheapest_in_zone.values():
                for at, price in prices.items():
                    cpu, memory = self.room[at].of(CPU), self.room[at].of(MEMORY)
                    if cpu > 0 and memory > 0:
                        units.append((price / cpu, price / memory))
            kept: list[tuple[float, float]] = []
            for one in sorted(units):
                if not kept or one[1] < kept[-1][1]:
                    kept.append(one)
            self._frontier = kept
        return self._frontier

    def _place_daemons(self, daemons: Sequence[DaemonSet]) -> tuple[tuple[Resources, int], ...]:
        """Which daemons would run on which type: sums of their requests, each with its types."""
        masks = [self._runs_on(one) for one in daemons]
        self._daemon_ports = [
            (one.shape.ports, mask) for one, mask in zip(daemons, masks, strict=True) if one.shape.ports and mask
        ]
        parts: list[tuple[Resources, int]] = [(NOTHING, self.all_types)]
        for one, mask in zip(daemons, masks, strict=True):
            split = []
            for taken, types in parts:
                split += [(taken + one.shape.requests, types & mask), (taken, types & ~mask)]
            parts = [(taken, types) for taken, types in split if types]
        return tuple(parts)

    def _runs_on(self, daemon: DaemonSet) -> int:
        shape = daemon.shape
        tolerations = (*shape.tolerations, PREFER_NO_SCHEDULE_TOLERATED)
        if shape.problem or untolerated(self.pool.taints, tolerations):
            return 0
        found = 0
        for term in shape.terms or (Requirements(),):
            wanted = shape.selector & term
            if self.template.compatible(wanted, self.well_known):
                found |= self.types_admitting(wanted)
        return found

    def types_admitting(self, wanted: Requirements) -> int:
        """The types whose labels meet these requirements; a key a type does not speak of does not matter."""
        mask = self.all_types
        for one in wanted:
            refused = 0
            for requirement, types in self.label_groups(one.key):
                if types & mask and not requirement.intersects(one):
                    refused |= types
            mask &= ~refused
            if not mask:
                return 0
        return mask

    def ranking(self, slots: int) -> tuple[tuple[int, Offering], ...]:
        """Every type with its cheapest row in these slots, cheapest first, then by name."""
        found = self._rankings.get(slots)
        if found is None:
            cheapest: dict[int, Offering] = {}
            for number in sorted(chain.from_iterable(self._of_slot[slot] for slot in bits(slots))):
                position, row = self._rows[number]
                if position not in cheapest:
                    cheapest[position] = row
            found = self._rankings[slots] = tuple(cheapest.items())
        return found

    def label_groups(self, key: str) -> Sequence[tuple[Requirement, int]]:
        """The distinct requirements types have on a key, each with those types."""
        if key not in self._keys:
            return ()
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = self._grouped(key)
        return found

    def _grouped(self, key: str) -> Sequence[tuple[Requirement, int]]:
        """Parsers share equal requirements, so going by identity finds nearly all groups without comparing anything."""
        by_identity: dict[int, tuple[Requirement, list[int]]] = {}
        for position, kind in enumerate(self.types):
            requirement = kind.requirements.get(key)
            if requirement is not None:
                by_identity.setdefault(id(requirement), (requirement, []))[1].append(position)
        return [(one, mask_of(positions, len(self.types))) for one, positions in by_identity.values()]

    def slots_admitting(self, wanted: Requirements) -> int:
        """The slots compatible with these requirements, as bits of their positions."""
        found = 0
        for position, slot in enumerate(self.slots):
            if wanted.compatible(slot.requirements, self.well_known):
                found |= 1 << position
        return found

    def delivering(self, slots: int, types: int) -> int:
        """Of these slots, those that can deliver one of these types."""
        return sum(1 << position for position in bits(slots) if self.slots[position].types & types)

    def deliverable(self, slots: int) -> int:
        """The types that at least one of these slots can deliver."""
        found = 0
        for position in bits(slots):
            found |= self.slots[position].types
        return found

    def free_of_daemon_ports(self, ports: tuple[HostPort, ...]) -> int:
        """The types on which no daemon holds a port these would clash with."""
        mask = self.all_types
        for held, types in self._daemon_ports:
            if any(mine.clashes(theirs) for mine in ports for theirs in held):
                mask &= ~types
        return mask

    def attaching(self, counts: Mapping[str, int]) -> int:
        """The types that can hold so many attached volumes per driver; a type that states no limit has none."""
        mask = self.all_types
        for position, one in enumerate(self.types):
            limits = dict(one.spec.hardware.volume_limits)
            if any(count > limits.get(driver, count) for driver, count in counts.items()):
                mask &= ~(1 << position)
        return mask

    def holding(self, name: str, amount: int) -> int:
        """The types with at least this much room for a resource."""
        if amount <= 0:
            return self.all_types
        amounts, masks = self.thresholds(name)
        return masks[bisect_left(amounts, amount)]

    def thresholds(self, name: str) -> Thresholds:
        """The amounts of a resource that occur, rising, and for each the types with at least as much; at the end none.

        For who asks often: `masks[bisect_left(amounts, amount)]` is what `holding` answers for an amount above zero.
        """
        found = self._thresholds.get(name)
        return found if found is not None else self._prepared(name)

    def room_of(self, position: int, name: str) -> int:
        """The room of one type for a resource, with the largest disk it could be given."""
        room = self.room[position].of(name)
        if name != EPHEMERAL_STORAGE or self.growth is None:
            return room
        kind = self.types[position]
        return room + self.growth.room(kind) - kind.allocatable.of(name)

    def _prepared(self, name: str) -> Thresholds:
        by_amount: dict[int, int] = {}
        for position in range(len(self.room)):
            amount = self.room_of(position, name)
            by_amount[amount] = by_amount.get(amount, 0) | 1 << position
        amounts = sorted(by_amount)
        masks, mask = [0], 0
        for amount in reversed(amounts):
            mask |= by_amount[amount]
            masks.append(mask & self.all_types)
        masks.reverse()
        self._thresholds[name] = (amounts, masks)
        return self._thresholds[name]

    def largest(self, name: str, types: int) -> int:
        """The most room for a resource that any of these types has; claims often ask about the same set again."""
        known = self._largest.get((name, types))
        if known is None:
            if len(self._largest) >= _MOST_KEPT:
                self._largest.clear()
            known = self._largest[name, types] = self._most_room(name, types)
        return known

    def _most_room(self, name: str, types: int) -> int:
        amounts, masks = self.thresholds(name)
        low, high = 0, len(amounts)  # masks[low] always meets `types`, masks[high] never does
        if not types & masks[0]:
            return -1
        while high - low > 1:
            middle = (low + high) // 2
            if masks[middle] & types:
                low = middle
            else:
                high = middle
        return amounts[low]


def buying(pools: Iterable[NodePool], catalogs: Mapping[str, Catalog]) -> list[NodePool]:
    """Every pool that can buy, heaviest first, then by name. A pool with a single type leaves no choice by price
    within it, so among such pools of equal weight the cheaper goes first."""
    usable = [
        one for one in pools if one.ready and one.replicas is None and one.problem is None and one.name in catalogs
    ]
    return sorted(usable, key=lambda one: (-one.weight, _dearness(catalogs[one.name]), one.name))


#: A core costs about as much as so much memory, on every cloud.
_GIB_A_CORE: Final = 8


def _dearness(catalog: Catalog) -> float:
    """What a machine of the only type costs for its size; 0 where there are several types to choose from."""
    if len(catalog.types) != 1:
        return 0.0
    (kind,) = catalog.types.values()
    row = kind.cheapest
    if row is None or row.price is None:
        return math.inf
    worth = kind.capacity.of(CPU) / 1000 + kind.capacity.of(MEMORY) / (GIB * _GIB_A_CORE)
    return row.price.nanodollars / worth if worth else math.inf
