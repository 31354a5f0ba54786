"""The cloud port: what every cloud can do, and how it can fail. The contract suite in `tests/contract/cloud` holds
every implementation to it, the simulated one first.

    CloudError
    ├── NoCapacity      the market is empty; try other offerings
    │   └── NoClass     the node class is not there, or is being deleted
    ├── QuotaExceeded   the account is full; a person must act
    ├── Misconfigured   the node class is wrong or not ready; a person must act
    ├── NotFound        already gone; success for a delete
    ├── Throttled       ask again after `wait`
    └── Unavailable     the cloud did not answer, or answered nonsense; ask again

A cloud answers the catalog's four questions (`core.catalog.market.Market`) from memory, and does the things below
over the network.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol, runtime_checkable

from dovetail.api.kinds import Kind
from dovetail.core.catalog.market import Market
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.conditions import Conditions
from dovetail.core.instances import ClassNotReady, Instance, LaunchProblem, Order, Outcome
from dovetail.core.instances import NoCapacity as NoCapacityOutcome
from dovetail.core.lifecycle import interruption
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodeClassRef


class CloudError(Exception):
    """Something a cloud could not do, in a sentence. `reason` is a word for the claim's condition, "" for none;
    `shortages` are what the catalog may believe for a while, whatever else went wrong. `unheard` is whether the same
    was asked before, and what became of that is not known: of that the error says nothing."""

    reason: str = ""
    unheard: bool = False
    shortages: tuple[Shortage, ...] = ()


class NoCapacity(CloudError):
    """None of the options could be had."""

    def __init__(self, message: str, shortages: Sequence[Shortage] = ()) -> None:
        super().__init__(message)
        self.shortages = tuple(shortages)


class NoClass(NoCapacity):
    """There is no such node class, or it is being deleted: nothing can be had of it."""


class QuotaExceeded(CloudError):
    """The account may not have more."""


class Misconfigured(CloudError):
    """The node class cannot be launched with."""


class NotFound(CloudError):
    """There is no such machine, or no longer."""


class Throttled(CloudError):
    """Too many calls; ask again after `wait` seconds."""

    def __init__(self, message: str, wait: float = 1.0) -> None:
        super().__init__(message)
        self.wait = wait


class Unavailable(CloudError):
    """The cloud did not answer, or not so that it could be understood."""


def outcome(error: CloudError) -> Outcome:
    """What a failed launch means for its claim. A class that was thought ready, and whose launch the cloud refuses for
    a reason it names, is asked again: giving the claim up would only have the same one planned at once."""
    match error:
        case NoCapacity():
            return NoCapacityOutcome(str(error), no_class=isinstance(error, NoClass))
        case Misconfigured() if not error.reason:
            return ClassNotReady(str(error))
        case QuotaExceeded():
            return LaunchProblem(str(error), error.reason or "QuotaExceeded")
        case Throttled():
            return LaunchProblem(str(error), error.reason or "Throttled")
        case _:
            return LaunchProblem(str(error), error.reason)


@dataclass(frozen=True, slots=True)
class RepairPolicy:
    """When an unhealthy Node is to be replaced or rebooted."""

    condition: str
    status: str
    toleration_seconds: float
    reason_regex: str = ""
    grace_seconds: float | None = None
    priority: int = 0
    action: str = "ReplaceNode"


@dataclass(frozen=True, slots=True)
class Notice:
    """A machine will be taken away, and when; None where the cloud does not say. `kind` is one of
    `core.lifecycle.interruption.EVENTS`."""

    provider_id: str
    kind: str = interruption.SPOT
    ends: float | None = None


#: Who hears of notices. What it returns is over when the notice has been acted upon; a cloud that could tell of it
#: again keeps it until then, should this process end before.
Listener = Callable[[Notice], Awaitable[object] | None]


@dataclass(frozen=True, slots=True)
class ClassReport:
    """What was found out about a node class. `status` are fields of its status, but for its `conditions`, which are
    all it has; `annotations` are the class's, `claims` those of its claims, by name. It is looked at again after
    `again` seconds; `problems` are what could not be found out this time."""

    status: Mapping[str, object]
    conditions: Conditions
    annotations: Mapping[str, str]
    claims: Mapping[str, Mapping[str, str]]
    again: float
    problems: tuple[CloudError, ...] = ()


NO_NOTES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Tended:
    """What a look at machines that run showed. `labels` are those of claims, by name, and of their Nodes, that are no
    longer true; None takes one off. `notes` are annotations that claims get. It is looked again after `again`
    seconds."""

    labels: Mapping[str, Mapping[str, str | None]]
    notices: tuple[Notice, ...]
    again: float
    problems: tuple[CloudError, ...] = ()
    notes: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: NO_NOTES)


class Keeper(Protocol):
    """Sees to machines after they were bought: their tags, what became of their reservations, their health."""

    async def tend(self, claims: Sequence[NodeClaim]) -> Tended:
        """From time to time, with every claim of this cloud. Raises nothing: what cannot be done is in the report."""


@runtime_checkable
class Kept(Protocol):
    """A cloud whose machines change after they were bought, and who sees to them."""

    @property
    def keeper(self) -> Keeper: ...


def keeper_of(cloud: object) -> Keeper | None:
    """None where nothing about a machine changes by itself."""
    return cloud.keeper if isinstance(cloud, Kept) else None


class Hook(Protocol):
    """Something that has to be found out about a machine before its Node may take pods."""

    @property
    def name(self) -> str:
        """How the claim's `Registered` condition calls it meanwhile."""

    def concerns(self, claim: NodeClaim) -> bool:
        """Whether there is anything to find out. Asks nobody."""

    async def labels(self, claim: NodeClaim) -> Mapping[str, str] | None:
        """What the claim is to say, None as long as nobody knows. Raises CloudError."""


@runtime_checkable
class Hooking(Protocol):
    """A cloud that has such."""

    @property
    def hooks(self) -> tuple[Hook, ...]: ...


def hooks_of(cloud: object) -> tuple[Hook, ...]:
    """None where all is known of a machine when it is bought."""
    return cloud.hooks if isinstance(cloud, Hooking) else ()


class NodeClasses(Protocol):
    """Node classes that point at things of the cloud, which have to be found, and are told of in their status."""

    async def resolve(self, ref: NodeClassRef, wire: Mapping[str, object], claims: Sequence[NodeClaim]) -> ClassReport:
        """Find what a class, as the API server has it, points at. `claims` are those launched with it. Raises nothing:
        what cannot be found is in the report."""

    async def release(self, ref: NodeClassRef, wire: Mapping[str, object]) -> None:
        """A class is going and no claim needs it any more: remove what was made for it. Raises CloudError as long as
        that cannot be done."""

    async def sweep(self, claims: Iterable[NodeClaim]) -> None:
        """From time to time: remove what was made for classes and neither they nor any of these claims use."""


class Cloud(Protocol):
    """One cloud."""

    @property
    def name(self) -> str: ...

    @property
    def node_class_kinds(self) -> tuple[Kind, ...]:
        """The kinds of node class this cloud launches with."""

    @property
    def node_classes(self) -> NodeClasses | None:
        """Whoever resolves them; None where a class says by itself all there is to know."""

    @property
    def market(self) -> Market: ...

    @property
    def repair_policies(self) -> tuple[RepairPolicy, ...]: ...

    def set_node_class(self, ref: NodeClassRef, wire: Mapping[str, object] | None) -> None:
        """A node class as the API server has it, None when it is gone."""

    def resume(self, claims: Iterable[NodeClaim]) -> None:
        """Once, after a start and before anything is ordered: every claim there is, for a cloud that keeps part of its
        books on them. It asks nobody and cannot fail."""

    def on_notice(self, listener: Listener) -> None:
        """Have `listener` told of machines that will be taken away."""

    async def launch(self, order: Order) -> Instance:
        """Buy one, the first of the options that can be had. Launching an order of the same claim again, later or at
        the same time, returns the same instance. `missed` of the instance, or `shortages` of the error, say which
        options could not be had. An order without options can only find again what it bought before."""

    async def terminate(self, claim: NodeClaim) -> None:
        """Remove what this claim's order bought, known by its provider id or, lacking one, by the claim's name.
        Returns while it is going; raises NotFound once it is gone, or if there never was any."""

    async def get(self, provider_id: str) -> Instance:
        """Raises NotFound if there is none."""

    async def instances(self) -> tuple[Instance, ...]:
        """Every machine that this cluster's claims bought, and nobody else's."""

    async def drifted(self, claim: NodeClaim) -> str:
        """Why the machine is no longer what its node class says, "" if it still is."""

    async def reboot(self, claim: NodeClaim, operation: str) -> None:
        """Restart the machine; the same operation twice is one restart."""
