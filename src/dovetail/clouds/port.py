"""The cloud port: what every cloud can do, and how it can fail. The contract suite in `tests/contract/cloud` holds
every implementation to it, the simulated one first.

    CloudError
    ├── NoCapacity      the market is empty; try other offerings
    ├── QuotaExceeded   the account is full; a person must act
    ├── Misconfigured   the node class is wrong or not ready; a person must act
    ├── NotFound        already gone; success for a delete
    ├── Throttled       ask again after `wait`
    └── Unavailable     the cloud did not answer, or answered nonsense; ask again

A cloud answers the catalog's four questions (`core.catalog.market.Market`) from memory, and does the things below
over the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dovetail.api.kinds import Kind
from dovetail.core.catalog.market import Market
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.instances import ClassNotReady, Instance, LaunchProblem, Order, Outcome
from dovetail.core.instances import NoCapacity as NoCapacityOutcome
from dovetail.core.lifecycle import interruption
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodeClassRef


class CloudError(Exception):
    """Something a cloud could not do, in a sentence."""


class NoCapacity(CloudError):
    """None of the options could be had. `shortages` are what the catalog may believe for a while."""

    def __init__(self, message: str, shortages: Sequence[Shortage] = ()) -> None:
        super().__init__(message)
        self.shortages = tuple(shortages)


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
    """What a failed launch means for its claim."""
    match error:
        case NoCapacity():
            return NoCapacityOutcome(str(error))
        case Misconfigured():
            return ClassNotReady(str(error))
        case QuotaExceeded():
            return LaunchProblem(str(error), "QuotaExceeded")
        case Throttled():
            return LaunchProblem(str(error), "Throttled")
        case _:
            return LaunchProblem(str(error))


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


class Cloud(Protocol):
    """One cloud."""

    @property
    def name(self) -> str: ...

    @property
    def node_class_kinds(self) -> tuple[Kind, ...]:
        """The kinds of node class this cloud launches with."""

    @property
    def market(self) -> Market: ...

    @property
    def repair_policies(self) -> tuple[RepairPolicy, ...]: ...

    def set_node_class(self, ref: NodeClassRef, wire: Mapping[str, object] | None) -> None:
        """A node class as the API server has it, None when it is gone."""

    def resume(self, claims: Iterable[NodeClaim]) -> None:
        """Once, after a start and before anything is ordered: every claim there is, for a cloud that keeps part of its
        books on them. It asks nobody and cannot fail."""

    def on_notice(self, listener: Callable[[Notice], None]) -> None:
        """Have `listener` told of machines that will be taken away."""

    async def launch(self, order: Order) -> Instance:
        """Buy one, the first of the options that can be had. Launching an order of the same claim again, later or at
        the same time, returns the same instance. `missed` of the instance, or `shortages` of the error, say which
        options could not be had."""

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
