"""Reboots: a node is emptied as far as that goes, restarted by its cloud, and looked at until it is back.

    Rebooting=True/RebootRequested ──▶ taint, drain ──▶ boot id noted, the cloud asked ──▶ True/RebootIssued
        │ a bad request: False/RebootFailed, the node stays           │ refused, or not in 5 min: the claim is deleted
    True/RebootIssued ──▶ another boot id: taint off ──▶ ready: False/RebootSucceeded, initialized anew
        │ not in 20 min: the claim is deleted

All of it stands on the claim, so it goes on after a restart where it was; only for how long the cloud has been asked in
vain is the caller's to remember (`asked`). Pods are asked to leave and never forced; who is left rides the reboot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from types import MappingProxyType
from typing import Final

from dovetail.core import conditions, timestamps
from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.reasons import Reason
from dovetail.core.effects import Count, Delete, Effect, Evict, Observe, Ref, SaveClaim, SaveNode, Say, Step
from dovetail.core.errors import BadInput
from dovetail.core.lifecycle import drain
from dovetail.core.lifecycle.drain import DrainPod
from dovetail.core.lifecycle.launch import set_condition
from dovetail.core.nodeclaims import (
    DISRUPTION_REASON,
    INITIALIZED,
    INITIALIZED_LABEL,
    REBOOTING,
    TERMINATION_TIME,
    NodeClaim,
    NodeObject,
)
from dovetail.core.taints import Effect as TaintEffect
from dovetail.core.taints import Taint

TAINT: Final = Taint("karpenter.sh/rebooting", TaintEffect.NO_SCHEDULE)
PRE_BOOT_ID: Final = "karpenter.sh/reboot-pre-boot-id"
GRACE: Final = "karpenter.sh/reboot-termination-grace-period"
REQUESTED, ISSUED = "RebootRequested", "RebootIssued"
SUCCEEDED, FAILED = "RebootSucceeded", "RebootFailed"
POLL_SECONDS: Final = 15.0
#: A drain takes at least this long, so that everybody has seen the taint.
LEAST_DRAIN_SECONDS: Final = 5.0
#: For so long a cloud is asked again that did not answer, and a Node waited for that is not there.
ASKING_SECONDS: Final = 300.0
#: So long after it was restarted a machine has to be back.
RECOVERY_SECONDS: Final = 1200.0
_QUIET_SECONDS: Final = 1800.0


class Result(StrEnum):
    """How a reboot ended; a label of its metrics."""

    SUCCEEDED = "succeeded"
    PROVIDER_ERROR = "provider_error"
    RECOVERY_TIMEOUT = "recovery_timeout"
    INVALID_REQUEST = "invalid_request"


class Answer(StrEnum):
    """What the cloud said: done, it will not (or there is no such machine), or nothing that could be understood."""

    DONE = "done"
    REFUSED = "refused"
    AGAIN = "again"


@dataclass(frozen=True, slots=True)
class Look:
    """A claim that is being rebooted and what can be seen of it. `asked` is since when its cloud is asked in vain."""

    claim: NodeClaim
    node: NodeObject | None
    now: float
    pods: Sequence[DrainPod] = ()
    asked: float | None = None

    @property
    def requested(self) -> float:
        found = conditions.found(self.claim.conditions, REBOOTING)
        return self.now if found is None else found.since

    @property
    def phase(self) -> str:
        found = conditions.found(self.claim.conditions, REBOOTING)
        return "" if found is None or found.status is not Status.TRUE else found.reason

    @property
    def issued(self) -> float:
        """Initialized became Unknown with the reboot; of a node that never was, only the request is known."""
        found = conditions.found(self.claim.conditions, INITIALIZED)
        return self.requested if found is None else max(self.requested, found.since)


@dataclass(frozen=True, slots=True)
class Rebooting:
    """What to do, and, where it names an operation, that the cloud is to be asked for it (`answered` judges that)."""

    step: Step
    operation: str = ""


def ended(claim: NodeClaim) -> float | None:
    """When a claim's last reboot was over: nothing it suffered from before counts (`facts.Machine.rebooted`)."""
    found = conditions.found(claim.conditions, REBOOTING)
    return None if found is None or found.status is Status.TRUE else found.since


# ---- the request


def requested(claim: NodeClaim, why: str, grace: float | None, now: float) -> Step:
    """Commit to a reboot for `condition/reason`. `grace` bounds the drain; None waits for every pod."""
    if claim.is_deleting or claim.is_true(REBOOTING):
        return Step()
    notes = {key: text for key, text in claim.meta.annotations.items() if key not in (GRACE, PRE_BOOT_ID)}
    if grace is not None:
        notes[GRACE] = f"{grace:g}s"
    noted = replace(claim, meta=replace(claim.meta, annotations=MappingProxyType(notes)))
    reason = Condition(DISRUPTION_REASON, Status.TRUE, Reason.UNHEALTHY, Reason.UNHEALTHY)
    known = set_condition(noted, reason, now)
    known = set_condition(known, Condition(REBOOTING, Status.TRUE, REQUESTED, f"rebooting for {why}"), now)
    return Step((SaveClaim(claim, known, locked=True),), 0.0)


# ---- one look


def next_step(look: Look) -> Rebooting:
    """What follows for a claim that is being rebooted; nothing for one that is not, or that leaves."""
    if look.claim.is_deleting or look.phase not in (REQUESTED, ISSUED):
        return Rebooting(Step())
    if look.phase == ISSUED:
        return Rebooting(_recovering(look))
    try:
        bound = _bound(look.claim)
    except BadInput as bad:
        return Rebooting(_invalid(look, f"{GRACE}: {bad}"))
    if look.node is None:
        late = look.now - look.requested > ASKING_SECONDS
        return Rebooting(_gone(look, Result.RECOVERY_TIMEOUT, "its Node is not there") if late else _poll())
    return _emptying(look, look.node, bound)


def _bound(claim: NodeClaim) -> float | None:
    text = claim.meta.annotations.get(GRACE)
    if text is None:
        return None
    return 0.0 if text == "0" else timestamps.duration(text)


def _poll(*effects: Effect, wait: float = POLL_SECONDS) -> Step:
    return Step(effects, max(0.0, min(wait, POLL_SECONDS)))


def _emptying(look: Look, node: NodeObject, bound: float | None) -> Rebooting:
    """Fence it, ask its pods to leave, and when they have or may not be waited for any more, have it restarted."""
    fence = () if _is_fenced(node) else (SaveNode(node, replace(node, taints=(*node.taints, TAINT))),)
    if bound != 0.0:
        left = drain.waiting(look.pods, look.now)
        soonest = look.requested + LEAST_DRAIN_SECONDS
        latest = inf if bound is None else look.requested + max(bound, LEAST_DRAIN_SECONDS)
        if look.now < soonest or (left and look.now < latest):
            until = None if bound is None else latest
            asks = tuple(
                Evict(one.pod.ref, node.name, reason=Reason.UNHEALTHY, until=until)
                for one in drain.requests(look.pods, None, look.now)
            )
            return Rebooting(_poll(*fence, *asks, wait=(latest if left else soonest) - look.now))
    return _asking(look, node, fence)


def _asking(look: Look, node: NodeObject, fence: tuple[Effect, ...]) -> Rebooting:
    before = look.claim.meta.annotations.get(PRE_BOOT_ID)
    if before is None:
        notes = MappingProxyType({**look.claim.meta.annotations, PRE_BOOT_ID: node.boot_id})
        noted = replace(look.claim, meta=replace(look.claim.meta, annotations=notes))
        return Rebooting(Step((*fence, SaveClaim(look.claim, noted, locked=True)), 0.0))
    if before != node.boot_id:
        # It was restarted already: by us, before we died, or by somebody else. Once is enough.
        return Rebooting(answered(look, Answer.DONE))
    operation = f"{look.claim.meta.uid}-{int(look.requested)}000000000-{before}"
    return Rebooting(Step(fence), operation)


def answered(look: Look, answer: Answer, message: str = "") -> Step:
    """What the cloud's answer means."""
    match answer:
        case Answer.DONE:
            waiting = Condition(INITIALIZED, Status.UNKNOWN, REBOOTING, "Node is rebooting")
            known = set_condition(look.claim, waiting, look.now)
            said = conditions.found(look.claim.conditions, REBOOTING)
            text = "" if said is None else said.message
            known = set_condition(known, Condition(REBOOTING, Status.TRUE, ISSUED, text), look.now)
            node = () if look.node is None else _unlabelled(look.node)
            return _poll(SaveClaim(look.claim, known, locked=True), *node)
        case Answer.REFUSED:
            return _gone(look, Result.PROVIDER_ERROR, message or "the cloud refuses to reboot it")
        case Answer.AGAIN:
            if look.asked is not None and look.now - look.asked > ASKING_SECONDS:
                return _gone(look, Result.PROVIDER_ERROR, message or "the cloud does not answer")
            return _poll()


def _unlabelled(node: NodeObject) -> tuple[SaveNode, ...]:
    if INITIALIZED_LABEL not in node.meta.labels:
        return ()
    kept = {key: value for key, value in node.meta.labels.items() if key != INITIALIZED_LABEL}
    return (SaveNode(node, replace(node, meta=replace(node.meta, labels=MappingProxyType(kept)))),)


# ---- after it was issued


def _recovering(look: Look) -> Step:
    before, node = look.claim.meta.annotations.get(PRE_BOOT_ID), look.node
    left = look.issued + RECOVERY_SECONDS - look.now
    if node is None or node.boot_id == before:
        return _gone(look, Result.RECOVERY_TIMEOUT, "it did not come back") if left <= 0 else _poll(wait=left)
    effects: list[Effect] = []
    if _is_fenced(node):
        effects += _unfenced(node)
        text = f"Node restarted: its boot id is now {node.boot_id}"
        effects.append(Say(_ref(look.claim), "RebootObserved", text, False, _episode(look), _QUIET_SECONDS))
    if not node.is_ready:
        if left <= 0:
            return _gone(look, Result.RECOVERY_TIMEOUT, "it restarted and did not become ready")
        return _poll(*effects, wait=left)
    return Step((*effects, SaveClaim(look.claim, _over(look, SUCCEEDED, ""), locked=True), *_counted(look)))


def _over(look: Look, reason: str, message: str) -> NodeClaim:
    """The claim without its marks; it is initialized as a new one is."""
    notes = {key: text for key, text in look.claim.meta.annotations.items() if key not in (GRACE, PRE_BOOT_ID)}
    known = replace(look.claim, meta=replace(look.claim.meta, annotations=MappingProxyType(notes)))
    known = replace(known, conditions=conditions.without(known.conditions, DISRUPTION_REASON))
    return set_condition(known, Condition(REBOOTING, Status.FALSE, reason, message), look.now)


def _counted(look: Look) -> tuple[Effect, ...]:
    result = {"result": Result.SUCCEEDED.value}
    return (
        Count("nodes_reboots_total", result),
        Observe("nodes_reboot_duration_seconds", look.now - look.requested, result),
        Observe("nodes_reboot_recovery_duration_seconds", look.now - look.issued),
    )


# ---- failing


def _invalid(look: Look, why: str) -> Step:
    """Nobody knows what was asked for: the node is left as it is."""
    fence = () if look.node is None or not _is_fenced(look.node) else _unfenced(look.node)
    saved = SaveClaim(look.claim, _over(look, FAILED, why), locked=True)
    return Step((*fence, saved, *_failed(look, Result.INVALID_REQUEST, why)))


def _unfenced(node: NodeObject) -> tuple[SaveNode, ...]:
    return (SaveNode(node, replace(node, taints=tuple(one for one in node.taints if not one.matches(TAINT)))),)


def _gone(look: Look, result: Result, why: str) -> Step:
    """It is given up: its claim leaves, by the time that bounded the drain if that is earlier than what it has."""
    claim = look.claim
    try:
        bound = _bound(claim)
    except BadInput:
        bound = None
    dated = claim if bound is None else hurried(claim, look.now + bound)
    saved = () if dated is claim else (SaveClaim(claim, dated),)
    return Step((*saved, Delete(_ref(claim)), *_failed(look, result, why)))


def hurried(claim: NodeClaim, deadline: float) -> NodeClaim:
    """The claim with its end no later than this; one that is earlier stays."""
    held = claim.meta.annotations.get(TERMINATION_TIME)
    try:
        if held is not None and timestamps.seconds(held) <= deadline:
            return claim
    except BadInput:
        pass  # a time nobody can read bounds nothing
    notes = MappingProxyType({**claim.meta.annotations, TERMINATION_TIME: timestamps.text(deadline)})
    return replace(claim, meta=replace(claim.meta, annotations=notes))


def _failed(look: Look, result: Result, why: str) -> tuple[Effect, ...]:
    labels = {"result": result.value}
    return (
        Say(_ref(look.claim), FAILED, f"Reboot failed: {why}", True, _episode(look), _QUIET_SECONDS),
        Count("nodes_reboots_total", labels),
        Observe("nodes_reboot_duration_seconds", look.now - look.requested, labels),
    )


def _ref(claim: NodeClaim) -> Ref:
    return Ref("NodeClaim", claim.name, claim.meta.uid)


def _episode(look: Look) -> tuple[str, ...]:
    return (look.claim.name, f"{look.requested:.0f}")


def _is_fenced(node: NodeObject) -> bool:
    return any(one.matches(TAINT) for one in node.taints)
