"""One look at a claim that is not being deleted: launch, registration, initialization, liveness, in that order (§2.2).

All of them are looked at every time, and what they find is written once: one patch of the Node, one of the claim. The
Node comes first: pods wait for it, and nobody waits for the claim.
"""

from __future__ import annotations

from dataclasses import replace

from dovetail.core import conditions
from dovetail.core.conditions import Moment
from dovetail.core.effects import Effect, Launch, SaveClaim, Step, soonest
from dovetail.core.lifecycle import hydration, launch, liveness, registration, upkeep
from dovetail.core.lifecycle.launch import Bought
from dovetail.core.lifecycle.registration import NO_HOOKS, Hooked
from dovetail.core.nodeclaims import (
    CLAIM_CONDITIONS,
    FINALIZER,
    INITIALIZED,
    LAUNCHED,
    REGISTERED,
    NodeClaim,
    NodeObject,
)


def advance(
    claim: NodeClaim,
    nodes: tuple[NodeObject, ...],
    now: float,
    bought: Bought | None = None,
    hooked: Hooked = NO_HOOKS,
    since: float = 0.0,
) -> Step:
    """What to do about a claim; `nodes` are those with its provider id, or with that of the machine that was `bought`
    for it and that it does not speak of yet. `hooked` is what its cloud has found out since they are there, `since`
    when claims began to be looked at."""
    held = hydration.hydrated(claim)
    if FINALIZER not in claim.meta.finalizers:
        held = replace(held, meta=replace(held.meta, finalizers=(*claim.meta.finalizers, FINALIZER)))
    if held is not claim:
        return Step((SaveClaim(claim, held, locked=True),), 0.0)
    alive = liveness.judged(claim if bought is None else launch.launched(claim, bought.instance, bought.at), now, since)
    if alive.effects:
        return alive
    if claim.is_true(LAUNCHED):
        return _joined(claim, claim, nodes, now, hooked)
    if bought is None:
        return Step((Launch(claim),), alive.again)
    return _bought(claim, bought, nodes, now, hooked)


def _bought(claim: NodeClaim, bought: Bought, nodes: tuple[NodeObject, ...], now: float, hooked: Hooked) -> Step:
    """A machine that joins as soon as it is bought is waited for, and written down when it can be used: one write to
    its Node and one to its claim, where there would be two and three."""
    left = bought.at - now + (launch.USABLE_SECONDS if nodes else launch.JOINS_SECONDS)
    known = launch.launched(claim, bought.instance, bought.at)
    if left > 0 and (not nodes or (len(nodes) == 1 and not registration.is_up(known, nodes[0]))):
        return Step((), left)
    return _joined(claim, known, nodes, now, hooked)


def _joined(before: NodeClaim, claim: NodeClaim, nodes: tuple[NodeObject, ...], now: float, hooked: Hooked) -> Step:
    """`before` is what is written of the claim, `claim` what is known."""
    node = nodes[0] if len(nodes) == 1 else None
    claim = hooked.on(claim)
    known, synced = registration.register(claim, nodes, now, hooked.pending)
    effects: list[Effect] = []
    counts: list[Effect] = []
    if node is not None and synced is not None and known.is_true(REGISTERED):
        effects += registration.registered_effects(claim, node)
        counts += registration.registered_counts(claim, now)
    known, usable = registration.initialize(known, synced or node, now)
    if node is not None:
        shall_be = usable or synced or (node if known.is_true(REGISTERED) else None)
        labelled = shall_be and hydration.hydrated_node(claim, shall_be)
        effects = [*registration.saved(node, labelled), *effects]
    if usable is not None:
        known, told = upkeep.checked(known, usable, now)
        effects += told
    at = Moment(now, claim.meta.generation)
    complete = CLAIM_CONDITIONS.complete(_current(known.conditions, at), claim.meta.created, at)
    known = replace(known, conditions=complete)
    if known != before:
        effects.append(SaveClaim(before, known, note=known.is_true(INITIALIZED)))
    effects += counts  # once it is written, or they would be counted again
    waiting = registration.HOOK_SECONDS if hooked.pending else None
    return Step(tuple(effects), soonest(waiting, liveness.judged(claim, now).again))


def _current(held: conditions.Conditions, at: Moment) -> conditions.Conditions:
    """What was decided before is said of the present generation too."""
    for type_ in (LAUNCHED, REGISTERED, INITIALIZED):
        one = conditions.found(held, type_)
        if one is not None and one.generation != at.generation and one.status is not conditions.Status.UNKNOWN:
            held = conditions.put(held, one, at)
    return held
