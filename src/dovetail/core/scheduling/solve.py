"""The packer: pods in, plan out.

Shapes are taken by priority, then largest first. All pods of a shape are placed together: on existing nodes, then on
claims already opened, then on new claims of the heaviest pool that will have them; in each case the lowest number
first. A pod that cannot be placed gives up its wishes one by one (`asks`); shapes that failed are tried again as
long as others succeed, because an affinity may have found its company meanwhile.

Nothing here depends on the order in which objects arrived: shapes, pods, pools, types and domains are all
visited by stated keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dovetail.core.pods import Labels, Pod, Shape
from dovetail.core.resources import CPU, MEMORY
from dovetail.core.scheduling.accept import Acceptor
from dovetail.core.scheduling.board import Board
from dovetail.core.scheduling.compiled import Compiled, Terms
from dovetail.core.scheduling.domains import Allowed, allowed, rationed, shared_out
from dovetail.core.scheduling.finish import finished
from dovetail.core.scheduling.groups import Group, GroupKey, Kind
from dovetail.core.scheduling.index import bits
from dovetail.core.scheduling.mixing import Mixer
from dovetail.core.scheduling.problem import Plan, Problem
from dovetail.core.scheduling.states import State
from dovetail.core.scheduling.tickets import Demand, Ticket


def solve(problem: Problem) -> Plan:
    """Plan every pod that waits."""
    return replan(Compiled(problem))


def replan(compiled: Compiled, without: Iterable[str] = ()) -> Plan:
    """Plan again on a compiled problem, as if some nodes were leaving.

    Largest first leaves nodes full of cpu and empty of memory where pods are of both kinds. Where nothing ties pods to
    each other a second plan is made with pods mixed so that nodes fill evenly (`mixing`), and the cheaper one is kept.
    """
    numbers = [compiled.table.numbers[name] for name in without]
    packer = _Packer(compiled, numbers)
    plan = packer.plan()
    if packer.groups or len(packer.queues) < 2 or not plan.claims:
        return plan
    other = _Packer(compiled, numbers).plan(mixed=True)
    return other if _cost(other) < _cost(plan) else plan


def _cost(plan: Plan) -> tuple[int, int, int, int]:
    """What makes a plan worse: pods left waiting, nodes nobody knows the price of, dollars, nodes."""
    unpriced = sum(claim.choice.offering.price is None for claim in plan.claims)
    return (sum(len(one.pods) for one in plan.refused), unpriced, plan.nanodollars, len(plan.claims))


class _Queue:
    """The pods of one shape that still wait."""

    __slots__ = ("done", "pods", "shape")

    def __init__(self, shape: Shape, pods: list[Pod]) -> None:
        self.shape = shape
        self.pods = pods
        self.done = 0

    @property
    def waiting(self) -> int:
        return len(self.pods) - self.done


def queues(compiled: Compiled, pods: Iterable[Pod]) -> list[_Queue]:
    """Pods by shape, in the order they are planned."""
    by_identity: dict[int, list[Pod]] = {}
    for pod in pods:
        known = by_identity.get(id(pod.shape))
        if known is None:
            by_identity[id(pod.shape)] = [pod]
        else:
            known.append(pod)
    by_shape: dict[int, _Queue] = {}
    for found in by_identity.values():
        shape = compiled.same(found[0].shape)
        queue = by_shape.get(id(shape))
        if queue is None:
            by_shape[id(shape)] = _Queue(shape, found)
        else:
            queue.pods += found
    for queue in by_shape.values():
        if len(queue.pods) > 1:
            queue.pods.sort(key=lambda pod: (pod.created, pod.uid, pod.name))
    return sorted(by_shape.values(), key=_turn)


def _turn(queue: _Queue) -> tuple[int, int, int, float, str, str]:
    requests, first = queue.shape.requests, queue.pods[0]
    return (
        -queue.shape.priority,
        -requests.of(CPU),
        -requests.of(MEMORY),
        first.created,
        first.uid,
        first.key,
    )


class _Packer:
    def __init__(self, compiled: Compiled, without: list[int]) -> None:
        self.compiled = compiled
        self.without = sum(1 << number for number in set(without))
        self.queues = queues(compiled, compiled.pending(without))
        names = sorted({name for queue in self.queues for name in queue.shape.requests})
        self.board = Board(compiled, {name: column for column, name in enumerate(names)}, self.without)
        self.acceptor = Acceptor(self.board)
        self.groups: dict[GroupKey, Group] = {}
        self._tickets: dict[tuple[Terms, int], Ticket] = {}
        self._templates: dict[Terms, Ticket] = {}
        self._selected: dict[tuple[str, Labels], tuple[list[Group], list[Group]]] = {}
        #: Groups, numbered, by a label pod must have to be selected; under None those for which there is no such label.
        self._by_label: dict[tuple[str, str] | None, list[tuple[int, Group]]] = {}
        self._register()

    def _register(self) -> None:
        """Every group anybody in this plan is counted by or has to obey."""
        compiled = self.compiled
        keys: dict[GroupKey, None] = {}
        sound = (queue.shape for queue in self.queues if queue.shape.problem is None)
        families = {id(kin): kin for kin in map(compiled.family, sound)}
        for kin in families.values():
            keys.update(dict.fromkeys(compiled.avoided(kin)))
        keys = dict.fromkeys(sorted(keys, key=lambda one: one.order))
        for kin in families.values():
            for rung in compiled.rungs(kin):
                keys.update(dict.fromkeys(rung.owned))
            keys.update(dict.fromkeys(compiled.inverse_keys(kin)))
        for number, key in enumerate(keys):
            group = self.groups[key] = compiled.group(key, self.without)
            if not group.is_host:
                self.board.track(key.key)
            for pair in key.selector.pairs:
                self._by_label.setdefault(pair, []).append((number, group))

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
        return finished(self.board, refused, self._ticket)

    def _mix(self, waiting: list[_Queue]) -> None:
        """Fill existing nodes as ever, then open claims for even mixtures of the pods that begin in the same state.

        What a claim does not take after all stays in its queue, and is served like any other pod.
        """
        by_start: dict[State, list[_Queue]] = {}
        for queue in waiting:
            ticket = self._ticket(self.compiled.rungs(queue.shape)[0], queue.shape)
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

    def _fill(self, parts: list[tuple[_Queue, int]]) -> None:
        """Open one claim, and put on it what was thought of for it, as far as it takes it."""
        number: int | None = None
        for queue, count in parts:
            ticket = self._ticket(self.compiled.rungs(queue.shape)[0], queue.shape)
            most = min(count, queue.waiting)
            if number is None:
                pool, start = next(iter(ticket.pools.items()))
                opened, taken = self.acceptor.onto_new(ticket, pool, start, most, {})
                number = opened if taken else None
            else:
                taken = self.acceptor.onto_claim(ticket, number, most, {})
            if taken and number is not None:
                self._record(ticket, number, taken, queue)

    def _serve(self, queue: _Queue) -> bool:
        """Place what can be placed of one shape, each pod with as many of its wishes as can be had."""
        before = queue.done
        rungs = self.compiled.rungs(queue.shape)
        first = self._ticket(rungs[0], queue.shape)
        first.quotas = self._quotas(first, queue.waiting)
        while queue.waiting and any(self._place(self._ticket(rung, queue.shape), queue) for rung in rungs):
            pass
        return queue.done > before

    def _quotas(self, ticket: Ticket, pods: int) -> tuple[str, dict[str, int]] | None:
        """Share pods out over the domains of a spread at once, where every domain is sure to take its share.

        Otherwise they have to go one by one, as the skew allows.
        """
        if len(ticket.ties) != 1 or pods < 2 or ticket.near_hosts or ticket.shape.volumes.places:
            return None
        ((key, ties),) = ticket.ties.items()
        spreads = [tie for tie in ties if tie.rule is Kind.SPREAD]
        if len(spreads) > 1 or any(tie.rule not in (Kind.SPREAD, None) or not tie.itself for tie in ties):
            return None
        leading = (spreads or ties)[0].group
        eligible = self.compiled.eligible(leading.key, self.without)
        minimum = leading.key.min_domains
        if not eligible or (minimum is not None and len(eligible) < minimum):
            return None
        if not self.acceptor.endless(ticket, key, eligible):
            return None
        return key, shared_out(leading.counts, eligible, pods)

    # ---- tickets

    def _ticket(self, rung: Terms, shape: Shape) -> Ticket:
        found = self._tickets.get((rung, id(shape)))
        if found is None:
            columns = self.board.columns
            demands = tuple(
                Demand(columns[name], name, amount) for name, amount in sorted(shape.requests.items()) if amount
            )
            found = self._tickets[rung, id(shape)] = self._template(rung).for_shape(shape, demands)
        return found

    def _template(self, rung: Terms) -> Ticket:
        """What all shapes of a family have in common on one rung."""
        found = self._templates.get(rung)
        if found is None:
            reach = self.compiled.reach(rung)
            nodes = reach.nodes & self.board.open_nodes
            found = self._templates[rung] = Ticket(rung.ask.shape, rung.ask, nodes, reach.pools)
            self._tie(found, rung)
        return found

    def _tie(self, ticket: Ticket, rung: Terms) -> None:
        shape = ticket.shape
        owned = frozenset(rung.owned)
        ticket.record = self._counted_by(shape)
        for key in rung.owned:
            ticket.tie(self.groups[key], key.kind, self.compiled.selects(key, shape))
        for group in self._kept_away_by(shape):
            ticket.tie(group, Kind.INVERSE, False)
        for group in ticket.record:
            if group.key not in owned and not group.is_host:
                ticket.tie(group, None, True)

    def _counted_by(self, shape: Shape) -> list[Group]:
        """The groups that count a pod of this shape: those that select it, and those its own anti-affinity made."""
        inverse = [self.groups[key] for key in self.compiled.inverse_keys(shape)]
        return [*self._selecting(shape)[0], *dict.fromkeys(inverse)]

    def _kept_away_by(self, shape: Shape) -> list[Group]:
        return self._selecting(shape)[1]

    def _selecting(self, shape: Shape) -> tuple[list[Group], list[Group]]:
        """The groups whose selector finds a pod's labels: those that count it, and those it must keep away from.

        Many shapes have the same labels, so this is asked once for each set of them.
        """
        labels = self.compiled.told(shape)
        which = (shape.namespace, labels)
        found = self._selected.get(which)
        if found is None:
            found = self._selected[which] = ([], [])
            near = [one for pair in labels for one in self._by_label.get(pair, ())]
            for _, group in sorted({*near, *self._by_label.get(None, ())}, key=lambda one: one[0]):
                if self.compiled.selects(group.key, shape):
                    found[group.key.kind is Kind.INVERSE].append(group)
        return found

    # ---- placing

    def _place(self, ticket: Ticket, queue: _Queue) -> int:
        """Place what can be placed on this rung in one sweep over the bins. How many were placed.

        Where topology decides pod by pod, a sweep ends with the first pod: what it may do next has changed.
        """
        where = None if ticket.hopeless else self._where(ticket)
        if where is None:
            return 0
        before = queue.done
        sweeps = (ticket.quotas is not None or not ticket.ties) and not ticket.near_hosts
        for number in self._roomy(ticket, self._candidates(ticket, where)):
            if self._try(ticket, number, where, queue):
                if not sweeps or not queue.waiting:
                    return queue.done - before
                where = self._where(ticket) or where
        while queue.waiting and self._open(ticket, where, queue) and sweeps:
            where = self._where(ticket) or where
        if queue.done == before and ticket.only_worsens:
            ticket.hopeless = True
        return queue.done - before

    def _roomy(self, ticket: Ticket, candidates: int) -> Iterator[int]:
        """The candidates without those nodes that turn out too small; they will not be looked at again."""
        board = self.board
        needs = [(board.room[one.column], one.amount) for one in ticket.demands]
        for number in bits(candidates):
            if number < board.node_count and any(column[number] < amount for column, amount in needs):
                ticket.dead |= 1 << number
            else:
                yield number

    def _where(self, ticket: Ticket) -> dict[str, Allowed] | None:
        """By label, the domains that are open just now; None where there is none."""
        found: dict[str, Allowed] = {}
        for key in ticket.ties:
            if ticket.quotas is not None:
                found[key] = one = rationed(ticket.quotas[1], ticket.weights.get(key, ()))
            else:
                found[key] = one = allowed(ticket, key)
            if one.impossible:
                return None
        return found

    def _candidates(self, ticket: Ticket, where: dict[str, Allowed]) -> int:
        board = self.board
        found = ticket.nodes
        for pool in ticket.pools:
            found |= board.claims_of[pool]
        found &= ~ticket.dead
        for tie in ticket.hosts:
            found &= ~self._crowded(tie.group, tie.per_host())
        for one in ticket.demands:
            if not found:
                return 0
            found &= board.levels[one.column].at_least(one.amount)
        for tie in ticket.near_hosts:
            if tie.group.occupied or not tie.itself:
                found &= tie.group.occupied
        for key, chosen in where.items():
            if chosen.strict:
                found &= self._somewhere(key, chosen)
            elif chosen.never:
                # A node without the label is in no domain, so nothing there is too near.
                found &= self._somewhere(key, chosen) | ~sum_masks(self.board.where.get(key, {}).values())
        return found

    def _crowded(self, group: Group, limit: int | None) -> int:
        """The bins that hold more of a group's pods than may share a node with one of these."""
        if limit is None:
            return 0
        per_host = group.per_host
        if per_host is not None and limit == per_host - 1:
            return group.full
        return sum(1 << number for number, count in group.by_bin.items() if count > limit)

    def _somewhere(self, key: str, one: Allowed) -> int:
        values = self.board.where.get(key, {})
        return sum_masks(
            mask for value, mask in values.items() if (one.only is None or value in one.only) and value not in one.never
        )

    def _try(self, ticket: Ticket, number: int, where: dict[str, Allowed], queue: _Queue) -> int:
        most = self._most(ticket, number, queue.waiting)
        if number < self.board.node_count:
            for key, one in where.items():
                if one.quotas is not None:
                    most = min(most, one.quotas.get(self.compiled.table.value(number, key) or "", 0))
            count = self.acceptor.onto_node(ticket, number, most) if most > 0 else 0
        else:
            count = self.acceptor.onto_claim(ticket, number, most, where)
        if count:
            self._record(ticket, number, count, queue)
        return count

    def _open(self, ticket: Ticket, where: dict[str, Allowed], queue: _Queue) -> int:
        if any(tie.group.occupied or not tie.itself for tie in ticket.near_hosts):
            return 0
        most = self._most(ticket, None, queue.waiting)
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
            limit = tie.per_host()
            if limit is None or not tie.itself:
                # One that does not count itself still counts for its own inverse group; go one by one.
                most = min(most, 1) if tie.group.key.kind is Kind.INVERSE else most
                continue
            there = tie.group.by_bin.get(number, 0) if number is not None else 0
            most = min(most, limit + 1 - there)
        return most

    def _record(self, ticket: Ticket, number: int, count: int, queue: _Queue) -> None:
        """Book pods onto a bin, and count them in every group that sees them there."""
        board = self.board
        is_node = number < board.node_count
        bin_ = board.nodes[number] if is_node else board.claim(number)
        bin_.parts.append((queue.pods, queue.done, queue.done + count))
        queue.done += count
        for group in ticket.record:
            if not self._passes(group, number):
                continue
            if group.is_host:
                group.add_host(number, count, group.per_host)
            elif (domain := self._domain(number, group.key.key)) is not None:
                group.add(domain, count)
        if ticket.quotas is not None:
            key, quotas = ticket.quotas
            quotas[self._domain(number, key) or ""] -= count

    def _passes(self, group: Group, number: int) -> bool:
        """Whether a group's node filter counts pods on a bin."""
        if number < self.board.node_count:
            if None not in group.passes:
                group.passes[None] = self.compiled.table.passing(group.key.node_filter)
            return bool(group.passes[None] >> number & 1)
        state = self.board.claim(number).state
        known = group.passes.get(state)
        if known is None:
            known = group.passes[state] = int(self.compiled.state_passes(group.key, state))
        return bool(known)

    def _domain(self, number: int, key: str) -> str | None:
        if number < self.board.node_count:
            return self.compiled.table.value(number, key)
        values = self.board.claim(number).state.domains(key)
        return values[0] if values is not None and len(values) == 1 else None


def sum_masks(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found
