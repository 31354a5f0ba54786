"""The end of a Machine: hooks, drain, volumes, hooks, infrastructure, bootstrap config, Node, and only then itself.

Every wait is a state: when a part began stands in the Machine's status, and the condition Deleting says which part it
is. Looked at again after any crash, the same part follows. A Machine that never was a Node, of a cluster that is going
itself or that has no control plane left to ask, is not drained; hooks that stand before the end of its infrastructure
hold it up all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Status
from dovetail.core.effects import Delete, Evict, Ref, Say
from dovetail.core.machines import draining, names, summaries
from dovetail.core.machines.draining import Pod
from dovetail.core.machines.effects import Cordon, Effect, SaveMachine, Step, reference
from dovetail.core.machines.objects import Cluster, Machine, put
from dovetail.core.nodeclaims import NodeObject

RETRY_SECONDS: Final = 20.0
NODE_SECONDS: Final = 2.0
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the end that is not over: its name, a sentence, and when to look again."""

    reason: str
    message: str = ""
    again: float | None = RETRY_SECONDS


@dataclass(frozen=True, slots=True)
class Ending:
    """A Machine that is being deleted and what is left of it. `infra` and `bootstrap` are None once they are gone,
    else whether each is on its way out already. `node` is the one it became, or, where nobody wrote that down any more,
    the one with its provider id. `attached` are volumes on the Node that pods who stay do not hold."""

    machine: Machine
    cluster: Cluster | None = None
    infra: bool | None = None
    bootstrap: bool | None = None
    node: NodeObject | None = None
    pods: tuple[Pod, ...] = ()
    attached: tuple[str, ...] = ()
    #: Whether anybody is left to run what the Node's pods are moved to.
    control_plane: bool = True


def finalize(ending: Ending, now: float) -> Step:
    """What is to be done next."""
    machine = ending.machine
    if names.MACHINE_FINALIZER not in machine.meta.finalizers or not machine.is_deleting:
        return Step()
    if machine.meta.is_paused or (ending.cluster is not None and ending.cluster.paused):
        return Step()
    may_drain = _may_drain(ending)
    held = _before_the_infrastructure(ending, may_drain, now)
    return held if held is not None else _taken_apart(ending, ending.node if may_drain else None, now)


def _may_drain(ending: Ending) -> bool:
    going = ending.cluster is None or ending.cluster.meta.deleting is not None
    return not going and ending.control_plane and (bool(ending.machine.node) or ending.node is not None)


def _before_the_infrastructure(ending: Ending, may_drain: bool, now: float) -> Step | None:
    """Whatever the infrastructure has to be kept for; None when there is nothing. A hook stands whether the Node is
    there or not: whoever set it has more to do than to empty a Node."""
    machine, ends = ending.machine, ending.machine.ends
    if may_drain and hooks(machine, names.PRE_DRAIN):
        begun = replace(machine, ends=replace(ends, pre_drain=_first(ends.pre_drain, now)))
        return _waiting(machine, begun, _Part("WaitingForPreDrainHook", _listed(hooks(machine, names.PRE_DRAIN))), now)
    if may_drain and ending.node is not None and ends.pre_terminate is None and ending.infra is False:
        silent = _is_silent(ending.node)
        step = _drain(ending, ending.node, silent, now) or _detach(ending, silent, now)
        if step is not None:
            return step
    if hooks(machine, names.PRE_TERMINATE):
        begun = replace(machine, ends=replace(ends, pre_terminate=_first(ends.pre_terminate, now)))
        said = _listed(hooks(machine, names.PRE_TERMINATE))
        return _waiting(machine, begun, _Part("WaitingForPreTerminateHook", said), now)
    return None


def hooks(machine: Machine, prefix: str) -> tuple[str, ...]:
    """Annotations by which others hold a step up."""
    held = (one for one in machine.meta.annotations if one == prefix or one.startswith(prefix + "/"))
    return tuple(sorted(held))


def _is_silent(node: NodeObject) -> bool:
    ready = conditions.found(node.conditions, "Ready")
    return ready is not None and ready.status is Status.UNKNOWN


def _drain(ending: Ending, node: NodeObject, silent: bool, now: float) -> Step | None:
    machine, begun = ending.machine, _first(ending.machine.ends.drain, now)
    if names.EXCLUDE_DRAINING in machine.meta.annotations or _is_over(begun, machine.timeouts.drain, now):
        return None
    left = draining.judged(ending.pods, silent, now)
    if left.is_done and node.unschedulable:
        return None
    known = replace(machine, ends=replace(machine.ends, drain=begun))
    deadline = now if silent else None
    cordon = () if node.unschedulable else (Cordon(node),)
    asked = (Evict(one.ref, node.name, deadline, "MachineDeletion") for one in left.ask)
    return _waiting(machine, known, _Part("DrainingNode", _pods(left)), now, *cordon, *asked)


def _pods(left: draining.Draining) -> str:
    shown = [f"{one.ref.namespace}/{one.ref.name}" for one in (*left.ask, *left.wait)][:_SHOWN]
    return f"{len(left.ask) + len(left.wait)} pods are still there: {', '.join(shown)}" if shown else "cordoning"


def _detach(ending: Ending, silent: bool, now: float) -> Step | None:
    machine, begun = ending.machine, _first(ending.machine.ends.detach, now)
    if not ending.attached or silent or names.EXCLUDE_DETACH in machine.meta.annotations:
        return None
    if _is_over(begun, machine.timeouts.detach, now):
        return None
    known = replace(machine, ends=replace(machine.ends, detach=begun))
    said = f"attached: {', '.join(ending.attached[:_SHOWN])}"
    return _waiting(machine, known, _Part("WaitingForVolumeDetach", said), now)


def _taken_apart(ending: Ending, node: NodeObject | None, now: float) -> Step:
    """Infrastructure first: while it runs, a Node that was deleted would only join again."""
    machine = ending.machine
    if ending.infra is not None:
        delete = () if ending.infra else (_deleted(machine, machine.infrastructure.kind, machine.infrastructure.name),)
        return _waiting(machine, machine, _Part("WaitingForInfrastructureDeletion", again=None), now, *delete)
    if ending.bootstrap is not None and machine.bootstrap is not None:
        delete = () if ending.bootstrap else (_deleted(machine, machine.bootstrap.kind, machine.bootstrap.name),)
        return _waiting(machine, machine, _Part("WaitingForBootstrapDeletion", again=None), now, *delete)
    if node is not None and not _gave_up_node(machine, now):
        delete = () if node.is_deleting else (Delete(Ref("Node", node.name, node.meta.uid)),)
        return _waiting(machine, machine, _Part("DeletingNode", again=NODE_SECONDS), now, *delete)
    left = tuple(one for one in machine.meta.finalizers if one != names.MACHINE_FINALIZER)
    return Step((SaveMachine(machine, replace(machine, meta=replace(machine.meta, finalizers=left))),))


def _gave_up_node(machine: Machine, now: float) -> bool:
    """A Node that stays is given up on after a while, counted from when it was first asked to go."""
    held = conditions.found(machine.conditions, names.DELETING)
    begun = held.since if held is not None and held.reason == "DeletingNode" else now
    return bool(machine.timeouts.node) and now - begun > machine.timeouts.node


def _deleted(machine: Machine, kind: str, name: str) -> Delete:
    return Delete(Ref(kind, name, "", machine.meta.namespace))


def _first(begun: float | None, now: float) -> float:
    return now if begun is None else begun


def _is_over(begun: float, allowed: float, now: float) -> bool:
    return allowed > 0 and now - begun > allowed


def _listed(held: tuple[str, ...]) -> str:
    return f"held up by {', '.join(held[:_SHOWN])}"


def _waiting(before: Machine, known: Machine, part: _Part, now: float, *effects: Effect) -> Step:
    old = conditions.found(known.conditions, names.DELETING)
    is_new = old is None or old.reason != part.reason
    # Each part is timed by itself, so its condition begins anew though its status stays.
    held = conditions.without(known.conditions, names.DELETING) if is_new else known.conditions
    held = put(held, Condition(names.DELETING, Status.TRUE, part.reason, part.message), now, known.meta.generation)
    after = summaries.summed(replace(known, conditions=held), now)
    saved: tuple[Effect, ...] = (SaveMachine(before, after),) if after != before else ()
    if is_new:
        ref = reference("Machine", before.meta)
        saved = (*saved, Say(ref, part.reason, part.message or part.reason, dedupe=(before.meta.uid, part.reason)))
    return Step((*saved, *effects), part.again)
