"""A ticket: one rung of a shape's ladder, looked up against everything on the board.

What a rung asks, where that could be and which groups it belongs to is the same for all shapes of a family; that much
is worked out once, as a template, and each shape's own ticket adds what it demands and what was found out about it.
"""

from __future__ import annotations

from dovetail.core.pods import Shape
from dovetail.core.scheduling.asks import Ask
from dovetail.core.scheduling.groups import Group, Kind
from dovetail.core.scheduling.states import State

#: So much of one resource: its place in the board's vectors, and the amount.
Demand = tuple[int, int]


class Tie:
    """How one group bears on this ticket: by which rule (None: the pod is only counted), and whether it counts itself.

    `limit` is, for the hostname, how many counted pods may be on a node before one of these comes.
    """

    __slots__ = ("group", "itself", "limit", "rule")

    def __init__(self, group: Group, rule: Kind | None, itself: bool) -> None:
        self.group = group
        self.rule = rule
        self.itself = itself
        self.limit = 0
        if group.key.kind is Kind.SPREAD:
            self.limit = group.key.max_skew - itself


class Ticket:
    """What placing one pod of this shape takes, on this rung."""

    __slots__ = (
        "ask",
        "counted_by_label",
        "counted_on_host",
        "dead",
        "demands",
        "flocks",
        "hopeless",
        "hosts",
        "narrows",
        "near_hosts",
        "nodes",
        "plain",
        "pools",
        "quotas",
        "shape",
        "ties",
        "too_small",
        "unruled",
        "weights",
    )

    def __init__(self, shape: Shape, ask: Ask, nodes: int, pools: dict[int, State]) -> None:
        self.shape = shape
        self.ask = ask
        #: Whether it asks anything of labels that a claim may not have yet.
        self.narrows = len(ask.labels) > 0
        #: Whether it has neither host ports nor volumes.
        self.plain = not (shape.ports or shape.volumes.attached or shape.volumes.places)
        self.demands: tuple[Demand, ...] = ()
        #: Existing nodes whose labels and taints suit.
        self.nodes = nodes
        #: Pools that would take it, by number, with the state a new claim for it begins in.
        self.pools = pools
        #: Bins found unable to take it for a reason that cannot go away again.
        self.dead = 0
        #: Nodes found too small that are not among the dead yet.
        self.too_small: list[int] | None = None
        #: Ties by hostname that limit how many may share a node, and those that demand company.
        self.hosts: list[Tie] = []
        self.near_hosts: list[Tie] = []
        #: Ties by any other label.
        self.ties: dict[str, list[Tie]] = {}
        #: By label, the groups by whose counts the emptiest domain is found.
        self.weights: dict[str, tuple[Group, ...]] = {}
        #: Whether no rule decides where it goes by any of those labels; at most it is counted there.
        self.unruled = True
        #: Found impossible for reasons that can only get worse.
        self.hopeless = False
        #: How many pods each domain of the one label it is tied by is to get, where that could be settled at once.
        self.quotas: Quotas | None = None
        #: Whether any number may go to one bin at once as far as labels are concerned: they seek company, or none.
        self.flocks = True
        #: Groups that count a pod of this shape wherever it goes: by node, and by any other label.
        self.counted_on_host: list[Group] = []
        self.counted_by_label: dict[str, list[Group]] = {}

    def for_shape(self, shape: Shape, demands: tuple[Demand, ...]) -> Ticket:
        """The ticket of another shape of the same family: other demands, the same ties."""
        twin = Ticket.__new__(Ticket)
        twin.shape, twin.demands = shape, demands
        twin.ask, twin.narrows, twin.plain = self.ask, self.narrows, self.plain
        twin.nodes, twin.pools, twin.flocks, twin.unruled = self.nodes, self.pools, self.flocks, self.unruled
        twin.hosts, twin.near_hosts, twin.ties, twin.weights = self.hosts, self.near_hosts, self.ties, self.weights
        twin.counted_on_host, twin.counted_by_label = self.counted_on_host, self.counted_by_label
        twin.dead, twin.too_small, twin.hopeless, twin.quotas = 0, None, False, None
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
            self.unruled &= rule is None
            key = group.key.key
            self.ties.setdefault(key, []).append(one)
            if group.key.kind is not Kind.INVERSE:
                self.weights[key] = (*self.weights.get(key, ()), group)
        elif rule is Kind.NEAR:
            self.near_hosts.append(one)
        elif rule is not None:
            self.hosts.append(one)

    def count_by(self, group: Group) -> None:
        if group.is_host:
            self.counted_on_host.append(group)
        else:
            self.counted_by_label.setdefault(group.key.key, []).append(group)

    def bury(self) -> None:
        """Nodes found too small will not become larger."""
        for number in self.too_small or ():
            self.dead |= 1 << number
        self.too_small = None


class Quotas:
    """How many pods each domain of one label is still to get."""

    __slots__ = ("key", "left", "open")

    def __init__(self, key: str, left: dict[str, int]) -> None:
        self.key = key
        self.left = left
        #: The domains that are to get any.
        self.open = {domain for domain, count in left.items() if count > 0}

    def of(self, domain: str | None) -> int:
        return self.left.get(domain, 0) if domain is not None else 0

    def take(self, domain: str, count: int) -> None:
        left = self.left[domain] = self.left[domain] - count
        if left <= 0:
            self.open.discard(domain)
