"""Whether one bin takes a pod, and the booking when it does.

`onto_node`, `onto_claim` and `onto_new` answer how many of the pods offered were taken (0: none). A bin that
refuses for a reason that can only get worse is struck off the ticket for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from dovetail.core.nodepools import MinValuesPolicy
from dovetail.core.pods import Volumes
from dovetail.core.requirements import Requirements, does_not_exist
from dovetail.core.scheduling.board import Bin, Board, ClaimBin
from dovetail.core.scheduling.bonds import Allowed
from dovetail.core.scheduling.flexibility import met, reached
from dovetail.core.scheduling.quotas import Quotas
from dovetail.core.scheduling.room import holding, most_held
from dovetail.core.scheduling.states import State
from dovetail.core.scheduling.tickets import Ticket


class Acceptor:
    def __init__(self, board: Board) -> None:
        self.board = board
        self.options = board.compiled.options

    # ---- existing nodes

    def onto_node(self, ticket: Ticket, number: int, most: int) -> int:
        """The node is known to have room for one."""
        board = self.board
        count = most
        if most > 1:
            for column, amount in enumerate(ticket.demands):
                count = min(count, board.room[column][number] // amount) if amount else count
        if not ticket.plain:
            bin_ = board.node(number)
            if bin_.clashes(ticket.shape.ports) or not self._attachable(bin_, ticket.shape.volumes):
                ticket.dead |= 1 << number
                return 0
            bin_.occupy(ticket.shape)
        board.charge_node(number, ticket.demands, count)
        return count

    def _attachable(self, bin_: Bin, volumes: Volumes) -> bool:
        if not volumes.attached:
            return True
        limits = self.board.compiled.volume_limits(bin_.number)
        attached = bin_.attached_with(volumes)
        return all(len(attached[driver]) <= limits.get(driver, len(attached[driver])) for driver, _ in volumes.attached)

    # ---- claims

    def onto_claim(self, ticket: Ticket, number: int, most: int, where: Mapping[str, Allowed]) -> int:
        board = self.board
        bin_ = board.claims[number - board.node_count]
        state = bin_.state.asked(ticket.ask.labels) if ticket.narrows else bin_.state
        if state is None or (not ticket.plain and bin_.clashes(ticket.shape.ports)):
            ticket.dead |= 1 << number
            return 0
        types = bin_.types if ticket.plain else bin_.types & self._fixed(ticket, bin_.pool, bin_)
        tables = board.thresholds[bin_.pool]
        if bin_.kept:
            base = types if bin_.holds(ticket.demands) else 0
        else:
            base = holding(types, ticket.demands, tables, bin_.used, 1)
        if not base:
            ticket.dead |= 1 << number
            return 0
        for chosen in self._settled(ticket, state, where) if where or not ticket.plain else (state,):
            allowance = most if ticket.quotas is None else _rationed(chosen, ticket.quotas, most)
            accepts = chosen.market.__and__ if bin_.free else self._accepting(bin_, chosen)
            if allowance > 0 and (accepted := accepts(base)):
                count = 1
                if allowance > 1:
                    types_for = partial(holding, types, ticket.demands, tables, bin_.used)
                    accepted, count = most_held(types_for, accepts, accepted, allowance)
                self._book(bin_, chosen, accepted, ticket, count)
                return count
        if not where:
            ticket.dead |= 1 << number
        return 0

    def onto_new(
        self, ticket: Ticket, pool: int, start: State, most: int, where: Mapping[str, Allowed]
    ) -> tuple[int, int]:
        """Open a claim for as many as it takes: its number and the count."""
        board = self.board
        types_for = self._whole(ticket, pool)
        base = types_for(1)
        if not base:
            return 0, 0
        for chosen in self._settled(ticket, start, where):
            for reserved in (True, False) if self._may_reserve(pool, chosen, base) else (False,):
                bin_ = None
                accepts: Callable[[int], int] = chosen.market.__and__
                if reserved or chosen.min_values or board.limits[pool] is not None:
                    bin_ = self._fresh(pool, chosen, base, reserved)
                    if bin_ is None:
                        continue
                    accepts = self._accepting(bin_, chosen)
                types = accepts(base)
                if not types:
                    continue
                allowance = most if ticket.quotas is None else max(1, _rationed(chosen, ticket.quotas, most))
                types, count = most_held(types_for, accepts, types, allowance)
                opened = board.open_claim(pool, chosen, types, ticket.demands, count)
                if not ticket.plain:
                    opened.occupy(ticket.shape)
                if bin_ is not None:
                    opened.reserved, opened.min_values, opened.relaxed = reserved, bin_.min_values, bin_.relaxed
                    opened.free = False
                    self._hold(opened)
                return opened.number, count
        return 0, 0

    def surely(self, ticket: Ticket, key: str, values: frozenset[str], pods: int) -> int:
        """For how many of these pods a new claim can be opened in whichever domain: some pool sells there.

        A limit is sure to last for as many as it would if each had the largest type for itself.
        """
        left = set(values)
        for pool, start in ticket.pools.items():
            limit = self.board.limits[pool]
            large_enough, wanted = self._whole(ticket, pool)(1), start.min_values
            for value in left.intersection(start.domains(key) or ()):
                state = start.pinned(key, value)
                types = state.market & large_enough if state is not None else 0
                if state is not None and types and (not wanted or met(state.index, state, types, wanted)):
                    pods = pods if limit is None else min(pods, limit.lasts_for(types))
                    left.discard(value)
        return 0 if left else pods

    def _fresh(self, pool: int, state: State, base: int, reserved: bool) -> ClaimBin | None:
        """A claim as it would begin, its minValues relaxed where the policy allows; None where it cannot."""
        index = self.board.index(pool)
        probe = ClaimBin(-1, pool, state, base)
        probe.reserved = reserved
        probe.min_values = state.min_values
        types = base & (state.reserved.types if reserved else state.market)
        limit = self.board.limits[pool]
        if limit is not None:
            types = limit.fitting(None, types)
        if not types:
            return None
        wanted = probe.min_values
        if wanted and not (
            self.board.reservations.is_flexible(pool, state, types, wanted)
            if reserved
            else met(index, state, types, wanted)
        ):
            policy = index.pool.min_values_policy or self.options.min_values
            if policy is MinValuesPolicy.STRICT:
                return None
            sets = self.board.reservations.kinds(pool, state, types) if reserved else (types,)
            counts = [reached(index, state, one, wanted, reserved) for one in sets]
            probe.min_values = tuple((key, min(count, *(one[key] for one in counts))) for key, count in wanted)
            probe.relaxed = True
        return probe

    def _accepting(self, bin_: ClaimBin, state: State) -> Callable[[int], int]:
        """A test of a set of types: those of it the claim could still be in this state, 0 where it may not be."""
        limit = self.board.limits[bin_.pool]
        reserved = state.reserved
        if bin_.kept and limit is None and not bin_.min_values and not reserved.ids:
            return reserved.types.__and__ if reserved.slots & bin_.kept else _none_of
        index = self.board.index(bin_.pool)
        number = bin_.number if bin_.number >= 0 else None
        suiting = reserved.types if bin_.reserved else state.market
        sure = self.board.reservations.sure(number, bin_.pool, state, bin_.min_values) if bin_.reserved else 0

        def accepts(types: int) -> int:
            types &= suiting
            if limit is not None:
                types = limit.fitting(number, types)
            if not types:
                return 0
            if bin_.min_values and not bin_.reserved and not met(index, state, types, bin_.min_values):
                return 0
            if bin_.reserved and not types & sure and not self._could_reserve(bin_, state, types):
                return 0
            return types

        return accepts

    def _may_reserve(self, pool: int, state: State, types: int) -> bool:
        if not state.reserved.types or not self.options.reserved_capacity:
            return False
        if self.board.reservations.settled:
            self.board.settle_reserved()
        return bool(self.board.reservations.hoped_for(pool, state) & types)

    def _could_reserve(self, bin_: ClaimBin, state: State, types: int) -> bool:
        reservations = self.board.reservations
        found = reservations.could_find(reservations.want(bin_.pool, state, types, bin_.min_values), bin_.number)
        if bin_.number < 0 and reservations.settled:
            self.board.settle_reserved()
        return found

    def _settled(self, ticket: Ticket, state: State, where: Mapping[str, Allowed]) -> Iterable[State]:
        """The states a claim could take this pod in, best first: one volume place, one domain per label."""
        found: Iterable[State] = (state,)
        if not ticket.plain and ticket.shape.volumes.places:
            places = (state.asked(place) for place in ticket.shape.volumes.places)
            found = [one for one in places if one is not None]
        elif len(where) == 1:
            # Nearly always there is one label, and often it is decided already.
            ((key, one),) = where.items()
            values = state.domains(key)
            if values is not None and len(values) == 1:
                pinned = state.pinned(key, values[0]) if one.admits(values[0]) else None
                return () if pinned is None else (pinned,)
        for key, one in where.items():
            found = _pinned(found, key, one)
        return found

    def _book(self, bin_: ClaimBin, state: State, types: int, ticket: Ticket, count: int) -> None:
        board = self.board
        if state is not bin_.state:
            board.narrow(bin_, state)
        bin_.types = types
        board.charge_claim(bin_, ticket.demands, count)
        if not ticket.plain:
            bin_.occupy(ticket.shape)
        if not bin_.free and not (bin_.kept and board.limits[bin_.pool] is None):
            self._hold(bin_)

    def _hold(self, bin_: ClaimBin) -> None:
        """Set aside what a claim takes of its pool's limit, and the unit of the reservation it is bought from."""
        state, types = bin_.state, bin_.types
        limit = self.board.limits[bin_.pool]
        if limit is not None:
            index, wanted = self.board.index(bin_.pool), bin_.min_values
            enough = (lambda some: met(index, state, some, wanted)) if wanted else None
            limit.hold(bin_.number, types if bin_.reserved else limit.smallest(types, enough))
        if bin_.reserved and not bin_.kept:
            reservations = self.board.reservations
            taken = reservations.take(bin_.number, reservations.want(bin_.pool, state, types, bin_.min_values))
            assert taken, "a reservation that could be taken a moment ago is gone"

    # ---- resources

    def _whole(self, ticket: Ticket, pool: int) -> Callable[[int], int]:
        """The types of a pool that have room for so many while nothing is on them."""
        types = self.board.index(pool).all_types if ticket.plain else self._fixed(ticket, pool, None)
        return partial(holding, types, ticket.demands, self.board.thresholds[pool], self.board.unused)

    def _fixed(self, ticket: Ticket, pool: int, bin_: ClaimBin | None) -> int:
        """The types that a pod's ports and volumes leave, however many of it there are."""
        index = self.board.index(pool)
        types = index.all_types
        if ticket.shape.ports:
            types &= index.free_of_daemon_ports(ticket.shape.ports)
        if ticket.shape.volumes.attached:
            attached = (bin_ or Bin(-1)).attached_with(ticket.shape.volumes)
            types &= index.attaching({driver: len(found) for driver, found in attached.items()})
        return types


def _none_of(_: int) -> int:
    return 0


def _rationed(state: State, quotas: Quotas, most: int) -> int:
    """No more than the quota of the domain this state is pinned to."""
    values = state.domains(quotas.key)
    return min(most, quotas.of(values[0])) if values is not None and len(values) == 1 else most


def _pinned(states: Iterable[State], key: str, one: Allowed) -> Iterator[State]:
    """Claims' states with one label decided so that its ties hold, the emptiest domain first."""
    for state in states:
        values = state.domains(key)
        if values is not None:
            for value in one.sorted(values):
                found = state.pinned(key, value)
                if found is not None:
                    yield found
        elif one.strict:
            continue
        elif state.labels.get(key) is None:
            yield state
        else:
            # A label nobody insists on: it stays off, or whoever gave it a value later would move this pod's domain.
            without = state.asked(Requirements([does_not_exist(key)]))
            if without is not None:
                yield without
