"""What a move costs, and how long it takes to earn that back.

A move is paid for three times: old and new node run side by side while the new one starts and its daemons and images
arrive; every pod that is evicted does no work until it is ready again, and its share of the node is paid for all the
same; and a user may put a price on each eviction. All of it is divided by what is saved an hour. Reserved capacity is
nearly free on both sides of the fraction, so a move between reservations is judged by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from dovetail.core.resources import CPU, MEMORY, Resources

_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Charges:
    """What moving is taken to cost. Seconds, and nanodollars for each eviction."""

    restart_seconds: float = 60.0
    start_seconds: float = 90.0
    daemon_seconds: float = 30.0
    eviction_nanodollars: int = 0


@dataclass(frozen=True, slots=True)
class Evicted:
    """One pod that moves: its share of the node it leaves, that node's price, and how long it needs to be ready."""

    requests: Resources
    allocatable: Resources
    node_nanodollars: int
    ready_seconds: float | None = None
    eviction_nanodollars: int | None = None


def share(requests: Resources, allocatable: Resources) -> float:
    """How much of a node a pod has: the larger of its shares of cpu and memory, never more than all of it."""
    shares = [requests.of(name) / allocatable.of(name) for name in (CPU, MEMORY) if allocatable.of(name) > 0]
    return min(max(shares, default=0.0), 1.0)


def cost(evicted: Iterable[Evicted], new_nanodollars: int, charges: Charges) -> int:
    """What a move costs once, in nanodollars. `new_nanodollars` is what the new nodes cost an hour together."""
    return running_beside(new_nanodollars, charges) + restarting(evicted, charges)


def running_beside(new_nanodollars: int, charges: Charges) -> int:
    """What new nodes cost while the old ones are still there."""
    return round(new_nanodollars * (charges.start_seconds + charges.daemon_seconds) / _HOUR)


def restarting(evicted: Iterable[Evicted], charges: Charges) -> int:
    """What pods cost that do nothing until they are ready again, and what their owners charge for it."""
    total = 0.0
    for one in evicted:
        seconds = charges.restart_seconds if one.ready_seconds is None else one.ready_seconds
        if one.node_nanodollars:
            part = share(one.requests, one.allocatable)
            total += part * one.node_nanodollars * seconds / _HOUR
        each = one.eviction_nanodollars
        total += charges.eviction_nanodollars if each is None else each
    return round(total)


def emptying(pods: Iterable[tuple[Resources, float | None]], leaving: Evicted, charges: Charges) -> int:
    """What all pods of one node cost in this way: what each asks for and how long it needs, None where nobody knows.

    `leaving` has what is the same for all of them. A pass asks this of every pod, so it is spelt out.
    """
    cpu, memory = leaving.allocatable.of(CPU), leaving.allocatable.of(MEMORY)
    each = leaving.eviction_nanodollars
    charge = charges.eviction_nanodollars if each is None else each
    usual, price, total = charges.restart_seconds, leaving.node_nanodollars / _HOUR, 0.0
    for requests, measured in pods:
        by_cpu = requests.of(CPU) / cpu if cpu > 0 else 0.0
        by_memory = requests.of(MEMORY) / memory if memory > 0 else 0.0
        part = by_cpu if by_cpu > by_memory else by_memory
        total += (part if part < 1.0 else 1.0) * (usual if measured is None else measured) * price + charge
    return round(total)


def seconds(cost_nanodollars: int, saved_nanodollars: int) -> float:
    """How long a move takes to earn what it cost; never, where it saves nothing."""
    if saved_nanodollars <= 0:
        return inf if cost_nanodollars > 0 or saved_nanodollars < 0 else 0.0
    return cost_nanodollars * _HOUR / saved_nanodollars
