"""What the shell may be asked to do about machines, as values, in the order they must happen.

Saving names what an object was and what it shall be; metadata and spec are written before the status, so that an
instance's id is on record before anything that follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.effects import Delete, Evict, Ref, SaveNode, Say
from dovetail.core.machines.infra_objects import InfraMachine, Purchase
from dovetail.core.machines.objects import HealthCheck, Machine, MachineSet, Meta, ObjectRef, Owner, Request
from dovetail.core.nodeclaims import NodeObject


@dataclass(frozen=True, slots=True)
class SaveMachine:
    before: Machine
    after: Machine


@dataclass(frozen=True, slots=True)
class SaveInfra:
    before: InfraMachine
    after: InfraMachine


@dataclass(frozen=True, slots=True)
class SaveSet:
    before: MachineSet
    after: MachineSet


@dataclass(frozen=True, slots=True)
class SaveCheck:
    before: HealthCheck
    after: HealthCheck


@dataclass(frozen=True, slots=True)
class Own:
    """Make somebody the controller of an object in place of whoever made it, and label it as its cluster's."""

    ref: ObjectRef
    namespace: str
    owner: Owner
    cluster: str


@dataclass(frozen=True, slots=True)
class Look:
    """Ask the cloud for the instance of this machine: by its id, or by name and tag where there is none yet."""

    infra: InfraMachine


@dataclass(frozen=True, slots=True)
class Buy:
    """Create the instance. The token makes a second call with the same order the same call."""

    infra: InfraMachine
    purchase: Purchase


@dataclass(frozen=True, slots=True)
class Discard:
    """Have the cloud remove the instance and everything that was made for it."""

    infra: InfraMachine


@dataclass(frozen=True, slots=True)
class MakeMachine:
    """Copy the set's templates under one name: bootstrap config, infrastructure machine, then the Machine."""

    of: MachineSet
    name: str


@dataclass(frozen=True, slots=True)
class MakeRequests:
    """Copy the check's remediation template for each of these machines, under the machine's name."""

    of: HealthCheck
    machines: tuple[Machine, ...]


@dataclass(frozen=True, slots=True)
class DropRequest:
    """Nobody needs to heal that machine any more."""

    of: HealthCheck
    request: Request


@dataclass(frozen=True, slots=True)
class Cordon:
    """Keep new pods off a Node."""

    node: NodeObject


Effect = (
    SaveMachine
    | SaveInfra
    | SaveSet
    | SaveCheck
    | SaveNode
    | Own
    | Look
    | Buy
    | Discard
    | MakeMachine
    | MakeRequests
    | DropRequest
    | Delete
    | Evict
    | Say
    | Cordon
)


@dataclass(frozen=True, slots=True)
class Step:
    """What to do now, and when to look again if nothing happens before (seconds from now; None: only on events)."""

    effects: tuple[Effect, ...] = ()
    again: float | None = None


def reference(kind: str, meta: Meta) -> Ref:
    return Ref(kind, meta.name, meta.uid, meta.namespace)
