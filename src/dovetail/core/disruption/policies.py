"""How a pool wants its nodes to be treated, and the annotations by which it says more than its spec can."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeVar

from dovetail.core import timestamps
from dovetail.core.catalog import prices
from dovetail.core.disruption import allow_windows, waves
from dovetail.core.disruption.allow_windows import NO_WINDOWS, Windows
from dovetail.core.disruption.budgets import DEFAULT, Budget
from dovetail.core.disruption.reasons import ConsolidationPolicy
from dovetail.core.disruption.waves import NO_WAVES, Waves
from dovetail.core.disruption.zones import UTC, Zone, Zones, only_utc
from dovetail.core.errors import BadInput, BadValue, shown
from dovetail.core.nodepools import NodePool

PAYBACK: Final = "dovetail.dev/payback"
MIN_SAVINGS: Final = "dovetail.dev/min-savings"
EVICTION_CHARGE: Final = "dovetail.dev/eviction-charge"
CANARY: Final = "dovetail.dev/rollout-canary"
TIME_ZONE: Final = "dovetail.dev/timezone"
RETURN_TO_SPOT: Final = "dovetail.dev/return-to-spot"
#: Between two times a part of a pool's fallback nodes is returned to spot.
RETURN_SECONDS: Final = 300.0
NEVER: Final = "Never"
#: A move that takes longer than this to earn what it cost is not made.
PAYBACK_SECONDS: Final = 1800.0
Value = TypeVar("Value")
_PERCENT: Final = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,6})?|100)%", re.ASCII)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a saving is worth a move. `payback` is in seconds, 0 switches the rule off."""

    payback: float = PAYBACK_SECONDS
    least_nanodollars: int = 0
    least_share: Fraction = Fraction(0)
    #: Charged for each pod evicted; None leaves what holds for all pools.
    eviction_nanodollars: int | None = None


@dataclass(frozen=True, slots=True)
class PoolPolicy:
    """A pool and its disruption settings. `consolidate_after` is in seconds; None is Never."""

    pool: NodePool
    consolidate_after: float | None = 0.0
    policy: ConsolidationPolicy = ConsolidationPolicy.WHEN_UNDERUTILIZED
    budgets: tuple[Budget, ...] = DEFAULT
    #: The hash of its template and the version of the hash; "" where it has not been worked out.
    template_hash: str = ""
    hash_version: str = ""
    thresholds: Thresholds = Thresholds()
    #: Drift replaces so many nodes first and goes on when they are ready; 0 starts with all that budgets allow.
    canary: int = 0
    #: None while unknown; False where its last machines did not come up (NodeRegistrationHealthy).
    healthy: bool | None = None
    deleting: bool = False
    #: When nodes may go at all; a pool without windows is always open.
    windows: Windows = NO_WINDOWS
    #: How far drift goes before it looks at what it did, after the canary.
    waves: Waves = NO_WAVES
    #: Seconds between two returns of fallback nodes to spot, 0 for no such bound; None is Never.
    return_seconds: float | None = RETURN_SECONDS

    @property
    def name(self) -> str:
        return self.pool.name

    @property
    def is_static(self) -> bool:
        return self.pool.replicas is not None


@dataclass(frozen=True, slots=True)
class Said:
    """What a pool's annotations say, and what of them cannot be read, by annotation."""

    thresholds: Thresholds = Thresholds()
    canary: int = 0
    problems: tuple[tuple[str, str], ...] = ()
    windows: Windows = NO_WINDOWS
    waves: Waves = NO_WAVES
    #: Whose clocks schedules are read off; None where the annotation cannot be read.
    zone: Zone | None = UTC
    return_seconds: float | None = RETURN_SECONDS

    def applied(self, policy: PoolPolicy) -> PoolPolicy:
        """The policy with all of it. A schedule whose zone nobody knows allows nothing."""
        why = dict(self.problems).get(TIME_ZONE, "")
        budgets = tuple(
            one if one.schedule is None else replace(one, zone=self.zone or UTC, problem=one.problem or why)
            for one in policy.budgets
        )
        return replace(
            policy,
            budgets=budgets,
            thresholds=self.thresholds,
            canary=self.canary,
            windows=self.windows,
            waves=self.waves,
            return_seconds=self.return_seconds,
        )


def said(annotations: Mapping[str, str], zones: Zones = only_utc) -> Said:
    """Read the annotations; one that cannot be read leaves its setting as it is by default, and is named.

    Windows are another matter: one that cannot be read never opens. `zones` finds time zones by their names.
    """
    problems: list[tuple[str, str]] = []

    def read(key: str, reader: Callable[[str], Value], default: Value) -> Value:
        text = annotations.get(key)
        try:
            return default if text is None else reader(text)
        except BadInput as bad:
            problems.append((key, str(bad)))
            return default

    least, share = read(MIN_SAVINGS, _savings, (0, Fraction(0)))
    charge: int | None = read(EVICTION_CHARGE, _amount, None)
    thresholds = Thresholds(read(PAYBACK, timestamps.duration, PAYBACK_SECONDS), least, share, charge)
    canary = read(CANARY, _count, 0)
    rolling = read(waves.ANNOTATION, waves.parse, NO_WAVES)
    returning: float | None = RETURN_SECONDS
    returning = read(RETURN_TO_SPOT, _or_never, returning)
    zone = read(TIME_ZONE, zones, UTC)
    known = None if any(key == TIME_ZONE for key, _ in problems) else zone
    text = annotations.get(allow_windows.ANNOTATION)
    windows = NO_WINDOWS if text is None else allow_windows.read(text, zones, known)
    problems += ((allow_windows.ANNOTATION, why) for why in windows.problems)
    return Said(thresholds, canary, tuple(problems), windows, rolling, known, returning)


def _or_never(text: str) -> float | None:
    return None if text == NEVER else timestamps.duration(text)


def _amount(text: str) -> int | None:
    return prices.parse_amount(text.removeprefix("$"))


def _savings(text: str) -> tuple[int, Fraction]:
    """`0.05` dollars an hour, `5%` of what the nodes cost, or both with a comma between."""
    least, share = 0, Fraction(0)
    for part in text.split(","):
        percent = _PERCENT.fullmatch(part.strip())
        if percent is not None:
            share = Fraction(percent[1]) / 100
        else:
            least = prices.parse_amount(part.strip().removeprefix("$"))
    return least, share


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise BadValue(f"{shown(text)} is not a number of nodes")
    return int(text)
