"""What-ifs: a cluster settled for questions, and the questions.

Before anything is asked, the cluster is *settled*: pods that wait and pods of nodes that leave already are planned
once, and shown where they will go. What is asked afterwards is then only about the nodes of a question; it cannot take
the room somebody else was promised, and it costs what those nodes hold.

Nobody is moved to a node that has not come up, nor, to save money, to one that is inside its own consolidateAfter:
such nodes are *closed*. They stay in the picture, since their pods count for spreads and their size for limits.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from dovetail.core import labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.disruption.ample import Ample
from dovetail.core.disruption.drift_checks import consolidatable_at
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.footprints import Footprint
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod, PodState
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.problem import Claim, Plan, Problem
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.solve import Packing, replan, solve


@dataclass(frozen=True, slots=True)
class Settled:
    """A cluster in which nobody waits.

    `residents` are the pods on each node as they are, `expected` those that are planned onto it and not there yet.
    """

    problem: Problem
    residents: Mapping[str, Sequence[Pod]]
    expected: Mapping[str, Sequence[Pod]]
    nodes: Mapping[str, Node]

    def node(self, name: str) -> Node | None:
        return self.nodes.get(name)


def settle(
    world: World,
    shelf: Shelf | None = None,
    residents: Mapping[str, Sequence[Pod]] | None = None,
    shut: frozenset[str] = frozenset(),
) -> Settled:
    """Plan everything that is under way already, and show it done. `residents` are for who knows them already; what
    is under way goes to the nodes that are `shut` only where it has no other place."""
    problem = world.problem
    if world.taken:
        present = {node.name for node in problem.snapshot.nodes}
        problem = replace(problem, snapshot=problem.snapshot.without(*(world.taken & present)))
    snapshot = problem.snapshot
    residents = residents_of(snapshot.pods) if residents is None else residents
    expected: dict[str, list[Pod]] = {}
    leaving = [node.name for node in snapshot.nodes if node.leaving]
    waits = bool(snapshot.pending) or any(pod.moves for name in leaving for pod in residents.get(name, ()))
    plans = _planned(problem, shut, shelf) if waits else ()
    for plan in plans:
        for placed in plan.placed:
            expected.setdefault(placed.node.name, []).extend(placed.pods)
        problem = carried_out(problem, plan)
    return Settled(problem, residents, expected, {node.name: node for node in problem.snapshot.nodes})


def _planned(problem: Problem, shut: frozenset[str], shelf: Shelf | None) -> tuple[Plan, ...]:
    """The plan of what is under way; where some are shut, first of what fits the others, and then of the rest."""
    if not shut:
        return (solve(problem, shelf),)
    elsewhere = solve(_full(problem, shut), shelf)
    if not elsewhere.claims and not elsewhere.refused:
        return (elsewhere,)
    first = Plan((), elsewhere.placed, ())
    return first, solve(carried_out(problem, first), shelf)


def _full(problem: Problem, names: Container[str]) -> Problem:
    """As if these nodes had no room."""
    snapshot = problem.snapshot
    nodes = tuple(replace(node, allocatable=NOTHING) if node.name in names else node for node in snapshot.nodes)
    return replace(problem, snapshot=replace(snapshot, nodes=nodes))


def residents_of(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Pods by the node they are on."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.node is not None and pod.takes_room:
            found.setdefault(pod.node, []).append(pod)
    return found


def carried_out(problem: Problem, plan: Plan, gone: Iterable[str] = ()) -> Problem:
    """The problem as if a plan had been carried out: pods where they go, claims as nodes that have not come up.

    A pod the plan refused waits without being asked for again. Reserved capacity that was taken is taken.
    """
    snapshot = problem.snapshot
    leaving = frozenset(gone)
    target = {id(pod): placed.node.name for placed in plan.placed for pod in placed.pods}
    taken = {node.name for node in snapshot.nodes}
    coming = tuple(_coming(claim, _free_name(claim.name, taken)) for claim in plan.claims)
    for claim, node in zip(plan.claims, coming, strict=True):
        target.update((id(pod), node.name) for pod in claim.pods)
    refused = {id(pod) for one in plan.refused for pod in one.pods}
    pods = tuple(
        replace(pod, node=target[id(pod)], state=PodState.BOUND)
        if id(pod) in target
        else replace(pod, node=None, state=PodState.WAITING)
        if id(pod) in refused
        else pod
        for pod in snapshot.pods
    )
    nodes = tuple(replace(node, leaving=True) if node.name in leaving else node for node in snapshot.nodes)
    catalogs = problem.catalogs
    for claim in plan.claims:
        for reservation in claim.reservation_ids[:1]:
            catalogs = credited(catalogs, reservation, -1)
    return replace(problem, snapshot=replace(snapshot, pods=pods, nodes=(*nodes, *coming)), catalogs=catalogs)


def _free_name(name: str, taken: set[str]) -> str:
    number = 1
    while f"{name}/{number}" in taken:
        number += 1
    taken.add(f"{name}/{number}")
    return f"{name}/{number}"


def _coming(claim: Claim, name: str) -> Node:
    chosen = claim.choice
    known = {
        one.key: next(iter(one.values)) for one in claim.requirements if not one.complement and len(one.values) == 1
    }
    for one in (*chosen.instance_type.requirements, *chosen.offering.requirements):
        if not one.complement and len(one.values) == 1:
            known[one.key] = next(iter(one.values))
    return Node(
        name,
        MappingProxyType({**known, labels.HOSTNAME: name}),
        taints=claim.pool.taints,
        capacity=_most(claim.types),
        allocatable=NOTHING,
        pool=claim.pool.name,
        ready=False,
    )


def _most(types: Iterable[InstanceType]) -> Resources:
    """The most a claim may come to, whatever it is launched as: limits have to last for that."""
    found: dict[str, int] = {}
    for kind in types:
        for name, amount in kind.capacity.items():
            found[name] = max(amount, found.get(name, 0))
    return Resources(found)


def credited(catalogs: Mapping[str, Catalog], reservation: str, units: int) -> Mapping[str, Catalog]:
    """The same catalogs with so many more units of one reservation; one nobody knows changes nothing."""
    found = dict(catalogs)
    seen: dict[int, Catalog] = {}
    for pool, catalog in catalogs.items():
        if id(catalog) not in seen:
            types = {name: _credited(one, reservation, units) for name, one in catalog.types.items()}
            same = all(types[name] is one for name, one in catalog.types.items())
            seen[id(catalog)] = catalog if same else Catalog(MappingProxyType(types))
        found[pool] = seen[id(catalog)]
    return found


def _credited(kind: InstanceType, reservation: str, units: int) -> InstanceType:
    if not any(one.id == reservation for row in kind.offerings for one in row.reservations):
        return kind
    return replace(kind, offerings=tuple(_credited_row(row, reservation, units) for row in kind.offerings))


def _credited_row(row: Offering, reservation: str, units: int) -> Offering:
    if row.count is None or not any(one.id == reservation for one in row.reservations):
        return row
    behind = tuple(
        replace(one, available=max(0, one.available + units)) if one.id == reservation else one
        for one in row.reservations
    )
    return replace(row, count=max(0, row.count + units), reservations=behind)


# ---- closed nodes


def is_closed(world: World, node: Node, saving: bool) -> bool:
    """Whether nobody is moved to a node: it has not come up, or, where money is to be saved, it is still settling."""
    if node.pool is None:
        return False
    if not node.ready:
        return True
    machine, policy = world.machines.get(node.name), world.pools.get(node.pool)
    if not saving or machine is None or machine.claim is None or policy is None or not policy.consolidate_after:
        return False
    opens = consolidatable_at(machine.claim, policy)
    return opens is not None and opens > world.now


def staged(world: World, settled: Settled, saving: bool = False, closing: frozenset[str] = frozenset()) -> Problem:
    """A settled cluster to ask questions of; to `closing` nobody is moved either."""
    closed = (one.name for one in settled.problem.snapshot.nodes if is_closed(world, one, saving))
    return _full(settled.problem, closing.union(closed))


# ---- questions


class Answer:
    """What a question was answered, and all plans that were compared for it. `parts` is for who divides it up."""

    __slots__ = ("made", "parts", "plan", "prints")

    def __init__(self, plan: Plan, made: tuple[Packing, ...]) -> None:
        self.plan = plan
        self.made = made
        self.parts: tuple[Any, ...] | None = None
        #: What it rests on, where somebody means to keep it; None also where that cannot be told.
        self.prints: tuple[Footprint, ...] | None = None

    @property
    def pods(self) -> int:
        plan = self.plan
        return sum(len(one.pods) for some in (plan.placed, plan.claims, plan.refused) for one in some)


class Scene:
    """One compiled cluster. Asking the same again costs nothing.

    `effort` counts the pods that were planned for questions about several nodes at once: those about single ones are
    asked of every candidate anyway.
    """

    __slots__ = ("_ample", "_counted", "_shelf", "answers", "compiled", "effort", "problem")

    def __init__(self, problem: Problem, shelf: Shelf | None = None, compiled: Compiled | None = None) -> None:
        self.problem = problem
        self.compiled = Compiled(problem, shelf) if compiled is None else compiled
        self.effort = 0
        self.answers: dict[frozenset[str], Answer] = {}
        self._shelf = shelf
        self._counted: set[frozenset[str]] = set()
        self._ample: Ample | None = None

    @property
    def ample(self) -> Ample:
        if self._ample is None:
            self._ample = Ample(self.compiled)
        return self._ample

    def what_if(self, names: Iterable[str]) -> Plan:
        """Where the pods of these nodes would go, were all of them to leave."""
        return self.answer(names).plan

    def answer(self, names: Iterable[str]) -> Answer:
        key = frozenset(names)
        found = self.answers.get(key)
        if found is None:
            made: list[Packing] = []
            plan = replan(self.compiled, sorted(key), made)
            found = self.answers[key] = Answer(plan, tuple(made))
        if len(key) > 1 and key not in self._counted:
            self._counted.add(key)
            self.effort += found.pods
        return found

    def asked(self) -> frozenset[frozenset[str]]:
        """The sets of several nodes that were asked about."""
        return frozenset(self._counted)

    def after(self, plan: Plan, gone: Iterable[str]) -> Scene:
        """The scene with a plan carried out, and these nodes on their way out."""
        return Scene(carried_out(self.problem, plan, gone), self._shelf)

    def changed(self, change: Callable[[Problem], Problem]) -> Scene:
        return Scene(change(self.problem), self._shelf)
