"""The end of a Node: fenced off, drained, its volumes detached, its machine gone, and only then itself (§2.11).

Every wait is a state: a condition on the claim with its time. Looked at again after any crash, the same steps follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from dovetail.core import conditions, labels, timestamps
from dovetail.core.conditions import Condition, Status
from dovetail.core.effects import Count, Delete, Effect, Evict, Observe, Ref, SaveClaim, SaveNode, Say, Step, Terminate
from dovetail.core.errors import BadInput
from dovetail.core.lifecycle import drain, finalization
from dovetail.core.lifecycle.drain import DrainPod
from dovetail.core.lifecycle.launch import set_condition
from dovetail.core.nodeclaims import (
    DISRUPTED,
    DISRUPTION_REASON,
    DRAINED,
    EXCLUDE_FROM_BALANCERS,
    FINALIZER,
    TERMINATION_TIME,
    VOLUMES_DETACHED,
    NodeClaim,
    NodeObject,
)

#: A node without pods is watched this much longer, for pods bound to it before the taint was seen.
SETTLE_SECONDS: Final = 5.0
POLL_SECONDS: Final = 1.0
#: So far apart the clocks of two replicas may be.
SKEW_SECONDS: Final = 60.0
_NAMES_SHOWN: Final = 5
#: Nobody decided to disrupt the node: it, or its claim, was deleted.
FORCEFUL: Final = "Forceful Termination"


@dataclass(frozen=True, slots=True)
class Leaving:
    """What there is to know about a Node that is being deleted.

    `attached` are the persistent volumes attached to it, `kept` those of pods that stay to the end. `instance_gone`
    is only asked of Nodes that are not ready. `is_only` says that its claim has no other Node.
    """

    node: NodeObject
    claim: NodeClaim | None
    pods: tuple[DrainPod, ...] = ()
    attached: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()
    instance_gone: bool = False
    is_only: bool = False


def terminate(leaving: Leaving, now: float) -> Step:
    node, claim = leaving.node, leaving.claim
    if FINALIZER not in node.meta.finalizers or not node.is_deleting:
        return Step()
    effects: list[Effect] = []
    if claim is not None and not claim.is_deleting:
        effects.append(Delete(Ref("NodeClaim", claim.name, claim.meta.uid)))
    if leaving.instance_gone and not node.is_ready:
        return Step((*effects, *released(node, now)))
    dated = claim if claim is None else finalization.dated(claim)
    if claim is not None and dated is not None and dated is not claim:
        # The Node was deleted before its claim: the deadline is written down first, and then it is looked at again.
        return Step((*effects, SaveClaim(claim, dated, locked=True), finalization.expiring(dated)), 0.0)
    fenced = _fenced(node)
    if fenced != node:
        effects.append(SaveNode(node, fenced))
    deadline, problem = _deadline(claim)
    if problem is not None:
        effects.append(problem)
    if claim is not None and deadline is not None:
        effects.append(_expiring(node, claim))
    return _drained(leaving, deadline, now, effects)


def _deadline(claim: NodeClaim | None) -> tuple[float | None, Say | None]:
    """When everything must be over. An unreadable time is told of, and is none."""
    written = claim.meta.annotations.get(TERMINATION_TIME) if claim is not None else None
    if claim is None or written is None:
        return None, None
    try:
        return timestamps.seconds(written), None
    except BadInput as bad:
        ref = Ref("NodeClaim", claim.name, claim.meta.uid)
        return None, Say(ref, "FailedTermination", f"annotation {TERMINATION_TIME}: {bad}", warning=True)


def _expiring(node: NodeObject, claim: NodeClaim) -> Say:
    until = claim.meta.annotations[TERMINATION_TIME]
    said = f"All pods will be deleted by {until}"
    return Say(_ref(node), "TerminationGracePeriodExpiring", said, warning=True, dedupe=(node.name,))


def _fenced(node: NodeObject) -> NodeObject:
    """The Node with the taint that keeps new pods away, and out of load balancers."""
    others = tuple(one for one in node.taints if one.key != DISRUPTED.key)
    taints = node.taints if any(one.matches(DISRUPTED) for one in node.taints) else (*others, DISRUPTED)
    told = MappingProxyType({EXCLUDE_FROM_BALANCERS: "karpenter", **node.meta.labels})
    return replace(node, taints=taints, meta=replace(node.meta, labels=told))


def _drained(leaving: Leaving, deadline: float | None, now: float, before: list[Effect]) -> Step:
    node, claim = leaving.node, leaving.claim
    held = conditions.found(claim.conditions, DRAINED) if claim is not None else None
    if claim is not None and (held is None or held.status is Status.FALSE):
        known = set_condition(claim, Condition(DRAINED, Status.UNKNOWN, "Draining", "Draining"), now)
        before = [*before, SaveClaim(claim, known)]
        claim, held = known, conditions.found(known.conditions, DRAINED)
    left = drain.waiting(leaving.pods, now)
    if left:
        asked = drain.requests(leaving.pods, deadline, now)
        evictions = [Evict(one.pod.ref, node.name, one.deadline, _why(claim)) for one in asked]
        told = Say(_ref(node), "FailedDraining", f"Failed to drain node, {_waiting_on(left)}", warning=True)
        return Step((*before, *evictions, told), POLL_SECONDS)
    if claim is None or held is None:
        return _orphaned(leaving, now, before)
    waited = now - held.since
    # A time far ahead was written before somebody set the clock back: nobody waits for it to come again.
    if held.status is Status.UNKNOWN and -SKEW_SECONDS < waited < SETTLE_SECONDS:
        return Step(tuple(before), min(max(SETTLE_SECONDS - waited, 0.05), SETTLE_SECONDS))
    if held.status is not Status.TRUE:
        claim = set_condition(claim, conditions.true(DRAINED), now)
    return _detached(leaving, claim, deadline, now, before)


def _why(claim: NodeClaim | None) -> str:
    """Why pods are evicted, by the word the counter has for it."""
    if claim is None:
        return ""
    held = conditions.found(claim.conditions, DISRUPTION_REASON)
    return held.reason if held is not None and held.status is Status.TRUE else FORCEFUL


def _waiting_on(left: tuple[DrainPod, ...]) -> str:
    names = [f"{one.ref.namespace}/{one.ref.name}" for one in left[:_NAMES_SHOWN]]
    more = f" and {len(left) - _NAMES_SHOWN} more" if len(left) > _NAMES_SHOWN else ""
    return f"{len(left)} pods are waiting to be evicted: {', '.join(names)}{more}"


def _blocking(leaving: Leaving) -> list[str]:
    return [one for one in leaving.attached if one and one not in leaving.kept]


def _awaiting(node: NodeObject, volumes: list[str]) -> Say:
    return Say(_ref(node), "AwaitingVolumeDetachment", f"Awaiting detachment of {', '.join(volumes[:_NAMES_SHOWN])}")


def _orphaned(leaving: Leaving, now: float, before: list[Effect]) -> Step:
    """A Node whose claim is gone, and with it its machine: its volumes are waited for all the same."""
    blocking = _blocking(leaving)
    if blocking:
        return Step((*before, _awaiting(leaving.node, blocking)), POLL_SECONDS)
    return Step((*before, *released(leaving.node, now)))


def _detached(leaving: Leaving, claim: NodeClaim, deadline: float | None, now: float, before: list[Effect]) -> Step:
    blocking = _blocking(leaving)
    if not blocking:
        known = _put(claim, conditions.true(VOLUMES_DETACHED), now)
    elif deadline is None or now < deadline:
        waiting = Condition(VOLUMES_DETACHED, Status.UNKNOWN, "AwaitingVolumeDetachment", "AwaitingVolumeDetachment")
        known = _put(claim, waiting, now)
        told = (*_written(leaving.node, leaving.claim or known, known), _awaiting(leaving.node, blocking))
        return Step((*before, *told), POLL_SECONDS)
    else:
        over = Condition(
            VOLUMES_DETACHED, Status.FALSE, "TerminationGracePeriodElapsed", "TerminationGracePeriodElapsed"
        )
        known = _put(claim, over, now)
    return Step((*before, Terminate(known, leaving.node, leaving.claim, _is_last(leaving))))


def _is_last(leaving: Leaving) -> bool:
    """Whether our claim may go together with this Node: it has no other, and nobody else keeps this one."""
    claim = leaving.claim
    if claim is None or not claim.is_deleting or FINALIZER not in claim.meta.finalizers:
        return False
    return leaving.is_only and leaving.node.meta.finalizers == (FINALIZER,)


def _put(claim: NodeClaim, condition: Condition, now: float) -> NodeClaim:
    held = conditions.found(claim.conditions, condition.type)
    same = held is not None and (held.status, held.reason) == (condition.status, condition.reason)
    return claim if same else set_condition(claim, condition, now)


def _written(node: NodeObject, before: NodeClaim, after: NodeClaim, locked: bool = False) -> tuple[Effect, ...]:
    """What is new of a claim."""
    return () if before == after else (SaveClaim(before, after, locked), *_drained_now(node, before, after))


def _drained_now(node: NodeObject, before: NodeClaim, after: NodeClaim) -> tuple[Effect, ...]:
    """Counted after the write that says so: whoever looks again does not count it again."""
    news = after.is_true(DRAINED) and not before.is_true(DRAINED)
    return (Count("nodes_drained_total", _pool(node)),) if news else ()


def _ref(node: NodeObject) -> Ref:
    return Ref("Node", node.name, node.meta.uid)


def _pool(node: NodeObject) -> dict[str, str]:
    return {"nodepool": node.meta.labels.get(labels.NODEPOOL, "")}


def released(node: NodeObject, now: float) -> tuple[Effect, ...]:
    """Let the Node go. It says itself whose it was and where: its claim may be gone."""
    left = tuple(one for one in node.meta.finalizers if one != FINALIZER)
    freed = replace(node, meta=replace(node.meta, finalizers=left))
    pool = _pool(node)
    where = {**pool, "zone": node.meta.labels.get(labels.ZONE, "")}
    effects: list[Effect] = [SaveNode(node, freed), Count("nodes_terminated_total", where)]
    if node.meta.deleting is not None:
        effects.append(Observe("nodes_termination_duration_seconds", now - node.meta.deleting, pool))
    effects.append(Observe("nodes_lifetime_duration_seconds", now - node.meta.created, pool))
    return tuple(effects)


def gone(asked: Terminate, node: NodeObject, is_gone: bool, now: float) -> Step:
    """The cloud answered: the machine is gone and so may the Node be, or it is asked again. What was found out on the
    way is one write, and none where the claim goes as well."""
    if is_gone and asked.is_last:
        counted = _drained_now(node, asked.written, asked.claim)
        return Step((*released(node, now), *counted, *finalization.terminated(asked, True, now).effects))
    told = _written(node, asked.written, finalization.marked_terminating(asked.claim, now))
    return Step((*told, *released(node, now))) if is_gone else Step(told, finalization.POLL_SECONDS)


def refused(asked: Terminate) -> Step:
    """The cloud has trouble, and that may take a while: what was found out so far is told, unless somebody wrote the
    claim meanwhile."""
    return Step() if asked.node is None else Step(_written(asked.node, asked.written, asked.claim, locked=True))
