"""Why a node is left alone: values with a sentence, the same for the event, `explain` and the metric.

`code` is stable and names the cause; events are deduplicated by it and the node. `pods` are the keys of the pods it is
about, `nanodollars` what an hour of it costs: what would be saved were it not for this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from dovetail.core.catalog.prices import NANO, dollars


class Code(StrEnum):
    """The causes: what each means, and what would let the node go. docs/reference/reasons.md is made from this."""

    # What no method may touch, in the order it is asked.
    RUNNING = "CommandRunning"
    """a command for it runs already → wait"""
    UNMANAGED = "Unmanaged"
    """it is not ours: it has no NodeClaim"""
    NO_NODE = "NoNode"
    """its Node has not joined yet → wait"""
    REBOOTING = "Rebooting"
    """it is being repaired by a restart → wait"""
    DELETING = "Deleting"
    """it goes already → wait"""
    NOT_REGISTERED = "NotRegistered"
    """it has joined and is not registered yet → wait; `kubectl describe nodeclaim` says what is missing"""
    NOT_INITIALIZED = "NotInitialized"
    """it is registered and not ready to take pods yet → wait; `kubectl describe nodeclaim` says what is missing"""
    NOMINATED = "Nominated"
    """a pod that waits is to go there → wait"""
    NODE_HELD = "NodeDoNotDisrupt"
    """`karpenter.sh/do-not-disrupt` on the Node → take it off"""
    NO_POOL = "NoNodePool"
    """it has no label that names its NodePool → give it its label back"""
    POOL_NOT_FOUND = "NodePoolNotFound"
    """its NodePool is gone, or nothing is known of what the pool can buy → make the pool anew, or delete the
    NodeClaim"""
    POD_HELD = "PodDoNotDisrupt"
    """`karpenter.sh/do-not-disrupt` on a pod → a duration (`4h`) instead of `true` ends by itself"""
    POD_BUDGET = "PodDisruptionBudget"
    """a PodDisruptionBudget lets none of its pods go now, or never → wait until its pods are ready, or give the
    budget one more than it needs; `dovetail lint` finds those that never let one go"""
    POD_BUDGETS = "SeveralPodDisruptionBudgets"
    """two budgets cover one pod, and the API server evicts no such pod → let one budget cover each pod"""
    # What a method has against it.
    BUDGET = "NodePoolBudget"
    """budgets or windows of the NodePool, or of all pools together, are used up or closed → `dovetail windows
    preview` shows when they open"""
    STATIC = "StaticNodePool"
    """its NodePool keeps a fixed number of nodes → lower `spec.replicas`"""
    UNKNOWN_TYPE = "UnknownInstanceType"
    """nobody knows its instance type → give it its label back, or add the type to the catalog"""
    NO_CAPACITY_TYPE = "NoCapacityType"
    """it has no label that says how it was bought → give it its label back"""
    NO_ZONE = "NoZone"
    """it has no label that says where it is → give it its label back"""
    NEVER = "ConsolidateAfterNever"
    """`consolidateAfter` of its NodePool is `Never` → change `consolidateAfter`"""
    ONLY_EMPTY = "OnlyWhenEmpty"
    """`consolidationPolicy` of its NodePool is `WhenEmpty`, and it has pods → change `consolidationPolicy`"""
    TOO_SOON = "InsideConsolidateAfter"
    """pods came or went lately → wait, or lower `consolidateAfter`"""
    BUFFER = "CapacityBuffer"
    """a CapacityBuffer keeps its room free → shrink the buffer"""
    EXPECTED = "PodsExpected"
    """pods are on their way to it → wait"""
    # What a what-if said.
    NO_PLACE = "PodsFindNoPlace"
    """nobody has room for the pods named, and nothing can be bought for them → `dovetail explain pod` says why"""
    TOO_MANY = "NeedsMoreNodes"
    """more nodes would have to be bought than go → nothing: it is the cheapest way"""
    NOT_CHEAPER = "NotCheaper"
    """what would have to be bought costs as much → nothing: it is the cheapest way"""
    MIN_VALUES = "MinValues"
    """cheaper types are left, and fewer than `minValues` asks for → lower `minValues`, or allow more types"""
    SPOT_GATE = "SpotToSpotDisabled"
    """a spot node would be replaced by another, and the gate `SpotToSpotConsolidation` is off → switch the gate on"""
    SPOT_FEW = "SpotToSpotFewTypes"
    """a spot node would be replaced by another, and too few cheaper types are left to choose from → allow more types"""
    SPOT_RETURN = "ReturnToSpotWaits"
    """it was bought on demand because spot was short, and returning to spot waits: others of its pool went lately,
    or spot has not been there for long enough → wait; `dovetail.dev/return-to-spot` sets the pace"""
    NO_PRICE = "NoPrice"
    """nobody knows what it, or what would replace it, costs → import prices"""
    BALANCED = "BalancedScore"
    """the `Balanced` policy found the saving not worth the disturbance → nothing, or another `consolidationPolicy`"""
    LITTLE = "SavesTooLittle"
    """the move saves less than the NodePool asks for → `dovetail.dev/min-savings`"""
    PAYBACK = "DoesNotPayBack"
    """the move costs more than it earns in the time the NodePool allows → `dovetail.dev/payback`; `--payback
    0s,30m,2h` compares"""
    SWAPS_BACK = "SwapsBack"
    """it would undo a move that has not paid back yet → wait"""
    NOT_CHOSEN = "OthersWereWorthMore"
    """other nodes go now that need the same room → wait for the next pass"""
    # Drift and repair.
    UNSCHEDULABLE = "PodsUnschedulable"
    """it has drifted or is too old, and its pods would find no place → `dovetail explain pod` says why"""
    TRIM_FIRST = "ScaleDownFirst"
    """its static NodePool has too many nodes, and is scaled down first → wait"""
    STATIC_LIMIT = "StaticAtNodeLimit"
    """its static NodePool is at its limit of nodes, so that no replacement can come first → raise the limit, or
    switch the gate `TerminateFirstDrift` or `TerminateFirstRepair` on"""
    RESERVATIONS_FULL = "ReservationsFull"
    """the reservations of its static NodePool are full, so that no replacement can come first → reserve one more, or
    switch the gate `TerminateFirstDrift` on"""
    UNHEALTHY_POOL = "FreshNodesFail"
    """the last machines of its NodePool did not come up → see what is wrong with those; a roll-out goes on when one
    comes up"""
    CANARY = "CanaryFirst"
    """its turn in the roll-out has not come → wait, or change `dovetail.dev/rollout-canary` and
    `dovetail.dev/rollout-waves`"""
    BREAKER = "TooManyUnhealthy"
    """so many nodes are unhealthy that the fault may lie elsewhere → look; repair goes on when fewer are"""
    NO_GRACE = "NoGracePeriod"
    """it is unhealthy, pods hold it, and nothing says how long they may → give the NodePool a
    `terminationGracePeriod`"""
    DO_NOT_REPAIR = "DoNotRepair"
    """`karpenter.sh/do-not-repair` on the Node → take it off"""
    STANDALONE = "RepairNeedsNodePool"
    """it is unhealthy and of no NodePool → repair or delete it by hand"""
    # When a command is judged again.
    CHURN = "ClusterChanged"
    """what was decided did not hold at the second look → wait for the next pass"""


#: Not said to anybody: there is nothing to do about it, or it will pass by itself.
SILENT: Final = frozenset(
    {Code.RUNNING, Code.UNMANAGED, Code.TOO_SOON, Code.EXPECTED, Code.STATIC, Code.NOT_CHOSEN, Code.CANARY}
)
_BLOCKED: Final = "DisruptionBlocked"
_UNCONSOLIDATABLE: Final = "Unconsolidatable"
_SAVES_NOTHING: Final = frozenset(
    {
        Code.UNKNOWN_TYPE,
        Code.NO_CAPACITY_TYPE,
        Code.NO_ZONE,
        Code.NEVER,
        Code.ONLY_EMPTY,
        Code.BUFFER,
        Code.NO_PLACE,
        Code.TOO_MANY,
        Code.NOT_CHEAPER,
        Code.MIN_VALUES,
        Code.SPOT_GATE,
        Code.SPOT_FEW,
        Code.SPOT_RETURN,
        Code.NO_PRICE,
        Code.LITTLE,
        Code.PAYBACK,
        Code.SWAPS_BACK,
    }
)
_REJECTED: Final[Mapping[Code, str]] = MappingProxyType(
    {
        Code.BREAKER: "NodeRepairBlocked",
        Code.BALANCED: "ConsolidationRejected",
        Code.CHURN: "ConsolidationRejected",
    }
)
#: Seconds for which the same refusal is not said again.
_QUIET_LONG, _QUIET_SHORT = 900.0, 120.0
_SHOWN_PODS: Final = 3
#: As `round` counts digits of nanodollars.
_SENTENCE_DIGITS: Final = -5


@dataclass(frozen=True, slots=True)
class Refusal:
    code: Code
    text: str
    pods: tuple[str, ...] = ()
    nanodollars: int = 0
    #: What the event begins with, to the letter, where people and alerts look for the peer's words.
    said: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def event(self) -> str | None:
        """The reason of the event it becomes; None for one that is not said."""
        if self.code in SILENT:
            return None
        return _REJECTED.get(self.code) or (_UNCONSOLIDATABLE if self.code in _SAVES_NOTHING else _BLOCKED)

    @property
    def message(self) -> str:
        """What the event says: the peer's words where it has some, and which pods it is about in ours."""
        own = f"{self.text[:1].upper()}{self.text[1:]}"
        if not self.said or own.startswith(self.said):
            return own
        return f"{self.said}; {self.text}" if self.pods else self.said

    @property
    def quiet_seconds(self) -> float:
        return _QUIET_LONG if self.event != _BLOCKED else _QUIET_SHORT


def listed(names: Iterable[str]) -> str:
    """A few names, and how many more."""
    every = tuple(names)
    text = ", ".join(every[:_SHOWN_PODS])
    more = len(every) - _SHOWN_PODS
    return f"{text} and {more} more" if more > 0 else text


def money(nanodollars: int) -> str:
    """Dollars for a sentence: to a hundredth of a cent, and exactly where they are less than a cent."""
    return f"${dollars(nanodollars if abs(nanodollars) < NANO // 100 else round(nanodollars, _SENTENCE_DIGITS))}"


def lasting(seconds: float) -> str:
    """How long something takes, as one says it: seconds below a minute, else minutes."""
    if seconds >= 36_000_000:
        return "never"
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
