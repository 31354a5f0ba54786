"""Which bins still have about this much room: a coarse answer for all of them at once.

Room for a resource is cut into levels, sixteen to every doubling, twenty doublings down from the most there is. For
each level there is a set of bins that have at least that much; bins in the top quarter are simply roomy. Asking is one
look-up and never leaves out a bin that would fit; a bin it lets through has at most a sixteenth too little, unless it
is roomy. Bins only lose room, so over a whole plan each leaves each set at most once, and a bin that is opened and
stays roomy costs one bit.
"""

from __future__ import annotations

from typing import Final

_STEPS_BITS: Final = 4
_STEPS: Final = 1 << _STEPS_BITS
_DOUBLINGS: Final = 20
_EXACT_BITS: Final = _STEPS_BITS + 1


class Levels:
    __slots__ = ("_at", "_floor", "_plenty", "_roomy", "_sets", "_top")

    def __init__(self, most: int) -> None:
        """`most` is the largest amount that occurs."""
        self._floor = max(_EXACT_BITS, most.bit_length() - _DOUBLINGS)
        #: From this level up a bin is roomy.
        self._top = max(1, self._raw(max(1, most // 4)))
        #: An amount that is surely at or above that level.
        self._plenty = max(1, most // 4)
        self._sets = [0] * self._top
        self._roomy = 0
        self._at: list[int | None] = []

    def copy(self) -> Levels:
        twin = Levels.__new__(Levels)
        twin._floor, twin._top, twin._plenty, twin._roomy = self._floor, self._top, self._plenty, self._roomy
        twin._sets = list(self._sets)
        twin._at = self._at.copy()
        return twin

    def _raw(self, amount: int) -> int:
        """The level of an amount: its leading bits, counted from the floor; -1 for less than nothing."""
        length = amount.bit_length()
        if amount < 0:
            return -1
        if length <= self._floor:
            # Small counts (devices, pods) are told apart one by one; of large units only none from some.
            return amount if self._floor == _EXACT_BITS else min(amount, 1)
        base = 1 << _EXACT_BITS if self._floor == _EXACT_BITS else 2
        return base + (length - self._floor - 1) * _STEPS + (amount >> (length - 1 - _STEPS_BITS) & (_STEPS - 1))

    def is_roomy(self, amount: int) -> bool:
        return amount >= self._plenty

    def fill(self, amounts: dict[int, int]) -> None:
        """Enter many bins at once: each into the set of its level, then every set into those below it."""
        self._at = [None] * (max(amounts, default=-1) + 1)
        for number, amount in amounts.items():
            level = self._at[number] = min(self._top, self._raw(amount))
            if level == self._top:
                self._roomy |= 1 << number
            elif level >= 0:
                self._sets[level] |= 1 << number
        running = 0
        for level in range(self._top - 1, -1, -1):
            running |= self._sets[level]
            self._sets[level] = running

    def put(self, number: int, amount: int) -> None:
        """Enter a bin, or move it down to where it belongs now."""
        level = min(self._top, self._raw(amount))
        if number >= len(self._at):
            self._at.extend([None] * (number + 1 - len(self._at)))
        before = self._at[number]
        if level == before:
            return
        self._at[number] = level
        bit = 1 << number
        if level == self._top:
            self._roomy |= bit
        elif before is None or before == self._top:
            self._roomy &= ~bit
            for each in range(level + 1):
                self._sets[each] |= bit
        else:
            keep = ~bit
            for each in range(level + 1, before + 1):
                self._sets[each] &= keep

    def at_least(self, amount: int) -> int:
        """Every bin that may have this much room, and perhaps some that have less."""
        level = self._raw(amount)
        return self._sets[level] | self._roomy if level < self._top else self._roomy
