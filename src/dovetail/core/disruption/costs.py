"""What it costs to disturb a node, as the peer measures it: a number without a unit, one for the node and about one
for each pod; and what the node costs an hour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.disruption.facts import PodFacts, World
from dovetail.core.pods import Pod

#: Deletion costs and priorities reach to ±2³¹: scaled so that the largest count for sixteen and sixty-four pods.
_DELETION_SCALE: Final = 2**27
_PRIORITY_SCALE: Final = 2**25
_MOST: Final = 10.0
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


def stated_cost(facts: PodFacts, writes_deletion_cost: bool) -> int | None:
    """What the annotations ask for; the disruption cost alone where it is there, even if it cannot be read."""
    if facts.disruption_cost is not None:
        return _int32(facts.disruption_cost)
    if facts.deletion_cost is not None and not writes_deletion_cost:
        return _int32(facts.deletion_cost)
    return None


def _int32(text: str) -> int | None:
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**31) <= number < 2**31 else None


def eviction_cost(pod: Pod, facts: PodFacts, writes_deletion_cost: bool = False) -> float:
    """What evicting a pod costs, from −10 to 10; 1 for a plain one."""
    stated = stated_cost(facts, writes_deletion_cost) or 0
    cost = 1.0 + stated / _DELETION_SCALE + pod.shape.priority / _PRIORITY_SCALE
    return max(-_MOST, min(_MOST, cost))


def reschedule_cost(pods: Iterable[Pod], world: World) -> float:
    """One for the node, and what its pods cost that have to go elsewhere."""
    total, known, gate = 1.0, world.pods, world.gates.writes_deletion_cost
    for pod in pods:
        facts = known.get(pod.key) if known else None
        if not pod.shape.priority and (facts is None or facts.is_plain):
            total += 1.0
        else:
            total += max(0.0, eviction_cost(pod, facts or PodFacts(), gate))
    return total


def lifetime_left(created: float, expire_after: float | None, now: float) -> float:
    """The share of its life a claim still has, from 0 to 1; all of it where it never ends."""
    if expire_after is None:
        return 1.0
    return 0.0 if expire_after <= 0 else max(0.0, min(1.0, (created + expire_after - now) / expire_after))


def row_of(kind: InstanceType | None, pairs: Mapping[str, str]) -> Offering | None:
    """The row of the price list a node was bought by; whether it could be bought now does not matter."""
    if kind is None:
        return None
    place = (pairs.get(labels.ZONE), pairs.get(labels.CAPACITY_TYPE))
    return next((row for row in kind.offerings if (row.zone, row.capacity_type) == place), None)
