"""Registration and initialization: the machine joins as a Node, gets what its claim promised, and becomes usable.

Both are judged together, so that a Node that is ready when it is first seen is brought up with one write to it and one
to its claim (§2.4, §2.5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Status
from dovetail.core.effects import Count, Effect, Health, Observe, Ref, SaveNode, Say
from dovetail.core.lifecycle import reasons
from dovetail.core.lifecycle.launch import set_condition
from dovetail.core.nodeclaims import (
    DO_NOT_SYNC_TAINTS,
    FINALIZER,
    INITIALIZED,
    INITIALIZED_LABEL,
    LAUNCHED,
    REBOOTING,
    REGISTERED,
    REGISTERED_LABEL,
    UNREGISTERED,
    NodeClaim,
    NodeObject,
    Owner,
)
from dovetail.core.nodes import EPHEMERAL, READINESS_PREFIX
from dovetail.core.taints import Taint

_CLAIM_API: Final = "karpenter.sh/v1"
#: Whoever has not found out yet what it has to is asked again after so long.
HOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Hooked:
    """What a cloud found out about a machine whose Node is there: labels of its claim. Those in `pending` are still at
    it, and until they are done no pod may come."""

    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    pending: tuple[str, ...] = ()

    def on(self, claim: NodeClaim) -> NodeClaim:
        """The claim with what was found; what it says itself stays."""
        told = claim.meta.labels
        found = {key: value for key, value in self.labels.items() if not told.get(key)}
        if not found:
            return claim
        return replace(claim, meta=replace(claim.meta, labels=MappingProxyType({**told, **found})))


NO_HOOKS: Final = Hooked()


def register(
    claim: NodeClaim, nodes: tuple[NodeObject, ...], now: float, pending: tuple[str, ...] = ()
) -> tuple[NodeClaim, NodeObject | None]:
    """The claim as it stands after a look at its Nodes, and the Node as it shall be (None: leave it alone)."""
    held = conditions.found(claim.conditions, REGISTERED)
    if not claim.is_true(LAUNCHED) or (held is not None and held.status is not Status.UNKNOWN):
        return claim, None
    if not nodes:
        waiting = Condition(REGISTERED, Status.UNKNOWN, "NodeNotFound", "Node not registered with cluster")
        return set_condition(claim, waiting, now), None
    if len(nodes) > 1:
        names = ", ".join(sorted(one.name for one in nodes))
        several = Condition(
            REGISTERED, Status.FALSE, "MultipleNodesFound", f"Invariant violated, matched multiple nodes: {names}"
        )
        return set_condition(claim, several, now), None
    node = nodes[0]
    if pending:
        waiting = Condition(REGISTERED, Status.UNKNOWN, "RegistrationHookPending", ", ".join(pending))
        return set_condition(claim, waiting, now), _synced(claim, node)
    known = replace(set_condition(claim, conditions.true(REGISTERED), now), node_name=node.name)
    return known, _opened(_synced(claim, node))


def registered_effects(claim: NodeClaim, node: NodeObject) -> tuple[Effect, ...]:
    """What is said when a Node registers."""
    told: list[Effect] = []
    if not _has(node.taints, UNREGISTERED) and REGISTERED_LABEL not in node.meta.labels:
        message = f"Missing {UNREGISTERED.key} taint which prevents registration related race conditions"
        message += " on Karpenter-managed nodes"
        about = Ref("NodeClaim", claim.name, claim.meta.uid)
        told.append(Say(about, "UnregisteredTaintMissing", message, warning=True, dedupe=(claim.meta.uid,)))
    owner = next((one for one in claim.meta.owners if one.kind == "NodePool"), None)
    if owner is not None:
        told.append(Health(owner.name, owner.uid, healthy=True))
    return tuple(told)


def registered_counts(claim: NodeClaim, now: float) -> tuple[Effect, ...]:
    """What is counted once when a Node registers."""
    return (
        Count("nodes_created_total", reasons.placed(claim)),
        Observe("nodeclaims_registration_duration_seconds", now - claim.meta.created, _pool(claim)),
    )


def _pool(claim: NodeClaim) -> dict[str, str]:
    return {"nodepool": claim.pool or ""}


def _synced(claim: NodeClaim, node: NodeObject) -> NodeObject:
    """The Node with all its claim promised; the claim's own labels and annotations win."""
    about = node.meta
    owner = Owner("NodeClaim", claim.name, claim.meta.uid, _CLAIM_API)
    owners = about.owners if any(one.uid == owner.uid for one in about.owners) else (*about.owners, owner)
    finalizers = about.finalizers if FINALIZER in about.finalizers else (*about.finalizers, FINALIZER)
    labels = {**about.labels, **claim.meta.labels}
    annotations = {**about.annotations, **claim.meta.annotations}
    taints = node.taints
    if about.labels.get(DO_NOT_SYNC_TAINTS) != "true":
        taints = _merged(_merged(taints, claim.taints), claim.startup_taints)
    meta = replace(
        about,
        labels=MappingProxyType(labels),
        annotations=MappingProxyType(annotations),
        finalizers=finalizers,
        owners=owners,
    )
    return replace(node, meta=meta, taints=taints)


def _opened(node: NodeObject) -> NodeObject:
    """The Node as pods may come to it."""
    labels = MappingProxyType({**node.meta.labels, REGISTERED_LABEL: "true"})
    taints = tuple(one for one in node.taints if not one.matches(UNREGISTERED))
    return replace(node, meta=replace(node.meta, labels=labels), taints=taints)


def _merged(taints: tuple[Taint, ...], more: Iterable[Taint]) -> tuple[Taint, ...]:
    """Taints by key and effect; one that is there already stays as it is."""
    return (*taints, *(one for one in more if not _has(taints, one)))


def _has(taints: Iterable[Taint], taint: Taint) -> bool:
    return any(one.matches(taint) for one in taints)


# ---- initialization


def initialize(claim: NodeClaim, node: NodeObject | None, now: float) -> tuple[NodeClaim, NodeObject | None]:
    """The claim after a look at whether its Node can be used, and the Node as it shall be."""
    if not claim.is_true(REGISTERED) or claim.is_true(INITIALIZED) or claim.is_true(REBOOTING):
        return claim, None
    obstacle = _obstacle(claim, node)
    if obstacle is not None or node is None:
        reason, message = obstacle or ("NodeNotFound", "Node not registered with cluster")
        return set_condition(claim, Condition(INITIALIZED, Status.UNKNOWN, reason, message), now), None
    labels = MappingProxyType({**node.meta.labels, INITIALIZED_LABEL: "true"})
    known = set_condition(claim, conditions.true(INITIALIZED), now)
    return known, replace(node, meta=replace(node.meta, labels=labels))


def is_up(claim: NodeClaim, node: NodeObject) -> bool:
    """Whether a Node wants nothing more but to be registered. Its startup taints go later, by other hands."""
    plain = replace(claim, startup_taints=())
    return _obstacle(plain, _opened(_synced(plain, node))) is None


def _obstacle(claim: NodeClaim, node: NodeObject | None) -> tuple[str, str] | None:
    """The first thing that keeps a Node from being used."""
    if node is None:
        return "NodeNotFound", "Node not registered with cluster"
    if not node.is_ready:
        return "NodeNotReady", "Node status is NotReady"
    for taint in claim.startup_taints:
        if _has(node.taints, taint):
            return "StartupTaintsExist", f'StartupTaint "{taint}" still exists'
    for taint in node.taints:
        if _has(EPHEMERAL, taint) or taint.key.startswith(READINESS_PREFIX):
            return "KnownEphemeralTaintsExist", f'KnownEphemeralTaint "{taint}" still exists'
    for name, amount in claim.requests.items():
        if amount and not node.allocatable.of(name):
            return "ResourceNotRegistered", f'Resource "{name}" was requested but not registered'
    return None


def saved(before: NodeObject, after: NodeObject | None) -> tuple[SaveNode, ...]:
    return () if after is None or after == before else (SaveNode(before, after),)
