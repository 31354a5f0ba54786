"""Why a pod has to wait: per pool the first constraint that fails, in a sentence a person can act on.

Asked only about pods that were refused, after the packing, with everything that was packed in place: so "the limit is
reached" counts what this very plan would buy. A pool that failed later in the list came closer, and is told first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dovetail.core.pods import Pod, Shape
from dovetail.core.resources import quantity_of
from dovetail.core.scheduling.asks import Ask
from dovetail.core.scheduling.board import Board
from dovetail.core.scheduling.compiled import Terms
from dovetail.core.scheduling.domains import allowed
from dovetail.core.scheduling.flexibility import met, reached
from dovetail.core.scheduling.groups import Group
from dovetail.core.scheduling.index import PoolIndex, bits
from dovetail.core.scheduling.problem import PoolRefusal, Refused
from dovetail.core.scheduling.states import State
from dovetail.core.scheduling.tickets import Ticket
from dovetail.core.taints import untolerated


@dataclass(frozen=True, slots=True)
class _Case:
    """One shape before one pool, with the least it would settle for."""

    board: Board
    pool: int
    ask: Ask
    ticket: Ticket

    @property
    def index(self) -> PoolIndex:
        return self.board.index(self.pool)

    @property
    def state(self) -> State | None:
        start = self.board.compiled.states[self.pool].start
        return start.asked(self.ask.labels) if start is not None else None

    @property
    def types(self) -> int:
        """The types that suit its labels, whether or not they are large enough."""
        state = self.state
        return 0 if state is None else state.market | state.reserved.types

    @property
    def holding(self) -> int:
        types = self.types
        for name, amount in self.ticket.shape.requests.items():
            types &= self.index.holding(name, amount)
        return types


@dataclass(frozen=True, slots=True)
class _Found:
    """A constraint that fails: its code, the sentence, and what would nearly have done."""

    code: str
    reason: str
    nearest: str | None = None


def _taints(case: _Case) -> _Found | None:
    left = untolerated(case.index.pool.taints, case.ask.tolerations)
    if not left:
        return None
    return _Found("taints", f"does not tolerate {', '.join(str(one) for one in left)}")


def _labels(case: _Case) -> _Found | None:
    well_known = case.board.compiled.options.well_known
    problems = case.index.template.incompatibilities(case.ask.labels, well_known)
    if not problems:
        return None
    return _Found("requirements", "incompatible requirements, " + "; ".join(str(one) for one in problems))


def _no_type(case: _Case) -> _Found | None:
    if not case.index.types:
        return _Found("instance-types", "the pool's requirements leave no instance type at all")
    if case.types:
        return None
    wanted = case.ask.labels
    if case.index.types_admitting(case.index.template & wanted):
        return _Found("offerings", f"no instance type that suits is for sale just now with {wanted or 'any labels'}")
    return _Found("instance-types", f"no instance type met all requirements, {wanted}")


def _too_big(case: _Case) -> _Found | None:
    if case.holding:
        return None
    index, requests = case.index, case.ticket.shape.requests
    for name, amount in sorted(requests.items()):
        most = index.largest(name, case.types)
        if most < amount:
            largest = next(position for position in bits(case.types) if index.room[position].of(name) == most)
            wanted, has = quantity_of(name, amount), quantity_of(name, max(0, most))
            return _Found(
                "resources",
                f"asks for {wanted} {name}; the largest allowed type, {index.types[largest].name}, has {has} for pods",
                f"fits {index.types[largest].name} if it asked {has} {name} instead of {wanted}" if most > 0 else None,
            )
    position = _closest(case)
    short = {
        name: index.room[position].of(name)
        for name, amount in sorted(requests.items())
        if amount > index.room[position].of(name)
    }
    asked = ", ".join(
        f"{quantity_of(name, has)} {name} instead of {quantity_of(name, requests[name])}" for name, has in short.items()
    )
    name = index.types[position].name
    return _Found(
        "resources", "no single type has enough of everything it asks for", f"fits {name} if it asked {asked}"
    )


def _closest(case: _Case) -> int:
    """The type that lacks the smallest share of what is asked."""

    def lacking(position: int) -> tuple[float, str]:
        room = case.index.room[position]
        shares = [
            1 - room.of(name) / amount for name, amount in case.ticket.shape.requests.items() if amount > room.of(name)
        ]
        return (sum(shares), case.index.types[position].name)

    return min(bits(case.types), key=lacking)


def _ports(case: _Case) -> _Found | None:
    ports = case.ticket.shape.ports
    if not ports or case.holding & case.index.free_of_daemon_ports(ports):
        return None
    taken = ", ".join(f"{one.port}/{one.protocol}" for one in ports)
    return _Found("host-ports", f"a daemon holds one of the host ports {taken} on every type that is large enough")


def _volumes(case: _Case) -> _Found | None:
    volumes, state = case.ticket.shape.volumes, case.state
    if state is not None and volumes.places and not any(state.asked(place) for place in volumes.places):
        places = " or ".join(str(place) for place in volumes.places)
        return _Found("volumes", f"its volumes can only be used where {places}, and the pool does not go there")
    counts: dict[str, int] = {}
    for driver, _ in volumes.attached:
        counts[driver] = counts.get(driver, 0) + 1
    if counts and not case.holding & case.index.attaching(counts):
        return _Found("volumes", "would exceed volume limit for all instance type options")
    return None


def _limits(case: _Case) -> _Found | None:
    limit = case.board.limits[case.pool]
    if limit is None or limit.fitting(None, case.holding):
        return None
    left = ", ".join(f"{quantity_of(name, max(0, amount))} {name}" for name, amount in sorted(limit.left.items()))
    return _Found("limits", f"all available instance types exceed limits for nodepool; {left} is left")


def _min_values(case: _Case) -> _Found | None:
    state = case.state
    if state is None:
        return None
    wanted = tuple((one.key, one.min_values) for one in state.labels if one.min_values)
    limit = case.board.limits[case.pool]
    types = case.holding if limit is None else limit.fitting(None, case.holding)
    if not wanted or met(case.index, state, types, wanted):
        return None
    counts = reached(case.index, state, types, wanted)
    short = ", ".join(f"{key} wants {needed}, {counts[key]} left" for key, needed in wanted if counts[key] < needed)
    return _Found("min-values", f"minValues requirement is not met for label(s): {short}")


def _reserved(case: _Case) -> _Found | None:
    state = case.state
    if state is None or state.market & case.holding or not state.reserved.rows:
        return None
    return _Found("reservations", "every reservation that suits is full, and the pool may not buy anything else")


def _topology(case: _Case) -> _Found | None:
    for key in case.ticket.ties:
        if allowed(case.ticket, key).impossible:
            return _Found("topology", _told(case.ticket, key))
    for key in case.ticket.ties:
        return _Found("topology", _told(case.ticket, key))
    for tie in (*case.ticket.hosts, *case.ticket.near_hosts):
        return _Found(
            "topology", f"unsatisfiable topology constraint for {tie.group.key.kind.value}, key={tie.group.key.key}"
        )
    return None


def _told(ticket: Ticket, key: str) -> str:
    tie = next((one for one in ticket.ties[key] if one.rule is not None), ticket.ties[key][0])
    group: Group = tie.group
    counts = ", ".join(f"{domain} {count}" for domain, count in sorted(group.counts.items())) or "none yet"
    return f"unsatisfiable topology constraint for {group.key.kind.value}, key={key} (counts: {counts})"


RULES: tuple[Callable[[_Case], _Found | None], ...] = (
    _taints,
    _labels,
    _no_type,
    _too_big,
    _ports,
    _volumes,
    _limits,
    _min_values,
    _reserved,
    _topology,
)


def refusal(board: Board, shape: Shape, pods: tuple[Pod, ...], ticket_of: Callable[[Terms, Shape], Ticket]) -> Refused:
    """The reasons for one shape; `ticket_of` writes the ticket of a rung, or finds it."""
    if shape.problem is not None:
        return Refused(pods, shape.problem)
    rungs = board.compiled.rungs(shape)[-max(1, len(shape.terms)) :]
    if not board.compiled.indexes:
        return Refused(pods, "no NodePool can buy nodes: there is none that is ready, dynamic and has a catalog")
    found = []
    for pool, index in enumerate(board.compiled.indexes):
        cases = [_judged(_Case(board, pool, rung.ask, ticket_of(rung, shape))) for rung in rungs]
        progress, one = max(cases, key=lambda each: each[0])
        found.append((progress, index.pool.name, one))
    found.sort(key=lambda each: (-each[0], each[1]))
    pools = tuple(PoolRefusal(name, one.code, one.reason) for _, name, one in found)
    nearest = next((one.nearest for _, _, one in found if one.nearest), None)
    return Refused(pods, f"{pools[0].pool}: {pools[0].reason}", pools, nearest)


def _judged(case: _Case) -> tuple[int, _Found]:
    """How far one case got, and what stopped it."""
    for progress, rule in enumerate(RULES):
        found = rule(case)
        if found is not None:
            return progress, found
    return len(RULES), _Found("crowded", "no new node may be opened for it, and none that is there has room")
