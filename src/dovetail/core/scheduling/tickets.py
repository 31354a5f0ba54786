"""A ticket: one rung of a shape's ladder, looked up against everything on the board.

What a rung asks, where that could be and which groups it belongs to is the same for all shapes of a family; that much
is worked out once, as a template, and each shape's own ticket adds what it demands and what was found out about it.
"""

from __future__ import annotations

from dovetail.core.pods import Shape
from dovetail.core.scheduling.asks import Ask
from dovetail.core.scheduling.bonds import UNBOUND
from dovetail.core.scheduling.quotas import Quotas
from dovetail.core.scheduling.states import State

#: How much of each resource, by its place in the board's vectors.
Demands = tuple[int, ...]


class Ticket:
    """What placing one pod of this shape takes, on this rung."""

    __slots__ = (
        "ask",
        "bonds",
        "dead",
        "demands",
        "hopeless",
        "narrows",
        "nodes",
        "plain",
        "pools",
        "quotas",
        "shape",
        "too_small",
    )

    def __init__(self, shape: Shape, ask: Ask, nodes: int, pools: dict[int, State]) -> None:
        self.shape = shape
        self.ask = ask
        #: Whether it asks anything of labels that a claim may not have yet.
        self.narrows = len(ask.labels) > 0
        #: Whether it has neither host ports nor volumes.
        self.plain = not (shape.ports or shape.volumes.attached or shape.volumes.places)
        self.demands: Demands = ()
        #: Existing nodes whose labels and taints suit.
        self.nodes = nodes
        #: Pools that would take it, by number, with the state a new claim for it begins in.
        self.pools = pools
        self.bonds = UNBOUND
        #: Bins found unable to take it for a reason that cannot go away again.
        self.dead = 0
        #: Nodes found too small that are not among the dead yet.
        self.too_small: list[int] | None = None
        #: Found impossible for reasons that can only get worse.
        self.hopeless = False
        #: How many pods each domain of the one label it is tied by is to get, where that could be settled at once.
        self.quotas: Quotas | None = None

    def for_shape(self, shape: Shape, demands: Demands) -> Ticket:
        """The ticket of another shape of the same family: other demands, the same bonds."""
        twin = Ticket(shape, self.ask, self.nodes, self.pools)
        twin.demands, twin.bonds = demands, self.bonds
        return twin

    def bury(self) -> None:
        """Nodes found too small will not become larger."""
        for number in self.too_small or ():
            self.dead |= 1 << number
        self.too_small = None
