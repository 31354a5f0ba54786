"""minValues: how many different values of a label a claim must stay open to (S4.1–S4.4).

Only values the claim could really take count: those of types it may still become, and that its own requirement admits.
A claim names only so many types, so under Strict it must also be possible to keep the promise with that many (S4.7); a
claim for which it is not is never opened, and its pods try the next pool (S4.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dovetail.core import labels
from dovetail.core.scheduling.bitsets import bits
from dovetail.core.scheduling.index import PoolIndex
from dovetail.core.scheduling.states import State

MinValues = tuple[tuple[str, int], ...]


def met(index: PoolIndex, state: State, types: int, wanted: MinValues, reserved: bool = False) -> bool:
    if not all(_count(index, state, types, key, needed, reserved) >= needed for key, needed in wanted):
        return False
    return is_kept_by_cut(index, state, types, wanted, reserved)


def is_kept_by_cut(index: PoolIndex, state: State, types: int, wanted: MinValues, reserved: bool = False) -> bool:
    """Whether what these types reach can be reached by as many of them as a claim may name.

    One type for each value wanted is always enough, so there is hardly ever anything to search for.
    """
    most = index.most_types
    if most is None or types.bit_count() <= most or sum(needed for _, needed in wanted) <= most:
        return True
    return len(fewest(index, state, tuple(bits(types)), wanted, reserved)) <= most


def fewest(
    index: PoolIndex, state: State, order: Sequence[int], wanted: MinValues, reserved: bool = False
) -> frozenset[int]:
    """Few types that together reach what is wanted: always the one that adds most, then the first in order."""
    chosen: list[int] = []
    have = 0
    while len(chosen) < len(order):
        best = max(
            (one for one in order if one not in chosen),
            key=lambda one: _progress(index, state, mask_of((*chosen, one)), wanted, reserved),
        )
        now = _progress(index, state, mask_of((*chosen, best)), wanted, reserved)
        if now <= have:
            break
        chosen.append(best)
        have = now
    return frozenset(chosen)


def _progress(index: PoolIndex, state: State, types: int, wanted: MinValues, reserved: bool) -> int:
    return sum(min(needed, _count(index, state, types, key, needed, reserved)) for key, needed in wanted)


def mask_of(positions: Iterable[int]) -> int:
    found = 0
    for position in positions:
        found |= 1 << position
    return found


def reached(index: PoolIndex, state: State, types: int, wanted: MinValues, reserved: bool = False) -> dict[str, int]:
    return {key: _count(index, state, types, key, None, reserved) for key, _ in wanted}


def _count(index: PoolIndex, state: State, types: int, key: str, enough: int | None, reserved: bool) -> int:
    """How many values of a key these types offer, at the market or as reserved; enough are enough."""
    if key == labels.INSTANCE_TYPE:
        return types.bit_count()
    admitted = state.labels.get(key)
    found: set[str] = set()
    if key in (labels.ZONE, labels.CAPACITY_TYPE):
        for position, slot in enumerate(() if reserved else index.slots):
            if state.slots >> position & 1 and slot.types & types:
                value = slot.requirements.value(key)
                if value is not None:
                    found.add(value)
        for number in state.reserved.numbers if reserved else ():
            one = index.reserved.slots[number]
            if one.types & types and (value := one.sample.value(key)) is not None:
                found.add(value)
        return len(found)
    for requirement, having in index.label_groups(key):
        if having & types and not requirement.complement:
            found.update(value for value in requirement.values if admitted is None or admitted.admits(value))
            if enough is not None and len(found) >= enough:
                break
    return len(found)
