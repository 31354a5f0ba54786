"""The reserved rows of one pool, numbered, so that ten thousand of them are asked about like a dozen.

Rows fall into *slots*, as those of the market do: rows that differ in nothing but the reservations they name (one zone,
one kind) share a slot, and a slot is a set of types. Whether labels suit is asked of a slot, not of its rows; only
labels that speak of a reservation's own name have to be held against each.

Types stand in blocks, in the order of their cheapest row, so that the cheapest of a set is found by skipping blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from dovetail.core.catalog.offerings import Offering
from dovetail.core.requirements import Requirement, Requirements

_BLOCK: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class Reserved:
    """A reserved row: one type in one slot. `rank` is its place among all, the cheapest first (S3.6)."""

    type_bit: int
    row: Offering
    slot: int
    slot_bit: int
    rank: int
    #: The labels that name its reservations.
    naming: frozenset[str]


#: Types by their cheapest row, as bits together, and each with its rows, cheapest first.
Block = tuple[int, tuple[tuple[int, tuple[Reserved, ...]], ...]]


@dataclass(slots=True, eq=False)
class ReservedSlot:
    """Rows that differ only in type and in the reservations they name; `sample` is the labels of one of them."""

    sample: Requirements
    naming: frozenset[str]
    types: int = 0
    #: By the bit of their type.
    rows: dict[int, list[Reserved]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reservable:
    """What of a pool's reserved rows suits some labels: slots, as numbers and as bits, and types.

    `ids` is what the labels say of a reservation's name; where they say nothing, every row of these slots and types
    suits.
    """

    numbers: tuple[int, ...]
    slots: int
    types: int
    ids: tuple[Requirement, ...] = ()


NOTHING_RESERVED: Final = Reservable((), 0, 0)


class ReservedRows:
    """The reserved rows of one pool."""

    __slots__ = ("blocks", "naming", "rows", "slots")

    def __init__(self, found: Iterable[tuple[int, Offering]]) -> None:
        """Of rows with the bit of their type."""
        slots: dict[tuple[frozenset[Requirement], frozenset[str]], ReservedSlot] = {}
        same: dict[tuple[frozenset[int], frozenset[str]], ReservedSlot] = {}
        numbers: dict[int, int] = {}
        rows: list[Reserved] = []
        # Cheapest first: the order in which claims take them (S3.6).
        for rank, (bit, row) in enumerate(sorted(found, key=lambda one: (one[1].order, one[0]))):
            naming = _naming(row)
            others = [one for one in row.requirements if one.key not in naming]
            slot = same.get(known := (frozenset(map(id, others)), naming))
            if slot is None:
                slot = slots.setdefault((frozenset(others), naming), ReservedSlot(row.requirements, naming))
                same[known] = slot
            number = numbers.setdefault(id(slot), len(numbers))
            rows.append(Reserved(bit, row, number, 1 << number, rank, slot.naming))
            slot.types |= bit
            slot.rows.setdefault(bit, []).append(rows[-1])
        self.rows = tuple(rows)
        self.slots = tuple(slots.values())
        self.naming = frozenset().union(*(one.naming for one in self.slots)) if slots else frozenset[str]()
        self.blocks = _blocks(rows)

    def beside(self, row: Reserved) -> Sequence[Reserved]:
        """The rows of the same slot and type, itself among them."""
        return self.slots[row.slot].rows[row.type_bit]

    def suiting(self, labels: Requirements, types: int, well_known: frozenset[str]) -> Reservable:
        """What of these types suits some labels."""
        numbers: list[int] = []
        bits = having = 0
        for number, slot in enumerate(self.slots):
            mine = slot.types & types
            if mine and any(labels.mentions(key) for key in slot.naming):
                mine = _named(slot, labels, mine, well_known)
            elif mine and not labels.compatible(slot.sample, well_known):
                mine = 0
            if mine:
                numbers.append(number)
                bits |= 1 << number
                having |= mine
        if not numbers:
            return NOTHING_RESERVED
        ids = tuple(one for one in labels if one.key in self.naming)
        return Reservable(tuple(numbers), bits, having, ids)


def _naming(row: Offering) -> frozenset[str]:
    """The labels whose values are the names of the reservations behind a row."""
    if not row.reservations:
        return frozenset()
    ids = {one.id for one in row.reservations}
    return frozenset(one.key for one in row.requirements if one.values and not one.complement and one.values <= ids)


def _named(slot: ReservedSlot, labels: Requirements, types: int, well_known: frozenset[str]) -> int:
    found = 0
    for bit, rows in slot.rows.items():
        if bit & types and any(labels.compatible(one.row.requirements, well_known) for one in rows):
            found |= bit
    return found


def _blocks(rows: Iterable[Reserved]) -> tuple[Block, ...]:
    by_type: dict[int, list[Reserved]] = {}
    for one in rows:
        by_type.setdefault(one.type_bit, []).append(one)
    ranked = [(bit, tuple(some)) for bit, some in by_type.items()]
    blocks = (tuple(ranked[start : start + _BLOCK]) for start in range(0, len(ranked), _BLOCK))
    return tuple((sum(bit for bit, _ in block), block) for block in blocks)
