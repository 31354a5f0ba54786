"""The packer: one plan being made.

All pods of a shape are placed together: on existing nodes, then on claims already opened, then on new claims of the
heaviest pool that will have them; in each case the lowest number first. A pod that cannot be placed gives up its wishes
one by one (`asks`); shapes that failed are tried again as long as others succeed, because an affinity may have found
its company meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dovetail.core.scheduling.accept import Acceptor
from dovetail.core.scheduling.board import Board
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.domains import Allowed, allowed, rationed, shared_out
from dovetail.core.scheduling.finish import finished
from dovetail.core.scheduling.groups import Group, Kind
from dovetail.core.scheduling.index import bits
from dovetail.core.scheduling.mixing import Mixer
from dovetail.core.scheduling.problem import Plan
from dovetail.core.scheduling.queues import Queue, queues
from dovetail.core.scheduling.registry import Registry
from dovetail.core.scheduling.states import State
from dovetail.core.scheduling.tickets import Quotas, Ticket
from dovetail.core.scheduling.topology import state_passes


class Packer:
    def __init__(self, compiled: Compiled, without: list[int]) -> None:
        self.compiled = compiled
        self.queues = queues(compiled, compiled.pending(without))
        names = sorted({name for queue in self.queues for name in queue.shape.requests})
        self.board = Board(compiled, {name: column for column, name in enumerate(names)}, without)
        self.acceptor = Acceptor(self.board)
        self.registry = Registry(self.board, self.queues)

    @property
    def ties_pods(self) -> bool:
        """Whether any pod bears on another."""
        return bool(self.registry.groups)

    def plan(self, *, mixed: bool = False) -> Plan:
        waiting = [queue for queue in self.queues if queue.shape.problem is None]
        if mixed:
            self._mix(waiting)
        progress = True
        while waiting and progress:
            progress = False
            for queue in waiting:
                progress |= self._serve(queue)
            waiting = [queue for queue in waiting if queue.waiting]
        refused = [(queue.shape, queue.pods[queue.done :]) for queue in self.queues if queue.waiting]
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
                self._record(ticket, number, taken, queue)

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
        if len(ticket.ties) != 1 or ticket.near_hosts or ticket.shape.volumes.places:
            return None
        ((key, ties),) = ticket.ties.items()
        spreads = [tie for tie in ties if tie.rule is Kind.SPREAD]
        if len(spreads) > 1 or any(tie.rule not in (Kind.SPREAD, None) or not tie.itself for tie in ties):
            return None
        leading = (spreads or ties)[0].group
        eligible = leading.eligible
        minimum = leading.key.min_domains
        if not eligible or (minimum is not None and len(eligible) < minimum):
            return None
        sure = self.acceptor.surely(ticket, key, eligible, pods)
        return Quotas(key, shared_out(leading.counts, eligible, sure)) if sure > 1 else None

    # ---- placing

    def _place(self, ticket: Ticket, queue: Queue) -> int:
        """Place what can be placed on this rung in one sweep over the bins. How many were placed.

        Where topology decides pod by pod, a sweep ends with the first pod: what it may do next has changed.
        """
        where = self._where(ticket)
        if where is None:
            return 0
        before, total = queue.done, len(queue.pods)
        quotas = ticket.quotas
        sweeps = (quotas is not None or not ticket.ties) and not ticket.near_hosts
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
        if queue.done == before and ticket.only_worsens:
            ticket.hopeless = True
        return queue.done - before

    def _where(self, ticket: Ticket) -> Mapping[str, Allowed] | None:
        """By label, the domains that are open just now; None where there is none."""
        if ticket.quotas is not None:
            key = ticket.quotas.key
            return {key: rationed(ticket.quotas, ticket.weights.get(key, ()))} if ticket.quotas.open else None
        found: dict[str, Allowed] = {}
        for key in ticket.ties:
            found[key] = one = allowed(ticket, key)
            if one.only is not None and one.impossible:
                return None
        return found

    def _candidates(self, ticket: Ticket, where: Mapping[str, Allowed]) -> int:
        """The bins that may take it: a coarse answer, of which the lowest is tried first."""
        board = self.board
        found = ticket.nodes
        for pool in ticket.pools:
            found |= board.claims_of[pool]
        if ticket.too_small:
            ticket.bury()
        if ticket.dead:
            found &= ~ticket.dead
        for tie in ticket.hosts:
            found &= ~tie.group.crowded(tie.limit)
        for column, amount in ticket.demands:
            if not found:
                return 0
            levels = board.levels[column]
            if found & ~levels.roomy:
                found &= levels.at_least(amount)
        for tie in ticket.near_hosts:
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
        needs = [(room_of[column], amount) for column, amount in ticket.demands]
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
            self._record(ticket, number, count, queue)
        return count

    def _open(self, ticket: Ticket, where: Mapping[str, Allowed], queue: Queue) -> int:
        for tie in ticket.near_hosts:
            if tie.group.occupied or not tie.itself:
                return 0
        waiting = len(queue.pods) - queue.done
        most = 1 if waiting == 1 else self._most(ticket, None, waiting)
        for pool, state in ticket.pools.items():
            number, count = self.acceptor.onto_new(ticket, pool, state, most, where)
            if count:
                self._record(ticket, number, count, queue)
                return count
        return 0

    def _most(self, ticket: Ticket, number: int | None, waiting: int) -> int:
        """How many may go to one bin at once, resources aside."""
        if ticket.shape.ports or not (ticket.quotas is not None or ticket.flocks):
            return 1
        most = waiting
        for tie in ticket.hosts:
            if not tie.itself:
                # One that does not count itself still counts for its own inverse group; go one by one.
                most = min(most, 1) if tie.group.key.kind is Kind.INVERSE else most
                continue
            there = tie.group.by_bin.get(number, 0) if number is not None else 0
            most = min(most, tie.limit + 1 - there)
        return most

    def _record(self, ticket: Ticket, number: int, count: int, queue: Queue) -> None:
        """Book pods onto a bin, and count them in every group that sees them there."""
        board = self.board
        pods = queue.pods[queue.done : queue.done + count]
        queue.done += count
        if number >= board.node_count:
            board.claims[number - board.node_count].pods += pods
        elif number in board.placed:
            board.placed[number] += pods
        else:
            board.placed[number] = pods
        for group in ticket.counted_on_host:
            if group.everywhere or self._passes(group, number):
                group.add_host(number, count)
        for key, groups in ticket.counted_by_label.items():
            domain = self._domain(number, key)
            if domain is not None:
                for group in groups:
                    if group.everywhere or self._passes(group, number):
                        group.add(domain, count)
        if ticket.quotas is not None:
            ticket.quotas.take(self._domain(number, ticket.quotas.key) or "", count)

    def _passes(self, group: Group, number: int) -> bool:
        """Whether a group's node filter counts pods on a bin."""
        if number < self.board.node_count:
            if None not in group.passes:
                group.passes[None] = self.compiled.table.passing(group.key.node_filter)
            return bool(group.passes[None] >> number & 1)
        state = self.board.claim(number).state
        known = group.passes.get(state)
        if known is None:
            known = group.passes[state] = int(state_passes(group.key, state))
        return bool(known)

    def _domain(self, number: int, key: str) -> str | None:
        if number < self.board.node_count:
            return self.compiled.table.value(number, key)
        values = self.board.claims[number - self.board.node_count].state.domains(key)
        return values[0] if values is not None and len(values) == 1 else None


def _all_of(masks: Mapping[str, int]) -> int:
    found = 0
    for mask in masks.values():
        found |= mask
    return found
