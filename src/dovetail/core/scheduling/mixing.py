"""Mixing: which pods to put on one node so that it is full of everything at once.

Taking the largest cpu first fills nodes with cpu and leaves their memory empty, or the other way round. Where nothing
ties pods to each other there is freedom to do better: take in turn from those that lean to cpu and those that lean to
memory, whichever the node has less of so far, measured against all that is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.core.resources import CPU, MEMORY, Resources
from dovetail.core.scheduling.index import PoolIndex

_HANDFULS: Final = 48


@dataclass(frozen=True, slots=True)
class Part:
    """So many pods of the shape with this number."""

    shape: int
    count: int


class Mixer:
    """Bundles of pods, each the filling of one node, from counts of shapes that may all go to one pool."""

    def __init__(self, index: PoolIndex, types: int, shapes: Sequence[Resources], counts: Sequence[int]) -> None:
        self._index = index
        self._types = types
        self._shapes = shapes
        self._demands = [tuple((name, amount) for name, amount in shape.items() if amount) for shape in shapes]
        #: How many of a shape are taken at a time while there is plenty of room: a small part of a node.
        self._handful = [max(1, self._alone(one) // _HANDFULS) for one in range(len(shapes))]
        self._left = list(counts)
        self._last: list[Part] = []
        self._asked = dict.fromkeys((CPU, MEMORY), 0)
        for shape, count in zip(shapes, counts, strict=True):
            for name in self._asked:
                self._asked[name] += shape.of(name) * count
        leaning = [self._leans(shape) for shape in shapes]
        order = sorted(range(len(shapes)), key=lambda one: (-self._weight(shapes[one]), one))
        #: Shapes that lean to cpu and shapes that lean to memory, the heaviest first.
        self._sides = ([one for one in order if not leaning[one]], [one for one in order if leaning[one]])

    def _alone(self, shape: int) -> int:
        """How many of a shape would fill the largest node."""
        return min(
            (self._index.largest(name, self._types) // amount for name, amount in self._demands[shape]), default=0
        )

    def _share(self, name: str, amount: int) -> float:
        total = self._asked[name]
        return amount / total if total else 0.0

    def _leans(self, shape: Resources) -> bool:
        """Whether a shape asks for more of the memory than of the cpu, each as a share of all that is asked."""
        return self._share(MEMORY, shape.of(MEMORY)) > self._share(CPU, shape.of(CPU))

    def _weight(self, shape: Resources) -> float:
        return max(self._share(CPU, shape.of(CPU)), self._share(MEMORY, shape.of(MEMORY)))

    def bundle(self) -> list[Part]:
        """The filling of the next node; empty when nothing that is left fits a node at all.

        While there is enough of everything for another of the same, the next filling is the same.
        """
        if not self._last or any(self._left[part.shape] < part.count for part in self._last):
            self._last = self._composed()
        else:
            for part in self._last:
                self._left[part.shape] -= part.count
        return self._last

    def _composed(self) -> list[Part]:
        used: dict[str, int] = {}
        taken: dict[int, int] = {}
        types = self._types
        while True:
            memory_behind = self._share(MEMORY, used.get(MEMORY, 0)) < self._share(CPU, used.get(CPU, 0))
            chosen = self._next(memory_behind, types, used) or self._next(not memory_behind, types, used)
            if chosen is None:
                return [Part(shape, count) for shape, count in taken.items()]
            part, types = chosen
            self._left[part.shape] -= part.count
            taken[part.shape] = taken.get(part.shape, 0) + part.count
            for name, amount in self._demands[part.shape]:
                used[name] = used.get(name, 0) + amount * part.count

    def _next(self, leaning: bool, types: int, used: dict[str, int]) -> tuple[Part, int] | None:
        """The heaviest shape of one side that still fits, a handful of it or one, with the types it leaves."""
        for shape in self._sides[leaning]:
            left = self._left[shape]
            if not left:
                continue
            for count in {min(left, self._handful[shape]): None, 1: None}:
                fitting = types
                for name, amount in self._demands[shape]:
                    fitting &= self._index.holding(name, used.get(name, 0) + amount * count)
                if fitting:
                    return Part(shape, count), fitting
        return None
