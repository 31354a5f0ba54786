"""Generations: how a cloud says that what it told us is no longer so (S0.5).

Each half of the catalog has its sources. A source that moves bumps the generations of exactly the halves it feeds:

    source          specs   offerings   how often
    types             ×                 discovery, every 12 h
    zones             ×                 discovery, every 12 h
    node class        ×        ×        when its object changes
    prices                     ×        refresh, every 12 h
    reservations               ×        poll, every minute
    shortages                  ×        at once, lapse after 3 min
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from dovetail.core.nodepools import NodeClassRef

DISCOVERY_SECONDS: Final = 12 * 3600.0
PRICING_SECONDS: Final = 12 * 3600.0


class ChangeSource(StrEnum):
    TYPES = "types"
    ZONES = "zones"
    NODE_CLASS = "node class"
    PRICES = "prices"
    RESERVATIONS = "reservations"
    SHORTAGES = "shortages"


FEEDS_SPECS: Final = frozenset({ChangeSource.TYPES, ChangeSource.ZONES, ChangeSource.NODE_CLASS})
FEEDS_OFFERINGS: Final = frozenset(
    {ChangeSource.NODE_CLASS, ChangeSource.PRICES, ChangeSource.RESERVATIONS, ChangeSource.SHORTAGES}
)


@dataclass(frozen=True, slots=True)
class Generations:
    """Counters for one cloud: a common one for each half, and one per node class."""

    specs: int = 1
    offerings: int = 1
    by_class: Mapping[NodeClassRef, tuple[int, int]] = field(default_factory=lambda: MappingProxyType({}))

    def bumped(self, source: ChangeSource, node_class: NodeClassRef | None = None) -> Generations:
        """After a source moved: for everybody, or for one node class only."""
        specs, offerings = int(source in FEEDS_SPECS), int(source in FEEDS_OFFERINGS)
        if node_class is None:
            return Generations(self.specs + specs, self.offerings + offerings, self.by_class)
        a, b = self.by_class.get(node_class, (0, 0))
        by_class = MappingProxyType({**self.by_class, node_class: (a + specs, b + offerings)})
        return Generations(self.specs, self.offerings, by_class)

    def specs_of(self, node_class: NodeClassRef) -> int:
        return self.specs + self.by_class.get(node_class, (0, 0))[0]

    def offerings_of(self, node_class: NodeClassRef) -> int:
        return self.offerings + self.by_class.get(node_class, (0, 0))[1]
