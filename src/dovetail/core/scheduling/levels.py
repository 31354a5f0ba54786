"""Which bins still have about this much room: a coarse answer for all of them at once.

Room for a resource is cut into levels, sixty-four to every doubling, twenty doublings down from the most there is; bins
in the top quarter are simply roomy. For each level there is the set of bins at that level, and for every block of eight
levels the set of those at its first or above. Asking is to join what is left of a block and what lies above it: that
never leaves out a bin that would fit, and a bin it lets through has at most a sixty-fourth too little, unless it is
roomy. Bins only lose room, so over a whole plan each leaves each set at most once, and a bin that is opened and stays
roomy costs one bit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from dovetail.core.scheduling.bitsets import mask_of

_STEPS: Final = 64
_DOUBLINGS: Final = 20
_EXACT_BITS: Final = 7
_BLOCK_BITS: Final = 3


class Levels:
    __slots__ = ("_bounds", "_exactly", "_from", "_top", "plenty", "roomy")

    def __init__(self, plenty: int, bounds: tuple[int, ...], exactly: list[int], above: list[int], roomy: int) -> None:
        #: An amount from which on a bin is roomy: that of the top level, or a little more.
        self.plenty = plenty
        #: The least amount of each level, up to the top one.
        self._bounds = bounds
        self._top = len(bounds) - 1
        self._exactly = exactly
        #: By block, the bins at its first level or above that are not roomy; and nothing above the last.
        self._from = above
        #: The bins in the top quarter.
        self.roomy = roomy

    @classmethod
    def up_to(cls, most: int) -> Levels:
        """Without bins yet; `most` is the largest amount that occurs."""
        plenty = max(1, most // 4)
        bounds = _bounds(most, plenty)
        top = len(bounds) - 1
        return cls(plenty, bounds, [0] * top, [0] * (((top - 1) >> _BLOCK_BITS) + 2), 0)

    def copy(self) -> Levels:
        return Levels(self.plenty, self._bounds, self._exactly.copy(), self._from.copy(), self.roomy)

    def fill(self, amounts: Sequence[int]) -> None:
        """Enter many bins at once, from the first."""
        by_amount: defaultdict[int, list[int]] = defaultdict(list)
        for number, amount in enumerate(amounts):
            by_amount[amount].append(number)
        by_level: defaultdict[int, list[int]] = defaultdict(list)
        for amount, numbers in by_amount.items():
            by_level[bisect_right(self._bounds, amount) - 1] += numbers
        sets = {level: mask_of(numbers, len(amounts)) for level, numbers in by_level.items()}
        self.roomy = sets.pop(self._top, 0)
        for level, found in sets.items():
            if level >= 0:
                self._exactly[level] = found
                self._from[level >> _BLOCK_BITS] |= found
        for block in range(len(self._from) - 2, -1, -1):
            self._from[block] |= self._from[block + 1]

    def enter(self, bins: int, amount: int) -> None:
        """A set of bins that were not there before, with the same room."""
        level = bisect_right(self._bounds, amount) - 1
        if level == self._top:
            self.roomy |= bins
        else:
            self._add(level, bins)

    def move(self, number: int, before: int, amount: int) -> None:
        """Move a bin down to where it belongs now; `before` is what it was last entered or moved with, or as roomy."""
        level, was = bisect_right(self._bounds, amount) - 1, bisect_right(self._bounds, before) - 1
        if level == was:
            return
        bit = 1 << number
        if was == self._top:
            self.roomy ^= bit
            self._add(level, bit)
            return
        blocks = self._from
        self._exactly[was] ^= bit
        for each in range((level >> _BLOCK_BITS) + 1, (was >> _BLOCK_BITS) + 1):
            blocks[each] ^= bit
        if level >= 0:
            self._exactly[level] |= bit

    def _add(self, level: int, bins: int) -> None:
        for block in range((level >> _BLOCK_BITS) + 1):
            self._from[block] |= bins
        if level >= 0:
            self._exactly[level] |= bins

    def at_least(self, amount: int) -> int:
        """Every bin that may have this much room, and perhaps some that have less."""
        level = bisect_right(self._bounds, amount) - 1
        if level >= self._top:
            return self.roomy
        above = (level >> _BLOCK_BITS) + 1
        found = self.roomy | self._from[above]
        for some in self._exactly[level : above << _BLOCK_BITS]:
            if some:
                found |= some
        return found


@lru_cache(maxsize=64)
def _bounds(most: int, plenty: int) -> tuple[int, ...]:
    """The least amount of each level, rising, and last that of the level of a plenty.

    Small counts (devices, pods) are told apart one by one; of large units only none from some, twenty doublings down.
    """
    floor = most.bit_length() - _DOUBLINGS
    found = [0, 1]
    if floor <= _EXACT_BITS:
        floor = _EXACT_BITS
        found = list(range(1 << _EXACT_BITS))
    while found[-1] < plenty:
        found += [(1 << floor) * (_STEPS + step) // _STEPS for step in range(_STEPS)]
        floor += 1
    return tuple(found[: max(2, bisect_right(found, plenty))])
