"""One look at a Machine that is not being deleted: bootstrap, infrastructure, Node, in that order, written once.

What one part lacks does not stop the next, and every condition is derived at the end from what was seen. Two things
are set once and never taken back: that the infrastructure has been provisioned, and which Node the machine became.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from dovetail.core.effects import SaveNode, Say, soonest
from dovetail.core.machines import names, node_marks, summaries
from dovetail.core.machines.effects import Effect, Own, SaveMachine, Step, reference
from dovetail.core.machines.infra_objects import InfraMachine
from dovetail.core.machines.objects import Cluster, Failure, Machine, Meta, Owner, paused, put
from dovetail.core.nodeclaims import NodeObject

API_VERSION: Final = "cluster.x-k8s.io/v1beta2"
#: Something that should be there and is not is looked for again after this long.
ABSENT_SECONDS: Final = 30.0
_ORIGINS: Final = (names.SET_NAME, names.POOL_NAME, names.CONTROL_PLANE_NAME)


@dataclass(frozen=True, slots=True)
class BootstrapConfig:
    """Who makes the bootstrap data: its controller, and the Secret once it is made."""

    controller: str = ""
    secret: str = ""
    ready: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """A Machine and what it refers to, each None where it is not there. `nodes` are those with its provider id, `bound`
    the Node of the name it has on record."""

    machine: Machine
    cluster: Cluster | None = None
    infra: InfraMachine | None = None
    bootstrap: BootstrapConfig | None = None
    nodes: tuple[NodeObject, ...] = ()
    bound: NodeObject | None = None


def advance(seen: Seen, now: float) -> Step:
    before, cluster = seen.machine, seen.cluster
    if cluster is None:
        return Step((), ABSENT_SECONDS)
    stops = cluster.stops(before.meta)
    told = replace(before, conditions=paused(before.conditions, stops, now, before.meta.generation))
    if stops:
        return _saved(before, told)
    machine = _owned(told, cluster)
    effects: list[Effect] = []
    machine, wait = _bootstrapped(machine, seen, effects)
    machine, wait_for_infra = _provisioned(machine, seen, effects)
    node, problem = _node(machine, seen)
    if node is not None:
        machine = replace(machine, node=machine.node or node.name)
        marked = node_marks.marked(node, machine, seen.infra.interruptible if seen.infra is not None else None)
        if marked is not node:
            effects += (SaveNode(node, marked), *node_marks.told(machine, node, marked))
    if problem is not None:
        effects.append(problem)
    machine = _told(machine, seen, node, now)
    if machine != before:
        effects.append(SaveMachine(before, machine))
    return Step(tuple(effects), soonest(wait, wait_for_infra, summaries.again(machine, now)))


def _owned(machine: Machine, cluster: Cluster) -> Machine:
    """Labelled as its cluster's, kept until it is undone, and owned by the Cluster where nobody else made it."""
    meta = machine.meta
    if meta.labels.get(names.CLUSTER_NAME) != machine.cluster:
        labels = MappingProxyType({**meta.labels, names.CLUSTER_NAME: machine.cluster})
        meta = replace(meta, labels=labels)
    if names.MACHINE_FINALIZER not in meta.finalizers:
        meta = replace(meta, finalizers=(*meta.finalizers, names.MACHINE_FINALIZER))
    alone = meta.controller is None and not any(one in meta.labels for one in _ORIGINS)
    if alone and all(one.uid != cluster.meta.uid for one in meta.owners):
        owner = Owner(API_VERSION, "Cluster", cluster.meta.name, cluster.meta.uid)
        meta = replace(meta, owners=(*meta.owners, owner))
    return machine if meta is machine.meta else replace(machine, meta=meta)


def controller_of(machine: Machine) -> Owner:
    """The Machine as the one its infrastructure and bootstrap config belong to."""
    return Owner(API_VERSION, "Machine", machine.name, machine.meta.uid, controller=True)


def _bootstrapped(machine: Machine, seen: Seen, effects: list[Effect]) -> tuple[Machine, float | None]:
    if machine.bootstrap is None:
        return replace(machine, bootstrapped=machine.bootstrapped or bool(machine.secret)), None
    config = seen.bootstrap
    if config is None:
        # One that named its Secret has made it, under whoever was the core then.
        made = replace(machine, bootstrapped=machine.bootstrapped or bool(machine.secret))
        if not made.bootstrapped:
            effects.append(_unmade(machine))
        return made, ABSENT_SECONDS
    if config.controller != machine.meta.uid:
        effects.append(Own(machine.bootstrap, machine.meta.namespace, controller_of(machine), machine.cluster))
    if not config.ready or not config.secret:
        return machine, None
    return replace(machine, bootstrapped=True, secret=machine.secret or config.secret), None


def _unmade(machine: Machine) -> Say:
    message = summaries.bootstrap(machine, read=False).message
    about = reference("Machine", machine.meta)
    return Say(about, "BootstrapConfigNotRead", message, warning=True, dedupe=(machine.meta.uid,), quiet_seconds=3600.0)


def _provisioned(machine: Machine, seen: Seen, effects: list[Effect]) -> tuple[Machine, float | None]:
    infra = seen.infra
    if infra is not None and infra.is_anothers(machine):
        return machine, ABSENT_SECONDS
    if infra is None:
        if not machine.provisioned:
            return machine, ABSENT_SECONDS
        ref = machine.infrastructure
        gone = Failure(names.INVALID_CONFIGURATION, f"{ref.kind} {ref.name} was deleted while the Machine needed it")
        return replace(machine, failure=machine.failure or gone), None
    if not _is_owned(infra.meta, machine):
        effects.append(Own(machine.infrastructure, machine.meta.namespace, controller_of(machine), machine.cluster))
    if infra.failure is not None:
        message = f"{infra.kind} {infra.name}: {infra.failure.message}"
        machine = replace(machine, failure=Failure(infra.failure.reason, message))
    if not (infra.provisioned or infra.ready) or not infra.provider_id:
        return machine, None
    return (
        replace(
            machine,
            provisioned=True,
            provider_id=infra.provider_id,
            addresses=infra.addresses or machine.addresses,
            stands_in=infra.zone or machine.stands_in,
        ),
        None,
    )


def _is_owned(meta: Meta, machine: Machine) -> bool:
    owner = meta.controller
    return (
        owner is not None and owner.uid == machine.meta.uid and meta.labels.get(names.CLUSTER_NAME) == machine.cluster
    )


def _node(machine: Machine, seen: Seen) -> tuple[NodeObject | None, Say | None]:
    """The Node with the machine's provider id. Two of them are nobody's: neither is touched."""
    if not machine.provider_id or not seen.nodes:
        return None, None
    if len(seen.nodes) > 1:
        listed = ", ".join(sorted(one.name for one in seen.nodes)[:5])
        said = f"{len(seen.nodes)} Nodes have the provider id {machine.provider_id}: {listed}"
        return None, Say(reference("Machine", machine.meta), "FailedSetNodeRef", said, warning=True)
    return seen.nodes[0], None


def _told(machine: Machine, seen: Seen, node: NodeObject | None, now: float) -> Machine:
    held, generation = machine.conditions, machine.meta.generation
    for condition in (
        summaries.bootstrap(machine, read=seen.bootstrap is not None),
        summaries.infrastructure(machine, seen.infra),
        *summaries.node(machine, node, seen.bound),
    ):
        held = put(held, condition, now, generation)
    return summaries.summed(replace(machine, conditions=held), now)


def _saved(before: Machine, after: Machine) -> Step:
    return Step((SaveMachine(before, after),) if after != before else ())
