"""One look at a claim that is not being deleted: launch, registration, initialization, liveness, in that order (§2.2).

All of them are looked at every time, and what they find is written once: one patch of the Node, one of the claim.
"""

from __future__ import annotations

from dataclasses import replace

from dovetail.core import conditions
from dovetail.core.conditions import Moment
from dovetail.core.effects import Effect, Launch, SaveClaim, Step, soonest
from dovetail.core.lifecycle import hydration, liveness, registration, upkeep
from dovetail.core.nodeclaims import (
    CLAIM_CONDITIONS,
    FINALIZER,
    INITIALIZED,
    LAUNCHED,
    REGISTERED,
    NodeClaim,
    NodeObject,
)


def advance(claim: NodeClaim, nodes: tuple[NodeObject, ...], now: float) -> Step:
    """What to do about a claim; `nodes` are those with its provider id."""
    held = hydration.hydrated(claim)
    if FINALIZER not in claim.meta.finalizers:
        held = replace(held, meta=replace(held.meta, finalizers=(*claim.meta.finalizers, FINALIZER)))
    if held is not claim:
        return Step((SaveClaim(claim, held, locked=True),), 0.0)
    alive = liveness.judged(claim, now)
    if alive.effects:
        return alive
    if not claim.is_true(LAUNCHED):
        return Step((Launch(claim),), alive.again)
    return _joined(claim, nodes, now, alive.again)


def _joined(claim: NodeClaim, nodes: tuple[NodeObject, ...], now: float, again: float | None) -> Step:
    node = nodes[0] if len(nodes) == 1 else None
    known, synced = registration.register(claim, nodes, now)
    effects: list[Effect] = []
    if node is not None and synced is not None:
        effects += registration.registered_effects(claim, node, now)
    known, usable = registration.initialize(known, synced or node, now)
    if node is not None:
        shall_be = usable or synced or (node if known.is_true(REGISTERED) else None)
        labelled = shall_be and hydration.hydrated_node(claim, shall_be)
        effects = [*registration.saved(node, labelled), *effects]
    if usable is not None:
        known, told = upkeep.checked(known, usable, now)
        effects += told
    at = Moment(now, claim.meta.generation)
    complete = _current(CLAIM_CONDITIONS.complete(known.conditions, claim.meta.created, at), at)
    known = replace(known, conditions=complete)
    if known != claim:
        effects.append(SaveClaim(claim, known))
    return Step(tuple(effects), soonest(again))


def _current(held: conditions.Conditions, at: Moment) -> conditions.Conditions:
    """What was decided before is said of the present generation too."""
    for type_ in (LAUNCHED, REGISTERED, INITIALIZED):
        one = conditions.found(held, type_)
        if one is not None and one.generation != at.generation and one.status is not conditions.Status.UNKNOWN:
            held = conditions.put(held, one, at)
    return held
