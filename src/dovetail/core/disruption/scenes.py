"""What-ifs: a cluster settled for questions, and the questions.

Before anything is asked, the cluster is *settled*: pods that wait and pods of nodes that leave already are planned
once, and shown where they will go. What is asked afterwards is then only about the nodes of a question; it cannot take
the room somebody else was promised, and it costs what those nodes hold.

Nobody is moved to a node that has not come up, nor, to save money, to one that is inside its own consolidateAfter:
such nodes are *closed*. They stay in the picture, since their pods count for spreads and their size for limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dovetail.core import labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.disruption.drift_checks import consolidatable_at
from dovetail.core.disruption.facts import World
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod, PodState
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.problem import Claim, Plan, Problem
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.solve import replan, solve


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


def settle(world: World, shelf: Shelf | None = None) -> Settled:
    """Plan everything that is under way already, and show it done."""
    problem = world.problem
    if world.taken:
        present = {node.name for node in problem.snapshot.nodes}
        problem = replace(problem, snapshot=problem.snapshot.without(*(world.taken & present)))
    snapshot = problem.snapshot
    residents: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        if pod.node is not None and pod.takes_room:
            residents.setdefault(pod.node, []).append(pod)
    expected: dict[str, list[Pod]] = {}
    leaving = [node.name for node in snapshot.nodes if node.leaving]
    waits = bool(snapshot.pending) or any(pod.moves for name in leaving for pod in residents.get(name, ()))
    if waits:
        plan = solve(problem, shelf)
        for placed in plan.placed:
            expected.setdefault(placed.node.name, []).extend(placed.pods)
        problem = carried_out(problem, plan)
    return Settled(problem, residents, expected, {node.name: node for node in problem.snapshot.nodes})


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


def scene(world: World, settled: Settled, saving: bool, closing: frozenset[str], shelf: Shelf | None = None) -> Scene:
    """A settled cluster to ask questions of; to `closing` nobody is moved either."""
    snapshot = settled.problem.snapshot
    nodes = tuple(
        replace(one, allocatable=NOTHING) if one.name in closing or is_closed(world, one, saving) else one
        for one in snapshot.nodes
    )
    return Scene(replace(settled.problem, snapshot=replace(snapshot, nodes=nodes)), shelf)


# ---- questions


class Scene:
    """One compiled cluster. Asking the same again costs nothing; `effort` counts the pods that were planned."""

    __slots__ = ("_known", "_shelf", "compiled", "effort", "problem")

    def __init__(self, problem: Problem, shelf: Shelf | None = None) -> None:
        self.problem = problem
        self.compiled = Compiled(problem, shelf)
        self.effort = 0
        self._shelf = shelf
        self._known: dict[frozenset[str], Plan] = {}

    def what_if(self, names: Iterable[str]) -> Plan:
        """Where the pods of these nodes would go, were all of them to leave."""
        key = frozenset(names)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = replan(self.compiled, sorted(key))
            self.effort += sum(len(one.pods) for one in found.placed) + sum(len(one.pods) for one in found.claims)
            self.effort += sum(len(one.pods) for one in found.refused)
        return found

    def after(self, plan: Plan, gone: Iterable[str]) -> Scene:
        """The scene with a plan carried out, and these nodes on their way out."""
        return Scene(carried_out(self.problem, plan, gone), self._shelf)

    def changed(self, change: Callable[[Problem], Problem]) -> Scene:
        return Scene(change(self.problem), self._shelf)
