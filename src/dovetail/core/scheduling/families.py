"""Families: shapes that ask the same of a node, however large they are.

Pods that differ only in requests, in priority, or in labels nobody asks about have the same ladder of asks, can be in
the same places and belong to the same groups. All that is looked up once, for the family.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.labels import HOSTNAME
from dovetail.core.pods import Labels, Shape
from dovetail.core.resources import CPU, MEMORY
from dovetail.core.scheduling.asks import Ask
from dovetail.core.scheduling.groups import GroupKey
from dovetail.core.scheduling.states import State


@dataclass(slots=True, eq=False)
class Terms:
    """One rung of a ladder, looked up.

    `owned` are the groups it must obey, each with whether it counts the asker itself. `nodes` and `pools` are where it
    could go, room and topology aside; a pool with the state a claim begins in.
    """

    ask: Ask
    owned: dict[GroupKey, bool]
    nodes: int
    pools: dict[int, State]


class Family:
    """What its shapes have in common; `shape` is the one of them that was met first."""

    __slots__ = ("avoided", "inverse", "members", "met", "obeyed", "rungs", "selecting", "shape")

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        #: Its shapes, by what tells them apart.
        self.members: dict[tuple[object, ...], Known] = {}
        #: What it asks, from all its wishes down to none.
        self.rungs: tuple[Terms, ...] = ()
        #: The groups of pods that run already and keep it away, and those that make others keep away from it.
        self.avoided: tuple[GroupKey, ...] = ()
        self.inverse: tuple[GroupKey, ...] = ()
        #: All groups its rungs own, and its inverse ones.
        self.obeyed: dict[GroupKey, None] = {}
        #: The groups whose selector finds it, of the first so many that were met.
        self.selecting: tuple[GroupKey, ...] = ()
        self.met = -1


class Known:
    """A shape looked up: the one that stands for all equal ones, its family, and the first part of its turn."""

    __slots__ = ("family", "shape", "turn")

    def __init__(self, shape: Shape, family: Family) -> None:
        self.shape = shape
        self.family = family
        requests = shape.requests
        # Of equal size, who needs a node without its like comes first: others fill up what it opens, not the reverse.
        required = shape.apart.required
        alone = bool(required) and any(term.key == HOSTNAME for term in required)
        self.turn = (-shape.priority, -requests.of(CPU), -requests.of(MEMORY), not alone)


def family_key(shape: Shape, told: Labels) -> tuple[object, ...]:
    """What the shapes of a family have in common; what most of them lack is left to be told by a None."""
    near, apart, volumes = shape.near, shape.apart, shape.volumes
    return (
        shape.namespace,
        told,
        shape.selector if len(shape.selector) else None,
        shape.terms,
        shape.preferred,
        shape.tolerations,
        shape.spread,
        near if near.required or near.preferred else None,
        apart if apart.required or apart.preferred else None,
        shape.ports,
        volumes if volumes.places or volumes.attached else None,
    )
