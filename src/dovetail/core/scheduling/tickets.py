"""A ticket: one rung of a shape's ladder, looked up against everything on the board."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.pods import Shape
from dovetail.core.scheduling.asks import Ask
from dovetail.core.scheduling.groups import Group, Kind
from dovetail.core.scheduling.states import State


@dataclass(frozen=True, slots=True)
class Demand:
    """So much of one resource; `column` is its place in the board's vectors."""

    column: int
    name: str
    amount: int


@dataclass(frozen=True, slots=True, eq=False)
class Tie:
    """How one group bears on this ticket: by which rule, and whether the pod counts itself."""

    group: Group
    rule: Kind | None  # None: the pod is only counted
    itself: bool

    def per_host(self) -> int | None:
        """How many counted pods may be on a node before one of these comes."""
        limit = self.group.per_host
        if limit is None:
            return None
        if self.group.key.kind is Kind.SPREAD:
            return limit - 1 if self.itself else limit
        return 0


class Ticket:
    """What placing one pod of this shape takes, on this rung."""

    __slots__ = (
        "ask",
        "dead",
        "demands",
        "flocks",
        "hopeless",
        "hosts",
        "near_hosts",
        "nodes",
        "pools",
        "quotas",
        "record",
        "shape",
        "ties",
        "weights",
    )

    def __init__(self, shape: Shape, ask: Ask, nodes: int, pools: dict[int, State]) -> None:
        self.shape = shape
        self.ask = ask
        self.demands: tuple[Demand, ...] = ()
        #: Existing nodes whose labels and taints suit.
        self.nodes = nodes
        #: Pools that would take it, by number, with the state a new claim for it begins in.
        self.pools = pools
        #: Bins found unable to take it for a reason that cannot go away again.
        self.dead = 0
        #: Ties by hostname that limit how many may share a node, and those that demand company.
        self.hosts: list[Tie] = []
        self.near_hosts: list[Tie] = []
        #: Ties by any other label.
        self.ties: dict[str, list[Tie]] = {}
        #: By label, the groups by whose counts the emptiest domain is found.
        self.weights: dict[str, tuple[Group, ...]] = {}
        #: Found impossible for reasons that can only get worse.
        self.hopeless = False
        #: How many pods each domain of the one label it is tied by is to get, where that could be settled at once.
        self.quotas: tuple[str, dict[str, int]] | None = None
        #: Whether any number may go to one bin at once as far as labels are concerned: they seek company, or none.
        self.flocks = True
        #: Groups that count a pod of this shape wherever it goes.
        self.record: list[Group] = []

    def for_shape(self, shape: Shape, demands: tuple[Demand, ...]) -> Ticket:
        """The ticket of another shape of the same family: other demands, the same ties."""
        twin = Ticket(shape, self.ask, self.nodes, self.pools)
        twin.demands = demands
        twin.hosts, twin.near_hosts, twin.ties = self.hosts, self.near_hosts, self.ties
        twin.flocks, twin.record, twin.weights = self.flocks, self.record, self.weights
        return twin

    @property
    def only_worsens(self) -> bool:
        """Whether what stands against it now will still do so later: no spread can even out, no company arrive."""
        rules = (tie.rule for ties in self.ties.values() for tie in ties)
        return not self.near_hosts and not any(rule in (Kind.SPREAD, Kind.NEAR) for rule in rules)

    def tie(self, group: Group, rule: Kind | None, itself: bool) -> None:
        one = Tie(group, rule, itself)
        if not group.is_host:
            self.flocks &= rule is Kind.NEAR
            key = group.key.key
            self.ties.setdefault(key, []).append(one)
            if group.key.kind is not Kind.INVERSE:
                self.weights[key] = (*self.weights.get(key, ()), group)
        elif rule is Kind.NEAR:
            self.near_hosts.append(one)
        elif rule is not None:
            self.hosts.append(one)
