"""What was moved lately, so that nothing is moved back.

Prices wobble, and a packing that depends on them wobbles with them: without a memory the pods of a Deployment go from
one type to another and back for hours. A move that bought machines is remembered for as long as it takes to pay back
(the pool's time, or the move's own where that is longer): what it removed may not be bought again for pods of the same
owners in place of what it bought.

Only replacements are remembered. Removing a node and buying nothing cannot go in circles by itself; that takes pods
that come and go, and then the new node was bought because somebody waited for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """What sort of machine: swapping these for one another is what going in circles means."""

    pool: str
    instance_type: str
    capacity_type: str


@dataclass(frozen=True, slots=True)
class Move:
    """One move that bought machines: whose pods, what went, what came, until when it counts."""

    owners: frozenset[str]
    removed: frozenset[Kind]
    added: frozenset[Kind]
    at: float
    until: float


@dataclass(frozen=True, slots=True)
class History:
    moves: tuple[Move, ...] = ()

    def after(self, move: Move) -> History:
        """With one more move, and without those that no longer count."""
        return History((*self.current(move.at), move))

    def current(self, now: float) -> tuple[Move, ...]:
        return tuple(one for one in self.moves if one.until > now)

    def barred(self, owners: Iterable[str], removing: Iterable[Kind], now: float) -> frozenset[Kind]:
        """The kinds that may not be bought for these owners in place of what would be removed."""
        moved, leaving = frozenset(owners), frozenset(removing)
        found: set[Kind] = set()
        for one in self.moves:
            if one.until > now and not one.owners.isdisjoint(moved) and not one.added.isdisjoint(leaving):
                found |= one.removed
        return frozenset(found)


NO_HISTORY: Final = History()

#: So many last replacements of a pool are remembered.
_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class Attempt:
    """One replacement that was ordered: when it was known how it went, and whether it came up."""

    at: float
    ok: bool


Attempts = Mapping[str, tuple[Attempt, ...]]


def attempted(attempts: Attempts, pool: str, one: Attempt) -> Attempts:
    """With one more of a pool, oldest first."""
    return {**attempts, pool: (*attempts.get(pool, ()), one)[-_ATTEMPTS:]}
