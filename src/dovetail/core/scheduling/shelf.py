"""What is known of the pools, kept from one problem to the next.

A pool's types as bits, its price list in order and the label states met so far depend on the pool, its catalog and the
daemons, and not on which pods wait. Whoever plans again and again keeps a shelf: as long as a pool's catalog is the
same object (catalogs are shared while nothing in them changes), looking the pool up is a comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.core.catalog.layers import Catalog
from dovetail.core.nodepools import NodePool
from dovetail.core.pods import DaemonSet
from dovetail.core.scheduling.index import PoolIndex, buying
from dovetail.core.scheduling.problem import Options, Problem
from dovetail.core.scheduling.states import States
from dovetail.core.scheduling.stock import Stock

#: States are remembered for every distinct demand; where that many were met, most are of pods long gone.
_MOST_STATES: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class _Kept:
    pool: NodePool
    catalog: Catalog
    daemons: tuple[DaemonSet, ...]
    options: Options
    states: States

    def serves(self, pool: NodePool, problem: Problem) -> bool:
        return (
            self.catalog is problem.catalogs[pool.name]
            and self.pool == pool
            and self.daemons == problem.snapshot.daemons
            and self.options == problem.options
            and len(self.states) <= _MOST_STATES
        )


class Shelf:
    """The pools of the last problem, looked up."""

    __slots__ = ("_kept", "_stock")

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._stock = Stock(())

    def states(self, problem: Problem) -> tuple[States, ...]:
        """Every pool that can buy, in the order they are tried, with its index and its states."""
        found: dict[str, _Kept] = {}
        for pool in buying(problem.snapshot.pools, problem.catalogs):
            kept = self._kept.get(pool.name)
            if kept is None or not kept.serves(pool, problem):
                catalog, daemons = problem.catalogs[pool.name], problem.snapshot.daemons
                states = States(PoolIndex(pool, catalog, daemons, problem.options))
                kept = _Kept(pool, catalog, daemons, problem.options, states)
            found[pool.name] = kept
        self._kept = found
        return tuple(kept.states for kept in found.values())

    def stock(self, states: Sequence[States]) -> Stock:
        """What is reserved for these pools together."""
        rows = tuple(one.index.reserved for one in states)
        if self._stock.pools != rows:
            self._stock = Stock(rows)
        return self._stock
