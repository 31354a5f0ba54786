"""Candidates: the nodes that may be looked at, and the pods that hold them.

Rules are asked in a fixed order and the first that objects is the answer; they are the documentation of who is left
alone. Pods that hold a node do not end the look: the node is a candidate that is *held*, so that what they cost can be
worked out and said. Methods that push (`Reason.is_eventual`) pass them where the claim has a grace period.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isinf
from types import MappingProxyType

from dovetail.core import labels, timestamps
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.disruption import costs
from dovetail.core.disruption.facts import Machine, PodFacts, World
from dovetail.core.disruption.history import Kind
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.disruption.scenes import Settled
from dovetail.core.nodeclaims import (
    CONSOLIDATABLE,
    DO_NOT_DISRUPT,
    DRIFTED,
    INSTANCE_TERMINATING,
    REGISTERED,
    NodeClaim,
)
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod, PodState

_MIRROR = "Node"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that may be disrupted, with everything methods ask about it. `price` is None where nobody knows it."""

    machine: Machine
    claim: NodeClaim
    node: Node
    policy: PoolPolicy
    pods: tuple[Pod, ...]
    #: Pods that may not be evicted now, each with the reason.
    held: tuple[Refusal, ...]
    #: Pods that are planned onto it and not there yet: those that really wait, and placeholders of buffers.
    awaited: tuple[Pod, ...]
    buffered: tuple[Pod, ...]
    instance_type: InstanceType | None
    price: int | None
    cost: float

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    def pool(self) -> str:
        return self.policy.name

    @property
    def capacity_type(self) -> str:
        return self.node.labels.get(labels.CAPACITY_TYPE, "")

    @property
    def kind(self) -> Kind:
        return Kind(self.pool, self.node.labels.get(labels.INSTANCE_TYPE, ""), self.capacity_type)

    @property
    def nanodollars(self) -> int:
        return self.price or 0

    @property
    def ratio(self) -> float:
        """Dollars an hour for each unit of disturbance: what consolidation goes by."""
        return self.nanodollars / self.cost

    @property
    def is_empty(self) -> bool:
        return self.cost <= 1.0

    @property
    def is_drifted(self) -> bool:
        return self.claim.is_true(DRIFTED)

    @property
    def is_consolidatable(self) -> bool:
        return self.claim.is_true(CONSOLIDATABLE)

    def holds(self, reason: Reason) -> tuple[Refusal, ...]:
        """The pods that keep a method from it; none where the method pushes and the claim says how long."""
        return () if reason.is_eventual and self.claim.grace is not None else self.held


@dataclass(frozen=True, slots=True)
class Looked:
    """Every candidate, by name, and why the other nodes are none."""

    candidates: Mapping[str, Candidate]
    refusals: Mapping[str, Refusal]


# ---- the rules, in order; each is asked only where those before it had nothing to say

Rule = Callable[[Machine, World], Refusal | None]


def _running(machine: Machine, world: World) -> Refusal | None:
    return Refusal(Code.RUNNING, "a command for it runs already") if machine.name in world.taken else None


def _unmanaged(machine: Machine, world: World) -> Refusal | None:
    return Refusal(Code.UNMANAGED, "node is not ours: it has no NodeClaim") if machine.claim is None else None


def _no_node(machine: Machine, world: World) -> Refusal | None:
    return Refusal(Code.NO_NODE, "node has not joined yet") if machine.node is None else None


def _rebooting(machine: Machine, world: World) -> Refusal | None:
    return Refusal(Code.REBOOTING, "node is rebooting") if machine.is_rebooting else None


def _deleting(machine: Machine, world: World) -> Refusal | None:
    assert machine.claim is not None
    going = machine.marked or machine.claim.is_deleting or machine.claim.is_true(INSTANCE_TERMINATING)
    if going or (machine.node is not None and machine.node.is_deleting):
        return Refusal(Code.DELETING, "node is deleting or marked for deletion")
    return None


def _not_registered(machine: Machine, world: World) -> Refusal | None:
    assert machine.claim is not None
    if machine.is_initialized or machine.claim.is_true(REGISTERED):
        return None
    return Refusal(Code.NOT_REGISTERED, "node isn't initialized nor registered")


def _not_initialized(machine: Machine, world: World) -> Refusal | None:
    return None if machine.is_initialized else Refusal(Code.NOT_INITIALIZED, "node isn't initialized")


def _nominated(machine: Machine, world: World) -> Refusal | None:
    return Refusal(Code.NOMINATED, "node is nominated for a pending pod") if machine.nominated else None


def _node_held(machine: Machine, world: World) -> Refusal | None:
    if machine.annotations.get(DO_NOT_DISRUPT) != "true":
        return None
    text = f"disruption is blocked through the {DO_NOT_DISRUPT} annotation on the node"
    return Refusal(Code.NODE_HELD, text, said=f'Disruption is blocked through the "{DO_NOT_DISRUPT}" annotation')


def _no_pool(machine: Machine, world: World) -> Refusal | None:
    if machine.labels.get(labels.NODEPOOL):
        return None
    said = f"Node doesn't have required label (label={labels.NODEPOOL})"
    return Refusal(Code.NO_POOL, f"node doesn't have the {labels.NODEPOOL} label", said=said)


def _pool_not_found(machine: Machine, world: World) -> Refusal | None:
    name = machine.labels[labels.NODEPOOL]
    if name in world.pools and world.problem.catalogs.get(name):
        return None
    text = f"NodePool {name} is not found, or nothing is known of what it can buy"
    return Refusal(Code.POOL_NOT_FOUND, text, said=f"NodePool not found (NodePool={name})")


def _nominated_if_up(machine: Machine, world: World) -> Refusal | None:
    return _nominated(machine, world) if machine.is_initialized else None


def _standalone(machine: Machine, world: World) -> Refusal | None:
    if machine.labels.get(labels.NODEPOOL):
        return None
    text = f"repair requires a NodePool: node doesn't have the {labels.NODEPOOL} label"
    return Refusal(Code.STANDALONE, text, said="repair requires a NodePool to construct and budget a safe replacement")


RULES: tuple[Rule, ...] = (
    _running,
    _unmanaged,
    _no_node,
    _rebooting,
    _deleting,
    _not_registered,
    _not_initialized,
    _nominated,
    _node_held,
    _no_pool,
    _pool_not_found,
)
#: Repair mends nodes that never came up, and does not ask whether they would like to be left alone.
REPAIR_RULES: tuple[Rule, ...] = (
    _running,
    _unmanaged,
    _no_node,
    _rebooting,
    _deleting,
    _not_registered,
    _nominated_if_up,
    _standalone,
    _pool_not_found,
)


def refused(machine: Machine, world: World, rules: Iterable[Rule] = RULES) -> Refusal | None:
    """The first rule that objects."""
    for rule in rules:
        found = rule(machine, world)
        if found is not None:
            return found
    return None


# ---- pods that hold a node


def holding(pod: Pod, facts: PodFacts, now: float) -> Refusal | None:
    """Why a pod may not be evicted now; None if it may, or if nobody would. Daemons and mirrors can hold, too."""
    if pod.state is not PodState.BOUND:
        return None
    if facts.held_until is not None and facts.held_until > now:
        until = "" if isinf(facts.held_until) else f" until {timestamps.text(facts.held_until)}"
        said = f'Pod has "{DO_NOT_DISRUPT}" annotation (Pod={pod.key})'
        return Refusal(Code.POD_HELD, f"pod {pod.key} has do-not-disrupt{until}", (pod.key,), said=said)
    if facts.tolerates or pod.owner == _MIRROR:
        return None
    if len(facts.budgets) > 1:
        names = ", ".join(one.name for one in facts.budgets)
        text = f"pod {pod.key} is covered by several PodDisruptionBudgets: {names}"
        every = " ".join(_key(pod, one.name) for one in facts.budgets)
        said = f"Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{every}])"
        return Refusal(Code.POD_BUDGETS, text, (pod.key,), said=said)
    for budget in facts.budgets:
        if budget.frees_unready and not facts.ready:
            continue
        if budget.never or budget.left <= 0:
            text = f"pod {pod.key} is held by PodDisruptionBudget {budget.name}, "
            text += "which never lets one go" if budget.never else "0 disruptions left"
            said = f"Pdb prevents pod evictions (PodDisruptionBudget=[{_key(pod, budget.name)}])"
            return Refusal(Code.POD_BUDGET, text, (pod.key,), said=said)
    return None


def _key(pod: Pod, budget: str) -> str:
    """A budget with its namespace, which is that of the pods it covers."""
    return f"{pod.key.partition('/')[0]}/{budget}"


# ---- putting it together


def look(
    world: World,
    settled: Settled,
    rules: Iterable[Rule] = RULES,
    known: Mapping[str, Candidate | Refusal] = MappingProxyType({}),
) -> Looked:
    """Judge every machine by the rules; nodes in the order of their names. `known` are those judged already."""
    found: dict[str, Candidate] = {}
    refusals: dict[str, Refusal] = {}
    chosen = tuple(rules)
    for name in sorted(world.machines):
        said = known.get(name)
        if isinstance(said, Candidate):
            found[name] = said
            continue
        if said is not None:
            refusals[name] = said
            continue
        machine = world.machines[name]
        refusal = refused(machine, world, chosen)
        node = settled.node(name)
        if refusal is None and node is None:
            refusal = Refusal(Code.NO_NODE, "node is not in the snapshot")
        if refusal is not None:
            refusals[name] = refusal
        elif node is not None:
            found[name] = candidate(machine, node, world, settled)
    return Looked(found, refusals)


def candidate(machine: Machine, node: Node, world: World, settled: Settled) -> Candidate:
    claim = machine.claim
    assert claim is not None
    policy = world.pools[machine.labels[labels.NODEPOOL]]
    residents = settled.residents.get(node.name, ())
    moving = tuple(pod for pod in residents if pod.moves)
    expected = settled.expected.get(node.name, ())
    types = world.problem.catalogs[policy.name].types
    kind = types.get(node.labels.get(labels.INSTANCE_TYPE, ""))
    row = costs.row_of(kind, node.labels)
    return Candidate(
        machine=machine,
        claim=claim,
        node=node,
        policy=policy,
        pods=moving,
        held=tuple(sorted(_held(residents, world), key=lambda one: one.pods)) if world.pods else (),
        awaited=tuple(pod for pod in expected if not world.facts(pod.key).virtual),
        buffered=tuple(pod for pod in expected if world.facts(pod.key).virtual),
        instance_type=kind,
        price=None if row is None or row.price is None else row.price.nanodollars,
        cost=costs.reschedule_cost(moving, world),
    )


def _held(pods: Iterable[Pod], world: World) -> Iterable[Refusal]:
    for pod in pods:
        facts = world.pods.get(pod.key)
        if facts is not None and facts.may_hold:
            found = holding(pod, facts, world.now)
            if found is not None:
                yield found
