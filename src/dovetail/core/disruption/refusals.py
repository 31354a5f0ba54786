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
    # What no method may touch, in the order it is asked.
    RUNNING = "CommandRunning"
    UNMANAGED = "Unmanaged"
    NO_NODE = "NoNode"
    REBOOTING = "Rebooting"
    DELETING = "Deleting"
    NOT_REGISTERED = "NotRegistered"
    NOT_INITIALIZED = "NotInitialized"
    NOMINATED = "Nominated"
    NODE_HELD = "NodeDoNotDisrupt"
    NO_POOL = "NoNodePool"
    POOL_NOT_FOUND = "NodePoolNotFound"
    POD_HELD = "PodDoNotDisrupt"
    POD_BUDGET = "PodDisruptionBudget"
    POD_BUDGETS = "SeveralPodDisruptionBudgets"
    # What a method has against it.
    BUDGET = "NodePoolBudget"
    STATIC = "StaticNodePool"
    UNKNOWN_TYPE = "UnknownInstanceType"
    NO_CAPACITY_TYPE = "NoCapacityType"
    NO_ZONE = "NoZone"
    NEVER = "ConsolidateAfterNever"
    ONLY_EMPTY = "OnlyWhenEmpty"
    TOO_SOON = "InsideConsolidateAfter"
    BUFFER = "CapacityBuffer"
    EXPECTED = "PodsExpected"
    # What a what-if said.
    NO_PLACE = "PodsFindNoPlace"
    TOO_MANY = "NeedsMoreNodes"
    NOT_CHEAPER = "NotCheaper"
    MIN_VALUES = "MinValues"
    SPOT_GATE = "SpotToSpotDisabled"
    SPOT_FEW = "SpotToSpotFewTypes"
    SPOT_RETURN = "ReturnToSpotWaits"
    NO_PRICE = "NoPrice"
    BALANCED = "BalancedScore"
    LITTLE = "SavesTooLittle"
    PAYBACK = "DoesNotPayBack"
    SWAPS_BACK = "SwapsBack"
    NOT_CHOSEN = "OthersWereWorthMore"
    # Drift and repair.
    UNSCHEDULABLE = "PodsUnschedulable"
    TRIM_FIRST = "ScaleDownFirst"
    STATIC_LIMIT = "StaticAtNodeLimit"
    RESERVATIONS_FULL = "ReservationsFull"
    UNHEALTHY_POOL = "FreshNodesFail"
    CANARY = "CanaryFirst"
    BREAKER = "TooManyUnhealthy"
    NO_GRACE = "NoGracePeriod"
    DO_NOT_REPAIR = "DoNotRepair"
    STANDALONE = "RepairNeedsNodePool"
    # When a command is judged again.
    CHURN = "ClusterChanged"
    TYPES_CHANGED = "TypesChanged"


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
        Code.TYPES_CHANGED: "ConsolidationRejected",
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

    def __str__(self) -> str:
        return self.text

    @property
    def event(self) -> str | None:
        """The reason of the event it becomes; None for one that is not said."""
        if self.code in SILENT:
            return None
        return _REJECTED.get(self.code) or (_UNCONSOLIDATABLE if self.code in _SAVES_NOTHING else _BLOCKED)

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
