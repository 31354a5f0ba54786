"""Families: shapes that ask the same of a node, however large they are.

Pods that differ only in requests, in priority, or in labels nobody asks about have the same ladder of asks, can be in
the same places and belong to the same groups. All that is looked up once, for the family. Families in turn are *kin*
where they ask the same and only look different to those who select pods by labels: a kin shares the ladder itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.labels import HOSTNAME
from dovetail.core.pods import Shape
from dovetail.core.resources import CPU, MEMORY, Resources
from dovetail.core.scheduling.asks import Ask
from dovetail.core.scheduling.groups import GroupKey
from dovetail.core.scheduling.topology import Face, selects


@dataclass(slots=True, eq=False)
class Terms:
    """One rung of a ladder, as a family climbs it.

    `owned` are the groups it must obey, each with whether it counts the asker itself. `nodes` are those whose labels
    and taints suit.
    """

    ask: Ask
    owned: dict[GroupKey, bool]
    nodes: int


class Kin:
    """What families that ask the same have in common; `shape` is the one of them that was met first.

    Kin know nothing of their families, nor these of their shapes: so what a plan leaves behind needs no collector.
    """

    __slots__ = ("inverse", "obeyed", "rungs", "shape", "shares")

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        #: Whether it puts up with its like on a node.
        self.shares = not any(term.key == HOSTNAME for term in shape.apart.required)
        #: What it asks, from all its wishes down to none, each with the groups it must obey and the nodes that suit.
        self.rungs: tuple[tuple[Ask, tuple[GroupKey, ...], int], ...] = ()
        #: The groups that make others keep away from it.
        self.inverse: tuple[GroupKey, ...] = ()
        #: All groups its rungs own, and its inverse ones.
        self.obeyed: dict[GroupKey, None] = {}


class Family:
    """What its shapes have in common; `shape` is the one of them that was met first."""

    __slots__ = ("avoided", "face", "kin", "rungs", "shape")

    def __init__(self, shape: Shape, kin: Kin, face: Face, avoided: tuple[GroupKey, ...]) -> None:
        self.shape = shape
        self.kin = kin
        self.face = face
        #: What it asks, from all its wishes down to none.
        self.rungs = tuple(
            [Terms(ask, {key: selects(key, face) for key in owned}, nodes) for ask, owned, nodes in kin.rungs]
        )
        #: The groups of pods that run already and keep it away.
        self.avoided = avoided

    @property
    def inverse(self) -> tuple[GroupKey, ...]:
        """The groups that make others keep away from it."""
        return self.kin.inverse

    @property
    def obeyed(self) -> dict[GroupKey, None]:
        """All groups its rungs own, and its inverse ones."""
        return self.kin.obeyed


class Size:
    """What shapes that request the same have in common: just that, and how it ranks, the largest first."""

    __slots__ = ("cpu", "memory", "requests")

    def __init__(self, requests: Resources) -> None:
        self.requests = requests
        self.cpu, self.memory = -requests.of(CPU), -requests.of(MEMORY)


#: The first part of a shape's turn: by priority, then the largest first. Of equal size, who needs a node without its
#: like comes before others, which can fill up what it opens, and not the reverse.
Turn = tuple[int, int, int, bool]


class Known:
    """A shape looked up: the one that stands for all equal ones, its family, its size, and how its turn begins."""

    __slots__ = ("family", "shape", "size", "turn")

    def __init__(self, shape: Shape, family: Family, size: Size, turns: dict[Turn, Turn]) -> None:
        """`turns` are those of others: few are different, so they are shared."""
        self.shape = shape
        self.family = family
        self.size = size
        turn = (-shape.priority, size.cpu, size.memory, family.kin.shares)
        self.turn = turns.setdefault(turn, turn)
