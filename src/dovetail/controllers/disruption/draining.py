"""The order to go: a claim is deleted, with a deadline where the command has one, and that is counted and told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from dovetail.core import labels, timestamps
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.reasons import Reason
from dovetail.core.effects import Count, Delete, Effect, Ref, SaveClaim, Step
from dovetail.core.errors import BadInput
from dovetail.core.lifecycle import reasons
from dovetail.core.nodeclaims import TERMINATION_TIME, NodeClaim

_WORDS: Final = re.compile(r"(?<!^)(?=[A-Z])")


def drained(claim: NodeClaim, command: Command, node: str, now: float) -> Step:
    """Delete one claim of a command."""
    effects: list[Effect] = []
    dated = _dated(claim, command.grace, now)
    if dated is not claim:
        effects.append(SaveClaim(claim, dated, locked=True))
    counted = disrupted_labels(claim, command)
    effects.append(Delete(Ref("NodeClaim", claim.name, claim.meta.uid)))
    if command.reason is not Reason.INTERRUPTED:  # counted when it was heard of, by what was said
        effects.append(Count("nodeclaims_disrupted_total", counted))
    moving = sum(len(one.pods) for one in command.candidates if one.name == node)
    if moving:
        effects.append(Count("pods_disruption_initiated_total", counted, moving))
    return Step(tuple(effects))


def _dated(claim: NodeClaim, grace: float | None, now: float) -> NodeClaim:
    """The claim with its deadline; one that is earlier stays."""
    if grace is None:
        return claim
    deadline, written = now + grace, claim.meta.annotations.get(TERMINATION_TIME)
    try:
        if written is not None and timestamps.seconds(written) <= deadline:
            return claim
    except BadInput:
        pass  # nobody can read it, so nobody heeds it
    notes = MappingProxyType({**claim.meta.annotations, TERMINATION_TIME: timestamps.text(deadline)})
    return replace(claim, meta=replace(claim.meta, annotations=notes))


def snake_case(text: str) -> str:
    """MemoryPressure → memory_pressure."""
    return _WORDS.sub("_", text).lower()


def disrupted_labels(claim: NodeClaim, command: Command) -> Mapping[str, str]:
    policy = command.policy
    return {
        "reason": snake_case(str(command.reason)),
        "nodepool": claim.pool or "",
        "capacity_type": claim.meta.labels.get(labels.CAPACITY_TYPE, ""),
        "consolidation_policy": "" if policy is None else str(policy),
        "termination_mode": reasons.termination_mode(claim.grace if command.grace is None else command.grace),
    }
