"""How a pool wants its nodes to be treated, and the annotations by which it says more than its spec can."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dovetail.core import timestamps
from dovetail.core.catalog import prices
from dovetail.core.disruption.budgets import DEFAULT, Budget
from dovetail.core.disruption.reasons import ConsolidationPolicy
from dovetail.core.errors import BadInput, BadValue, shown
from dovetail.core.nodepools import NodePool

PAYBACK: Final = "dovetail.dev/payback"
MIN_SAVINGS: Final = "dovetail.dev/min-savings"
EVICTION_CHARGE: Final = "dovetail.dev/eviction-charge"
CANARY: Final = "dovetail.dev/rollout-canary"
#: A move that takes longer than this to earn what it cost is not made.
PAYBACK_SECONDS: Final = 1800.0
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


def said(annotations: Mapping[str, str]) -> Said:
    """Read the annotations; one that cannot be read leaves its setting as it is by default, and is named."""
    problems: list[tuple[str, str]] = []
    payback, least, share, charge, canary = PAYBACK_SECONDS, 0, Fraction(0), None, 0
    for key in (PAYBACK, MIN_SAVINGS, EVICTION_CHARGE, CANARY):
        text = annotations.get(key)
        if text is None:
            continue
        try:
            match key:
                case "dovetail.dev/payback":
                    payback = timestamps.duration(text)
                case "dovetail.dev/min-savings":
                    least, share = _savings(text)
                case "dovetail.dev/eviction-charge":
                    charge = prices.parse_amount(text.removeprefix("$"))
                case _:
                    canary = _count(text)
        except BadInput as bad:
            problems.append((key, str(bad)))
    return Said(Thresholds(payback, least, share, charge), canary, tuple(problems))


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
