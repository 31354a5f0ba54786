"""Reserved capacity: who gets which unit of what was paid for already.

A claim that can use a reservation holds exactly one unit of one, and others may still be open to it. When a claim
needs a unit and all that suit it are held, a holder with another option makes way for it, if need be through a chain of
such moves: a matching is never given up while there is a better one. So no reservation is planned into more often than
it has room, and none stays free while a claim could use it (S3.5, S3.7, S3.13).

Nearly always there is a free unit, or there is no hope of one, and both are sets of types by slot: `_free` where there
is room, `_hope` where a search could find some. A search that fails has walked through reservations that are all full,
of claims that can use no others. Claims only narrow, so that stays true, and none of them is ever looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dovetail.core.scheduling.bitsets import bits
from dovetail.core.scheduling.flexibility import MinValues, met
from dovetail.core.scheduling.reserved import Reservable, Reserved
from dovetail.core.scheduling.states import State
from dovetail.core.scheduling.stock import Stock


@dataclass(frozen=True, slots=True)
class Want:
    """A claim as far as reservations care: what it may still be. `min_values` where each has to be asked for them."""

    pool: int
    state: State
    types: int
    min_values: MinValues = ()

    @property
    def reserved(self) -> Reservable:
        return self.state.reserved

    @property
    def is_picky(self) -> bool:
        """Whether not every reservation behind a row that suits does."""
        return bool(self.min_values or self.state.reserved.ids)


#: Who moves, from which reservation (None: it holds none yet), to which.
Move = tuple[int, str | None, str]


class Reservations:
    """The units of every reservation, by id, and the claims (by number) that hold them."""

    __slots__ = ("_dead", "_free", "_holders", "_hope", "_open", "_stock", "_wants", "held", "looked_at", "settled")

    def __init__(self, stock: Stock) -> None:
        self._stock = stock
        self._free = [one.copy() for one in stock.free]
        self._hope = [one.copy() for one in stock.free]
        #: Reservations that are full for good.
        self._dead: set[str] = set()
        #: Of rows that were taken from, the reservations that still have room.
        self._open: dict[Reserved, list[str]] = {}
        self._holders: dict[str, list[int]] = {}
        self._wants: dict[int, Want] = {}
        #: Which reservation each claim holds.
        self.held: dict[int, str] = {}
        #: Claims that were found to keep what they hold for good, until somebody takes note of it.
        self.settled: list[int] = []
        #: How many rows were looked at one by one so far: what a plan with reservations costs more than one without.
        self.looked_at = 0

    # ---- questions

    def hoped_for(self, pool: int, state: State) -> int:
        """The types a new claim in this state could perhaps be from a reservation."""
        return _among(self._hope[pool], state.reserved)

    def sure(self, claim: int | None, pool: int, state: State, wanted: MinValues) -> int:
        """Types any one of which is enough for a claim to have a reservation: its own is of it, or another has room."""
        if state.reserved.ids or (wanted and self._stock.mixed[pool]):
            return 0
        found = _among(self._free[pool], state.reserved)
        held = self.held.get(claim) if claim is not None else None
        if held is not None:
            for row in self._stock.rows_of[pool].get(held, ()):
                if row.slot_bit & state.reserved.slots:
                    found |= row.type_bit
        return found & alone(state, wanted) if wanted else found

    def want(self, pool: int, state: State, types: int, wanted: MinValues) -> Want:
        if wanted and not self._stock.mixed[pool]:
            return Want(pool, state, types & alone(state, wanted))
        return Want(pool, state, types, wanted)

    def could_find(self, want: Want, claim: int | None = None) -> bool:
        """Where none of its types is `sure`: whether a claim would have a unit after all, its own or one freed."""
        if want.is_picky:
            held = self.held.get(claim) if claim is not None else None
            if (held is not None and self._suits(held, want)) or self._first_free(want) is not None:
                return True
        return self._path(want, -1) is not None

    def rows_of(self, pool: int, name: str, state: State, types: int) -> Sequence[Reserved]:
        """The rows of a reservation that a claim in this state, and of these types, could be bought from."""
        slots = state.reserved.slots
        rows = self._stock.rows_of[pool].get(name, ())
        return [one for one in rows if one.slot_bit & slots and one.type_bit & types]

    def kinds(self, pool: int, state: State, types: int) -> set[int]:
        """The sets of types that single reservations are good for, in this state and of these types."""
        names = self._units(Want(pool, state, types), [one.copy() for one in self._stock.free])
        return {_kinds(self.rows_of(pool, name, state, types)) for name in names}

    def is_flexible(self, pool: int, state: State, types: int, wanted: MinValues) -> bool:
        """Whether some reservation keeps minValues: a claim holds one, so that has to be good for enough by itself."""
        if not self._stock.mixed[pool]:
            return bool(types & alone(state, wanted))
        return any(met(state.index, state, one, wanted, True) for one in self.kinds(pool, state, types))

    # ---- taking

    def take(self, claim: int, want: Want) -> bool:
        """Give a claim one unit of what it wants; False, and nothing changed, where none can be freed."""
        held = self.held.get(claim)
        if held is None or not self._suits(held, want):
            if held is not None:
                self._leave(claim, held)
            free = self._first_free(want)
            moves = [(claim, None, free)] if free is not None else self._path(want, claim)
            if moves is None:
                if held is not None:
                    self._hold(claim, held)
                return False
            for who, source, target in moves:
                if source is not None:
                    self._leave(who, source)
                self._hold(who, target)
        self._wants[claim] = want
        return True

    def _hold(self, claim: int, name: str) -> None:
        holders = self._holders.setdefault(name, [])
        holders.append(claim)
        self.held[claim] = name
        if len(holders) == self._stock.room[name]:
            self._reopen(name, has_room=False)

    def _leave(self, claim: int, name: str) -> None:
        holders = self._holders[name]
        holders.remove(claim)
        del self.held[claim]
        if len(holders) == self._stock.room[name] - 1:
            self._reopen(name, has_room=True)

    def _reopen(self, name: str, *, has_room: bool) -> None:
        """A reservation has room again, or none any more: so do the rows it stands behind."""
        for pool, rows_of in enumerate(self._stock.rows_of):
            for row in rows_of.get(name, ()):
                units = self._stock.units[row]
                before = self._open.get(row, units)
                self._open[row] = [one for one in units if (has_room if one == name else one in before)]
                if self._open[row]:
                    self._free[pool][row.slot] |= row.type_bit
                elif not any(map(self._room_in, self._stock.pools[pool].beside(row))):
                    self._free[pool][row.slot] &= ~row.type_bit

    def _room_in(self, row: Reserved) -> Sequence[str]:
        """The reservations behind a row that have room."""
        found = self._open.get(row)
        return self._stock.units[row] if found is None else found

    # ---- searching

    def _suits(self, name: str, want: Want) -> bool:
        types, slots = want.types, want.state.reserved.slots
        rows = self._stock.rows_of[want.pool].get(name, ())
        if not want.is_picky:
            return any(row.type_bit & types and row.slot_bit & slots for row in rows)
        kinds = _kinds(one for one in rows if one.slot_bit & slots and _admitted(name, one, want.reserved)) & types
        return bool(kinds) and (not want.min_values or met(want.state.index, want.state, kinds, want.min_values, True))

    def _first_free(self, want: Want) -> str | None:
        """The cheapest with room; of equally cheap ones the first of the row."""
        types = want.types & _among(self._free[want.pool], want.reserved)
        best: Reserved | None = None
        found: str | None = None
        for mask, block in self._stock.pools[want.pool].blocks if types else ():
            if best is not None and block[0][1][0].rank > best.rank:
                break
            for bit, rows in block if mask & types else ():
                if best is not None and rows[0].rank > best.rank:
                    return found
                if bit & types:
                    for row in rows:
                        if best is None or row.rank < best.rank:
                            name = self._free_in(row, want)
                            if name is not None:
                                best, found = row, name
        return found

    def _free_in(self, row: Reserved, want: Want) -> str | None:
        self.looked_at += 1
        if not row.slot_bit & want.reserved.slots:
            return None
        units = self._room_in(row)
        if not want.is_picky:
            return units[0] if units else None
        return next((one for one in units if self._suits(one, want)), None)

    def _units(self, want: Want, unseen: list[list[int]]) -> Iterator[str]:
        """The reservations that would do, full or not, of rows nobody has asked for yet; from now on they are seen."""
        masks = unseen[want.pool]
        types = want.types & _among(masks, want.reserved)
        for mask, block in self._stock.pools[want.pool].blocks if types else ():
            for bit, rows in block if mask & types else ():
                for row in rows if bit & types else ():
                    self.looked_at += 1
                    if row.slot_bit & want.reserved.slots:
                        for name in self._stock.units[row]:
                            if name not in self._dead and (not want.is_picky or self._suits(name, want)):
                                yield name
        if not want.is_picky:
            for number in want.reserved.numbers:
                masks[number] &= ~types

    def _path(self, want: Want, claim: int) -> list[Move] | None:
        """The fewest moves that leave a unit for a claim, in order; None where there is no way."""
        if not want.types & _among(self._hope[want.pool], want.reserved):
            return None
        unseen = [one.copy() for one in self._hope]
        #: By reservation, who would move there, and from where.
        comes: dict[str, tuple[int, str | None]] = dict.fromkeys(self._units(want, unseen), (claim, None))
        queue = list(comes)
        for name in queue:
            for holder in self._holders.get(name, ()):
                theirs = self._wants[holder]
                free = self._first_free(theirs)
                if free is not None:
                    return _moves(comes, holder, name, free)
                for other in self._units(theirs, unseen):
                    if other not in comes:
                        comes[other] = (holder, name)
                        queue.append(other)
        self._bury(queue)
        return None

    def _bury(self, names: list[str]) -> None:
        """All of these are full, and whoever holds one can use no others: they are not looked at again."""
        self._dead.update(names)
        self.settled += [holder for name in names for holder in self._holders.get(name, ())]
        units, dead = self._stock.units, self._dead
        for pool, rows_of in enumerate(self._stock.rows_of):
            for row in {row: None for name in names for row in rows_of.get(name, ())}:
                if all(dead.issuperset(units[one]) for one in self._stock.pools[pool].beside(row)):
                    self._hope[pool][row.slot] &= ~row.type_bit


def alone(state: State, wanted: MinValues) -> int:
    """The reserved types of a state that keep minValues each by itself; a claim holds one reservation."""
    found = state.alone.get(wanted)
    if found is None:
        single = (1 << position for position in bits(state.reserved.types))
        found = state.alone[wanted] = sum(one for one in single if met(state.index, state, one, wanted, True))
    return found


def _among(masks: list[int], reserved: Reservable) -> int:
    found = 0
    for number in reserved.numbers:
        found |= masks[number]
    return found


def _kinds(rows: Iterable[Reserved]) -> int:
    found = 0
    for one in rows:
        found |= one.type_bit
    return found


def _admitted(name: str, row: Reserved, reserved: Reservable) -> bool:
    return all(one.admits(name) for one in reserved.ids if one.key in row.naming)


def _moves(comes: Mapping[str, tuple[int, str | None]], holder: int, name: str, free: str) -> list[Move]:
    found: list[Move] = [(holder, name, free)]
    target: str | None = name
    while target is not None:
        who, source = comes[target]
        found.append((who, source, target))
        target = source
    return found
