"""The groups of one plan, and the tickets of everybody in it.

A group is registered for every rung of every shape that is planned, before the first pod is placed: what is counted
from then on is counted for all of them. Tickets are made when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dovetail.core.pods import Shape
from dovetail.core.scheduling.board import Board
from dovetail.core.scheduling.bonds import Bonds
from dovetail.core.scheduling.families import Family, Known, Terms
from dovetail.core.scheduling.groups import Group, GroupKey, Kind
from dovetail.core.scheduling.queues import Queue
from dovetail.core.scheduling.tickets import Ticket
from dovetail.core.scheduling.topology import Face


class Registry:
    def __init__(self, board: Board, queues: Iterable[Queue]) -> None:
        self.compiled = board.compiled
        self.board = board
        self.groups: dict[GroupKey, Group] = {}
        self._templates: dict[Terms, Ticket] = {}
        self._selected: dict[Face, list[Group]] = {}
        self._demands = self.compiled.demands(board.names)
        self._register({queue.known.family: None for queue in queues if queue.shape.problem is None})

    def _register(self, families: Iterable[Family]) -> None:
        """Every group anybody in this plan is counted by or has to obey."""
        topology, gone = self.compiled.topology, self.board.gone
        keys = dict.fromkeys(topology.in_order({key for family in families for key in family.avoided}))
        for kin in {family.kin: None for family in families}:
            keys.update(kin.obeyed)
        for number, key in enumerate(keys):
            group = self.groups[key] = topology.group(key, gone)
            group.number = number
            if not group.is_host:
                self.board.track(key.key)

    def tickets(self, queue: Queue) -> tuple[Ticket, ...]:
        """The tickets of a queue, from all its shape's wishes down to none."""
        if not queue.tickets:
            known = queue.known
            rungs = known.family.rungs
            # Most shapes have nothing to give up.
            one = len(rungs) == 1
            queue.tickets = (self._made(rungs[0], known),) if one else tuple([self._made(it, known) for it in rungs])
        return queue.tickets

    def ticket(self, rung: Terms, shape: Shape) -> Ticket:
        """A ticket to look at, for one of the rungs of a shape."""
        return self._made(rung, self.compiled.known(shape))

    def _made(self, rung: Terms, known: Known) -> Ticket:
        size = known.size
        demands = self._demands.get(size)
        if demands is None:
            demands = self._demands[size] = tuple([size.requests.of(name) for name in self.board.names])
        template = self._templates.get(rung)
        if template is None:
            # The first shape of a family is mostly the only one: the template itself is its ticket.
            template = self._templates[rung] = self._template(rung, known.family)
            template.shape, template.demands = known.shape, demands
            return template
        return template.for_shape(known.shape, demands)

    def _template(self, rung: Terms, family: Family) -> Ticket:
        """What all shapes of a family have in common on one rung: where it could go, and the groups that bear on it.

        Those are its own, those of others that keep it away, and those that only count it.
        """
        pools = self.compiled.pools_for(rung.ask)
        ticket = Ticket(family.shape, rung.ask, rung.nodes & self.board.open_nodes, pools)
        selecting = self._selecting(family.face) if self.groups else ()
        if rung.owned or selecting or family.kin.inverse:
            ticket.bonds = self._bonds(rung, family.kin.inverse, selecting)
        return ticket

    def _bonds(self, rung: Terms, inverse: Sequence[GroupKey], selecting: Sequence[Group]) -> Bonds:
        bonds, groups = Bonds(), self.groups
        for key, itself in rung.owned.items():
            bonds.tie(groups[key], key.kind, itself)
        counting = []
        for group in selecting:
            if group.key.kind is Kind.INVERSE:
                bonds.tie(group, Kind.INVERSE, False)
            else:
                counting.append(group)
        if inverse:
            counting += dict.fromkeys([groups[key] for key in inverse])
        for group in counting:
            if not group.is_host and group.key not in rung.owned:
                bonds.tie(group, None, True)
            bonds.count_by(group)
        return bonds

    def _selecting(self, face: Face) -> list[Group]:
        """The groups of this plan whose selector finds a face, in order."""
        found = self._selected.get(face)
        if found is None:
            met = [self.groups.get(key) for key in self.compiled.topology.selecting(face)]
            found = self._selected[face] = [one for one in met if one is not None]
            if len(found) > 1:
                found.sort(key=lambda one: one.number)
        return found
