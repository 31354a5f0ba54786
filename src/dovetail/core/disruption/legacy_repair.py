"""Repair as it was before it became a method (`legacy-node-repair`): no budget, no veto, no reboot, no replacement.

One look at one Node. Of the conditions that a policy of replacement matches, the one whose toleration ends first
decides; when it has ended, the claim is deleted at once, whatever its pods say. The breaker is that of `repairing`,
with its floor; of a claim without a pool, all Nodes are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dovetail.core import labels
from dovetail.core.conditions import Condition
from dovetail.core.disruption.rebooting import hurried
from dovetail.core.disruption.refusals import Code, Refusal, counted
from dovetail.core.disruption.repair_policies import Action, RepairPolicies, RepairPolicy
from dovetail.core.disruption.repairing import BREAKER_FLOOR, BREAKER_PERCENT
from dovetail.core.disruption.stages import share_of
from dovetail.core.effects import Count, Delete, Ref, SaveClaim, Say, Step
from dovetail.core.lifecycle import reasons
from dovetail.core.nodeclaims import NodeClaim, NodeObject

AGAIN_SECONDS: Final = 300.0
_QUIET_SECONDS: Final = 900.0
_REASON: Final = "unhealthy"


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The Nodes a broken one is counted among: those of its pool, or all there are."""

    total: int
    unhealthy: int


def replacing(policies: RepairPolicies) -> tuple[RepairPolicy, ...]:
    """The policies it knows: those that replace."""
    return tuple(one for one in policies.policies if one.action is Action.REPLACE)


def neighbours(policies: RepairPolicies, claim: NodeClaim, nodes: Iterable[NodeObject]) -> Neighbours:
    pool = claim.pool
    some = [one for one in nodes if pool is None or one.meta.labels.get(labels.NODEPOOL) == pool]
    return Neighbours(len(some), sum(any(_matching(policies, held) for held in one.conditions) for one in some))


def _matching(policies: RepairPolicies, held: Condition) -> list[RepairPolicy]:
    return [
        one
        for one in replacing(policies)
        if (one.condition, one.status) == (held.type, held.status) and (not one.reason or one.matches(held))
    ]


def repaired(policies: RepairPolicies, claim: NodeClaim, node: NodeObject, around: Neighbours, now: float) -> Step:
    """What to do about one Node: nothing, look again when its time has come, say that too many are ill, or end it."""
    if claim.is_deleting:
        return Step()
    due = [(held.since + one.toleration, held) for held in node.conditions for one in _matching(policies, held)]
    if not due:
        return Step()
    when, held = min(due, key=lambda pair: (pair[0], pair[1].type))
    if when > now:
        return Step((), when - now)
    refusal = breaker(claim, around)
    if refusal is not None:
        return Step((_blocked(claim, node, refusal),), AGAIN_SECONDS)
    dated = hurried(claim, now)
    saved = () if dated is claim else (SaveClaim(claim, dated),)
    ref = Ref("NodeClaim", claim.name, claim.meta.uid)
    ill = {"condition": _snake(held.type), "image_id": claim.image_id, **_about(claim)}
    return Step(
        (
            *saved,
            Delete(ref),
            Count("nodeclaims_disrupted_total", reasons.disrupted(claim, _REASON)),
            Count("nodeclaims_unhealthy_disrupted_total", ill),
        )
    )


def breaker(claim: NodeClaim, around: Neighbours) -> Refusal | None:
    most = max(share_of(BREAKER_PERCENT, around.total), BREAKER_FLOOR)
    if around.unhealthy <= most:
        return None
    where = f"in NodePool {claim.pool}" if claim.pool else "in the cluster"
    text = f"{counted(around.unhealthy, 'node')} of {around.total} {where} are unhealthy, more than {most}: "
    return Refusal(Code.BREAKER, text + "nothing is repaired until a person has looked")


def _blocked(claim: NodeClaim, node: NodeObject, refusal: Refusal) -> Say:
    about = Ref("Node", node.name, node.meta.uid)
    return Say(about, "NodeRepairBlocked", refusal.text, True, (claim.name,), _QUIET_SECONDS)


def _about(claim: NodeClaim) -> dict[str, str]:
    return {
        "nodepool": claim.pool or "",
        "capacity_type": claim.meta.labels.get(labels.CAPACITY_TYPE, ""),
        "termination_mode": reasons.termination_mode(claim.grace),
    }


def _snake(text: str) -> str:
    """MemoryPressure → memory_pressure."""
    return "".join(f"_{one.lower()}" if one.isupper() and at else one.lower() for at, one in enumerate(text))
