"""A cluster that lives: load that comes and goes, prices that wobble, and every command carried out at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from tests.core.disruption.clusters import NOW, kind, member, pods, policy, world

from dovetail.core import labels
from dovetail.core.catalog.offerings import InstanceType
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.consolidation import memory
from dovetail.core.disruption.facts import PodFacts, World
from dovetail.core.disruption.history import NO_HISTORY, History, Kind
from dovetail.core.disruption.passes import decide
from dovetail.core.pods import Pod
from dovetail.core.scheduling.problem import Claim
from dovetail.core.scheduling.solve import solve

STEP = 600.0
PAYBACK = 1800.0
SIZES = {"c2": (2, 0.09), "m4": (4, 0.19), "n4": (4, 0.2), "m8": (8, 0.38), "n8": (8, 0.4), "m16": (16, 0.78)}


@dataclass
class Machine:
    type: str
    zone: str
    capacity_type: str
    pods: list[Pod] = field(default_factory=list)


@dataclass(frozen=True)
class Swap:
    """An owner's pods went from one kind of machine to another."""

    owner: str
    before: Kind
    after: Kind
    at: float


class Life:
    """`remembers` is whether history is kept, `payback` the pool's time (0 switches the rule off)."""

    def __init__(self, seed: int, remembers: bool = True, payback: float = PAYBACK) -> None:
        self.dice = Random(seed)
        self.now = NOW
        self.remembers = remembers
        self.history: History = NO_HISTORY
        self.machines: dict[str, Machine] = {}
        self.replicas = {"web": 12, "api": 6, "db": 4, "batch": 0}
        self.sizes = {"web": (500, 1.0), "api": (1200, 2.0), "db": (900, 4.0), "batch": (1500, 2.0)}
        self.types = self._types()
        self.made = self.bought = self.evicted = 0
        self.swaps: list[Swap] = []
        self.dollars = 0.0
        self.seen: World
        of = policy(budgets=(Budget("40%"),))
        self.policy = replace(of, thresholds=replace(of.thresholds, payback=payback))

    def _types(self) -> tuple[InstanceType, ...]:
        """Prices wobble by a third, and not together."""
        wobble = {name: 0.8 + 0.4 * self.dice.random() for name in SIZES}
        return tuple(kind(name, cpus, price * wobble[name]) for name, (cpus, price) in SIZES.items())

    def step(self) -> None:
        self.now += STEP
        if self.dice.random() < 0.3:
            self.types = self._types()
        waiting = self._load()
        self._provision(waiting)
        self.seen = self.world([])
        for command in decide(self.seen).commands:
            self._carry_out(command)
        prices = {one.name: one.cheapest for one in self.types}
        for machine in self.machines.values():
            row = prices[machine.type]
            assert row is not None
            assert row.price is not None
            self.dollars += row.price.nanodollars / 1e9 * STEP / 3600

    def _load(self) -> list[Pod]:
        """Every owner grows or shrinks; what is to go goes from anywhere, what is to come waits."""
        waiting: list[Pod] = []
        for owner in self.replicas:
            if self.dice.random() < 0.4:
                self.replicas[owner] = max(0, self.replicas[owner] + self.dice.randint(-3, 3))
            held = [(machine, pod) for machine in self.machines.values() for pod in machine.pods if _app(pod) == owner]
            for machine, pod in held[self.replicas[owner] :]:
                machine.pods.remove(pod)
            waiting += [self._pod(owner) for _ in range(self.replicas[owner] - len(held))]
        return waiting

    def _pod(self, owner: str) -> Pod:
        self.made += 1
        cpu, gib = self.sizes[owner]
        (found,) = pods(owner, 1, cpu, gib)
        return replace(found, name=f"{owner}-{self.made}", uid=f"uid-{self.made}")

    def world(self, waiting: list[Pod]) -> World:
        members = [
            member(name, one.type, pods=one.pods, zone=one.zone, capacity_type=one.capacity_type, types=self.types)
            for name, one in sorted(self.machines.items())
        ]
        facts = {
            pod.key: PodFacts(owner=f"ReplicaSet/{_app(pod)}") for one in self.machines.values() for pod in one.pods
        }
        history = self.history if self.remembers else NO_HISTORY
        return world(
            *members,
            waiting=waiting,
            types=self.types,
            pools=[self.policy],
            facts=facts,
            history=history,
            now=self.now,
        )

    def _provision(self, waiting: list[Pod]) -> None:
        plan = solve(self.world(waiting).problem)
        for placed in plan.placed:
            self.machines[placed.node.name].pods += placed.pods
        for claim in plan.claims:
            self._buy(claim, claim.pods)

    def _buy(self, claim: Claim, some: tuple[Pod, ...]) -> Machine:
        self.bought += 1
        chosen = claim.choice
        bought = Machine(chosen.instance_type.name, chosen.offering.zone or "z1", labels.ON_DEMAND, list(some))
        self.machines[f"node-{self.bought:04d}"] = bought
        return bought

    def _carry_out(self, command: Command) -> None:
        move = memory(command, self.seen)
        if move is not None:
            self.history = self.history.after(replace(move, added=frozenset(self._bought_kinds(command))))
        self._note(command)
        for name in command.names:
            self.machines.pop(name)
        self.evicted += len(command.evicted)
        for placed in command.group.placed:
            self.machines[placed.node.name].pods += [replace(pod, node=None) for pod in placed.pods]
        for claim in command.replacements:
            self._buy(claim, claim.pods)

    def _bought_kinds(self, command: Command) -> list[Kind]:
        return [Kind("pool", claim.choice.instance_type.name, labels.ON_DEMAND) for claim in command.replacements]

    def _note(self, command: Command) -> None:
        for claim in command.replacements:
            after = Kind("pool", claim.choice.instance_type.name, labels.ON_DEMAND)
            for pod in claim.pods:
                before = next(one.kind for one in command.candidates if one.name == pod.node)
                if before != after:
                    self.swaps.append(Swap(_app(pod), before, after, self.now))

    def returns(self) -> list[tuple[Swap, Swap]]:
        """Pairs of swaps that went there and back within the time a move has to pay back."""
        found = []
        for number, first in enumerate(self.swaps):
            for second in self.swaps[number + 1 :]:
                soon = 0 < second.at - first.at < PAYBACK
                back = (second.before, second.after) == (first.after, first.before)
                if soon and back and second.owner == first.owner:
                    found.append((first, second))
        return found


def _app(pod: Pod) -> str:
    return dict(pod.shape.labels)["app"]
