"""Why a pod has to wait: per pool the first constraint that fails, in a sentence a person can act on.

Asked only about pods that were refused, after the packing, with everything that was packed in place: so "the limit is
reached" counts what this very plan would buy. A pool that failed later in the list came closer, and is told first.

Volumes and topology leave a pod only some of the places a pool goes to. Where each of those fails for a reason of its
own, that reason is the one to tell: "with its volumes in z1, it is too large", not "no".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dovetail.core.pods import Pod, Shape
from dovetail.core.resources import quantity_of
from dovetail.core.scheduling.asks import Ask
from dovetail.core.scheduling.bitsets import bits
from dovetail.core.scheduling.board import Board
from dovetail.core.scheduling.families import Terms
from dovetail.core.scheduling.flexibility import is_kept_by_cut, met, reached
from dovetail.core.scheduling.groups import Group
from dovetail.core.scheduling.index import PoolIndex
from dovetail.core.scheduling.obstacles import Obstacle
from dovetail.core.scheduling.problem import PoolRefusal, Refused
from dovetail.core.scheduling.states import State
from dovetail.core.scheduling.tickets import Ticket
from dovetail.core.taints import untolerated


@dataclass(frozen=True, slots=True)
class _Case:
    """One shape before one pool, with the least it would settle for, and the labels a claim for it would begin with."""

    board: Board
    pool: int
    ask: Ask
    ticket: Ticket
    state: State | None

    @property
    def index(self) -> PoolIndex:
        return self.board.index(self.pool)

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

    code: Obstacle
    reason: str
    nearest: str | None = None


_Rule = Callable[[_Case], _Found | None]
#: With more domains than this to look into, the counts are told instead.
_MOST_DOMAINS: Final = 64


def _taints(case: _Case) -> _Found | None:
    left = untolerated(case.index.pool.taints, case.ask.tolerations)
    if not left:
        return None
    return _Found(Obstacle.TAINTS, f"does not tolerate {', '.join(str(one) for one in left)}")


def _labels(case: _Case) -> _Found | None:
    well_known = case.board.compiled.options.well_known
    problems = case.index.template.incompatibilities(case.ask.labels, well_known)
    if not problems:
        return None
    return _Found(Obstacle.REQUIREMENTS, "incompatible requirements, " + "; ".join(str(one) for one in problems))


def _no_type(case: _Case) -> _Found | None:
    if not case.index.types:
        return _Found(Obstacle.INSTANCE_TYPES, "the pool's requirements leave no instance type at all")
    if case.types:
        return None
    wanted = case.ask.labels
    if case.index.types_admitting(case.index.template & wanted):
        return _Found(
            Obstacle.OFFERINGS, f"no instance type that suits is for sale just now with {wanted or 'any labels'}"
        )
    return _Found(Obstacle.INSTANCE_TYPES, f"no instance type met all requirements, {wanted}")


def _too_big(case: _Case) -> _Found | None:
    if case.holding:
        return None
    index, requests = case.index, case.ticket.shape.requests
    for name, amount in sorted(requests.items()):
        most = index.largest(name, case.types)
        if most < amount:
            largest = next(position for position in bits(case.types) if index.room_of(position, name) == most)
            wanted, has = quantity_of(name, amount), quantity_of(name, max(0, most))
            return _Found(
                Obstacle.RESOURCES,
                f"asks for {wanted} {name}; the largest allowed type, {index.types[largest].name}, has {has} for pods",
                f"fits {index.types[largest].name} if it asked {has} {name} instead of {wanted}" if most > 0 else None,
            )
    position = _closest(case)
    short = {
        name: index.room_of(position, name)
        for name, amount in sorted(requests.items())
        if amount > index.room_of(position, name)
    }
    asked = ", ".join(
        f"{quantity_of(name, has)} {name} instead of {quantity_of(name, requests[name])}" for name, has in short.items()
    )
    name = index.types[position].name
    return _Found(
        Obstacle.RESOURCES, "no single type has enough of everything it asks for", f"fits {name} if it asked {asked}"
    )


def _closest(case: _Case) -> int:
    """The type that lacks the smallest share of what is asked."""

    def lacking(position: int) -> tuple[float, str]:
        asked = case.ticket.shape.requests
        room = {name: case.index.room_of(position, name) for name in asked}
        shares = [1 - room[name] / amount for name, amount in asked.items() if amount > room[name]]
        return (sum(shares), case.index.types[position].name)

    return min(bits(case.types), key=lacking)


def _ports(case: _Case) -> _Found | None:
    ports = case.ticket.shape.ports
    if not ports or case.holding & case.index.free_of_daemon_ports(ports):
        return None
    taken = ", ".join(f"{one.port}/{one.protocol}" for one in ports)
    return _Found(
        Obstacle.HOST_PORTS, f"a daemon holds one of the host ports {taken} on every type that is large enough"
    )


def _volumes(case: _Case) -> _Found | None:
    volumes, state = case.ticket.shape.volumes, case.state
    if state is not None and volumes.places and not any(state.asked(place) for place in volumes.places):
        return _Found(
            Obstacle.VOLUMES, f"its volumes can only be used where {_places(case)}, and the pool does not go there"
        )
    counts: dict[str, int] = {}
    for driver, _ in volumes.attached:
        counts[driver] = counts.get(driver, 0) + 1
    if counts and not case.holding & case.index.attaching(counts):
        return _Found(Obstacle.VOLUMES, "would exceed volume limit for all instance type options")
    inner = _in_each(_placed(case), (_no_type, _too_big, _ports)) if volumes.places else None
    if inner is None:
        return None
    reason = f"its volumes can only be used where {_places(case)}, and there it is refused: {inner.reason}"
    return _Found(Obstacle.VOLUMES, reason, inner.nearest)


def _places(case: _Case) -> str:
    return " or ".join(str(place) for place in case.ticket.shape.volumes.places)


def _placed(case: _Case) -> Sequence[_Case]:
    """The case in each place its volumes leave it."""
    places = case.ticket.shape.volumes.places
    if case.state is None or not places:
        return (case,)
    states = (case.state.asked(place) for place in places)
    return [replace(case, state=state) for state in states if state is not None]


def _in_each(cases: Sequence[_Case], rules: Iterable[_Rule]) -> _Found | None:
    """What stands in the way where something does in each case: of the case that came furthest."""
    order = tuple(rules)
    furthest: tuple[int, _Found] | None = None
    for case in cases:
        one = _first(case, order)
        if one is None:
            return None
        if furthest is None or one[0] > furthest[0]:
            furthest = one
    return None if furthest is None else furthest[1]


def _first(case: _Case, rules: Iterable[_Rule]) -> tuple[int, _Found] | None:
    """How far a case gets, and what stops it."""
    for progress, rule in enumerate(rules):
        found = rule(case)
        if found is not None:
            return progress, found
    return None


def _limits(case: _Case) -> _Found | None:
    limit = case.board.limits[case.pool]
    if limit is None or limit.fitting(None, case.holding):
        return None
    left = ", ".join(f"{quantity_of(name, max(0, amount))} {name}" for name, amount in sorted(limit.left.items()))
    return _Found(Obstacle.LIMITS, f"all available instance types exceed limits for nodepool; {left} is left")


def _min_values(case: _Case) -> _Found | None:
    state = case.state
    if state is None:
        return None
    wanted = tuple((one.key, one.min_values) for one in state.labels if one.min_values)
    limit = case.board.limits[case.pool]
    types = case.holding if limit is None else limit.fitting(None, case.holding)
    if not wanted or met(case.index, state, types, wanted):
        return None
    if not is_kept_by_cut(case.index, state, types, wanted):
        told = ", ".join(f"{key} wants {needed}" for key, needed in wanted)
        most = case.index.most_types
        return _Found(
            Obstacle.MIN_VALUES, f"minValues requirement is not met by as many types as a claim names, {most}: {told}"
        )
    counts = reached(case.index, state, types, wanted)
    short = ", ".join(f"{key} wants {needed}, {counts[key]} left" for key, needed in wanted if counts[key] < needed)
    return _Found(Obstacle.MIN_VALUES, f"minValues requirement is not met for label(s): {short}")


def _reserved(case: _Case) -> _Found | None:
    state = case.state
    if state is None or state.market & case.holding or not state.reserved.types:
        return None
    return _Found(Obstacle.RESERVATIONS, "every reservation that suits is full, and the pool may not buy anything else")


def _topology(case: _Case) -> _Found | None:
    for key in case.ticket.bonds.ties:
        if case.ticket.bonds.allowed(key, case.ask.labels).impossible:
            return _Found(Obstacle.TOPOLOGY, _told(case.ticket, key))
    found = _decided(case)
    if found is not None:
        return found
    for key in case.ticket.bonds.ties:
        return _Found(Obstacle.TOPOLOGY, _told(case.ticket, key))
    for tie in (*case.ticket.bonds.hosts, *case.ticket.bonds.near_hosts):
        return _Found(
            Obstacle.TOPOLOGY,
            f"unsatisfiable topology constraint for {tie.group.key.kind.value}, key={tie.group.key.key}",
        )
    return None


def _decided(case: _Case) -> _Found | None:
    """What stands in the way in each of the domains that its ties leave open just now."""
    cases: list[_Case] = list(_placed(case))
    pinned: list[str] = []
    for key in case.ticket.bonds.ties:
        narrowed = [(value, one) for each in cases for value, one in _domains(each, key)]
        if not narrowed and cases:
            return _Found(Obstacle.TOPOLOGY, _told(case.ticket, key))
        if len(narrowed) > _MOST_DOMAINS:
            return None
        cases = [one for _, one in narrowed]
        values = sorted({value for value, _ in narrowed if value is not None})
        pinned += [f"{key} to be {' or '.join(values)}"] if values else []
    inner = _in_each(cases, (_too_big, _ports, _limits, _min_values, _reserved)) if pinned else None
    if inner is None:
        return None
    reason = f"topology leaves {' and '.join(pinned)}, one for each node, and there it is refused: {inner.reason}"
    return _Found(inner.code, reason, inner.nearest)


def _domains(case: _Case, key: str) -> Iterable[tuple[str | None, _Case]]:
    """The case in each domain of one label that will do; None where the label may be left off."""
    one, state = case.ticket.bonds.allowed(key, case.ask.labels), case.state
    values = state.domains(key) if state is not None else None
    if state is None or values is None:
        return () if one.strict else ((None, case),)
    states = ((value, state.pinned(key, value)) for value in one.sorted(values))
    return [(value, replace(case, state=each)) for value, each in states if each is not None]


def _told(ticket: Ticket, key: str) -> str:
    tie = next((one for one in ticket.bonds.ties[key] if one.rule is not None), ticket.bonds.ties[key][0])
    group: Group = tie.group
    counts = ", ".join(f"{domain} {count}" for domain, count in sorted(group.counts.items())) or "none yet"
    return f"unsatisfiable topology constraint for {group.key.kind.value}, key={key} (counts: {counts})"


RULES: tuple[_Rule, ...] = (
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
#: How many rules come before the place of its volumes is settled.
_PLACED: Final = RULES.index(_limits)


def refusal(board: Board, shape: Shape, pods: tuple[Pod, ...], ticket_of: Callable[[Terms, Shape], Ticket]) -> Refused:
    """The reasons for one shape; `ticket_of` writes the ticket of a rung, or finds it."""
    if shape.problem is not None:
        return Refused(pods, shape.problem)
    rungs = board.compiled.rungs(shape)[-max(1, len(shape.terms)) :]
    if not board.compiled.indexes:
        return Refused(pods, "no NodePool can buy nodes: there is none that is ready, dynamic and has a catalog")
    found = []
    for pool, index in enumerate(board.compiled.indexes):
        start = board.compiled.states[pool].start
        asked = [(rung, start.asked(rung.ask.labels) if start is not None else None) for rung in rungs]
        cases = [_judged(_Case(board, pool, rung.ask, ticket_of(rung, shape), state)) for rung, state in asked]
        progress, one = max(cases, key=lambda each: each[0])
        found.append((progress, index.pool.name, one))
    found.sort(key=lambda each: (-each[0], each[1]))
    pools = tuple(PoolRefusal(name, one.code, one.reason) for _, name, one in found)
    nearest = next((one.nearest for _, _, one in found if one.nearest), None)
    return Refused(pods, f"{pools[0].pool}: {pools[0].reason}", pools, nearest)


def _judged(case: _Case) -> tuple[int, _Found]:
    """How far one case got, and what stopped it; what follows the volumes is asked in each place they leave."""
    found = _first(case, RULES[:_PLACED])
    if found is not None:
        return found
    cases = _placed(case)
    later = [_first(one, RULES[_PLACED:]) for one in cases]
    stopped = [(progress + _PLACED, one) for progress, one in filter(None, later)]
    if len(stopped) == len(cases):
        return max(stopped, key=lambda each: each[0])
    return len(RULES), _Found(Obstacle.CROWDED, "no new node may be opened for it, and none that is there has room")
