"""The board: every node and every claim as a numbered bin, and sets of bins as integers.

Existing nodes come first, then claims in the order they are opened; the lowest bit of a set is therefore the bin to try
first. Bins only lose room, so what was found impossible for a shape stays impossible, and each answer is asked for
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from dovetail.core.pods import HostPort, Pod, Shape, Volumes
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.index import PoolIndex
from dovetail.core.scheduling.limits import PoolLimit
from dovetail.core.scheduling.reserve import Reservations
from dovetail.core.scheduling.reserved import Reserved
from dovetail.core.scheduling.states import State
from dovetail.core.scheduling.tickets import Demands

_NOTHING: Mapping[str, frozenset[str]] = MappingProxyType({})


class Bin:
    """What is taken of one node, or of one claim, beside its resources."""

    __slots__ = ("attached", "number", "ports")

    def __init__(self, number: int) -> None:
        self.number = number
        self.ports: tuple[HostPort, ...] = ()
        self.attached: Mapping[str, frozenset[str]] = _NOTHING

    def clashes(self, ports: tuple[HostPort, ...]) -> bool:
        return any(mine.clashes(theirs) for mine in ports for theirs in self.ports)

    def attached_with(self, volumes: Volumes) -> Mapping[str, frozenset[str]]:
        """What would be attached by each driver with these volumes too; a claim two pods share counts once."""
        found = dict(self.attached)
        for driver, claim in volumes.attached:
            found[driver] = found.get(driver, frozenset()) | {claim}
        return found

    def occupy(self, shape: Shape) -> None:
        """Take the ports and volumes of a pod."""
        self.ports += shape.ports
        if shape.volumes.attached:
            self.attached = self.attached_with(shape.volumes)


class ClaimBin(Bin):
    """A node to be bought: labels that narrow, and the types that still hold everything on it."""

    __slots__ = ("free", "kept", "min_values", "pods", "pool", "relaxed", "reserved", "state", "top", "types", "used")

    def __init__(self, number: int, pool: int, state: State, types: int) -> None:
        super().__init__(number)
        self.pods: list[Pod] = []
        self.pool = pool
        self.state = state
        self.types = types
        #: Per column, what is used, and at least as much as the roomiest of its types has.
        self.used: list[int] = []
        self.top: list[int] = []
        #: Whether nothing but labels and room bears on which types it may be.
        self.free = True
        #: Whether it is bought from a reservation; then it has to stay so.
        self.reserved = False
        #: The slot of the one reserved row it will be bought from, as a bit, once nothing else is left to it.
        self.kept = 0
        #: How many values of which key it must stay open to.
        self.min_values: tuple[tuple[str, int], ...] = ()
        self.relaxed = False

    def holds(self, demands: Demands) -> bool:
        """Whether its one type has room for a pod more; for one that is kept."""
        for column, amount in enumerate(demands):
            if amount and self.used[column] + amount > self.top[column]:
                return False
        return True

    def twin(self, number: int) -> ClaimBin:
        """Another like this, with nobody on it yet; for one without ports and volumes."""
        found = ClaimBin(number, self.pool, self.state, self.types)
        found.used, found.top, found.free = self.used.copy(), self.top.copy(), self.free
        found.min_values, found.relaxed = self.min_values, self.relaxed
        return found


class Board:
    """All bins, and which of them could be where."""

    def __init__(self, compiled: Compiled, asked: Mapping[str, int], without: Iterable[int]) -> None:
        """`asked` is the most that any pod asks for, by resource."""
        self.compiled = compiled
        #: The resources anybody asks for; the columns of all vectors.
        self.names = tuple(sorted(asked))
        table = compiled.table
        self.node_count = len(table.nodes)
        #: Nodes that stay otherwise, and leave in this plan.
        self.gone = tuple(sorted(number for number in set(without) if table.open >> number & 1))
        gone = sum(1 << number for number in self.gone)
        self.open_nodes = table.open & ~table.overdrawn & ~gone
        self.levels = [compiled.levels(name, asked[name]) for name in self.names]
        self._quarters = [one.quarter for one in self.levels]
        #: By pool and column: amounts that occur among its types, and the types that hold as much.
        self.thresholds = [[index.thresholds(name) for name in self.names] for index in compiled.indexes]
        self.unused = [0] * len(self.names)
        #: By column, how much room each existing node has left.
        self.room = [compiled.table.column(name).copy() for name in self.names]
        #: By node, the pods planned onto it; and nodes whose ports or volumes somebody has asked about.
        self.placed: dict[int, list[Pod]] = {}
        self._nodes: dict[int, Bin] = {}
        self.claims: list[ClaimBin] = []
        self.claims_of = [0] * len(compiled.indexes)
        #: By label and value, the bins that are or could still end up there.
        self.where: dict[str, dict[str, int]] = {}
        usage = compiled.usage_without(gone) if any(one.pool.limits for one in compiled.indexes) else {}
        self.limits = [PoolLimit.of(index, usage) for index in compiled.indexes]
        self.reservations = Reservations(compiled.stock)

    def track(self, key: str) -> None:
        """Keep sets of bins by this label from now on; called before any claim is opened."""
        if key not in self.where:
            self.where[key] = {
                value: nodes & self.open_nodes for value, nodes in self.compiled.table.domains(key).items()
            }

    def index(self, pool: int) -> PoolIndex:
        return self.compiled.indexes[pool]

    def node(self, number: int) -> Bin:
        found = self._nodes.get(number)
        if found is None:
            table = self.compiled.table
            found = self._nodes[number] = Bin(number)
            if number in table.ports:
                found.ports = tuple(table.ports[number])
            if number in table.attached:
                found.attached = {driver: frozenset(claims) for driver, claims in table.attached[number].items()}
        return found

    def claim(self, number: int) -> ClaimBin:
        return self.claims[number - self.node_count]

    def open_claim(self, pool: int, state: State, types: int, demands: Demands, count: int) -> ClaimBin:
        """A new claim with its first pods on it."""
        number = self.node_count + len(self.claims)
        found = ClaimBin(number, pool, state, types)
        self.claims.append(found)
        index = self.compiled.indexes[pool]
        found.used = [amount * count for amount in demands]
        found.top = [index.largest(name, types) for name in self.names]
        self._enter(found, 1 << number)
        return found

    def open_more(self, like: ClaimBin, times: int) -> Sequence[ClaimBin]:
        """So many more claims like one that was just opened; the same pods are to be on each."""
        first = self.node_count + len(self.claims)
        found = [like.twin(number) for number in range(first, first + times)]
        self.claims += found
        self._enter(like, (1 << times) - 1 << first)
        return found

    def _enter(self, like: ClaimBin, bins: int) -> None:
        """List new claims that are like this one."""
        self.claims_of[like.pool] |= bins
        for column, levels in enumerate(self.levels):
            levels.enter(bins, like.top[column] - like.used[column])
        for key, values in self.where.items():
            for value in like.state.domains(key) or ():
                values[value] = values.get(value, 0) | bins

    def narrow(self, bin_: ClaimBin, state: State) -> None:
        """The claim's labels are more decided than before."""
        if state is bin_.state:
            return
        bit = 1 << bin_.number
        for key, values in self.where.items():
            before, after = bin_.state.domains(key) or (), state.domains(key) or ()
            if before is not after:
                for value in before:
                    if value not in after:
                        values[value] &= ~bit
                # A label that could be any text, or none, is listed only once something is asked of it.
                for value in after:
                    if value not in before:
                        values[value] = values.get(value, 0) | bit
        bin_.state = state

    def settle_reserved(self) -> None:
        """Claims that will keep the reservation they hold are where it is, and of its type: as long as they seem open
        to more, pods ask them in vain."""
        reservations = self.reservations
        for number in reservations.settled:
            bin_ = self.claim(number)
            rows = reservations.rows_of(bin_.pool, reservations.held[number], bin_.state, bin_.types)
            if len(rows) == 1:
                self._keep(bin_, rows[0])
        reservations.settled.clear()

    def _keep(self, bin_: ClaimBin, row: Reserved) -> None:
        bin_.kept, bin_.types = row.slot_bit, row.type_bit
        for key in self.where:
            value = row.row.requirements.value(key)
            pinned = bin_.state.pinned(key, value) if value is not None else None
            if pinned is not None:
                self.narrow(bin_, pinned)
        index = self.compiled.indexes[bin_.pool]
        for column, levels in enumerate(self.levels):
            top, used = index.largest(self.names[column], bin_.types), bin_.used[column]
            levels.move(bin_.number, bin_.top[column] - used, top - used)
            bin_.top[column] = top

    def charge_node(self, number: int, demands: Demands, count: int) -> None:
        for column, amount in enumerate(demands):
            if amount:
                room = self.room[column]
                before = room[number]
                room[number] = before - amount * count
                self.levels[column].move(number, before, before - amount * count)

    def charge_claim(self, bin_: ClaimBin, demands: Demands, count: int) -> None:
        tops, used = bin_.top, bin_.used
        for column, quarter in enumerate(self._quarters):
            amount = demands[column] * count
            now = used[column] = used[column] + amount
            if tops[column] - now < quarter and amount:
                room = tops[column] - now + amount
                if not bin_.kept:
                    tops[column] = self.compiled.indexes[bin_.pool].largest(self.names[column], bin_.types)
                self.levels[column].move(bin_.number, room, tops[column] - now)
