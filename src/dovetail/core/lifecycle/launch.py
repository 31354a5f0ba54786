"""Launching: the order goes to the cloud, and what it answers is written down before anything else happens (§2.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Moment, Status
from dovetail.core.effects import Count, Delete, Effect, Ref, SaveClaim, Say, Step
from dovetail.core.instances import ClassNotReady, Instance, LaunchProblem, NoCapacity, Outcome
from dovetail.core.lifecycle import reasons
from dovetail.core.nodeclaims import CLAIM_CONDITIONS, LAUNCHED, NodeClaim

#: Events and conditions are cut to this many characters, the dots included.
LONGEST: Final = 1024
#: A launch that failed is tried again after this long; whoever tries doubles it.
RETRY_SECONDS: Final = 1.0


def bought(claim: NodeClaim, outcome: Outcome, now: float, pods: Iterable[Ref] = ()) -> Step:
    """What an answer of the cloud means for the claim. `pods` are those that were planned onto it and still wait."""
    match outcome:
        case Instance():
            return Step((SaveClaim(claim, _launched(claim, outcome, now)),))
        case NoCapacity(message):
            said = cut(f"NodeClaim {claim.name} event: {message}")
            effects: list[Effect] = [
                Say(_ref(claim), "InsufficientCapacityError", said, warning=True, dedupe=(claim.meta.uid,))
            ]
            effects += (_told(pod, claim, message) for pod in pods)
            return Step((*effects, *given_up(claim, "insufficient_capacity")))
        case ClassNotReady(message):
            said = cut(f"NodeClaim {claim.name} event: {message}")
            told = Say(_ref(claim), "NodeClassNotReady", said, warning=True, dedupe=(claim.meta.uid,))
            return Step((told, *given_up(claim, "nodeclass_not_ready")))
        case LaunchProblem(message, reason):
            held = Condition(LAUNCHED, Status.UNKNOWN, reason or "LaunchFailed", cut(message))
            return Step((SaveClaim(claim, set_condition(claim, held, now)),), RETRY_SECONDS)


def given_up(claim: NodeClaim, reason: str) -> tuple[Effect, ...]:
    """Delete the claim, and count why."""
    return (Delete(_ref(claim)), Count("nodeclaims_disrupted_total", reasons.disrupted(claim, reason)))


def set_condition(claim: NodeClaim, condition: Condition, now: float) -> NodeClaim:
    """The claim with one condition set and Ready summed up anew."""
    at = Moment(now, claim.meta.generation)
    held = conditions.put(claim.conditions, condition, at)
    return replace(claim, conditions=CLAIM_CONDITIONS.complete(held, claim.meta.created, at))


def cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _launched(claim: NodeClaim, instance: Instance, now: float) -> NodeClaim:
    """Labels of the cloud with the claim's own on top; annotations the other way round."""
    labels = {**instance.labels, **claim.meta.labels}
    annotations = {**claim.meta.annotations, **instance.annotations}
    about = replace(claim.meta, labels=MappingProxyType(labels), annotations=MappingProxyType(annotations))
    known = replace(
        claim,
        meta=about,
        provider_id=instance.provider_id,
        image_id=instance.image_id,
        capacity=instance.capacity,
        allocatable=instance.allocatable,
    )
    return set_condition(known, conditions.true(LAUNCHED), now)


def _told(pod: Ref, claim: NodeClaim, message: str) -> Say:
    said = cut(f"NodeClaim {claim.name} nominated for this pod failed to launch: {message}")
    return Say(pod, "InsufficientCapacityError", said, warning=True, dedupe=(pod.uid,))


def _ref(claim: NodeClaim) -> Ref:
    return Ref("NodeClaim", claim.name, claim.meta.uid)
