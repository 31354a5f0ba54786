"""What the scheduler is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from dovetail.core import labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.nodepools import MinValuesPolicy, NodePool
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod
from dovetail.core.requirements import Requirements
from dovetail.core.resources import EPHEMERAL_STORAGE, Resources
from dovetail.core.scheduling.disks import GrownDisk, Growth
from dovetail.core.scheduling.obstacles import Obstacle
from dovetail.core.snapshot import Snapshot


class PreferencePolicy(StrEnum):
    """Whether preferences are kept until they must be given up, or not looked at."""

    RESPECT = "Respect"
    IGNORE = "Ignore"


#: A claim names at most this many types; the cloud's launch call takes no more.
MAX_TYPES = 600


@dataclass(frozen=True, slots=True)
class Options:
    preferences: PreferencePolicy = PreferencePolicy.RESPECT
    min_values: MinValuesPolicy = MinValuesPolicy.STRICT
    reserved_capacity: bool = True
    max_types: int = MAX_TYPES
    well_known: frozenset[str] = labels.WELL_KNOWN
    #: By pool, how the disks of its nodes may grow; those of other pools have the size they have (S2.12).
    growing: Mapping[str, Growth] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Problem:
    """Pods that wait, nodes that are there, pools that may buy, and what each pool can buy."""

    snapshot: Snapshot
    catalogs: Mapping[str, Catalog]
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to launch a claim: a type and the row it would be bought by."""

    instance_type: InstanceType
    offering: Offering


@dataclass(frozen=True, slots=True)
class Claim:
    """A node to buy.

    `types` are all types that would do, cheapest first; `choice` is the cheapest way of all. `requirements` are
    what the API object will carry, instance types and capacity types included.
    """

    name: str
    pool: NodePool
    pods: tuple[Pod, ...]
    requirements: Requirements
    types: tuple[InstanceType, ...]
    choice: Choice
    requests: Resources
    #: Reservations the claim may use; empty for one that is bought at the market.
    reservation_ids: tuple[str, ...] = ()
    min_values_relaxed: bool = False
    #: The disk it has to be launched with, where the default is too small for its pods; None where it is not.
    disk: GrownDisk | None = None

    @property
    def allocatable(self) -> Resources:
        """What pods may have of the type chosen, with the disk it is launched with."""
        plain = self.choice.instance_type.allocatable
        return plain if self.disk is None else plain.merged({EPHEMERAL_STORAGE: self.disk.room_bytes})


@dataclass(frozen=True, slots=True)
class Placed:
    """Pods that go to a node that is there already."""

    node: Node
    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class PoolRefusal:
    """Why one pool could not take a pod: a stable code, and the sentence."""

    pool: str
    code: Obstacle
    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Pods that have to wait, all for the same reasons; the most promising pool first."""

    pods: tuple[Pod, ...]
    reason: str
    pools: tuple[PoolRefusal, ...] = ()
    nearest_miss: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    claims: tuple[Claim, ...] = ()
    placed: tuple[Placed, ...] = ()
    refused: tuple[Refused, ...] = ()

    @property
    def nanodollars(self) -> int:
        """What the new nodes would cost an hour; unpriced ones are not in it."""
        prices = (claim.choice.offering.price for claim in self.claims)
        return sum(price.nanodollars for price in prices if price is not None)


def barren(problem: Problem) -> tuple[NodePool, ...]:
    """Pools whose requirements leave nothing of what is for sale, whatever pods ask for."""
    return tuple(
        one for one in problem.snapshot.pools if one.ready and one.replicas is None and _is_barren(one, problem)
    )


def _is_barren(pool: NodePool, problem: Problem) -> bool:
    catalog = problem.catalogs.get(pool.name)
    if catalog is None or not catalog.types:
        return False  # nobody says what there is
    wanted = pool.template
    return not any(_is_for_sale(one, wanted) for one in catalog.types.values())


def _is_for_sale(kind: InstanceType, wanted: Requirements) -> bool:
    if not kind.requirements.intersects(wanted):
        return False
    return any(row.available and row.requirements.intersects(wanted) for row in kind.offerings)
