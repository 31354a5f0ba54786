"""A pool's limits while claims are being planned.

A claim may become any of its types, so what it will take of a limit is not known yet. Each claim holds what the
*smallest* of its types would take, or so many of the smallest as its minValues demand; that much is certain to be
needed. One that is bought from a reservation cannot choose, and holds what the largest would take. When all is packed,
the slack that is left is given to claims in order, as the larger types they may still choose. However they are
launched, the limit holds; and a claim that narrows hands back what it no longer could take.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping

from dovetail.core.resources import Resources
from dovetail.core.scheduling.index import PoolIndex

NODES = "nodes"


class _Sizes:
    """Types by how much of one resource they have: which have at most so much, and the smallest of a set."""

    __slots__ = ("_amounts", "masks")

    def __init__(self, amounts: list[int]) -> None:
        by_amount: dict[int, int] = {}
        for position, amount in enumerate(amounts):
            by_amount[amount] = by_amount.get(amount, 0) | 1 << position
        self._amounts = sorted(by_amount)
        self.masks, mask = [0], 0
        for amount in self._amounts:
            mask |= by_amount[amount]
            self.masks.append(mask)

    def at_most(self, amount: int) -> int:
        return self.masks[bisect_right(self._amounts, amount)]

    def smallest(self, types: int) -> int:
        """The lowest-numbered of the smallest types in a set that is not empty."""
        low, high = 0, len(self._amounts)  # masks[low] never meets the set, masks[high] always does
        while high - low > 1:
            middle = (low + high) // 2
            if self.masks[middle] & types:
                high = middle
            else:
                low = middle
        found = self.masks[high] & types
        return (found & -found).bit_length() - 1

    def largest_amount(self, types: int) -> int:
        for position in range(len(self._amounts), 0, -1):
            if types & ~self.masks[position - 1]:
                return self._amounts[position - 1]
        return 0


class PoolLimit:
    """What one pool may still take."""

    __slots__ = ("_held", "_index", "_sizes", "left")

    def __init__(self, index: PoolIndex, left: dict[str, int]) -> None:
        self._index = index
        #: What is left of each limited resource, claims already taken off.
        self.left = left
        self._held: dict[int, dict[str, int]] = {}
        self._sizes = {
            name: _Sizes([self._takes(position, name) for position in range(len(index.types))])
            for name in sorted(left, key=lambda name: (name == NODES, name))
        }

    @classmethod
    def of(cls, index: PoolIndex, usage: Mapping[str, Resources]) -> PoolLimit | None:
        limits = index.pool.limits
        if not limits:
            return None
        used = usage.get(index.pool.name, Resources())
        return cls(index, {name: amount - used.of(name) for name, amount in limits.items()})

    def _takes(self, position: int, name: str) -> int:
        return 1 if name == NODES else self._index.types[position].capacity.of(name)

    def fitting(self, claim: int | None, types: int) -> int:
        """Of these types, those the claim (None: a new one) could become without breaking the limit."""
        held = self._held.get(claim, {}) if claim is not None else {}
        for name, left in self.left.items():
            types &= self._sizes[name].at_most(left + held.get(name, 0))
        return types

    def lasts_for(self, types: int) -> int:
        """How many claims of these types what is left is enough for, whatever each becomes."""
        taking = ((left, self._sizes[name].largest_amount(types)) for name, left in self.left.items())
        return min((max(0, left) // most for left, most in taking if most), default=0)

    def smallest(self, types: int, enough: Callable[[int], bool] | None) -> int:
        """The smallest of these types; or, where one is not enough, so many of the smallest as are."""
        sizes = next(iter(self._sizes.values()))
        if enough is None:
            return 1 << sizes.smallest(types)
        return next((types & mask for mask in sizes.masks if types & mask and enough(types & mask)), types)

    def hold(self, claim: int, types: int) -> None:
        """Set aside the most that any of these types takes; they have been found fitting."""
        self.release(claim)
        held = self._held[claim] = {name: sizes.largest_amount(types) for name, sizes in self._sizes.items()}
        for name, amount in held.items():
            self.left[name] -= amount

    def release(self, claim: int) -> None:
        for name, amount in self._held.pop(claim, {}).items():
            self.left[name] += amount

    def settle(self, claim: int, types: int) -> int:
        """The types a packed claim may keep; the most any of them takes is set aside from now on."""
        kept = self.fitting(claim, types)
        self.release(claim)
        for name in self.left:
            self.left[name] -= self._sizes[name].largest_amount(kept)
        return kept
