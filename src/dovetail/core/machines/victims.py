"""Which machine of a set goes first when there are too many.

What is going anyway goes first, then what somebody marked, then what is unwell; among the rest the set's own order
decides: by age, or Random, which is by name here, so that the same set shrinks the same way however often it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from dovetail.core.machines import names
from dovetail.core.machines.objects import Machine, Order

MUST: Final = 100.0
MARKED: Final = 80.0
UNWELL: Final = 50.0
COULD: Final = 20.0
#: Beyond ten days the difference in age tells less and less.
_AGE_SECONDS: Final = 864000.0


def priority(machine: Machine, order: Order, now: float) -> float:
    if machine.is_deleting:
        return MUST
    if names.DELETE_MACHINE in machine.meta.annotations:
        return MARKED
    if is_unwell(machine):
        return UNWELL
    if order is Order.RANDOM:
        return COULD
    old = UNWELL * (1.0 - math.exp(-max(now - machine.meta.created, 0.0) / _AGE_SECONDS))
    return old if order is Order.OLDEST else UNWELL - old


def is_unwell(machine: Machine) -> bool:
    """It never became a node, failed, or somebody found something wrong with it."""
    checks = (names.NODE_HEALTHY, names.HEALTH_CHECK_SUCCEEDED)
    return not machine.node or machine.failure is not None or any(machine.is_false(one) for one in checks)


def chosen(machines: Iterable[Machine], count: int, order: Order, now: float) -> tuple[Machine, ...]:
    """So many, the first to go first; those that are going count as chosen."""
    ranked = sorted(machines, key=lambda one: (-priority(one, order, now), one.name))
    return tuple(ranked[: max(count, 0)])
