"""The cluster as it would be after a plan: every node that is there, every claim in all ways it may be launched.

This belongs to the checker and shares nothing with the solver. It is slow on purpose: plain loops over plain values, so
that reading it is enough to believe it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType, Offering
from dovetail.core.nodepools import NodePool
from dovetail.core.nodes import Node
from dovetail.core.pods import DaemonSet, Pod, PodState, Shape
from dovetail.core.requirements import EMPTY, Requirement, Requirements, is_in
from dovetail.core.scheduling.problem import Claim, Plan, Problem
from dovetail.core.taints import Effect, Taint, untolerated

#: Pods of these owners come and go with their node; nobody plans them.
TIED_TO_NODE = frozenset({"DaemonSet", "Node"})


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule the plan breaks: a stable code, and the sentence."""

    code: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Launch:
    """One way a claim may become a node, and what the node's labels may then be."""

    instance_type: InstanceType
    offering: Offering
    defined: Requirements


@dataclass(frozen=True, slots=True)
class Domains:
    """The values one label of a spot may end up with; `absent` and `unknown` say that it may also have none or any."""

    values: frozenset[str]
    absent: bool = False
    unknown: bool = False

    @property
    def certain(self) -> str | None:
        """The value it has in every case."""
        if self.absent or self.unknown or len(self.values) != 1:
            return None
        (value,) = self.values
        return value

    def may_meet(self, other: Domains) -> bool:
        """Whether the two may turn out to be one domain."""
        if self.unknown:
            return other.unknown or bool(other.values)
        if other.unknown:
            return bool(self.values)
        return not self.values.isdisjoint(other.values)


@dataclass(frozen=True, slots=True)
class Spot:
    """A node after the plan: one that is there, or a claim."""

    name: str
    ways: tuple[Requirements, ...]
    taints: tuple[Taint, ...]
    staying: tuple[Pod, ...]
    coming: tuple[Pod, ...]
    #: Terminating there: they take room, and nobody counts them.
    going: tuple[Pod, ...] = ()
    node: Node | None = None
    claim: Claim | None = None
    launches: tuple[Launch, ...] = ()

    def domains(self, key: str, well_known: frozenset[str]) -> Domains:
        values: set[str] = set()
        absent = unknown = False
        for defined in self.ways:
            one = defined.get(key)
            if one is None:
                absent = absent or self.node is not None or key not in well_known
                unknown = unknown or (self.node is None and key in well_known)
            else:
                absent = absent or one.absent
                values |= values_of(one)
                unknown = unknown or (one.complement and key in well_known)
        return Domains(frozenset(values), absent, unknown)

    @property
    def pods(self) -> tuple[Pod, ...]:
        return self.staying + self.coming


def to_be_planned(problem: Problem) -> tuple[Pod, ...]:
    """Pods that wait, and pods that have to leave their node with it."""
    leaving = {node.name for node in problem.snapshot.nodes if node.leaving}
    return tuple(
        pod
        for pod in problem.snapshot.pods
        if pod.owner not in TIED_TO_NODE
        and (pod.state is PodState.PENDING or (pod.node in leaving and _comes_back(pod)))
    )


def _comes_back(pod: Pod) -> bool:
    """A pod that runs does; of those on their way out only a StatefulSet's, which has a name to come back under."""
    return pod.state is PodState.BOUND or (pod.state is PodState.GOING and pod.owner == "StatefulSet")


def spots_after(problem: Problem, plan: Plan) -> tuple[Spot, ...]:
    """Every node that stays, then every claim."""
    found = []
    for node in problem.snapshot.nodes:
        if node.leaving:
            continue
        coming = tuple(pod for placed in plan.placed if placed.node.name == node.name for pod in placed.pods)
        there = [pod for pod in problem.snapshot.pods if pod.node == node.name]
        staying = tuple(pod for pod in there if pod.state is PodState.BOUND)
        going = tuple(pod for pod in there if pod.state is PodState.GOING)
        ways: tuple[Requirements, ...] = (labels_of(node),)
        found.append(Spot(node.name, ways, node.effective_taints, staying, coming, going, node=node))
    for claim in plan.claims:
        launches = tuple(launches_of(problem, claim))
        host = Requirements([is_in(labels.HOSTNAME, f"claim {claim.name}")])
        ways = tuple(one.defined & host for one in launches)
        found.append(
            Spot(claim.name, ways, claim.pool.taints, (), claim.pods, claim=claim, launches=launches),
        )
    return tuple(found)


def labels_of(node: Node) -> Requirements:
    return Requirements.of_labels({**node.labels, labels.HOSTNAME: node.hostname})


def launches_of(problem: Problem, claim: Claim) -> Iterator[Launch]:
    """Every type still listed, by every row that could be bought now and that the claim admits."""
    for kind in claim.types:
        for row in kind.offerings:
            if not row.launchable or not claim.requirements.intersects(kind.requirements):
                continue
            if not claim.requirements.compatible(row.requirements, problem.options.well_known):
                continue
            defined = claim.requirements & kind.requirements & row.requirements
            if not defined.is_contradictory:
                yield Launch(kind, row, settled(defined, problem.options.well_known))


def settled(defined: Requirements, well_known: frozenset[str]) -> Requirements:
    """The labels a node gets; one that is not well known and that nobody insists on, it does not get."""
    return Requirements(one for one in defined if not one.absent or one.key in well_known)


def values_of(one: Requirement) -> frozenset[str]:
    """The values a label may get; where any text would do, the one value that is chosen for such labels."""
    if not one.complement:
        return one.values
    chosen = one.any_value()
    return frozenset() if chosen is None else frozenset({chosen})


def usable(problem: Problem, pool: NodePool) -> bool:
    return pool.ready and pool.replicas is None and pool.problem is None and pool.name in problem.catalogs


# ---- what a pod demands


def hard(taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """Taints no relaxation gets a pod past."""
    return tuple(taint for taint in taints if taint.effect is not Effect.PREFER_NO_SCHEDULE)


def tolerates(shape: Shape, taints: Iterable[Taint]) -> bool:
    return not untolerated(hard(taints), shape.tolerations)


def demands(shape: Shape) -> tuple[Requirements, ...]:
    """What a pod's selector and required node affinity ask for: alternatives, any of which will do."""
    return tuple(shape.selector & term for term in shape.terms or (EMPTY,))


def covers(asked: Requirement, defined: Requirement | None) -> bool:
    """Whether every state the defined side may take is one the asking side admits."""
    if defined is None:
        return asked.absent
    if defined.absent and not asked.absent:
        return False
    if not defined.complement:
        return all(asked.admits(value) for value in defined.values)
    if not asked.complement:
        return False
    if asked.gte is not None and (defined.gte is None or defined.gte < asked.gte):
        return False
    if asked.lte is not None and (defined.lte is None or defined.lte > asked.lte):
        return False
    return not any(defined.admits(value) for value in asked.values)


def holds(asked: Requirements, defined: Requirements) -> bool:
    """Whether a node whose labels are as `defined` says meets what is asked, whatever was left open."""
    return not asked.is_contradictory and all(covers(one, defined.get(one.key)) for one in asked)


def met_in_any(alternatives: tuple[Requirements, ...], defined: Requirements) -> bool:
    return any(holds(one, defined) for one in alternatives)


def daemons_on(
    daemons: Iterable[DaemonSet], taints: Iterable[Taint], defined: Requirements, undefined: frozenset[str]
) -> Iterator[DaemonSet]:
    """The daemons that will come to a node; they go past taints that only prefer they would not."""
    known = tuple(taints)
    for daemon in daemons:
        wanted = demands(daemon.shape)
        if tolerates(daemon.shape, known) and any(defined.compatible(one, undefined) for one in wanted):
            yield daemon
