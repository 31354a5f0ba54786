"""Which bins still have about this much room: a coarse answer for all of them at once.

Room for a resource is cut into a few hundred levels; for each of the lower ones there is a set of bins that have at
least that much, and bins above them are simply roomy. Asking is one look-up and never leaves out a bin that would fit;
a bin it lets through may still turn out too small. Bins only lose room, so over a whole plan each leaves each set at
most once, and a bin that is opened and stays roomy costs one bit.
"""

from __future__ import annotations

from typing import Final

LEVELS: Final = 256
#: From this level up a bin is roomy.
ROOMY: Final = LEVELS // 4


class Levels:
    __slots__ = ("_at", "_roomy", "_sets", "_unit")

    def __init__(self, most: int) -> None:
        """`most` is the largest amount that occurs."""
        self._unit = max(1, -(-most // LEVELS))
        self._sets = [0] * ROOMY
        self._roomy = 0
        self._at: dict[int, int] = {}

    def copy(self) -> Levels:
        twin = Levels.__new__(Levels)
        twin._unit, twin._roomy = self._unit, self._roomy
        twin._sets = list(self._sets)
        twin._at = dict(self._at)
        return twin

    def is_roomy(self, amount: int) -> bool:
        return amount // self._unit >= ROOMY

    def _level(self, amount: int) -> int:
        """How many whole units an amount is good for, as far as that is told apart; -1 for less than nothing."""
        return min(ROOMY, max(-1, amount // self._unit))

    def fill(self, amounts: dict[int, int]) -> None:
        """Enter many bins at once: each into the set of its level, then every set into those below it."""
        for number, amount in amounts.items():
            level = self._at[number] = self._level(amount)
            if level == ROOMY:
                self._roomy |= 1 << number
            elif level >= 0:
                self._sets[level] |= 1 << number
        running = 0
        for level in range(ROOMY - 1, -1, -1):
            running |= self._sets[level]
            self._sets[level] = running

    def put(self, number: int, amount: int) -> None:
        """Enter a bin, or move it down to where it belongs now."""
        level = self._level(amount)
        before = self._at.get(number)
        if level == before:
            return
        self._at[number] = level
        bit = 1 << number
        if level == ROOMY:
            self._roomy |= bit
        elif before is None or before == ROOMY:
            self._roomy &= ~bit
            for each in range(level + 1):
                self._sets[each] |= bit
        else:
            for each in range(level + 1, before + 1):
                self._sets[each] &= ~bit

    def at_least(self, amount: int) -> int:
        """Every bin that may have this much room, and perhaps some that have less."""
        level = amount // self._unit
        return self._sets[level] | self._roomy if level < ROOMY else self._roomy
