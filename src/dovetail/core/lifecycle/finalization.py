"""The end of a claim: its Nodes leave first, then its machine, then the claim itself (§2.10).

A claim that was never seen to launch may still have bought a machine, if whoever bought it died before writing that
down. So the cloud is asked to remove what this order bought in any case.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from dovetail.core import conditions, labels, timestamps
from dovetail.core.effects import Count, Delete, Effect, Observe, Ref, SaveClaim, Say, Step, Terminate
from dovetail.core.lifecycle import reasons
from dovetail.core.lifecycle.launch import set_condition
from dovetail.core.nodeclaims import (
    FINALIZER,
    INSTANCE_TERMINATING,
    LAUNCHED,
    REGISTERED,
    TERMINATION_TIME,
    NodeClaim,
    NodeObject,
)

#: A machine that is going is asked about again after this long.
POLL_SECONDS: Final = 5.0


def finalize(claim: NodeClaim, nodes: tuple[NodeObject, ...], now: float) -> Step:
    """What to do about a claim that is being deleted; `nodes` are those with its provider id."""
    if FINALIZER not in claim.meta.finalizers or claim.meta.deleting is None:
        return Step()
    joined = next((one for one in nodes if one.is_registered), None)
    if joined is not None and not claim.is_true(REGISTERED):
        return Step((SaveClaim(claim, _with_node(claim, joined, now), locked=True),), 0.0)
    known = dated(claim)
    effects: list[Effect] = []
    if known is not claim:
        effects += (SaveClaim(claim, known, locked=True), expiring(known))
    if claim.is_true(REGISTERED) and nodes:
        effects += (Delete(Ref("Node", one.name, one.meta.uid)) for one in nodes if not one.is_deleting)
        return Step(tuple(effects))
    return Step((*effects, Terminate(known)))


def _with_node(claim: NodeClaim, node: NodeObject, now: float) -> NodeClaim:
    """The claim saying what its Node says: it was asked to go before it could, and is to go like any other."""
    known = replace(claim, provider_id=node.provider_id, node_name=node.name)
    for type_ in (LAUNCHED, REGISTERED):
        known = set_condition(known, conditions.true(type_), now)
    return known


def dated(claim: NodeClaim) -> NodeClaim:
    """The claim with its deadline written on it; one that is there is never moved from here."""
    if claim.grace is None or claim.meta.deleting is None or TERMINATION_TIME in claim.meta.annotations:
        return claim
    deadline = timestamps.text(claim.meta.deleting + claim.grace)
    notes = MappingProxyType({**claim.meta.annotations, TERMINATION_TIME: deadline})
    return replace(claim, meta=replace(claim.meta, annotations=notes))


def expiring(claim: NodeClaim) -> Say:
    until = claim.meta.annotations[TERMINATION_TIME]
    ref = Ref("NodeClaim", claim.name, claim.meta.uid)
    return Say(
        ref,
        "TerminationGracePeriodExpiring",
        f"All pods will be deleted by {until}",
        warning=True,
        dedupe=(claim.name,),
    )


def terminated(asked: Terminate, gone: bool, now: float) -> Step:
    """What the cloud's answer means: not gone yet is asked again, gone lets the claim go."""
    known, written = marked_terminating(asked.claim, now), asked.written
    if not gone:
        return Step((SaveClaim(written, known),) if known != written else (), POLL_SECONDS)
    left = tuple(one for one in known.meta.finalizers if one != FINALIZER)
    freed = replace(known, meta=replace(known.meta, finalizers=left))
    return Step((SaveClaim(written, freed), *_counted(known, now)))


def marked_terminating(claim: NodeClaim, now: float) -> NodeClaim:
    """The claim saying that its machine was told to go; of a deleting object every condition speaks for its last
    generation."""
    if not claim.provider_id or claim.is_true(INSTANCE_TERMINATING):
        return claim
    known = set_condition(claim, conditions.true(INSTANCE_TERMINATING), now)
    return replace(known, conditions=conditions.raised(known.conditions, claim.meta.generation))


def _counted(claim: NodeClaim, now: float) -> tuple[Effect, ...]:
    pool = {"nodepool": claim.pool or ""}
    counted: list[Effect] = [
        Count(
            "nodeclaims_terminated_total",
            {**reasons.placed(claim), "capacity_type": claim.meta.labels.get(labels.CAPACITY_TYPE, "")},
        )
    ]
    asked = conditions.found(claim.conditions, INSTANCE_TERMINATING)
    if asked is not None:
        counted.append(Observe("nodeclaims_instance_termination_duration_seconds", now - asked.since, pool))
    if claim.meta.deleting is not None:
        counted.append(Observe("nodeclaims_termination_duration_seconds", now - claim.meta.deleting, pool))
    return tuple(counted)
