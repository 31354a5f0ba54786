"""The packer: one plan being made.

All pods of a shape are placed together: on existing nodes, then on claims already opened, then on new claims of the
heaviest pool that will have them; in each case the lowest number first. A pod that cannot be placed gives up its wishes
one by one (`asks`); shapes that failed are tried again as long as others succeed, because an affinity may have found
its company meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dovetail.core.resources import largest_of
from dovetail.core.scheduling.accept import Acceptor
from dovetail.core.scheduling.bitsets import bits
from dovetail.core.scheduling.board import Board
from dovetail.core.scheduling.bonds import Allowed
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.finish import finished
from dovetail.core.scheduling.groups import Kind
from dovetail.core.scheduling.ledger import Ledger
from dovetail.core.scheduling.mixing import Mixer
from dovetail.core.scheduling.problem import Plan
from dovetail.core.scheduling.queues import Queue, queues
from dovetail.core.scheduling.quotas import Quotas, shared_out
from dovetail.core.scheduling.registry import Registry
from dovetail.core.scheduling.states import State
from dovetail.core.scheduling.tickets import Ticket


class Packer:
    def __init__(self, compiled: Compiled, without: list[int]) -> None:
        self.compiled = compiled
        self.queues = queues(compiled, compiled.pending(without))
        sizes = {queue.known.size: None for queue in self.queues}
        self.board = Board(compiled, largest_of(size.requests for size in sizes), without)
        self.acceptor = Acceptor(self.board)
        self.ledger = Ledger(self.board)
        self.registry = Registry(self.board, self.queues)
        #: Whether no shape that failed had better luck when it was tried again.
        self.straight = True

    @property
    def ties_pods(self) -> bool:
        """Whether any pod bears on another."""
        return bool(self.registry.groups)

    def plan(self, *, mixed: bool = False) -> Plan:
        waiting = [queue for queue in self.queues if queue.shape.problem is None]
        if mixed:
            self._mix(waiting)
        progress, again = True, False
        while waiting and progress:
            progress = False
            for queue in waiting:
                progress |= self._serve(queue)
            waiting = [queue for queue in waiting if queue.done < len(queue.pods)]
            self.straight &= not (again and progress)
            again = True
        refused = [(one.shape, one.pods[one.done :]) for one in self.queues if one.done < len(one.pods)]
        return finished(self.board, refused, self.registry.ticket)

    def _mix(self, waiting: list[Queue]) -> None:
        """Fill existing nodes as ever, then open claims for even mixtures of the pods that begin in the same state.

        What a claim does not take after all stays in its queue, and is served like any other pod.
        """
        by_start: dict[State, list[Queue]] = {}
        for queue in waiting:
            ticket = self.registry.tickets(queue)[0]
            for number in self._roomy(ticket, self._candidates(ticket, {}) & self.board.open_nodes):
                if queue.waiting:
                    self._try(ticket, number, {}, queue)
            if queue.waiting and ticket.pools and not ticket.shape.ports and not ticket.shape.volumes.attached:
                by_start.setdefault(next(iter(ticket.pools.values())), []).append(queue)
        for start, some in by_start.items():
            shapes = [queue.shape.requests for queue in some]
            mixer = Mixer(start.index, start.market, shapes, [queue.waiting for queue in some])
            while parts := mixer.bundle():
                self._fill([(some[part.shape], part.count) for part in parts])

    def _fill(self, parts: list[tuple[Queue, int]]) -> None:
        """Open one claim, and put on it what was thought of for it, as far as it takes it."""
        number: int | None = None
        for queue, count in parts:
            ticket = self.registry.tickets(queue)[0]
            most = min(count, queue.waiting)
            if number is None:
                pool, start = next(iter(ticket.pools.items()))
                opened, taken = self.acceptor.onto_new(ticket, pool, start, most, {})
                number = opened if taken else None
            else:
                taken = self.acceptor.onto_claim(ticket, number, most, {})
            if taken and number is not None:
                self.ledger.record(ticket, number, taken, queue)

    def _serve(self, queue: Queue) -> bool:
        """Place what can be placed of one shape, each pod with as many of its wishes as can be had."""
        before, total = queue.done, len(queue.pods)
        tickets = queue.tickets or self.registry.tickets(queue)
        tickets[0].quotas = self._quotas(tickets[0], total - before) if total - before > 1 else None
        while queue.done < total:
            for ticket in tickets:
                if not ticket.hopeless and self._place(ticket, queue):
                    break
            else:
                break
            quotas = tickets[0].quotas
            if quotas is not None and not quotas.open and queue.done < total:
                tickets[0].quotas = self._quotas(tickets[0], total - queue.done)
        if queue.done == total:
            queue.tickets = ()
        return queue.done > before

    def _quotas(self, ticket: Ticket, pods: int) -> Quotas | None:
        """Share pods out over the domains of a spread at once, as many as every domain is sure to take its share of.

        Otherwise they have to go one by one, as the skew allows.
        """
        leading = ticket.bonds.leading
        if leading is None or ticket.shape.volumes.places:
            return None
        key, eligible = leading.key.key, leading.eligible
        sure = self.acceptor.surely(ticket, key, eligible, pods)
        return Quotas(key, shared_out(leading.counts, eligible, sure)) if sure > 1 else None

    # ---- placing

    def _place(self, ticket: Ticket, queue: Queue) -> int:
        """Place what can be placed on this rung in one sweep over the bins. How many were placed.

        Where topology decides pod by pod, a sweep ends with the first pod: what it may do next has changed.
        """
        quotas, bonds = ticket.quotas, ticket.bonds
        where = bonds.where(ticket.ask.labels) if quotas is None else quotas.where(bonds.weights)
        if where is None:
            return 0
        before, total = queue.done, len(queue.pods)
        sweeps = (quotas is not None or not bonds.ties) and not bonds.near_hosts
        candidates = self._candidates(ticket, where)
        has_nodes = candidates & self.board.open_nodes
        for number in self._roomy(ticket, candidates) if has_nodes else bits(candidates):
            if self._try(ticket, number, where, queue) and (
                not sweeps or queue.done == total or (quotas is not None and not quotas.open)
            ):
                return queue.done - before
        while queue.done < total and self._open(ticket, where, queue):
            if not sweeps or (quotas is not None and not quotas.open):
                break
        if queue.done == before and bonds.only_tighten:
            ticket.hopeless = True
        return queue.done - before

    def _candidates(self, ticket: Ticket, where: Mapping[str, Allowed]) -> int:
        """The bins that may take it: a coarse answer, of which the lowest is tried first."""
        board, bonds = self.board, ticket.bonds
        found = ticket.nodes
        for pool in ticket.pools:
            found |= board.claims_of[pool]
        if ticket.too_small:
            ticket.bury()
        if ticket.dead:
            found &= ~ticket.dead
        for tie in bonds.hosts:
            found &= ~tie.group.crowded(tie.limit)
        if not found:
            return 0
        for column, amount in enumerate(ticket.demands):
            found = board.levels[column].among(found, amount)
        for tie in bonds.near_hosts:
            if tie.group.occupied or not tie.itself:
                found &= tie.group.occupied
        for key, chosen in where.items():
            if chosen.strict:
                found &= chosen.among(board.where[key])
            elif chosen.never:
                # A node without the label is in no domain, so nothing there is too near.
                found &= chosen.among(board.where[key]) | ~_all_of(board.where[key])
        return found

    def _roomy(self, ticket: Ticket, candidates: int) -> Iterator[int]:
        """The candidates without those nodes that turn out too small; they will not be looked at again."""
        nodes, room_of = self.board.node_count, self.board.room
        needs = [(room_of[column], amount) for column, amount in enumerate(ticket.demands) if amount]
        for number in bits(candidates):
            if number < nodes:
                for room, amount in needs:
                    if room[number] < amount:
                        if ticket.too_small is None:
                            ticket.too_small = []
                        ticket.too_small.append(number)
                        break
                else:
                    yield number
            else:
                yield number

    def _try(self, ticket: Ticket, number: int, where: Mapping[str, Allowed], queue: Queue) -> int:
        waiting = len(queue.pods) - queue.done
        most = 1 if waiting == 1 else self._most(ticket, number, waiting)
        if number >= self.board.node_count:
            count = self.acceptor.onto_claim(ticket, number, most, where)
        else:
            if ticket.quotas is not None:
                most = min(most, ticket.quotas.of(self.compiled.table.value(number, ticket.quotas.key)))
            count = self.acceptor.onto_node(ticket, number, most) if most > 0 else 0
        if count:
            self.ledger.record(ticket, number, count, queue)
        return count

    def _open(self, ticket: Ticket, where: Mapping[str, Allowed], queue: Queue) -> int:
        for tie in ticket.bonds.near_hosts:
            if tie.group.occupied or not tie.itself:
                return 0
        waiting = len(queue.pods) - queue.done
        most = 1 if waiting == 1 else self._most(ticket, None, waiting)
        for pool, state in ticket.pools.items():
            number, count = self.acceptor.onto_new(ticket, pool, state, most, where)
            if count:
                self.ledger.record(ticket, number, count, queue)
                if not where and not ticket.bonds.near_hosts:
                    self.ledger.repeat(ticket, number, count, queue)
                return count
        return 0

    def _most(self, ticket: Ticket, number: int | None, waiting: int) -> int:
        """How many may go to one bin at once, resources aside."""
        if ticket.shape.ports or not (ticket.quotas is not None or ticket.bonds.flocks):
            return 1
        most = waiting
        for tie in ticket.bonds.hosts:
            if not tie.itself:
                # One that does not count itself still counts for its own inverse group; go one by one.
                most = min(most, 1) if tie.group.key.kind is Kind.INVERSE else most
                continue
            there = tie.group.by_bin.get(number, 0) if number is not None else 0
            most = min(most, tie.limit + 1 - there)
        return most


def _all_of(masks: Mapping[str, int]) -> int:
    found = 0
    for mask in masks.values():
        found |= mask
    return found
