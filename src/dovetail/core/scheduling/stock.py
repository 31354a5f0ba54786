"""Everything reserved that the pools of a problem can see: reservations, their room, and the rows they stand behind.

A reservation seen through several pools has its room once, the least that any row says. All of this follows from the
catalogs, so it is looked up when they change and shared by every plan; what a plan takes of it is in `reserve`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dovetail.core.scheduling.reserved import Reserved, ReservedRows


class Stock:
    """The reservations that have any room, by name."""

    __slots__ = ("free", "mixed", "pools", "room", "rows_of", "units")

    def __init__(self, pools: Sequence[ReservedRows]) -> None:
        self.pools = tuple(pools)
        rooms: dict[str, int] = {}
        for one in (row for rows in self.pools for row in rows.rows):
            for name, count in _units(one):
                rooms[name] = min(count, rooms.get(name, count))
        #: By name, how many machines are left.
        self.room = {name: count for name, count in rooms.items() if count > 0}
        #: By row, the reservations behind it, in the order they are taken.
        self.units: dict[Reserved, tuple[str, ...]] = {}
        #: By pool and name, the rows it stands behind.
        self.rows_of: tuple[dict[str, list[Reserved]], ...] = tuple({} for _ in self.pools)
        #: By pool and slot, the types of which there is some room.
        self.free: list[list[int]] = []
        #: By pool, whether any reservation is good for several types.
        self.mixed: list[bool] = []
        for number, rows in enumerate(self.pools):
            self._list(rows, self.rows_of[number])

    def _list(self, pool: ReservedRows, rows_of: dict[str, list[Reserved]]) -> None:
        free = [0] * len(pool.slots)
        for one in pool.rows:
            names = tuple(name for name, count in _units(one) if count > 0 and name in self.room)
            self.units[one] = names
            if names:
                free[one.slot] |= one.type_bit
            for name in names:
                rows_of.setdefault(name, []).append(one)
        self.free.append(free)
        self.mixed.append(any(len(rows) > 1 and _several(rows) for rows in rows_of.values()))


def _several(rows: Iterable[Reserved]) -> bool:
    return len({one.type_bit for one in rows}) > 1


def _units(one: Reserved) -> Iterable[tuple[str, int]]:
    """The reservations behind a row, with their room; a row that names none is one of its own."""
    row = one.row
    if row.reservations:
        return ((each.id, each.available) for each in row.reservations)
    return ((f"{one.type_bit.bit_length()}/{row.requirements}", row.count or 0),)
