"""minValues: how many different values of a label a claim must stay open to (S4.1–S4.4).

Only values the claim could really take count: those of types it may still become, and that its own requirement admits.
"""

from __future__ import annotations

from dovetail.core import labels
from dovetail.core.scheduling.index import PoolIndex
from dovetail.core.scheduling.states import State

MinValues = tuple[tuple[str, int], ...]


def met(index: PoolIndex, state: State, types: int, wanted: MinValues, reserved: bool = False) -> bool:
    return all(_count(index, state, types, key, needed, reserved) >= needed for key, needed in wanted)


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
        for row in state.reserved.rows if reserved else ():
            if row.type_bit & types and (value := row.row.requirements.value(key)) is not None:
                found.add(value)
        return len(found)
    for requirement, having in index.label_groups(key):
        if having & types and not requirement.complement:
            found.update(value for value in requirement.values if admitted is None or admitted.admits(value))
            if enough is not None and len(found) >= enough:
                break
    return len(found)
