"""What is looked at from time to time: expiry, machines without claims and claims without machines, and whether a
Node is as large as was promised (§2.8)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Status
from dovetail.core.effects import Count, Delete, Effect, Ref, SaveClaim, Say, Step
from dovetail.core.instances import Instance
from dovetail.core.lifecycle import reasons
from dovetail.core.lifecycle.launch import set_condition
from dovetail.core.nodeclaims import CONSISTENT, INITIALIZED, REGISTERED, NodeClaim, NodeObject
from dovetail.core.resources import quantity_of

#: A Node may be this much smaller than its claim said.
SMALLEST_SHARE: Final = 0.90
CONSISTENCY_SECONDS: Final = 600.0
#: Pods that come and go are dated when none has for so long, and no later than this after the first.
POD_EVENT_SECONDS: Final = 10.0
POD_EVENTS_SECONDS: Final = 60.0
#: A machine nobody claims is left alone this long: its claim may not have been seen yet.
UNCLAIMED_SECONDS: Final = 30.0
#: More machines than this, and than this share of all, do not lose their claims within one round unless somebody made a
#: mistake: an API server set back to an old backup, finalizers removed by a script. So there is time
#: to notice, and then only a few go in each round.
MOST_AT_ONCE: Final = 5
LARGEST_SHARE: Final = 0.10
MISTAKE_SECONDS: Final = 600.0


def goes_at(claim: NodeClaim, patience: float = 0.0) -> float | None:
    """When a claim goes for its age alone; None for never. `patience` is a share of its life that it may live longer,
    where its turn comes within budgets."""
    return None if claim.expire_after is None else claim.meta.created + claim.expire_after * (1 + patience)


def is_expired(claim: NodeClaim, now: float, patience: float = 0.0) -> bool:
    end = goes_at(claim, patience)
    return end is not None and now >= end


def expired(claim: NodeClaim, pods: int, now: float, patience: float = 0.0) -> Step:
    """Delete a claim that is too old; budgets and do-not-disrupt are not asked. `pods` would have to move."""
    end = goes_at(claim, patience)
    if claim.is_deleting or end is None:
        return Step()
    left = end - now
    if left > 0:
        return Step((), left)
    counted = reasons.disrupted(claim, "expired")
    return Step((Delete(_ref(claim)), *_counted(counted, pods)))


def _counted(labels: Mapping[str, str], pods: int) -> tuple[Count, ...]:
    """A claim that goes, and the pods that go with it."""
    told = Count("nodeclaims_disrupted_total", labels)
    return (told, Count("pods_disruption_initiated_total", labels, pods)) if pods else (told,)


def pods_moved(claim: NodeClaim, at: float) -> NodeClaim:
    """The claim with the time at which pods last came or went."""
    return replace(claim, last_pod_event=float(int(at)))


def pods_moved_after(claim: NodeClaim, first: float, last: float, now: float) -> float | None:
    """In how many seconds to say that pods came or went, between these two times; None before the Node can be used,
    which says it too. Saying it is a write, and so it is said when no pod has come or gone for ten seconds, and where
    they never stop, every minute."""
    if not claim.is_true(INITIALIZED):
        return None
    due = min(last + POD_EVENT_SECONDS, first + POD_EVENTS_SECONDS)
    return max(0.0, due - now) if now >= last else 0.0


def _no_pods(node: NodeObject) -> int:
    return 0


def vanished(
    claims: Iterable[NodeClaim],
    nodes: Mapping[str, NodeObject],
    instances: Mapping[str, Instance],
    moving: Callable[[NodeObject], int] = _no_pods,
) -> tuple[Effect, ...]:
    """Claims whose machine the cloud no longer knows, or says is going. `nodes` and `instances` are by provider id;
    `moving` counts the pods that would have to leave a Node.

    One whose Node still says it is ready is believed; one that never registered is left to its time-out.
    """
    effects: list[Effect] = []
    for claim in claims:
        if claim.is_deleting or not claim.is_true(REGISTERED) or not claim.provider_id:
            continue
        known = instances.get(claim.provider_id)
        if known is not None and not known.leaving:
            continue
        node = nodes.get(claim.provider_id)
        if node is not None and node.is_ready:
            continue
        pods = 0 if node is None else moving(node)
        effects += (Delete(_ref(claim)), *_counted(reasons.disrupted(claim, "garbage_collected"), pods))
    return tuple(effects)


def unclaimed(
    instances: Iterable[Instance], claims: Iterable[NodeClaim], now: float, unreadable: Container[str] = ()
) -> tuple[Instance, ...]:
    """Machines nobody ordered, or whose order is gone: they cost money and nobody will use them. `unreadable` are names
    of claims that are there, whatever they say."""
    held = tuple(claims)
    providers = {one.provider_id for one in held if one.provider_id}
    names = {one.name for one in held}
    return tuple(
        one
        for one in instances
        if one.provider_id not in providers
        and not (one.claim and (one.claim in names or one.claim in unreadable))
        and not one.leaving
        and now - one.created >= UNCLAIMED_SECONDS
    )


def is_suspicious(unclaimed: int, machines: int) -> bool:
    """Whether so many of all machines without a claim look like a mistake."""
    return unclaimed > max(MOST_AT_ONCE, machines * LARGEST_SHARE)


def returnable(unclaimed: tuple[Instance, ...], suspected: float | None) -> tuple[Instance, ...]:
    """Those to give back now. `suspected` is for how many seconds this has looked like a mistake: at first none goes,
    later a few in each round, the oldest first."""
    if suspected is None:
        return unclaimed
    if suspected < MISTAKE_SECONDS:
        return ()
    return tuple(sorted(unclaimed, key=lambda one: (one.created, one.provider_id))[:MOST_AT_ONCE])


@dataclass(frozen=True, slots=True)
class Shortfall:
    resource: str
    promised: int
    found: int

    def __str__(self) -> str:
        share = 100 * self.found / self.promised
        promised, found = quantity_of(self.resource, self.promised), quantity_of(self.resource, self.found)
        return f"expected {promised} of resource {self.resource}, but found {found} ({share:.1f}% of expected)"


def consistent(claim: NodeClaim, node: NodeObject, now: float) -> Step:
    """Look again whether the Node has what its claim said it would."""
    if claim.is_deleting or not claim.is_true(INITIALIZED):
        return Step((), CONSISTENCY_SECONDS)
    known, told = checked(claim, node, now)
    return Step((*told, *((SaveClaim(claim, known),) if known != claim else ())), CONSISTENCY_SECONDS)


def checked(claim: NodeClaim, node: NodeObject, now: float) -> tuple[NodeClaim, tuple[Say, ...]]:
    """The claim saying whether its Node has what was promised, and what to tell where it has not."""
    short = _shortfall(claim, node)
    if short is None:
        return set_condition(claim, conditions.true(CONSISTENT), now), ()
    failed = Condition(CONSISTENT, Status.FALSE, "ConsistencyCheckFailed", f"Consistency Check Failed: {short}")
    told = Say(_ref(claim), "FailedConsistencyCheck", str(short), warning=True, dedupe=(claim.name, str(short)))
    return set_condition(claim, failed, now), (told,)


def _shortfall(claim: NodeClaim, node: NodeObject) -> Shortfall | None:
    for name, amount in claim.requests.items():
        promised = claim.capacity.of(name)
        if amount and promised and node.capacity.of(name) < promised * SMALLEST_SHARE:
            return Shortfall(name, promised, node.capacity.of(name))
    return None


def _ref(claim: NodeClaim) -> Ref:
    return Ref("NodeClaim", claim.name, claim.meta.uid)
