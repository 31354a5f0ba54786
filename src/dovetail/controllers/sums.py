"""What the nodes of each pool have together, kept while they come and go.

It is asked for at every change of a pool and before every order of one that has limits; adding up all nodes each time
would make a fleet that grows cost its square.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dovetail.core.lifecycle.pools import NOTHING_HELD, Held
from dovetail.core.resources import Resources

#: What one claim adds: to which pool, and how much.
Part = tuple[str, Resources]


@dataclass(slots=True)
class _Sum:
    nodes: int = 0
    #: By resource: how much, and how many nodes name it.
    amounts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, resources: Resources, sign: int) -> None:
        self.nodes += sign
        for name, amount in resources.items():
            total, named = self.amounts.get(name, (0, 0))
            if named + sign:
                self.amounts[name] = (total + sign * amount, named + sign)
            else:
                del self.amounts[name]


class Sums:
    """`part` says what a claim adds now, None for nothing; whoever knows that it may be another says so with `stir`."""

    def __init__(self, part: Callable[[str], Part | None]) -> None:
        self._part = part
        self._stirred: set[str] = set()
        self._parts: dict[str, Part] = {}
        self._sums: dict[str, _Sum] = {}

    def stir(self, claim: str) -> None:
        self._stirred.add(claim)

    def of(self, pool: str) -> Held:
        for claim in self._stirred:
            self._look(claim)
        self._stirred.clear()
        found = self._sums.get(pool)
        if found is None:
            return NOTHING_HELD
        return Held(found.nodes, Resources({name: total for name, (total, _) in found.amounts.items()}))

    def _look(self, claim: str) -> None:
        before, now = self._parts.pop(claim, None), self._part(claim)
        if before is not None:
            found = self._sums[before[0]]
            found.add(before[1], -1)
            if not found.nodes:
                del self._sums[before[0]]
        if now is not None:
            self._parts[claim] = now
            self._sums.setdefault(now[0], _Sum()).add(now[1], 1)
