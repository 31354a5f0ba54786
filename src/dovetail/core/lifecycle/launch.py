"""Launching: the order goes to the cloud, and what it answers is written down: at once, or a moment later together
with the machine's joining (§2.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Moment, Status
from dovetail.core.effects import Count, Delete, Effect, Ref, SaveClaim, Say, Step
from dovetail.core.instances import ClassNotReady, Instance, LaunchProblem, NoCapacity
from dovetail.core.lifecycle import reasons
from dovetail.core.nodeclaims import CLAIM_CONDITIONS, LAUNCHED, NodeClaim

#: Events and conditions are cut to this many characters, the dots included.
LONGEST: Final = 1024
#: A launch that failed is tried again after this long; whoever tries doubles it.
RETRY_SECONDS: Final = 1.0
#: A machine whose Node is there within so long of being bought is written down when that Node can be used, or so long
#: after it was bought.
JOINS_SECONDS: Final = 1.0
USABLE_SECONDS: Final = 20.0

Refusal = NoCapacity | ClassNotReady | LaunchProblem


@dataclass(frozen=True, slots=True)
class Bought:
    """A machine that its claim does not speak of yet, and when it was bought."""

    instance: Instance
    at: float


def refused(claim: NodeClaim, outcome: Refusal, now: float, pods: Iterable[Ref] = ()) -> Step:
    """What it means that nothing was bought. `pods` are those that were planned onto the claim and still wait."""
    match outcome:
        case NoCapacity(message):
            said = cut(f"NodeClaim {claim.name} event: {message}")
            effects: list[Effect] = [unresolved(_ref(claim), message)] if outcome.no_class else []
            effects.append(Say(_ref(claim), "InsufficientCapacityError", said, warning=True, dedupe=(claim.meta.uid,)))
            effects += (_told(pod, claim, message) for pod in pods)
            return Step((*effects, *given_up(claim, "insufficient_capacity")))
        case ClassNotReady(message):
            said = cut(f"NodeClaim {claim.name} event: {message}")
            told = Say(_ref(claim), "NodeClassNotReady", said, warning=True, dedupe=(claim.meta.uid,))
            return Step((told, *given_up(claim, "nodeclass_not_ready")))
        case LaunchProblem(message, reason):
            held = Condition(LAUNCHED, Status.UNKNOWN, reason or "LaunchFailed", cut(message))
            return Step((SaveClaim(claim, set_condition(claim, held, now)),), RETRY_SECONDS)


def unresolved(about: Ref, message: str) -> Say:
    """Of a NodeClaim or NodePool that names a node class which is not there."""
    said = cut(f"Failed resolving NodeClass: {message}; create it, or name another in nodeClassRef")
    return Say(about, "NodeClassResolutionError", said, warning=True, dedupe=(about.uid,))


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


def launched(claim: NodeClaim, instance: Instance, now: float) -> NodeClaim:
    """The claim with its machine: labels of the cloud with the claim's own on top; annotations the other way round."""
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
