"""How many pods of one shape the types of a claim can hold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from dovetail.core.scheduling.index import Thresholds
from dovetail.core.scheduling.tickets import Demands


def holding(types: int, demands: Demands, tables: Sequence[Thresholds], used: Sequence[int], many: int) -> int:
    """Of these types, those with room for so many pods beside what is used already."""
    for column, amount in enumerate(demands):
        if amount:
            amounts, masks = tables[column]
            types &= masks[bisect_left(amounts, used[column] + amount * many)]
    return types


def most_held(types_for: Callable[[int], int], accepts: Callable[[int], int], types: int, most: int) -> tuple[int, int]:
    """The largest count up to `most` that is accepted, and the types it leaves.

    One is known to be accepted and to leave `types`; more is never easier. All at once is tried first, as often that is
    what was asked for; then the steps double and close in.
    """
    if most == 1:
        return types, 1
    if found := accepts(types_for(most)):
        return found, most
    low, step, high = 1, 1, most - 1
    while low < high:
        middle = min(high, low + step)
        found = accepts(types_for(middle))
        if not found:
            high = middle - 1
            break
        types, low, step = found, middle, step * 2
    while low < high:
        middle = (low + high + 1) // 2
        found = accepts(types_for(middle))
        if found:
            types, low = found, middle
        else:
            high = middle - 1
    return types, low
