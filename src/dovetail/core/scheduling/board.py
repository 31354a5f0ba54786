"""The board: every node and every claim as a numbered bin, and sets of bins as integers.

Existing nodes come first, then claims in the order they are opened; the lowest bit of a set is therefore the bin to try
first. Bins only lose room, so what was found impossible for a shape stays impossible, and each answer is asked for
once.
"""

from __future__ import annotations

from dovetail.core.pods import HostPort, Pod
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.groups import Group
from dovetail.core.scheduling.index import PoolIndex
from dovetail.core.scheduling.limits import PoolLimit
from dovetail.core.scheduling.reserve import Reservations
from dovetail.core.scheduling.states import State
from dovetail.core.scheduling.tickets import Demand


class Bin:
    """What is on one node, or on one claim, in this plan."""

    __slots__ = ("attached", "number", "parts", "ports")

    def __init__(self, number: int) -> None:
        self.number = number
        self.parts: list[tuple[list[Pod], int, int]] = []  # a queue of pods, from, to
        self.ports: list[HostPort] = []
        self.attached: dict[str, set[str]] = {}

    @property
    def pods(self) -> tuple[Pod, ...]:
        return tuple(pod for queue, start, end in self.parts for pod in queue[start:end])

    def clashes(self, ports: tuple[HostPort, ...]) -> bool:
        return any(mine.clashes(theirs) for mine in ports for theirs in self.ports)


class NodeBin(Bin):
    """A node that is there; its room stands in the board's columns."""

    __slots__ = ("limits",)

    def __init__(self, number: int, limits: dict[str, int]) -> None:
        super().__init__(number)
        self.limits = limits


class ClaimBin(Bin):
    """A node to be bought: labels that narrow, and the types that still hold everything on it."""

    __slots__ = ("min_values", "pool", "relaxed", "reserved", "state", "top", "types", "used")

    def __init__(self, number: int, pool: int, state: State, types: int, columns: int) -> None:
        super().__init__(number)
        self.pool = pool
        self.state = state
        self.types = types
        self.used = [0] * columns
        #: Per column, at least as much as the roomiest of its types has.
        self.top = [0] * columns
        #: Whether it is bought from a reservation; then it has to stay so.
        self.reserved = False
        #: How many values of which key it must stay open to.
        self.min_values: tuple[tuple[str, int], ...] = ()
        self.relaxed = False


class Board:
    """All bins, and which of them could be where."""

    def __init__(self, compiled: Compiled, columns: dict[str, int], without: int) -> None:
        self.compiled = compiled
        self.columns = columns
        self.names = tuple(columns)
        table = compiled.table
        self.node_count = len(table.nodes)
        self.open_nodes = table.open & ~table.overdrawn & ~without
        self.levels = [compiled.levels(name) for name in columns]
        #: By column, how much room each existing node has left.
        self.room = [compiled.column(name).copy() for name in columns]
        self.nodes: dict[int, NodeBin] = {}
        self.claims: list[ClaimBin] = []
        self.claims_of = [0] * len(compiled.indexes)
        #: By label and value, the bins that are or could still end up there.
        self.where: dict[str, dict[str, int]] = {}
        self.groups: dict[object, Group] = {}
        usage = compiled.usage_without(without)
        self.limits = [PoolLimit.of(index, usage) for index in compiled.indexes]
        self.reservations = Reservations(row for index in compiled.indexes for row in index.reserved)

    def track(self, key: str) -> None:
        """Keep sets of bins by this label from now on; called before any claim is opened."""
        if key not in self.where:
            self.where[key] = {
                value: nodes & self.open_nodes for value, nodes in self.compiled.table.domains(key).items()
            }

    def index(self, pool: int) -> PoolIndex:
        return self.compiled.indexes[pool]

    def node(self, number: int) -> NodeBin:
        found = self.nodes.get(number)
        if found is None:
            table = self.compiled.table
            found = NodeBin(number, dict(table.nodes[number].volume_limits))
            found.ports = list(table.ports.get(number, ()))
            found.attached = {driver: set(claims) for driver, claims in table.attached.get(number, {}).items()}
            self.nodes[number] = found
        return found

    def claim(self, number: int) -> ClaimBin:
        return self.claims[number - self.node_count]

    def open_claim(self, pool: int, state: State, types: int) -> ClaimBin:
        number = self.node_count + len(self.claims)
        found = ClaimBin(number, pool, state, types, len(self.names))
        self.claims.append(found)
        self.claims_of[pool] |= 1 << number
        index = self.index(pool)
        for column, name in enumerate(self.names):
            found.top[column] = index.largest(name, types)
            self.levels[column].put(number, found.top[column])
        for key, values in self.where.items():
            for value in state.domains(key) or ():
                values[value] = values.get(value, 0) | 1 << number
        return found

    def narrow(self, bin_: ClaimBin, state: State) -> None:
        """The claim's labels are more decided than before."""
        if state is bin_.state:
            return
        keep = ~(1 << bin_.number)
        for key, values in self.where.items():
            before, after = bin_.state.domains(key) or (), state.domains(key) or ()
            if before is not after:
                for value in before:
                    if value not in after:
                        values[value] &= keep
        bin_.state = state

    def charge_node(self, bin_: NodeBin, demands: tuple[Demand, ...], count: int) -> None:
        for one in demands:
            column = self.room[one.column]
            left = column[bin_.number] = column[bin_.number] - one.amount * count
            self.levels[one.column].put(bin_.number, left)

    def charge_claim(self, bin_: ClaimBin, demands: tuple[Demand, ...], count: int) -> None:
        index = self.index(bin_.pool)
        for one in demands:
            column = one.column
            used = bin_.used[column] = bin_.used[column] + one.amount * count
            levels = self.levels[column]
            if not levels.is_roomy(bin_.top[column] - used):
                bin_.top[column] = index.largest(one.name, bin_.types)
                levels.put(bin_.number, bin_.top[column] - used)
