"""The ledger of a plan: pods are written down where they go, and counted in every group that sees them there."""

from __future__ import annotations

from dovetail.core.scheduling.board import Board
from dovetail.core.scheduling.groups import Group
from dovetail.core.scheduling.queues import Queue
from dovetail.core.scheduling.tickets import Ticket
from dovetail.core.scheduling.topology import state_passes


class Ledger:
    def __init__(self, board: Board) -> None:
        self.board = board
        self.table = board.compiled.table

    def record(self, ticket: Ticket, number: int, count: int, queue: Queue) -> None:
        """Write the next pods of a queue down for one bin."""
        board = self.board
        pods = queue.pods[queue.done : queue.done + count]
        queue.done += count
        if number >= board.node_count:
            board.claims[number - board.node_count].pods += pods
        elif number in board.placed:
            board.placed[number] += pods
        else:
            board.placed[number] = pods
        for group in ticket.bonds.counted_on_host:
            if group.everywhere or self._passes(group, number):
                group.add_host(number, count)
        for key, groups in ticket.bonds.counted_by_label.items():
            domain = self._domain(number, key)
            if domain is not None:
                for group in groups:
                    if group.everywhere or self._passes(group, number):
                        group.add(domain, count)
        if ticket.quotas is not None:
            ticket.quotas.take(self._domain(number, ticket.quotas.key) or "", count)

    def repeat(self, ticket: Ticket, number: int, count: int, queue: Queue) -> None:
        """Open claims like the one just opened for these pods, as long as there are pods to fill them as well.

        For pods that no label ties: then a further claim would begin as that one did, as nothing has changed for it.
        """
        board = self.board
        like = board.claim(number)
        times = queue.waiting // count
        if not times or like.reserved or board.limits[like.pool] is not None or not ticket.plain:
            return
        for each in board.open_more(like, times):
            each.pods = queue.pods[queue.done : queue.done + count]
            queue.done += count
        for group in ticket.bonds.counted_on_host:
            if group.everywhere or self._passes(group, number):
                group.add_hosts(range(number + 1, number + 1 + times), count)

    def _passes(self, group: Group, number: int) -> bool:
        """Whether a group's node filter counts pods on a bin."""
        if number < self.board.node_count:
            if None not in group.passes:
                group.passes[None] = self.table.passing(group.key.node_filter)
            return bool(group.passes[None] >> number & 1)
        state = self.board.claim(number).state
        known = group.passes.get(state)
        if known is None:
            known = group.passes[state] = int(state_passes(group.key, state))
        return bool(known)

    def _domain(self, number: int, key: str) -> str | None:
        if number < self.board.node_count:
            return self.table.value(number, key)
        values = self.board.claims[number - self.board.node_count].state.domains(key)
        return values[0] if values is not None and len(values) == 1 else None
