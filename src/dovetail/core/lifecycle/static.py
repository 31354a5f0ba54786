"""Static pools: kept at a number of nodes, whatever pods there are (§3.12).

What is missing is ordered, bounded by the pool's limit on nodes; what is too much is taken away, the least painful
first. Claims that something else is replacing already count for neither: whoever replaces them keeps the number right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.core.conditions import is_true
from dovetail.core.nodeclaims import DISRUPTION_REASON, INSTANCE_TERMINATING, NodeClaim
from dovetail.core.nodepools import NodePool

_NODES: Final = "nodes"
_DELETION_UNIT: Final = 2.0**27
_PRIORITY_UNIT: Final = 2.0**25
_MOST: Final = 10.0


@dataclass(frozen=True, slots=True)
class Standing:
    """The claims of one pool, by what becomes of them."""

    active: tuple[NodeClaim, ...] = ()
    replaced: int = 0
    deleting: int = 0


def standing(claims: Iterable[NodeClaim]) -> Standing:
    active, replaced, deleting = [], 0, 0
    for one in claims:
        if one.is_deleting or one.is_true(INSTANCE_TERMINATING):
            deleting += 1
        elif is_true(one.conditions, DISRUPTION_REASON):
            replaced += 1
        else:
            active.append(one)
    return Standing(tuple(active), replaced, deleting)


def missing(pool: NodePool, now: Standing) -> int:
    """How many to order."""
    wanted = (pool.replicas or 0) - len(now.active) - now.replaced
    limit = None if pool.limits is None or _NODES not in pool.limits else pool.limits[_NODES]
    room = wanted if limit is None else limit - len(now.active) - now.replaced - now.deleting
    return max(0, min(wanted, room))


@dataclass(frozen=True, slots=True)
class Load:
    """What would have to leave with a claim. `cost` is what that is worth, over all its pods."""

    claim: NodeClaim
    pods: int = 0
    protected: bool = False
    cost: float = 0.0


def surplus(pool: NodePool, now: Standing, loads: Sequence[Load]) -> tuple[NodeClaim, ...]:
    """Whom to take away: first those that have no machine yet, then empty ones, then the cheapest to empty; those
    with a pod that may not be disrupted last."""
    excess = len(now.active) - (pool.replicas or 0)
    ordered = sorted(loads, key=lambda one: (_rank(one), one.cost, one.claim.name))
    return tuple(one.claim for one in ordered[: max(0, excess)])


def _rank(one: Load) -> int:
    if not one.claim.provider_id:
        return 0
    if not one.pods and not one.protected:
        return 1
    return 3 if one.protected else 2


def eviction_cost(deletion_cost: float, priority: int) -> float:
    """What evicting one pod is worth, about 1."""
    return max(-_MOST, min(_MOST, 1.0 + deletion_cost / _DELETION_UNIT + priority / _PRIORITY_UNIT))


def life_left(claim: NodeClaim, now: float) -> float:
    """What is left of a claim's time, from 1 to 0; one that never expires has all of it."""
    if not claim.expire_after:
        return 1.0
    return max(0.0, min(1.0, 1.0 - (now - claim.meta.created) / claim.expire_after))
