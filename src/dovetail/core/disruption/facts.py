"""What disruption is told: the cluster as planning sees it, and what planning has no use for.

`World` is everything one pass decides from. The snapshot in its problem has nodes, pods and pools; beside it stand the
claims and Node objects (`machines`), what pods say about being moved (`pods`), how each pool wants to be treated
(`policies.PoolPolicy`), the commands that run already, and what happened before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.history import NO_HISTORY, Attempts, History
from dovetail.core.disruption.payback import Charges
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.regrets import NO_REGRETS, Regrets
from dovetail.core.disruption.repair_policies import NO_REPAIRS, RepairPolicies
from dovetail.core.disruption.spot_market import NO_MARKET, Market
from dovetail.core.nodeclaims import INITIALIZED, REBOOTING, NodeClaim, NodeObject
from dovetail.core.scheduling.problem import Problem

if TYPE_CHECKING:
    from dovetail.core.disruption.commands import Command

FOREVER: Final = inf


@dataclass(frozen=True, slots=True)
class PodBudget:
    """A PodDisruptionBudget that covers a pod. `never` is one that can never let any pod go."""

    name: str
    left: int
    never: bool = False
    #: Whether a pod that is not ready may go all the same.
    frees_unready: bool = False


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What a pod says about being moved. Costs are annotations as they were written, None where they are not there.

    `held_until` is how long do-not-disrupt holds: None not at all, `FOREVER` without an end. `owner` names whom it
    belongs to ("ReplicaSet/web-5d"), `ready_seconds` is how long it took to become ready when that was measured.
    """

    disruption_cost: str | None = None
    deletion_cost: str | None = None
    held_until: float | None = None
    budgets: tuple[PodBudget, ...] = ()
    ready: bool = True
    #: It tolerates the taint nodes are drained with, so nobody evicts it.
    tolerates: bool = False
    #: A placeholder of a CapacityBuffer.
    virtual: bool = False
    owner: str = ""
    ready_seconds: float | None = None

    @property
    def is_plain(self) -> bool:
        """Whether evicting it costs what evicting anybody costs."""
        return self.disruption_cost is None and self.deletion_cost is None

    @property
    def may_hold(self) -> bool:
        return self.held_until is not None or bool(self.budgets)


NO_FACTS: Final = PodFacts()


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine by the name it has in the snapshot: its claim, its Node, and what only the shell knows of it."""

    name: str
    claim: NodeClaim | None = None
    node: NodeObject | None = None
    #: A pod that waits was planned onto it and is not there yet.
    nominated: bool = False
    #: It is going, though nothing in the API says so yet.
    marked: bool = False
    #: What its cloud says has drifted, "" for nothing.
    cloud_drift: str = ""
    #: When reboots were committed, and when the last one ended.
    reboots: tuple[float, ...] = ()
    rebooted: float | None = None

    @property
    def is_initialized(self) -> bool:
        return self.claim is not None and self.claim.is_true(INITIALIZED)

    @property
    def is_rebooting(self) -> bool:
        return self.claim is not None and self.claim.is_true(REBOOTING)

    @property
    def annotations(self) -> Mapping[str, str]:
        """Of the Node once there is one, of the claim before."""
        if self.node is not None:
            return self.node.meta.annotations
        return self.claim.meta.annotations if self.claim is not None else MappingProxyType({})

    @property
    def labels(self) -> Mapping[str, str]:
        if self.node is not None:
            return self.node.meta.labels
        return self.claim.meta.labels if self.claim is not None else MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Gates:
    """Feature gates and options that bear on disruption."""

    node_repair: bool = False
    spot_to_spot: bool = False
    static_capacity: bool = False
    terminate_first_drift: bool = False
    terminate_first_repair: bool = False
    #: With it on, the plain deletion cost is ours to write and no longer read as a wish.
    writes_deletion_cost: bool = False
    #: Nodes that are too old wait for their pool's budget, up to a limit.
    staggered_expiry: bool = False


@dataclass(frozen=True, slots=True)
class World:
    """Everything one pass decides from."""

    problem: Problem
    machines: Mapping[str, Machine]
    pools: Mapping[str, PoolPolicy]
    now: float
    pods: Mapping[str, PodFacts] = field(default_factory=lambda: MappingProxyType({}))
    #: Commands that are carried out, and those that were decided on and wait for their time or for a budget.
    running: tuple[Command, ...] = ()
    waiting: tuple[Command, ...] = ()
    #: Whether what saves money may be decided on beyond what budgets allow just now: it waits until they do.
    ahead: bool = False
    gates: Gates = field(default_factory=Gates)
    history: History = NO_HISTORY
    repairs: RepairPolicies = NO_REPAIRS
    charges: Charges = field(default_factory=Charges)
    #: What all pools together may lose at once, beside their own budgets.
    cluster: tuple[Budget, ...] = ()
    #: What was seen of the spot market lately.
    market: Market = NO_MARKET
    #: By pool, how its last replacements went, as far as the loop remembers; what can be seen counts besides.
    attempts: Attempts = field(default_factory=lambda: MappingProxyType({}))
    #: What had to be bought again after it was given up.
    regrets: Regrets = NO_REGRETS
    #: The nodes of commands that run already, and of all that are spoken for.
    away: frozenset[str] = field(init=False)
    taken: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        away = frozenset(name for command in self.running for name in command.names)
        object.__setattr__(self, "away", away)
        object.__setattr__(self, "taken", away.union(name for command in self.waiting for name in command.names))

    def facts(self, key: str) -> PodFacts:
        return self.pods.get(key, NO_FACTS)
