"""Infrastructure machines: which instance one asks for, which one it got, and how buying can fail.

Three clouds have three ways to ask for a machine that may be taken away. Read at the door, they are one thing here: a
`Market`, a highest price and a lifetime. What only the cloud reads stays closed in `Wanted.spec`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from dovetail.core import conditions
from dovetail.core.conditions import Conditions
from dovetail.core.machines.objects import Address, Failure, Machine, Meta

_CLOSED: Final[Mapping[str, object]] = MappingProxyType({})
#: As many characters as AWS takes; the others take more.
_TOKEN: Final = 64


class Market(StrEnum):
    """How a machine is bought. PREEMPTIBLE is GCP's older kind of spot, which never lives longer than a day."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    PREEMPTIBLE = "preemptible"

    @property
    def is_interruptible(self) -> bool:
        return self is not Market.ON_DEMAND


@dataclass(frozen=True, slots=True)
class Wanted:
    """The instance an infrastructure machine asks for. `max_price` is as written, "" where nothing was; `lifetime` is
    how long the cloud lets it live, None for ever."""

    cloud: str
    instance_type: str
    market: Market = Market.ON_DEMAND
    max_price: str = ""
    lifetime: float | None = None
    zone: str = ""
    spec: Mapping[str, object] = field(default_factory=lambda: _CLOSED, compare=False)


@dataclass(frozen=True, slots=True)
class InfraMachine:
    """An AWSMachine, GCPMachine or AzureMachine. From `provider_id` on it is what became of it."""

    meta: Meta
    kind: str
    wanted: Wanted
    finalizer: str
    provider_id: str = ""
    ready: bool = False
    provisioned: bool = False
    #: None where the object does not say, as those of other providers may not.
    interruptible: bool | None = None
    addresses: tuple[Address, ...] = ()
    zone: str = ""
    state: str = ""
    failure: Failure | None = None
    conditions: Conditions = ()

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def is_deleting(self) -> bool:
        return self.meta.deleting is not None

    def is_true(self, type_: str) -> bool:
        return conditions.is_true(self.conditions, type_)

    def is_anothers(self, machine: Machine) -> bool:
        """Whether it belongs to another Machine, which refers to it as this one does. One of the same name took that
        one's place, as after a restore."""
        owner = self.meta.controller
        return owner is not None and owner.kind == "Machine" and owner.name != machine.name


class Sent(StrEnum):
    """What is known of the order for an instance before its id is (R10)."""

    #: None was sent, or the cloud let go of it: it may be made.
    NO = "no"
    #: One may have been sent, and nobody heard how it went.
    UNHEARD = "unheard"
    #: The cloud took it: if there is nothing now, there was something, and it is not made again.
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class Purchase:
    """One order for one instance (R9). It can be made again from the objects alone, token included."""

    name: str
    token: str
    cluster: str
    owner: str
    wanted: Wanted
    zone: str
    control_plane: bool
    namespace: str = ""
    #: Name of the Secret with the bootstrap data; the shell reads it, and nobody prints it.
    secret: str = ""
    #: How often it was refused for want of capacity. A cloud that remembers what became of a request tells by it a new
    #: attempt from the same one sent again.
    attempt: int = 0
    sent: Sent = Sent.NO


def token_of(uid: str) -> str:
    """The same for the same object however often it is asked, and for no other."""
    return hashlib.sha256(f"machine/{uid}".encode()).hexdigest()[:_TOKEN]


class State(StrEnum):
    """What has become of an instance, in the words of no cloud."""

    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    #: Stopped or deallocated: it can be seen, costs money, and never comes back by our hand (R12).
    STOPPED = "stopped"
    GOING = "going"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Found:
    """An instance as its cloud has it. `said` is the cloud's own word for its state."""

    provider_id: str
    name: str
    state: State
    said: str = ""
    addresses: tuple[Address, ...] = ()
    zone: str = ""
    #: What the cloud says the instance is, whatever was asked for.
    interruptible: bool = False
    created: float = 0.0


@dataclass(frozen=True, slots=True)
class Missing:
    """The cloud was asked and has no such instance."""


class Kind(StrEnum):
    """What a refusal means for the machine (R38)."""

    #: Asking again would be refused again; a person must act.
    PERSISTENT = "persistent"
    #: The market or the account has none now: asked a few times, then failed, and a health check goes on from there.
    CAPACITY = "capacity"
    #: Nothing is known to be wrong with the order.
    TRANSIENT = "transient"
    #: No refusal yet: the cloud is at it, and will say how it went when it is asked again with the same token.
    UNDERWAY = "underway"
    #: There was an instance, and it is gone before its id was on record.
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An instance that was not bought. `wait` is what the cloud asks for, if it does; `sent` is what is known of the
    order now, None where nothing new is."""

    kind: Kind
    message: str
    wait: float | None = None
    sent: Sent | None = None
