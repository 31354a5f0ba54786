"""What a claim says of itself: whether it has drifted from what its pool wants, and whether it may be consolidated.

Both are conditions that people read, worked out from the claim, its pool and the catalog alone. The first cause of
drift that is found is the one that is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from dovetail.core import conditions, labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.conditions import Condition, Moment, Status
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.effects import SaveClaim, Step, soonest
from dovetail.core.nodeclaims import (
    CONSOLIDATABLE,
    DRIFTED,
    INITIALIZED,
    LAUNCHED,
    POOL_HASH,
    POOL_HASH_VERSION,
    NodeClaim,
)
from dovetail.core.requirements import Requirements

POOL_DRIFTED: Final = "NodePoolDrifted"
REQUIREMENTS_DRIFTED: Final = "RequirementsDrifted"
TYPE_NOT_FOUND: Final = "InstanceTypeNotFound"
#: A claim younger than this is not blamed for a type the catalog does not know: the catalog may be older.
SETTLED_SECONDS: Final = 3600.0
AGAIN_SECONDS: Final = 300.0


# ---- Consolidatable


def consolidatable_at(claim: NodeClaim, policy: PoolPolicy) -> float | None:
    """From when on a claim may be consolidated; None where never, or not before it has come up."""
    up = conditions.found(claim.conditions, INITIALIZED)
    if policy.consolidate_after is None or up is None or up.status is not Status.TRUE:
        return None
    since = up.since if claim.last_pod_event is None else claim.last_pod_event
    return since + policy.consolidate_after


def as_settled(claim: NodeClaim, policy: PoolPolicy, now: float) -> NodeClaim:
    """The claim without saying that it may be consolidated, where its time begins anew and it was not written yet."""
    opens = consolidatable_at(claim, policy)
    if opens is not None and opens <= now:
        return claim
    held = conditions.without(claim.conditions, CONSOLIDATABLE)
    return claim if held == claim.conditions else replace(claim, conditions=held)


# ---- Drifted


def drift_reason(claim: NodeClaim, policy: PoolPolicy, catalog: Catalog | None, cloud: str, now: float) -> str | None:
    """Why a claim has drifted, None if it has not. `cloud` is what its cloud says, "" for nothing."""
    if _hash_differs(claim, policy):
        return POOL_DRIFTED
    if not _meets(claim.meta.labels, policy.pool.requirements):
        return REQUIREMENTS_DRIFTED
    if catalog is not None and now - claim.meta.created > SETTLED_SECONDS and not is_sold(claim.meta.labels, catalog):
        return TYPE_NOT_FOUND
    return cloud or None


def _hash_differs(claim: NodeClaim, policy: PoolPolicy) -> bool:
    mine, version = claim.meta.annotations.get(POOL_HASH), claim.meta.annotations.get(POOL_HASH_VERSION)
    if not (mine and version and policy.template_hash and policy.hash_version):
        return False
    return version == policy.hash_version and mine != policy.template_hash


def _meets(pairs: Mapping[str, str], wanted: Requirements) -> bool:
    """Whether labels are within what a pool requires; a label that is missing suits only who wants it absent.

    A node whose reservation ended is relabelled `on-demand` (S3.9): where the pool takes on-demand too, that is no
    drift, and where it demands reserved capacity, it is (S3.11).
    """
    canonical = {labels.canonical(key): value for key, value in pairs.items()}
    return all(one.admits(canonical.get(one.key)) for one in wanted)


def is_sold(pairs: Mapping[str, str], catalog: Catalog) -> bool:
    """Whether the price list still has a row for a machine with these labels, whether it can be bought or not."""
    kind = catalog.types.get(pairs.get(labels.INSTANCE_TYPE, ""))
    return kind is not None and any(_suits(row, pairs, kind) for row in kind.offerings)


def _suits(row: Offering, pairs: Mapping[str, str], kind: InstanceType) -> bool:
    """A reserved machine is one of its type at the market, too: which reservation it came from is not asked."""
    allowed = {pairs.get(labels.CAPACITY_TYPE)}
    if labels.RESERVED in allowed:
        allowed.add(labels.ON_DEMAND)
    reservation = {labels.CAPACITY_TYPE, *_naming_reservations(kind)}
    if row.capacity_type is not None and row.capacity_type not in allowed:
        return False
    return all(one.key in reservation or one.key not in pairs or one.admits(pairs[one.key]) for one in row.requirements)


def _naming_reservations(kind: InstanceType) -> set[str]:
    """The labels whose values are ids of reservations."""
    found = set()
    for row in kind.offerings:
        ids = {one.id for one in row.reservations}
        found |= {one.key for one in row.requirements if ids and not ids.isdisjoint(one.values)}
    return found


# ---- the two conditions together


def judged(claim: NodeClaim, policy: PoolPolicy, catalog: Catalog | None, cloud: str, now: float) -> Step:
    """Bring both conditions up to date: one write where something changed, and when to look again."""
    if claim.is_deleting or policy.deleting:
        return Step()
    at = Moment(now, claim.meta.generation)
    reason = drift_reason(claim, policy, catalog, cloud, now) if claim.is_true(LAUNCHED) else None
    held = conditions.without(claim.conditions, DRIFTED)
    if reason is not None:
        held = conditions.put(claim.conditions, Condition(DRIFTED, Status.TRUE, reason, reason), at)
    wait: float | None = AGAIN_SECONDS
    if not policy.is_static:
        opens = consolidatable_at(claim, policy)
        if opens is not None and opens <= now:
            held = conditions.put(held, conditions.true(CONSOLIDATABLE), at)
        else:
            held = conditions.without(held, CONSOLIDATABLE)
            wait = soonest(wait, None if opens is None else opens - now)
    if _said(held) == _said(claim.conditions):
        return Step((), wait)
    return Step((SaveClaim(claim, replace(claim, conditions=held), locked=True),), wait)


def _said(held: conditions.Conditions) -> set[tuple[str, Status, str, float]]:
    return {(one.type, one.status, one.reason, one.since) for one in held}
