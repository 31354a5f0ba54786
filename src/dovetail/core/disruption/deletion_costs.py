"""Which pod goes first when an owner scales down: written on the pods, so that scaling down empties nodes (§6).

    A  nodes that are going                      the least there is
    B  drifted, then C others that may go        −n … −1: the dearest for each unit of disturbance first
    D  nodes that may not go, or not now         nothing: what was written before is taken off

Only pods of ReplicaSets are written, since only those are chosen by this number. A node that holds a pod of another
kind outside kube-system would not become empty by it, so its pods are D. At most fifty nodes are changed in one go,
beside those of A; nodes that say the right thing already do not count, so what is left follows in the next go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.core.disruption.budgets import Ledger
from dovetail.core.disruption.candidates import Candidate, look
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.scenes import Settled
from dovetail.core.disruption.stages import is_away, ledger
from dovetail.core.nodeclaims import DISRUPTED
from dovetail.core.pods import Pod, PodState

ANNOTATION: Final = "controller.kubernetes.io/pod-deletion-cost"
LEAST: Final = -(2**31)
MOST_NODES: Final = 50
_WRITTEN: Final = "ReplicaSet"
_HARMLESS: Final = frozenset({_WRITTEN, "Job", "DaemonSet", "Node"})
_SYSTEM: Final = "kube-system"


@dataclass(frozen=True, slots=True)
class Patch:
    """What a pod's annotation shall be; None takes it off."""

    pod: Pod
    value: str | None


@dataclass(frozen=True, slots=True)
class Written:
    """What to write now, node by node, and the nodes that have to wait for the next go."""

    patches: tuple[Patch, ...]
    waiting: tuple[str, ...] = ()


def written(world: World, settled: Settled) -> Written:
    """All that is to be written."""
    values = wanted(world, settled)
    going = _going(world)
    patches: list[Patch] = []
    waiting: list[str] = []
    changed = 0
    for name, value in values.items():
        found = _patches(settled.residents.get(name, ()), value, world)
        if found and name not in going:
            changed += 1
            if changed > MOST_NODES:
                waiting.append(name)
                continue
        patches += found
    return Written(tuple(patches), tuple(waiting))


def wanted(world: World, settled: Settled) -> Mapping[str, int | None]:
    """What the pods of each of our nodes shall say, in the order of the groups."""
    going = _going(world)
    ours = [name for name, one in sorted(world.machines.items()) if one.claim is not None and name in settled.nodes]
    found: dict[str, int | None] = {name: LEAST for name in ours if name in going}
    candidates = look(world, settled).candidates
    free = [one for name, one in candidates.items() if name not in going and _may_go(one, settled)]
    ranked = sorted(free, key=lambda one: (-one.ratio, one.name))
    drifted = _within(ledger(world), [one for one in ranked if _is_drifted(one)], Reason.DRIFTED)
    normal = [one for one in ranked if not _is_drifted(one) and one.policy.consolidate_after is not None]
    chosen = drifted + _within(ledger(world), normal, Reason.UNDERUTILIZED)
    found.update((one.name, at - len(chosen)) for at, one in enumerate(chosen))
    for name in ours:
        found.setdefault(name, None)
    return found


def _going(world: World) -> frozenset[str]:
    return frozenset(
        name
        for name, one in world.machines.items()
        if (is_away(one, world) and not one.is_rebooting)
        or (one.node is not None and any(taint.matches(DISRUPTED) for taint in one.node.taints))
    )


def _is_drifted(one: Candidate) -> bool:
    return one.is_drifted and not one.policy.is_static


def _may_go(one: Candidate, settled: Settled) -> bool:
    """Nothing holds it, its price is known, and scaling down could empty it."""
    if one.held or one.price is None:
        return False
    return all(not _pins(pod) for pod in settled.residents.get(one.name, ()))


def _pins(pod: Pod) -> bool:
    return pod.state is PodState.BOUND and pod.namespace != _SYSTEM and pod.owner not in _HARMLESS


def _within(budget: Ledger, some: Iterable[Candidate], reason: Reason) -> list[Candidate]:
    """As many of each pool, from the first, as its budget would let go."""
    found = []
    for one in some:
        if budget.remaining(one.pool, reason) > 0:
            budget.take(one.pool)
            found.append(one)
    return found


def _patches(pods: Sequence[Pod], value: int | None, world: World) -> list[Patch]:
    text = None if value is None else str(value)
    return [
        Patch(pod, text)
        for pod in sorted(pods, key=lambda one: one.key)
        if pod.owner == _WRITTEN and pod.state is PodState.BOUND and world.facts(pod.key).deletion_cost != text
    ]
