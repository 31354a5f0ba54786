"""Who disrupts in the simulated day: ours as its loop works, and the peer's policy by the book.

**Ours** passes over the cluster ten seconds after something changed, keeps what was decided until it is due, judges it
again, starts it, and drains a node when what it waits for is up. Passes go on meanwhile.

**By the book** is `WhenEmptyOrUnderutilized` as its specification has it. A pass ends with the first method that finds
something: empty nodes; the longest prefix, of the candidates by price for disturbance, that a binary search finds to
go for at most one cheaper machine; the first single node that can. What was found is looked at again after fifteen
seconds in which nothing else is decided, and the next pass follows at once; without a find it is ten seconds later, and
only if something changed. A move has to be cheaper, by however little. Questions go to the same what-ifs as ours.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from bench.disruption_day import BEGAN, Cluster
from dovetail.core import labels
from dovetail.core.disruption import consolidation, emptiness, pricing, validation
from dovetail.core.disruption.again import Judgements
from dovetail.core.disruption.candidates import Candidate, look
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.history import NO_HISTORY, History
from dovetail.core.disruption.orchestration import Running, Seen, next_step
from dovetail.core.disruption.passes import decide
from dovetail.core.disruption.pricing import SpotRule
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Refusal
from dovetail.core.disruption.regrets import NO_REGRETS, Regrets
from dovetail.core.disruption.scenes import Scene, settle
from dovetail.core.disruption.stages import Stage, ledger
from dovetail.core.requirements import Requirements
from dovetail.core.scheduling.problem import Claim

POLL: Final = 10.0
VALIDATION: Final = 15.0
#: A quiet cluster is looked at again after this long: prices move without anybody saying so.
STALE: Final = 300.0
MOST_TOGETHER: Final = 100


# ---- ours


@dataclass(slots=True)
class Ours:
    """Decide, judge again, carry out."""

    waiting: list[Command] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    history: History = NO_HISTORY
    regrets: Regrets = NO_REGRETS
    started: int = 0
    replaced: int = 0
    _kept: Judgements = field(default_factory=Judgements)
    _seen: int = -1
    _looked: float = -STALE
    _grown: int = 0

    def act(self, cluster: Cluster) -> float | None:
        self._carry_on(cluster)
        self._count(cluster)
        self._judge(cluster)
        if cluster.now >= self._looked + POLL and (
            cluster.version != self._seen or cluster.now >= self._looked + STALE
        ):
            self._pass(cluster)
        return min(self._wishes(cluster), default=None)

    def _wishes(self, cluster: Cluster) -> Iterator[float]:
        yield self._looked + (POLL if cluster.version != self._seen else STALE)
        for command in self.waiting:
            yield validation.due(command) - BEGAN

    def _count(self, cluster: Cluster) -> None:
        """What was bought for pods that waited since the last look."""
        for _ in range(cluster.grown - self._grown):
            self.regrets = self.regrets.after_purchase(cluster.policy, BEGAN + cluster.now)
        self._grown = cluster.grown

    def _world(self, cluster: Cluster, taken: Iterable[Command]) -> World:
        return replace(cluster.world(tuple(taken), self.history), regrets=self.regrets)

    def _pass(self, cluster: Cluster) -> None:
        taken = [*(one.command for one in self.running), *self.waiting]
        self._seen, self._looked = cluster.version, cluster.now
        found = decide(self._world(cluster, taken), cluster.shelf, self._kept)
        self.waiting += found.commands
        self._judge(cluster)

    def _judge(self, cluster: Cluster) -> None:
        """Start what is due and still holds."""
        for command in [one for one in self.waiting if validation.due(one) <= BEGAN + cluster.now]:
            self.waiting.remove(command)
            world = self._world(cluster, (one.command for one in self.running))
            for one in validation.judge_again(command, world, cluster.shelf).commands:
                self._start(replace(one, at=world.now), world, cluster)

    def _start(self, command: Command, world: World, cluster: Cluster) -> None:
        cluster.close(command.names)
        bought = tuple(cluster.buy(claim).name for claim in command.replacements)
        self.running.append(Running(command, cluster.now, bought))
        self.started += 1
        self.replaced += bool(bought)
        if command.reason is Reason.UNDERUTILIZED:
            self.regrets = self.regrets.after_move(command.pools, world.now)
        move = consolidation.memory(command, world)
        if move is not None:
            self.history = self.history.after(move)
        self._carry_on(cluster)

    def _carry_on(self, cluster: Cluster) -> None:
        for one in list(self.running):
            seen = {name: _seen(cluster, name) for name in one.claims}
            step = next_step(one, seen, len(self.running), cluster.now)
            cluster.drain(step.drain)
            at = self.running.index(one)
            self.running[at] = replace(one, drained=one.drained | set(step.drain))
            if step.done or len(self.running[at].drained) == len(one.command.names):
                del self.running[at]


def _seen(cluster: Cluster, name: str) -> Seen:
    machine = cluster.machines.get(name)
    if machine is None:
        return Seen.GONE
    return Seen.UP if machine.up <= cluster.now else Seen.COMING


# ---- by the book


@dataclass(frozen=True, slots=True)
class Move:
    """What a pass of the book's found: nodes to go, for nothing or for one machine."""

    reason: Reason
    names: tuple[str, ...]
    bought: Claim | None = None


@dataclass(slots=True)
class _Way:
    """A move under way: when what it bought is up, its nodes drain."""

    names: tuple[str, ...]
    claims: tuple[str, ...]


@dataclass(slots=True)
class Book:
    """The peer's policy. `only_empty` leaves it at what `WhenEmpty` does."""

    only_empty: bool = False
    started: int = 0
    replaced: int = 0
    _under_way: list[_Way] = field(default_factory=list)
    _proposed: Move | None = None
    _again: float = 0.0
    _seen: int = -1
    _looked: float = -STALE

    def act(self, cluster: Cluster) -> float | None:
        self._carry_on(cluster)
        if cluster.now >= self._again:
            self._turn(cluster)
        if cluster.version == self._seen and self._proposed is None:
            return self._looked + STALE
        return self._again

    def _turn(self, cluster: Cluster) -> None:
        """Validate what was found, or look for something."""
        if self._proposed is not None:
            proposed, self._proposed = self._proposed, None
            move = again(self._pass(cluster), proposed)
            if move is not None:
                self._start(move, cluster)
                self._again = cluster.now  # and the next pass follows at once
            else:
                self._again = cluster.now + POLL
        if cluster.now >= self._again:
            self._look(cluster)

    def _look(self, cluster: Cluster) -> None:
        fresh = cluster.version != self._seen or cluster.now >= self._looked + STALE
        self._again = cluster.now + POLL
        if not fresh:
            return
        self._seen, self._looked = cluster.version, cluster.now
        self._proposed = first_move(self._pass(cluster), self.only_empty)
        if self._proposed is not None:
            self._again = cluster.now + VALIDATION

    def _pass(self, cluster: Cluster) -> "BookPass":
        return BookPass(cluster, frozenset(name for one in self._under_way for name in one.names))

    def _start(self, move: Move, cluster: Cluster) -> None:
        cluster.close(move.names)
        bought = () if move.bought is None else (cluster.buy(move.bought).name,)
        self._under_way.append(_Way(move.names, bought))
        self.started += 1
        self.replaced += bool(bought)
        self._carry_on(cluster)

    def _carry_on(self, cluster: Cluster) -> None:
        for one in list(self._under_way):
            if all(_seen(cluster, name) is Seen.UP for name in one.claims):
                self._under_way.remove(one)
                cluster.drain(one.names)


class BookPass:
    """The cluster as one of the book's passes sees it: candidates by its order, budgets, what-ifs."""

    def __init__(self, cluster: Cluster, taken: frozenset[str]) -> None:
        self.world = _without(cluster.world(), taken)
        self.settled = settle(self.world, cluster.shelf)
        self.budget = ledger(self.world)
        looked = look(self.world, self.settled).candidates
        self.candidates = {name: one for name, one in looked.items() if not one.held}
        self._stage = Stage(self.world, self.settled, looked, self.budget, cluster.shelf)

    @property
    def scene(self) -> Scene:
        return self._stage.scene(saving=True)

    def left(self, pool: str, reason: Reason) -> int:
        return self.budget.remaining(pool, reason)

    def ranked(self) -> list[Candidate]:
        """Who takes part in consolidation, by price for disturbance."""
        some = (one for one in self.candidates.values() if not one.is_empty and consolidation.eligible(one) is None)
        return sorted(some, key=lambda one: (-one.ratio, one.name))


def _without(world: World, taken: frozenset[str]) -> World:
    """Nodes of moves under way are marked, and their pods go elsewhere."""
    machines = {name: replace(one, marked=one.marked or name in taken) for name, one in world.machines.items()}
    snapshot = world.problem.snapshot.without(*taken)
    return replace(world, problem=replace(world.problem, snapshot=snapshot), machines=machines)


def first_move(seen: BookPass, only_empty: bool = False) -> Move | None:
    """Emptiness, then several nodes, then one: the first that finds something ends the pass."""
    found = _empty(seen)
    if found is None and not only_empty:
        found = _several(seen) or _single(seen)
    return found


def _empty(seen: BookPass) -> Move | None:
    some = [one for one in seen.candidates.values() if one.is_empty and emptiness.refusal(one) is None]
    some.sort(key=lambda one: (-one.ratio, one.name))
    chosen = _affordable(seen, some, Reason.EMPTY)
    return Move(Reason.EMPTY, tuple(one.name for one in chosen)) if chosen else None


def _affordable(seen: BookPass, some: Iterable[Candidate], reason: Reason) -> list[Candidate]:
    """Those, in their order, that budgets let go together."""
    left: dict[str, int] = {}
    found = []
    for one in some:
        rest = left.setdefault(one.pool, seen.left(one.pool, reason))
        if rest > 0:
            left[one.pool] = rest - 1
            found.append(one)
    return found


def _several(seen: BookPass) -> Move | None:
    """The longest prefix that a binary search visits and that can go for at most one machine."""
    some = _affordable(seen, seen.ranked(), Reason.UNDERUTILIZED)
    if len(some) < 2:
        return None
    found: Move | None = None
    low, high = 1, min(MOST_TOGETHER, len(some) - 1)
    while low <= high:
        middle = (low + high) // 2
        move = computed(seen, some[: middle + 1])
        if move is None:
            high = middle - 1
        else:
            found, low = move, middle + 1
    return found


def _single(seen: BookPass) -> Move | None:
    for one in seen.ranked():
        if seen.left(one.pool, Reason.UNDERUTILIZED) > 0:
            move = computed(seen, [one])
            if move is not None:
                return move
    return None


def computed(seen: BookPass, some: Sequence[Candidate]) -> Move | None:
    """What giving these up would take: nothing, one machine that is cheaper, or it is not done."""
    names = tuple(one.name for one in some)
    plan = seen.scene.what_if(names)
    if plan.refused or len(plan.claims) > 1:
        return None
    if not plan.claims:
        return Move(Reason.UNDERUTILIZED, names)
    (claim,) = plan.claims
    total = sum(one.nanodollars for one in some)
    if all(one.capacity_type == labels.SPOT for one in some) and pricing.allows(claim, labels.SPOT):
        rule = SpotRule(seen.world.gates.spot_to_spot, wide=len(some) == 1)
        found = pricing.spot_for_spot(claim, total, rule)
    else:
        found = pricing.cheaper_than(claim, total)
    if isinstance(found, Claim) and len(some) > 1:
        found = _other_than(found, some)
    return None if isinstance(found, Refusal) else Move(Reason.UNDERUTILIZED, names, found)


def _other_than(claim: Claim, some: Sequence[Candidate]) -> Claim | Refusal:
    """Several are not given up for what one of them is already."""
    keys = (labels.ZONE, labels.CAPACITY_TYPE)
    held = [(one.instance_type, Requirements.of_labels({key: one.node.labels[key] for key in keys})) for one in some]
    ceiling = pricing.shared_ceiling(claim, held)
    return claim if ceiling is None else pricing.cheaper_than(claim, ceiling)


def again(seen: BookPass, move: Move) -> Move | None:
    """Validation: everybody is still a candidate, budgets allow it, and it still takes no more than it did."""
    there = [seen.candidates[name] for name in move.names if name in seen.candidates]
    if move.reason is Reason.EMPTY:
        still = _affordable(seen, (one for one in there if one.is_empty), move.reason)
        return replace(move, names=tuple(one.name for one in still)) if still else None
    if len(there) < len(move.names) or any(one.awaited for one in there):
        return None
    if len(_affordable(seen, there, move.reason)) < len(there):
        return None
    plan = seen.scene.what_if(move.names)
    if plan.refused or len(plan.claims) != (move.bought is not None):
        return None
    if move.bought is None:
        return move
    types = {one.name for one in plan.claims[0].types}
    return move if all(one.name in types for one in move.bought.types) else None
