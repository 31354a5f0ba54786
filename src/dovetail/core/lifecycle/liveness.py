"""Time-outs: a machine that is not bought in five minutes, or does not join in fifteen, is given up (§2.6)."""

from __future__ import annotations

from typing import Final

from dovetail.core import conditions
from dovetail.core.effects import Effect, Health, Step
from dovetail.core.lifecycle.launch import given_up
from dovetail.core.nodeclaims import LAUNCHED, REGISTERED, NodeClaim

LAUNCH_SECONDS: Final = 5 * 60.0
REGISTRATION_SECONDS: Final = 15 * 60.0


def judged(claim: NodeClaim, now: float, since: float = 0.0) -> Step:
    """Give the claim up when its time is over; else say when to look again. One failure is one failure: peers count
    a claim that is late for both limits twice. Whether a machine was bought is known for certain only to whoever
    buys: one who has looked at claims `since` then orders again first, and finds it."""
    if claim.is_true(REGISTERED):
        return Step()
    launched = claim.is_true(LAUNCHED)
    began = 0.0 if launched else since
    launch_left = None if launched else _left(claim, LAUNCHED, LAUNCH_SECONDS, now, began)
    register_left = _left(claim, REGISTERED, REGISTRATION_SECONDS, now, began)
    if launch_left is not None and launch_left <= 0:
        return Step((*_unhealthy(claim), *given_up(claim, "launch_timeout")))
    if register_left <= 0:
        return Step((*_unhealthy(claim), *given_up(claim, "registration_timeout")))
    return Step((), register_left if launch_left is None else min(launch_left, register_left))


def _left(claim: NodeClaim, type_: str, allowed: float, now: float, began: float) -> float:
    one = conditions.found(claim.conditions, type_)
    return allowed - (now - max(began, claim.meta.created if one is None else one.since))


def _unhealthy(claim: NodeClaim) -> tuple[Effect, ...]:
    owner = next((one for one in claim.meta.owners if one.kind == "NodePool"), None)
    if owner is None:
        return ()
    launched = conditions.found(claim.conditions, LAUNCHED)
    if launched is None or claim.is_true(LAUNCHED):
        reason, message = "RegistrationFailed", "Failed to register node"
    else:
        reason, message = launched.reason, launched.message
    return (Health(owner.name, owner.uid, healthy=False, reason=reason, message=message),)
