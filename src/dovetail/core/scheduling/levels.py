"""Which bins still have about this much room: a coarse answer for all of them at once.

Room for a resource is cut into levels, sixty-four to every doubling, twenty doublings down from the most there is; bins
in the top quarter, or with more than anybody asks for, are simply roomy. For each level there is the set of bins at
that level, and for every block of eight levels the set of those at its first or above. Asking is to join what is left
of a block and what lies above it: that never leaves out a bin that would fit, and a bin it lets through has at most a
sixty-fourth too little, unless it is roomy. Bins only lose room, so over a whole plan each leaves each set at most
once, and a bin that is opened and stays roomy costs one bit.

Pods come sorted by size, so that many in a row ask the same: the last answer is kept right while bins move, and what
moved is sorted into its level only when something else is asked.
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
    __slots__ = (
        "_answer",
        "_asked",
        "_bounds",
        "_exactly",
        "_from",
        "_late",
        "_new",
        "_top",
        "least",
        "quarter",
        "roomy",
    )

    def __init__(self, quarter: int, bounds: tuple[int, ...], exactly: list[int], above: list[int], roomy: int) -> None:
        #: A quarter of the most there is: who has more is roomy, whatever it has exactly.
        self.quarter = quarter
        #: The least amount of each level, up to the top one.
        self._bounds = bounds
        self._top = len(bounds) - 1
        self._exactly = exactly
        #: By block, the bins at its first level or above that are not roomy; and nothing above the last.
        self._from = above
        #: The bins at the top level.
        self.roomy = roomy
        #: No bin that is not roomy has less: who asks for no more need not ask which have it.
        self.least = bounds[-1]
        #: What was asked last, and the answer.
        self._asked = -1
        self._answer = 0
        #: By level, bins to be entered.
        self._new: dict[int, int] = {}
        #: Bins to be moved, each with the room it is listed with and the room it has.
        self._late: dict[int, tuple[int, int]] = {}

    @classmethod
    def up_to(cls, most: int, plenty: int | None = None) -> Levels:
        """Without bins yet; `most` is the largest amount that occurs, and who has `plenty` is roomy."""
        quarter = max(1, most // 4)
        bounds = _bounds(most, quarter if plenty is None else min(plenty, quarter))
        top = len(bounds) - 1
        return cls(quarter, bounds, [0] * top, [0] * (((top - 1) >> _BLOCK_BITS) + 2), 0)

    def copy(self) -> Levels:
        """Another with the same bins, to go its own way."""
        self._catch_up()
        other = Levels(self.quarter, self._bounds, self._exactly.copy(), self._from.copy(), self.roomy)
        other.least = self.least
        return other

    def fill(self, amounts: Sequence[int]) -> None:
        """Enter many bins at once, from the first."""
        by_amount: defaultdict[int, list[int]] = defaultdict(list)
        for number, amount in enumerate(amounts):
            by_amount[amount].append(number)
        self.least = max(0, min((self.least, *by_amount)))
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
            self._answer |= bins
            return
        if amount < self.least:
            self.least = max(0, amount)
        if amount >= self._asked:
            self._answer |= bins
        self._new[level] = self._new.get(level, 0) | bins

    def move(self, number: int, before: int, amount: int) -> None:
        """A bin has less room now; `before` is what it was last entered or moved with, or as roomy."""
        enough = self._bounds[self._top]
        if amount >= enough:
            return
        if amount < self.least:
            self.least = max(0, amount)
        if amount < self._asked:
            self._answer &= ~(1 << number)
        known = self._late.get(number)
        if known is not None:
            self._late[number] = (known[0], amount)
            return
        if before >= enough:
            # Whoever has plenty is not asked for the amount: that has to be true at once.
            self.roomy ^= 1 << number
        self._late[number] = (before, amount)

    def _catch_up(self) -> None:
        """Sort every bin that is new or moved into the level it belongs to now."""
        if not self._new and not self._late:
            return
        bounds, exactly, top = self._bounds, self._exactly, self._top
        #: By block, who enters the sets from there on down, or is no longer in them.
        turns: dict[int, int] = {}
        for level, bins in self._new.items():
            block = level >> _BLOCK_BITS
            turns[block] = turns.get(block, 0) ^ bins
            if level >= 0:
                exactly[level] |= bins
        for number, (before, amount) in self._late.items():
            level, was = bisect_right(bounds, amount) - 1, bisect_right(bounds, before) - 1
            if level == was:
                continue
            bit = 1 << number
            block = level >> _BLOCK_BITS
            turns[block] = turns.get(block, 0) ^ bit
            if level >= 0:
                exactly[level] |= bit
            if was < top:
                exactly[was] ^= bit
                block = was >> _BLOCK_BITS
                turns[block] = turns.get(block, 0) ^ bit
        self._new.clear()
        self._late.clear()
        self._turn(turns)

    def _turn(self, turns: dict[int, int]) -> None:
        """Change the sets of all blocks, from the top down."""
        blocks, changed, below = self._from, 0, -1
        for block in sorted(turns, reverse=True):
            if changed:
                for each in range(below, block, -1):
                    blocks[each] ^= changed
            changed ^= turns[block]
            below = block
        if changed:
            for each in range(below, -1, -1):
                blocks[each] ^= changed

    def among(self, bins: int, amount: int) -> int:
        """Of these bins those that may have this much room."""
        if amount <= self.least:
            return bins
        if amount == self._asked:
            return bins & self._answer
        return bins & self.at_least(amount) if bins & ~self.roomy else bins

    def at_least(self, amount: int) -> int:
        """Every bin that may have this much room, and perhaps some that have less."""
        if amount == self._asked:
            return self._answer
        self._catch_up()
        level = bisect_right(self._bounds, amount) - 1
        if level >= self._top:
            found = self.roomy
        else:
            above = (level >> _BLOCK_BITS) + 1
            found = self.roomy | self._from[above]
            for some in self._exactly[level : above << _BLOCK_BITS]:
                if some:
                    found |= some
        self._asked, self._answer = amount, found
        return found


def plenty_for(asked: int) -> int:
    """Enough for whoever asks for so much or less. There are few different ones, so that levels are shared."""
    return 1 << (asked.bit_length() + 1 & ~1)


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
