"""Machines as a cloud sees them: what is ordered, what was bought, and how buying can fail.

A cloud deals in orders and instances, never in Kubernetes objects. An order can be worked out again from its NodeClaim
alone, so that a process that died while buying can ask for the very same thing: the claim's name makes it the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodePool
from dovetail.core.resources import NOTHING, Resources

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Option:
    """One way to fill an order: a type and the row it would be bought by."""

    instance_type: InstanceType
    offering: Offering


@dataclass(frozen=True, slots=True)
class Order:
    """Buy one of these, the first that can be had. `claim.name` makes two orders the same order."""

    claim: NodeClaim
    options: tuple[Option, ...]
    pool: NodePool | None = None


@dataclass(frozen=True, slots=True)
class Instance:
    """A machine that was bought. `claim` is the name of the order it fills, "" where the cloud cannot say."""

    provider_id: str
    claim: str = ""
    pool: str = ""
    image_id: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: _NONE)
    annotations: Mapping[str, str] = field(default_factory=lambda: _NONE)
    capacity: Resources = NOTHING
    allocatable: Resources = NOTHING
    created: float = 0.0
    #: It is going away already; asking again would change nothing.
    leaving: bool = False
    #: What could not be had when it was bought, though it would have been preferred.
    missed: tuple[Shortage, ...] = ()


@dataclass(frozen=True, slots=True)
class NoCapacity:
    """The market has none of what would do; `no_class`: as the node class is not there."""

    message: str
    no_class: bool = False


@dataclass(frozen=True, slots=True)
class ClassNotReady:
    """The node class cannot be launched with yet."""

    message: str


@dataclass(frozen=True, slots=True)
class LaunchProblem:
    """Anything else: it is tried again. `reason` is a word for the condition, "" where the cloud has none."""

    message: str
    reason: str = ""


Outcome = Instance | NoCapacity | ClassNotReady | LaunchProblem
