"""A cluster that lives through a day in virtual time, without the API server, kubelets or a cloud.

    load → pods wait → the scheduler binds those with room, the provisioner buys for the rest → nodes come up → …
    the agent (ours, the peer's by the book, or nobody) starts moves → replacements come up → nodes drain → …

Everything outside the agent is the same for all of them. Pods are bound as kube-scheduler would, to the emptiest node
with room; what finds none is planned by our scheduler and bought as its cheapest choice; ReplicaSets shrink where they
stand closest together. A machine is up `START` seconds after it was ordered and is paid for from its order until it is
gone, at the price of the moment; a drained node is gone after its pods' grace. An eviction is a pod that a drain ended.

Pods ask for room and for a kind of capacity; spreads, affinities and budgets of pods are left out, so that a day takes
minutes. Prices change every hour, load every five minutes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from heapq import heappop, heappush
from random import Random
from types import MappingProxyType
from typing import Final, Protocol

from bench import disruption_load
from bench.disruption_load import HOUR, NODE_CLASS, STEP, Deployment, Market
from dovetail.core import conditions, labels
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.conditions import Condition, Moment, Status
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.facts import Gates, Machine, PodFacts, World
from dovetail.core.disruption.history import NO_HISTORY, History
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.nodeclaims import (
    CONSOLIDATABLE,
    DRIFTED,
    INITIALIZED,
    LAUNCHED,
    READY,
    REGISTERED,
    Meta,
    NodeClaim,
    NodeObject,
)
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod, PodState
from dovetail.core.resources import Resources
from dovetail.core.scheduling.problem import Claim, Options, Problem
from dovetail.core.scheduling.shelf import Shelf
from dovetail.core.scheduling.solve import solve
from dovetail.core.snapshot import Snapshot

START: Final = 90.0
GRACE: Final = 30.0
BATCH: Final = 2.0
BEGAN: Final = 1_800_000_000.0
#: Before anything is counted: the cluster finds its shape.
SETTLING: Final = 2 * HOUR
DAY: Final = 24 * HOUR


@dataclass(slots=True, eq=False)
class Machined:
    """One machine. `up` is when it joins, `touched` when a pod last came or went; `closed` keeps new pods away, and
    one that is `going` has been drained."""

    name: str
    kind: InstanceType
    zone: str
    capacity_type: str
    ordered: float
    up: float
    touched: float = 0.0
    pods: dict[str, Pod] = field(default_factory=dict)
    closed: bool = False
    going: bool = False
    drifted: bool = False
    cpu: int = 0
    memory: int = 0
    slots: int = 0

    def __post_init__(self) -> None:
        room = self.kind.allocatable
        self.cpu, self.memory, self.slots = room.of("cpu"), room.of("memory"), room.of("pods")

    @property
    def labels(self) -> MappingProxyType[str, str]:
        return _labels(self.name, self.kind.name, self.zone, self.capacity_type)

    def takes(self, pod: Pod) -> bool:
        wanted = pod.shape.requests
        return self.cpu >= wanted.of("cpu") and self.memory >= wanted.of("memory") and self.slots >= 1

    def free(self, pod: Pod) -> float:
        """What would be free of it with this pod: what the scheduler goes by."""
        room, wanted = self.kind.allocatable, pod.shape.requests
        left = (self.cpu - wanted.of("cpu")) / room.of("cpu"), (self.memory - wanted.of("memory")) / room.of("memory")
        return sum(left) / 2

    def add(self, pod: Pod, now: float) -> None:
        self.pods[pod.key] = replace(pod, node=self.name, state=PodState.BOUND)
        self._take(pod.shape.requests, 1)
        self.touched = now

    def remove(self, key: str, now: float) -> Pod:
        pod = self.pods.pop(key)
        self._take(pod.shape.requests, -1)
        self.touched = now
        return pod

    def _take(self, amount: Resources, sign: int) -> None:
        self.cpu -= sign * amount.of("cpu")
        self.memory -= sign * amount.of("memory")
        self.slots -= sign


@cache
def _labels(name: str, kind: str, zone: str, capacity_type: str) -> MappingProxyType[str, str]:
    pairs = {
        labels.INSTANCE_TYPE: kind,
        labels.ZONE: zone,
        labels.CAPACITY_TYPE: capacity_type,
        labels.HOSTNAME: name,
        labels.ARCH: "amd64",
        labels.OS: "linux",
        labels.NODEPOOL: "default",
        NODE_CLASS.label_key: NODE_CLASS.name,
    }
    return MappingProxyType(pairs)


class Agent(Protocol):
    """Who decides what goes. Asked whenever something happened, and when it said it wants to be."""

    def act(self, cluster: "Cluster") -> float | None:
        """Do what is to be done now; the moment it wants to be asked again, or None to wait for a change."""


class Nobody:
    """Takes nothing away."""

    def act(self, cluster: "Cluster") -> float | None:
        return None


@dataclass(slots=True)
class Totals:
    """What was counted since the day began."""

    dollars: float = 0.0
    evicted: int = 0
    bought: int = 0
    removed: int = 0
    node_hours: float = 0.0
    pod_hours_waiting: float = 0.0


class Cluster:
    """The state and its laws. `version` moves with every change an agent could care about."""

    def __init__(self, policy: PoolPolicy, seed: int = 1, wobble: bool = True, gates: Gates | None = None) -> None:
        self.policy = policy
        self.gates = gates or Gates()
        self.now = 0.0
        self.version = 0
        self.machines: dict[str, Machined] = {}
        self.waiting: dict[str, Pod] = {}
        self.deployments: Sequence[Deployment] = ()
        self.market = Market(seed, wobble)
        self.prices = disruption_load.prices(self.market.catalog)
        self.totals = Totals()
        #: Machines that were bought for pods that waited.
        self.grown = 0
        self.dice = Random(seed)
        self.shelf = Shelf()
        self._owners: dict[str, PodFacts] = {}
        self._number = 0
        self._provision_at: float | None = None

    # ---- time

    def pass_until(self, moment: float) -> None:
        """Let time go by; what runs is paid for."""
        hours = (moment - self.now) / HOUR
        if hours > 0:
            self.totals.dollars += hours * self.rate
            self.totals.node_hours += hours * len(self.machines)
            self.totals.pod_hours_waiting += hours * len(self.waiting)
        self.now = moment

    @property
    def rate(self) -> float:
        """Dollars an hour, now."""
        prices = self.prices
        return sum(prices[one.kind.name, one.zone, one.capacity_type] for one in self.machines.values())

    def happens(self) -> Iterable[float]:
        """When the cluster changes by itself next."""
        if self._provision_at is not None:
            yield self._provision_at
        for one in self.machines.values():
            if one.up > self.now:
                yield one.up

    def reprice(self) -> None:
        """A new hour, new prices."""
        self.market.step()
        self.prices = disruption_load.prices(self.market.catalog)
        self.version += 1

    # ---- load

    def load(self) -> None:
        """Autoscalers look at the load; pods come and go."""
        for one in self.deployments:
            one.step(self.now, self.dice)
            self._scale(one)
        self.bind()

    def _scale(self, one: Deployment) -> None:
        mine = [key for key in self.waiting if _owner(key) == one.name]
        placed = [
            (machine, key) for machine in self.machines.values() for key in machine.pods if _owner(key) == one.name
        ]
        more = one.replicas - len(mine) - len(placed)
        for _ in range(more):
            self._number += 1
            self._wait(disruption_load.born(one, self._number, self.now))
        for key in mine[: max(0, -more)]:
            del self.waiting[key]
        fewer = -more - min(len(mine), max(0, -more))
        if fewer > 0:
            self._shrink(placed, fewer)
        if more:
            self.version += 1

    def _shrink(self, placed: list[tuple[Machined, str]], fewer: int) -> None:
        """As a ReplicaSet does: where most of them stand together, the newest first."""
        together: dict[str, int] = {}
        for machine, _ in placed:
            together[machine.name] = together.get(machine.name, 0) + 1
        order = sorted(placed, key=lambda one: (-together[one[0].name], -one[0].pods[one[1]].created, one[1]))
        for machine, key in order[:fewer]:
            machine.remove(key, self.now)

    def _wait(self, pod: Pod) -> None:
        self.waiting[pod.key] = pod
        if self._provision_at is None:
            self._provision_at = self.now + BATCH

    # ---- the scheduler and the provisioner

    def bind(self) -> None:
        """Every pod that waits goes to the emptiest node with room for it."""
        open_to: dict[str, list[Machined]] = {labels.SPOT: [], labels.ON_DEMAND: []}
        for one in self.machines.values():
            if one.up <= self.now and not one.closed and not one.going:
                open_to[one.capacity_type].append(one)
        for key, pod in list(self.waiting.items()):
            wanted = pod.shape.selector.value(labels.CAPACITY_TYPE) or labels.SPOT
            roomy = [one for one in open_to[wanted] if one.takes(pod)]
            if roomy:
                max(roomy, key=lambda one: (one.free(pod), one.name)).add(pod, self.now)
                del self.waiting[key]
                self.version += 1

    def provision_if_due(self) -> None:
        """Buy for those that wait and have no place on a node that is coming."""
        if self._provision_at is None or self._provision_at > self.now:
            return
        self._provision_at = None
        self.bind()
        if not self.waiting:
            return
        plan = solve(self.world().problem, self.shelf)
        for claim in plan.claims:
            self.buy(claim)
        self.grown += len(plan.claims)

    def buy(self, claim: Claim) -> Machined:
        self._number += 1
        chosen = claim.choice
        one = Machined(
            f"node-{self._number:06d}",
            chosen.instance_type,
            chosen.offering.zone or "",
            chosen.offering.capacity_type or "",
            self.now,
            self.now + START,
        )
        self.machines[one.name] = one
        self.totals.bought += 1
        self.version += 1
        return one

    def arrive(self) -> None:
        """Nodes that are up take pods; nodes that were drained are gone."""
        for one in [one for one in self.machines.values() if one.going and one.up <= self.now]:
            del self.machines[one.name]
            self.totals.removed += 1
            self.version += 1
        if any(one.up == self.now for one in self.machines.values()):
            self.version += 1
            self.bind()
            # The scheduler does not fill nodes as they were planned: whoever found no place is planned for anew.
            if self.waiting and self._provision_at is None:
                self._provision_at = self.now + BATCH

    # ---- what agents do

    def close(self, names: Iterable[str]) -> None:
        for name in names:
            self.machines[name].closed = True
        self.version += 1

    def open(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self.machines:
                self.machines[name].closed = False
        self.version += 1

    def drain(self, names: Iterable[str]) -> None:
        """Evict everybody; the node is gone when their grace is over. Whoever was evicted waits anew."""
        for name in names:
            one = self.machines[name]
            one.closed = one.going = True
            one.up = self.now + GRACE
            for key in list(one.pods):
                pod = one.remove(key, self.now)
                self._number += 1
                self.totals.evicted += 1
                fresh = replace(pod, name=f"{_owner(key)}-{self._number}", node=None, state=PodState.PENDING)
                self._wait(replace(fresh, uid=f"uid-{self._number}", created=self.now))
            self.version += 1
        self.bind()

    # ---- as a pass sees it

    def world(self, running: Sequence[Command] = (), history: History = NO_HISTORY) -> World:
        """The cluster as it is now. Waiting pods are pending, drained nodes are leaving."""
        machines = list(self.machines.values())
        pods = [pod for one in machines for pod in one.pods.values()]
        facts = {pod.key: self._said(pod) for pod in pods}
        snapshot = Snapshot(
            tuple(self._node(one) for one in machines), (*pods, *self.waiting.values()), (self.policy.pool,)
        )
        problem = Problem(snapshot, {self.policy.name: self.market.catalog}, _OPTIONS)
        return World(
            problem,
            {one.name: self._machine(one) for one in machines},
            {self.policy.name: self.policy},
            BEGAN + self.now,
            facts,
            running=tuple(running),
            gates=self.gates,
            history=history,
        )

    def _said(self, pod: Pod) -> PodFacts:
        owner = _owner(pod.key)
        found = self._owners.get(owner)
        if found is None:
            found = self._owners[owner] = PodFacts(owner=f"ReplicaSet/{owner}")
        return found

    def _node(self, one: Machined) -> Node:
        return Node(
            one.name,
            one.labels,
            capacity=one.kind.capacity,
            allocatable=one.kind.allocatable,
            pool=self.policy.name,
            ready=one.up <= self.now or one.going,
            leaving=one.going,
        )

    def _machine(self, one: Machined) -> Machine:
        up = one.up <= self.now or one.going
        about = Meta(one.name, f"uid-{one.name}", created=BEGAN + one.ordered, labels=one.labels)
        claim = NodeClaim(
            about,
            NODE_CLASS,
            conditions=_conditions(up, one.drifted),
            provider_id=f"sim://{one.name}",
            node_name=one.name,
            last_pod_event=BEGAN + one.touched if one.touched else None,
        )
        node = NodeObject(about, provider_id=claim.provider_id, conditions=_READY) if up else None
        return Machine(one.name, claim, node, marked=one.going)


_OPTIONS: Final = Options()


def _owner(key: str) -> str:
    """`default/app-7-123` belongs to `app-7`."""
    return key.rpartition("/")[2].rpartition("-")[0]


@cache
def _conditions(up: bool, drifted: bool) -> conditions.Conditions:
    held: conditions.Conditions = ()
    for type_ in (LAUNCHED, REGISTERED, INITIALIZED, READY, CONSOLIDATABLE) if up else (LAUNCHED,):
        held = conditions.put(held, conditions.true(type_), Moment(BEGAN, 1))
    return conditions.put(held, conditions.true(DRIFTED), Moment(BEGAN, 1)) if drifted else held


_READY: Final = (Condition(READY, Status.TRUE, "Kubelet", since=BEGAN),)


# ---- a day


def lived(cluster: Cluster, agent: Agent, load: Sequence[Deployment], hours: float = 24.0) -> Totals:
    """Let a cluster live under a load for some hours after it has settled, and tell what they came to."""
    cluster.deployments = load
    turns = Turns(cluster, agent)
    turns.until(SETTLING)
    cluster.totals = Totals()
    turns.until(SETTLING + hours * HOUR)
    return cluster.totals


class Turns:
    """The clock: goes from moment to moment at which something happens, each once."""

    def __init__(self, cluster: Cluster, agent: Agent) -> None:
        self._cluster, self._agent = cluster, agent
        self._heap: list[float] = []
        self._known: set[float] = set()
        self._at(cluster.now)

    def until(self, end: float) -> None:
        """Let everything happen that is due before the end."""
        while self._heap and self._heap[0] < end:
            self._turn(heappop(self._heap))
        self._cluster.pass_until(end)

    def _turn(self, moment: float) -> None:
        cluster = self._cluster
        cluster.pass_until(moment)
        if moment % STEP == 0:
            if moment % HOUR == 0:
                cluster.reprice()
            cluster.load()
            self._at(moment + STEP)
        cluster.arrive()
        cluster.provision_if_due()
        wish = self._agent.act(cluster)
        for when in cluster.happens():
            self._at(when)
        if wish is not None:
            self._at(wish)

    def _at(self, moment: float) -> None:
        """A moment that was is not had again: whoever wishes for it was asked in it."""
        if moment not in self._known and (not self._known or moment > self._cluster.now):
            self._known.add(moment)
            heappush(self._heap, moment)
