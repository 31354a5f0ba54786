"""Reserved capacity: who gets which unit of what was paid for already.

A claim that can use a reservation holds exactly one unit of one, and others may still be open to it. When a claim
needs a unit and all that suit it are held, a holder with another option makes way for it, if need be through a chain of
such moves: a matching is never given up while there is a better one. So no reservation is planned into more often than
it has room, and none stays free while a claim could use it (S3.5, S3.7, S3.13).
"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.core.scheduling.index import Reserved


class Reservations:
    """The units of every reservation, by id, and the claims (by number) that hold them."""

    __slots__ = ("_holders", "_options", "_room", "held")

    def __init__(self, rows: Iterable[Reserved]) -> None:
        self._room: dict[str, int] = {}
        for one in rows:
            for name, count in units(one):
                # Seen through several pools, a reservation still has its room only once.
                self._room[name] = min(count, self._room.get(name, count))
        self._holders: dict[str, list[int]] = {}
        self._options: dict[int, tuple[str, ...]] = {}
        #: Which reservation each claim holds.
        self.held: dict[int, str] = {}

    def take(self, claim: int, options: tuple[str, ...]) -> bool:
        """Give a claim one unit of one of these; False, and nothing changed, where none can be freed."""
        held = self.held.get(claim)
        before = self._options.get(claim)
        self._options[claim] = options
        if held in options:
            return True
        if held is not None:
            self._holders[held].remove(claim)
            del self.held[claim]
        if self._settle(claim, set()):
            return True
        if held is not None and before is not None:
            self._options[claim] = before
            self._hold(claim, held)
        else:
            del self._options[claim]
        return False

    def could_take(self, options: tuple[str, ...]) -> bool:
        """Whether a new claim with these options would find a unit."""
        probe = -1
        if not self.take(probe, options):
            return False
        self.release(probe)
        return True

    def release(self, claim: int) -> None:
        held = self.held.pop(claim, None)
        self._options.pop(claim, None)
        if held is not None:
            self._holders[held].remove(claim)

    def _hold(self, claim: int, name: str) -> None:
        self._holders.setdefault(name, []).append(claim)
        self.held[claim] = name

    def _settle(self, claim: int, asked: set[str]) -> bool:
        options = self._options[claim]
        for name in options:
            if name not in asked and len(self._holders.get(name, ())) < self._room.get(name, 0):
                self._hold(claim, name)
                return True
        for name in options:
            if name in asked:
                continue
            asked.add(name)
            for other in tuple(self._holders.get(name, ())):
                if len(self._options[other]) < 2:
                    continue
                self._holders[name].remove(other)
                del self.held[other]
                if self._settle(other, asked):
                    self._hold(claim, name)
                    return True
                self._hold(other, name)
        return False


def units(row: Reserved) -> Iterable[tuple[str, int]]:
    """The reservations behind a row, with their room; a row that names none is one of its own."""
    if row.row.reservations:
        return ((one.id, one.available) for one in row.row.reservations)
    return ((f"{row.type_bit.bit_length()}/{row.row.requirements}", row.count),)
