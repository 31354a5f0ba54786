"""The Balanced policy: a move has to save a larger part of a pool's cost than half the part of its peace it takes.

    score = (saved / what the pool costs) / (disturbed / what disturbing all of the pool would be)

Each Balanced pool that loses nodes by a move votes with its own score; other policies have no vote. What a move over
several pools saves is shared out by what its nodes cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final

from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.reasons import ConsolidationPolicy
from dovetail.core.disruption.refusals import Code, Refusal

K: Final = 2
THRESHOLD: Final = 1 / K


@dataclass(frozen=True, slots=True)
class Totals:
    """What all nodes of a pool cost an hour, and what disturbing all of them would be."""

    nanodollars: int = 0
    disruption: float = 0.0


@dataclass(frozen=True, slots=True)
class Score:
    pool: str
    value: float
    saved_share: float
    disrupted_share: float

    @property
    def passes(self) -> bool:
        return self.value >= THRESHOLD

    def __str__(self) -> str:
        return f"{self._told('vs')} in NodePool {self.pool}"

    @property
    def approved(self) -> str:
        """What people hear of a move that passes, in the peer's words."""
        return self._told(">=")

    def _told(self, against: str) -> str:
        return (
            f"score {self.value:.2f} {against} threshold {THRESHOLD:.2f} (k: {K}, "
            f"savings {100 * self.saved_share:.1f}%, disruption {100 * self.disrupted_share:.1f}%)"
        )


def score(pool: str, saved: float, disruption: float, totals: Totals) -> Score:
    saved_share = saved / totals.nanodollars if totals.nanodollars > 0 else 0.0
    disrupted = disruption / totals.disruption if totals.disruption > 0 else 0.0
    if saved_share <= 0 or totals.disruption <= 0:
        return Score(pool, 0.0, max(0.0, saved_share), disrupted)
    return Score(pool, inf if disrupted == 0 else saved_share / disrupted, saved_share, disrupted)


def scores(candidates: Iterable[Candidate], saved: int, totals: Mapping[str, Totals]) -> tuple[Score, ...]:
    """The score of every Balanced pool a move takes nodes from."""
    by_pool: dict[str, list[Candidate]] = {}
    for one in candidates:
        by_pool.setdefault(one.pool, []).append(one)
    whole = sum(one.nanodollars for some in by_pool.values() for one in some)
    found = []
    for pool, some in sorted(by_pool.items()):
        if some[0].policy.policy is ConsolidationPolicy.BALANCED:
            part = sum(one.nanodollars for one in some) / whole if whole else 0.0
            found.append(score(pool, saved * part, sum(one.cost for one in some), totals.get(pool, Totals())))
    return tuple(found)


def rejected(candidates: Iterable[Candidate], saved: int, totals: Mapping[str, Totals]) -> Refusal | None:
    """The first pool that votes against a move."""
    for one in scores(candidates, saved, totals):
        if not one.passes:
            return Refusal(Code.BALANCED, f"Balanced: {one}")
    return None
