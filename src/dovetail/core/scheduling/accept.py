"""Whether one bin takes a pod, and the booking when it does.

`onto_node`, `onto_claim` and `onto_new` answer how many of the pods offered were taken (0: none). A bin that
refuses for a reason that can only get worse is struck off the ticket for good.
"""

from __future__ import annotations

from collections.abc import Callable

from dovetail.core.nodepools import MinValuesPolicy
from dovetail.core.pods import Volumes
from dovetail.core.requirements import Requirements, does_not_exist
from dovetail.core.scheduling.board import Board, ClaimBin, NodeBin
from dovetail.core.scheduling.domains import Allowed
from dovetail.core.scheduling.flexibility import met, reached
from dovetail.core.scheduling.index import PoolIndex
from dovetail.core.scheduling.reserve import units
from dovetail.core.scheduling.states import State
from dovetail.core.scheduling.tickets import Ticket


class Acceptor:
    def __init__(self, board: Board) -> None:
        self.board = board
        self.options = board.compiled.options

    # ---- existing nodes

    def onto_node(self, ticket: Ticket, number: int, most: int) -> int:
        bin_ = self.board.node(number)
        count = most
        for one in ticket.demands:
            count = min(count, self.board.room[one.column][number] // one.amount)
        refuses = count <= 0
        if not refuses and ticket.shape.ports:
            refuses = bin_.clashes(ticket.shape.ports)
        if not refuses and ticket.shape.volumes.attached:
            refuses = not _attachable(bin_, ticket.shape.volumes)
        if refuses:
            ticket.dead |= 1 << number
            return 0
        self.board.charge_node(bin_, ticket.demands, count)
        _occupy(bin_, ticket)
        return count

    # ---- claims

    def onto_claim(self, ticket: Ticket, number: int, most: int, where: dict[str, Allowed]) -> int:
        bin_ = self.board.claim(number)
        state = bin_.state.asked(ticket.ask.labels)
        if state is None or (ticket.shape.ports and bin_.clashes(ticket.shape.ports)):
            ticket.dead |= 1 << number
            return 0
        holding = self._holding(ticket, bin_)
        base = bin_.types & holding(1)
        if not base:
            ticket.dead |= 1 << number
            return 0
        for chosen in self._settled(ticket, state, where):
            allowance = _rationed(chosen, where, most)
            accepts = self._accepting(bin_, chosen)
            if allowance > 0 and (types := accepts(base)):
                types, count = _most(accepts, holding, bin_.types, types, allowance)
                self._book(bin_, chosen, types, ticket, count)
                return count
        if not where:
            ticket.dead |= 1 << number
        return 0

    def onto_new(
        self, ticket: Ticket, pool: int, start: State, most: int, where: dict[str, Allowed]
    ) -> tuple[int, int]:
        """Open a claim for as many as it takes: its number and the count."""
        settled = self._settled(ticket, start, where)
        holding = self._holding_new(ticket, self.board.index(pool))
        base = holding(1) if settled else 0
        if not base:
            return 0, 0
        for chosen in settled:
            for reserved in (True, False) if chosen.reserved.rows and self.options.reserved_capacity else (False,):
                bin_ = self._fresh(pool, chosen, base, reserved)
                if bin_ is None:
                    continue
                accepts = self._accepting(bin_, chosen)
                allowance = max(1, _rationed(chosen, where, most))
                types, count = _most(accepts, holding, -1, accepts(base), allowance)
                opened = self.board.open_claim(pool, chosen, types)
                opened.reserved, opened.min_values, opened.relaxed = reserved, bin_.min_values, bin_.relaxed
                self._book(opened, chosen, types, ticket, count)
                return opened.number, count
        return 0, 0

    def endless(self, ticket: Ticket, key: str, values: frozenset[str]) -> bool:
        """Whether new claims for this pod can always be opened in every domain: some pool sells there without limit."""
        left = set(values)
        for pool, start in ticket.pools.items():
            if self.board.limits[pool] is not None or any(one.min_values for one in start.labels):
                continue
            large_enough = self._holding_new(ticket, self.board.index(pool))(1)
            for value in left.intersection(start.domains(key) or ()):
                state = start.pinned(key, value)
                if state is not None and state.market & large_enough:
                    left.discard(value)
        return not left

    def _fresh(self, pool: int, state: State, base: int, reserved: bool) -> ClaimBin | None:
        """A claim as it would begin, its minValues relaxed where the policy allows; None where it cannot."""
        index = self.board.index(pool)
        probe = ClaimBin(-1, pool, state, base, 0)
        probe.reserved = reserved
        probe.min_values = tuple((one.key, one.min_values) for one in state.labels if one.min_values)
        types = base & (state.reserved.types if reserved else state.market)
        limit = self.board.limits[pool]
        if limit is not None:
            types = limit.fitting(None, types)
        if not types:
            return None
        # A claim holds one reservation, so what that one is good for has to be flexible enough by itself.
        sets = tuple(_reservable(state, types).values()) if reserved else (types,)
        wanted = probe.min_values
        if wanted and not any(met(index, state, one, wanted, reserved) for one in sets):
            policy = index.pool.min_values_policy or self.options.min_values
            if policy is MinValuesPolicy.STRICT:
                return None
            counts = [reached(index, state, one, wanted, reserved) for one in sets]
            probe.min_values = tuple((key, min(count, *(one[key] for one in counts))) for key, count in wanted)
            probe.relaxed = True
        if reserved and not self.board.reservations.could_take(_options_of(probe, state, types)):
            return None
        return probe

    def _accepting(self, bin_: ClaimBin, state: State) -> Callable[[int], int]:
        """A test of a set of types: those of it the claim could still be in this state, 0 where it may not be."""
        index = self.board.index(bin_.pool)
        limit = self.board.limits[bin_.pool]
        number = bin_.number if bin_.number >= 0 else None
        suiting = state.reserved.types if bin_.reserved else state.market
        if limit is None and not bin_.min_values and not bin_.reserved:
            return suiting.__and__

        def accepts(types: int) -> int:
            types &= suiting
            if limit is not None:
                types = limit.fitting(number, types)
            if not types:
                return 0
            if bin_.min_values and not bin_.reserved and not met(index, state, types, bin_.min_values):
                return 0
            if bin_.reserved and not self._can_stay_reserved(bin_, state, types):
                return 0
            return types

        return accepts

    def _can_stay_reserved(self, bin_: ClaimBin, state: State, types: int) -> bool:
        options = _options_of(bin_, state, types)
        held = self.board.reservations.held.get(bin_.number)
        return held in options or self.board.reservations.could_take(options)

    def _settled(self, ticket: Ticket, state: State, where: dict[str, Allowed]) -> list[State]:
        """The states a claim could take this pod in, best first: one volume place, one domain per label."""
        found = [state]
        if ticket.shape.volumes.places:
            places = (state.asked(place) for place in ticket.shape.volumes.places)
            found = [one for one in places if one is not None]
        for key, one in where.items():
            found = [narrowed for each in found for narrowed in _pinned(each, key, one)]
        return found

    def _book(self, bin_: ClaimBin, state: State, types: int, ticket: Ticket, count: int) -> None:
        self.board.narrow(bin_, state)
        bin_.types = types
        self.board.charge_claim(bin_, ticket.demands, count)
        _occupy(bin_, ticket)
        limit = self.board.limits[bin_.pool]
        if limit is not None:
            index, wanted = self.board.index(bin_.pool), bin_.min_values
            enough = (lambda some: met(index, state, some, wanted)) if wanted else None
            limit.hold(bin_.number, types if bin_.reserved else limit.smallest(types, enough))
        if bin_.reserved:
            taken = self.board.reservations.take(bin_.number, _options_of(bin_, state, types))
            assert taken, "a reservation that could be taken a moment ago is gone"

    # ---- resources

    def _holding(self, ticket: Ticket, bin_: ClaimBin) -> Callable[[int], int]:
        index = self.board.index(bin_.pool)
        demands = [(one.name, one.amount, bin_.used[one.column]) for one in ticket.demands]
        fixed = self._fixed(ticket, index, bin_)

        def holding(many: int) -> int:
            types = fixed
            for name, amount, used in demands:
                types &= index.holding(name, used + amount * many)
                if not types:
                    return 0
            return types

        return holding

    def _holding_new(self, ticket: Ticket, index: PoolIndex) -> Callable[[int], int]:
        fixed = self._fixed(ticket, index, None)
        demands = [(one.name, one.amount) for one in ticket.demands]

        def holding(many: int) -> int:
            types = fixed
            for name, amount in demands:
                types &= index.holding(name, amount * many)
            return types

        return holding

    def _fixed(self, ticket: Ticket, index: PoolIndex, bin_: ClaimBin | None) -> int:
        """The types that a pod's ports and volumes leave, however many of it there are."""
        types = index.all_types
        if ticket.shape.ports:
            types &= index.free_of_daemon_ports(ticket.shape.ports)
        if ticket.shape.volumes.attached:
            counts = _attached_with(bin_.attached if bin_ is not None else {}, ticket.shape.volumes)
            types &= index.attaching(counts)
        return types


def _most(
    accepts: Callable[[int], int], holding: Callable[[int], int], among: int, types: int, most: int
) -> tuple[int, int]:
    """The largest count up to `most` that is accepted, and the types it leaves.

    One is known to be accepted and to leave `types`; more is never easier. All at once is tried first, as often that is
    what was asked for; then the steps double and close in.
    """
    if most > 1 and (found := accepts(among & holding(most))):
        return found, most
    low, step, high = 1, 1, max(1, most - 1)
    while low < high:
        middle = min(high, low + step)
        found = accepts(among & holding(middle))
        if not found:
            high = middle - 1
            break
        types, low, step = found, middle, step * 2
    while low < high:
        middle = (low + high + 1) // 2
        found = accepts(among & holding(middle))
        if found:
            types, low = found, middle
        else:
            high = middle - 1
    return types, low


def _rationed(state: State, where: dict[str, Allowed], most: int) -> int:
    """No more than the quota of the domains this state is pinned to."""
    for key, one in where.items():
        if one.quotas is not None:
            values = state.domains(key)
            if values is not None and len(values) == 1:
                most = min(most, one.quotas.get(values[0], 0))
    return most


def _pinned(state: State, key: str, one: Allowed) -> list[State]:
    """A claim's state with one label decided so that its ties hold, the emptiest domain first."""
    values = state.domains(key)
    if values is None:
        if one.strict:
            return []
        if state.labels.get(key) is None:
            return [state]
        # A label nobody insists on: it stays off, or whoever gave it a value later would move this pod's domain.
        without = state.asked(Requirements([does_not_exist(key)]))
        return [] if without is None else [without]
    found = (state.pinned(key, value) for value in one.sorted(values))
    return [each for each in found if each is not None]


def _reservable(state: State, types: int) -> dict[str, int]:
    """The reservations that could serve a claim in this state as one of these types, and as which of them."""
    found: dict[str, int] = {}
    for row in state.reserved.rows:
        if row.type_bit & types:
            for name, count in units(row):
                if count > 0:
                    found[name] = found.get(name, 0) | row.type_bit
    return found


def _options_of(bin_: ClaimBin, state: State, types: int) -> tuple[str, ...]:
    """Those of them that keep a claim's minValues."""
    found = _reservable(state, types)
    if not bin_.min_values:
        return tuple(found)
    return tuple(name for name, kinds in found.items() if met(state.index, state, kinds, bin_.min_values, True))


def _attached_with(attached: dict[str, set[str]], volumes: Volumes) -> dict[str, int]:
    claims: dict[str, set[str]] = {driver: set(found) for driver, found in attached.items()}
    for driver, claim in volumes.attached:
        claims.setdefault(driver, set()).add(claim)
    return {driver: len(found) for driver, found in claims.items()}


def _attachable(bin_: NodeBin, volumes: Volumes) -> bool:
    counts = _attached_with(bin_.attached, volumes)
    return all(counts[driver] <= bin_.limits.get(driver, counts[driver]) for driver, _ in volumes.attached)


def _occupy(bin_: NodeBin | ClaimBin, ticket: Ticket) -> None:
    bin_.ports.extend(ticket.shape.ports)
    for driver, claim in ticket.shape.volumes.attached:
        bin_.attached.setdefault(driver, set()).add(claim)
