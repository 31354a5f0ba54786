"""Emptiness: nodes without a pod that would have to go elsewhere are given up, whatever their pool's policy."""

from __future__ import annotations

from dovetail.core.disruption import payback
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.commands import Command, Group
from dovetail.core.disruption.reasons import Decision, Reason
from dovetail.core.disruption.refusals import Code, Refusal, counted, listed
from dovetail.core.disruption.stages import Outcome, Stage


def refusal(one: Candidate) -> Refusal | None:
    """Why an empty node stays."""
    policy = one.policy
    if policy.is_static:
        return Refusal(Code.STATIC, f"NodePool {policy.name} is static")
    if policy.consolidate_after is None:
        text, said = (f"NodePool {name} has consolidation disabled" for name in (policy.name, f'"{policy.name}"'))
        return Refusal(Code.NEVER, text, nanodollars=one.nanodollars, said=said)
    if one.buffered:
        text = f"node is kept free for {counted(len(one.buffered), 'pod')} of a CapacityBuffer"
        return Refusal(Code.BUFFER, text, nanodollars=one.nanodollars, said=f'Node "{one.name}" has buffer pods')
    if one.awaited:
        pods = tuple(sorted(pod.key for pod in one.awaited))
        return Refusal(Code.EXPECTED, f"pods are on their way: {listed(pods)}", pods)
    if not one.is_consolidatable:
        return Refusal(Code.TOO_SOON, f"pods came or went less than {policy.consolidate_after:.0f} s ago")
    if one.held:
        pods = tuple(key for held in one.held for key in held.pods)
        text = listed(held.text for held in one.held)
        return Refusal(one.held[0].code, text, pods, one.nanodollars, one.held[0].said)
    return None


def empty(stage: Stage) -> Outcome:
    """One command for each empty node that budgets let go, the dearest first."""
    commands: list[Command] = []
    refusals: dict[str, Refusal] = {}
    ranked = sorted((one for one in stage.candidates.values() if one.is_empty), key=lambda one: (-one.ratio, one.name))
    for one in ranked:
        found = refusal(one) or stage.over_budget(one, Reason.EMPTY)
        if found is not None:
            refusals[one.name] = found
            continue
        stage.ledger.take(one.pool)
        commands.append(
            Command(
                Reason.EMPTY,
                Decision.DELETE,
                (one,),
                Group((one.name,), needs=((),)),
                saved=one.nanodollars,
                payback=payback.seconds(0, one.nanodollars),
                at=stage.world.now,
            )
        )
    return Outcome(tuple(commands), refusals)
