"""The groups of one plan, and the tickets of everybody in it.

A group is registered for every rung of every shape that is planned, before the first pod is placed: what is counted
from then on is counted for all of them. Tickets are made when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.core.pods import Shape
from dovetail.core.scheduling.board import Board
from dovetail.core.scheduling.families import Family, Terms
from dovetail.core.scheduling.groups import Group, GroupKey, Kind
from dovetail.core.scheduling.queues import Queue
from dovetail.core.scheduling.tickets import Ticket


class Registry:
    def __init__(self, board: Board, queues: Iterable[Queue]) -> None:
        self.compiled = board.compiled
        self.board = board
        self.groups: dict[GroupKey, Group] = {}
        self._templates: dict[Terms, Ticket] = {}
        self._demands = self.compiled.demands(board.names)
        self._register({queue.known.family: None for queue in queues if queue.shape.problem is None})

    def _register(self, families: Iterable[Family]) -> None:
        """Every group anybody in this plan is counted by or has to obey."""
        topology, gone = self.compiled.topology, self.board.gone
        keys = dict.fromkeys(topology.in_order({key for family in families for key in family.avoided}))
        for family in families:
            keys.update(family.obeyed)
        for number, key in enumerate(keys):
            group = self.groups[key] = topology.group(key, gone)
            group.number = number
            if not group.is_host:
                self.board.track(key.key)

    def tickets(self, queue: Queue) -> tuple[Ticket, ...]:
        """The tickets of a queue, from all its shape's wishes down to none."""
        if not queue.tickets:
            known = queue.known
            queue.tickets = tuple([self._made(rung, known.family, known.shape) for rung in known.family.rungs])
        return queue.tickets

    def ticket(self, rung: Terms, shape: Shape) -> Ticket:
        """A ticket to look at, for one of the rungs of a shape."""
        known = self.compiled.known(shape)
        return self._made(rung, known.family, known.shape)

    def _made(self, rung: Terms, family: Family, shape: Shape) -> Ticket:
        demands = self._demands.get(id(shape))
        if demands is None:
            columns = self.board.columns
            asked = [(columns[name], amount) for name, amount in shape.requests.items() if amount]
            demands = self._demands[id(shape)] = tuple(sorted(asked))
        template = self._templates.get(rung)
        if template is None:
            # The first shape of a family is mostly the only one: the template itself is its ticket.
            template = self._templates[rung] = self._template(rung, family)
            template.shape, template.demands = shape, demands
            return template
        return template.for_shape(shape, demands)

    def _template(self, rung: Terms, family: Family) -> Ticket:
        """What all shapes of a family have in common on one rung: where it could go, and the groups that bear on it.

        Those are its own, those of others that keep it away, and those that only count it.
        """
        ticket = Ticket(family.shape, rung.ask, rung.nodes & self.board.open_nodes, rung.pools)
        groups = self.groups
        if not groups:
            return ticket
        for key, itself in rung.owned.items():
            ticket.tie(groups[key], key.kind, itself)
        keys, inverse = self.compiled.selecting(family), family.inverse
        if not keys and not inverse:
            return ticket
        selecting = [found for key in keys if (found := groups.get(key)) is not None]
        if len(selecting) > 1:
            selecting.sort(key=lambda one: one.number)
        counting = []
        for group in selecting:
            if group.key.kind is Kind.INVERSE:
                ticket.tie(group, Kind.INVERSE, False)
            else:
                counting.append(group)
        if inverse:
            counting += dict.fromkeys(groups[key] for key in inverse)
        for group in counting:
            if not group.is_host and group.key not in rung.owned:
                ticket.tie(group, None, True)
            ticket.count_by(group)
        return ticket
