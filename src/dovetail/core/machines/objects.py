"""The nouns: Cluster, Machine, MachineSet, MachineHealthCheck, and what all of them have. Times are seconds since 1970.

A value holds what decisions look at, not all that the object has; what is written back is the difference between two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from dovetail.core import conditions
from dovetail.core.conditions import Condition, Conditions, Moment, Status
from dovetail.core.machines import names
from dovetail.core.selectors import NOTHING_SELECTED, Selector
from dovetail.core.taints import Taint

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """An object of the same namespace. Its version is found out by whoever reads it."""

    group: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom an object belongs to. At most one owner is its controller."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


@dataclass(frozen=True, slots=True)
class Meta:
    """What every object has. `deleting` is None unless it is being deleted."""

    name: str
    namespace: str = ""
    uid: str = ""
    version: str = ""
    generation: int = 1
    created: float = 0.0
    deleting: float | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    annotations: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    finalizers: tuple[str, ...] = ()
    owners: tuple[Owner, ...] = ()

    @property
    def controller(self) -> Owner | None:
        return next((one for one in self.owners if one.controller), None)

    @property
    def is_paused(self) -> bool:
        return names.PAUSED_ANNOTATION in self.annotations

    @property
    def is_of_control_plane(self) -> bool:
        return names.CONTROL_PLANE in self.labels


@dataclass(frozen=True, slots=True)
class Address:
    type: str
    address: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something failed for good: a word of the contract's, and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """What machines belong to. `infrastructure` and `control_plane` are since when each is up, None if it is not."""

    meta: Meta
    paused: bool = False
    infrastructure: float | None = None
    control_plane: float | None = None
    zones: tuple[str, ...] = ()

    def stops(self, meta: Meta) -> bool:
        """Whether an object of this cluster is to be left alone."""
        return self.paused or meta.is_paused


class Phase(StrEnum):
    PENDING = "Pending"
    PROVISIONING = "Provisioning"
    PROVISIONED = "Provisioned"
    RUNNING = "Running"
    DELETING = "Deleting"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long each part of a machine's end may take; 0 is without end."""

    drain: float = 0.0
    detach: float = 0.0
    node: float = 10.0


@dataclass(frozen=True, slots=True)
class EndTimes:
    """When each part of a machine's end began."""

    drain: float | None = None
    detach: float | None = None
    pre_drain: float | None = None
    pre_terminate: float | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """A further condition a machine must meet to be ready; a negative one must not hold."""

    condition: str
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine, wanted and followed. From `provider_id` on it is what became of it."""

    meta: Meta
    cluster: str
    infrastructure: ObjectRef
    bootstrap: ObjectRef | None = None
    secret: str = ""
    zone: str = ""
    min_ready: float = 0.0
    gates: tuple[Gate, ...] = ()
    timeouts: Timeouts = Timeouts()
    taints: tuple[Taint, ...] = ()
    provider_id: str = ""
    node: str = ""
    phase: Phase = Phase.PENDING
    addresses: tuple[Address, ...] = ()
    stands_in: str = ""
    provisioned: bool = False
    bootstrapped: bool = False
    ends: EndTimes = EndTimes()
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

    def is_false(self, type_: str) -> bool:
        found = conditions.found(self.conditions, type_)
        return found is not None and found.status is conditions.Status.FALSE


class Order(StrEnum):
    """Which machine goes first when there are too many."""

    RANDOM = "Random"
    NEWEST = "Newest"
    OLDEST = "Oldest"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many machines a set has, and how many are how far."""

    replicas: int = 0
    ready: int = 0
    available: int = 0
    up_to_date: int = 0


@dataclass(frozen=True, slots=True)
class MachineSet:
    """So many machines of one kind. `template` is what a new one is made from, and what old ones are brought to."""

    meta: Meta
    cluster: str
    selector: Selector = NOTHING_SELECTED
    replicas: int | None = None
    order: Order = Order.RANDOM
    naming: str = ""
    template: Machine | None = None
    counts: Counts = Counts()
    conditions: Conditions = ()

    @property
    def name(self) -> str:
        return self.meta.name


@dataclass(frozen=True, slots=True)
class Sign:
    """A condition that, held this long, means a machine is unhealthy."""

    type: str
    status: str
    timeout: float


@dataclass(frozen=True, slots=True)
class Backoff:
    """How much more slowly failed machines are replaced each time (R41)."""

    base: float = 30.0
    cap: float = 1800.0
    min_healthy: float = 3600.0


@dataclass(frozen=True, slots=True)
class Failures:
    """How often failed machines were replaced in a row, and when last."""

    count: int = 0
    last: float = 0.0


@dataclass(frozen=True, slots=True)
class Tally:
    """How the machines of a check are."""

    expected: int = 0
    healthy: int = 0
    allowed: int = 0
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """Which machines are looked after, and how. `most` is a count or a share ("40%"), `span` the two ends of a range
    that goes before it; `startup` 0 is for ever."""

    meta: Meta
    cluster: str
    selector: Selector = NOTHING_SELECTED
    startup: float = 600.0
    node_signs: tuple[Sign, ...] = ()
    machine_signs: tuple[Sign, ...] = ()
    most: int | str = "100%"
    span: tuple[int, int] | None = None
    #: Somebody else replaces them, with objects made from this.
    template: ObjectRef | None = None
    backoff: Backoff = Backoff()
    failures: Failures = Failures()
    tally: Tally = Tally()
    conditions: Conditions = ()

    @property
    def name(self) -> str:
        return self.meta.name

    def looks_after(self, machine: Machine) -> bool:
        """Whether a machine is selected, and not to be left alone."""
        notes = machine.meta.annotations
        mine = machine.cluster == self.cluster and self.selector.matches(machine.meta.labels)
        return mine and names.SKIP_REMEDIATION not in notes and not machine.meta.is_paused


@dataclass(frozen=True, slots=True)
class Request:
    """Somebody else is asked to heal the Machine of the same name. `machine` is the uid of the Machine it belongs to,
    `check` the health check that made it; each is "" where that is not said."""

    name: str
    uid: str
    machine: str = ""
    check: str = ""
    is_deleting: bool = False


def paused(held: Conditions, is_paused: bool, now: float, generation: int) -> Conditions:
    """With what an object says of being left alone."""
    said = Condition(names.PAUSED, Status.FALSE, "NotPaused")
    if is_paused:
        said = Condition(names.PAUSED, Status.TRUE, "Paused", "nothing is done until it is resumed")
    return put(held, said, now, generation)


def put(held: Conditions, new: Condition, now: float, generation: int) -> Conditions:
    """Set a condition; nothing changes, not even its generation, where it says what it said."""
    old = conditions.found(held, new.type)
    if old is not None and (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
        return held
    return conditions.put(held, new, Moment(now, generation))
