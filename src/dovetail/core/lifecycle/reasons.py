"""The labels that counters about a claim carry."""

from __future__ import annotations

from collections.abc import Mapping

from dovetail.core import labels
from dovetail.core.nodeclaims import NodeClaim


def termination_mode(grace: float | None) -> str:
    """How hard a claim's pods may be pushed: not at all, at once, or after a time."""
    if grace is None:
        return "graceful"
    return "forceful" if grace <= 0 else "eventual"


def disrupted(claim: NodeClaim, reason: str) -> Mapping[str, str]:
    return {
        "reason": reason,
        "nodepool": claim.pool or "",
        "capacity_type": claim.meta.labels.get(labels.CAPACITY_TYPE, ""),
        "consolidation_policy": "",
        "termination_mode": termination_mode(claim.grace),
    }


def placed(claim: NodeClaim) -> Mapping[str, str]:
    return {"nodepool": claim.pool or "", "zone": claim.meta.labels.get(labels.ZONE, "")}
