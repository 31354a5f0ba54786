"""Who stands beside the controller and hears what it decides: every plan, and every order with what became of it.

Nothing is changed on the way. What comes of one plan is kept until all of it is there, and then told as one thing
(`sentences`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dovetail.clouds.port import Cloud, NoCapacity, NotFound
from dovetail.clouds.sim import nodes
from dovetail.clouds.sim.chaos import ChaosCloud, Surroundings
from dovetail.controllers.provisioning import Solve
from dovetail.core import labels
from dovetail.core.catalog.prices import NANO
from dovetail.core.catalog.shortages import Shortage
from dovetail.core.disruption.commands import Command
from dovetail.core.instances import Instance, Order
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.scheduling.problem import Plan, Problem

#: An order that nothing is heard of for so long will not hold up what is to be told of the others.
PATIENCE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Bought:
    """A machine, the pods it is for, and what was sold out that would have been cheaper."""

    name: str
    type: str
    zone: str
    capacity_type: str
    nanodollars: int
    pods: int
    missed: tuple[Shortage, ...] = ()


@dataclass(frozen=True, slots=True)
class GivenUp:
    """An order nobody could fill."""

    claim: str
    pods: int
    missed: tuple[Shortage, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """Pods that go to machines that are there, or come already."""

    pods: int
    machines: int


Heard = Bought | GivenUp | Joined


@dataclass(slots=True)
class _Round:
    """One plan: how many orders it came to, and what was heard of them."""

    orders: int
    began: float
    heard: list[Heard] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return sum(not isinstance(one, Joined) for one in self.heard) < self.orders


def _nobody(claim: str) -> int:
    return 0


@dataclass(slots=True)
class Witness:
    """What was heard and not told yet, and the books: who was bought, who was returned."""

    pods_of: Callable[[str], int] = _nobody
    bought: dict[str, Bought] = field(default_factory=dict)
    returned: set[str] = field(default_factory=set)
    #: Commands that were started, to give nodes up.
    commands: list[Command] = field(default_factory=list)
    _rounds: list[_Round] = field(default_factory=list)
    _placed: frozenset[str] = frozenset()

    def solver(self, solve: Solve) -> Solve:
        async def heard(problem: Problem) -> Plan:
            plan = await solve(problem)
            self._planned(plan)
            return plan

        return heard

    def _planned(self, plan: Plan) -> None:
        """A pod whose place is only confirmed by another plan is no news."""
        self._rounds.append(_Round(len(plan.claims), time.monotonic()))
        found = {pod.uid: one.node.name for one in plan.placed for pod in one.pods}
        new = {uid: name for uid, name in found.items() if uid not in self._placed}
        self._placed = frozenset(found)
        if new:
            self._rounds[-1].heard.append(Joined(len(new), len(set(new.values()))))

    def hear(self, one: Heard) -> None:
        """What became of an order: one of the oldest plan that still waits for some."""
        waiting = next((plan for plan in self._rounds if plan.is_open), None)
        if waiting is None:
            waiting = _Round(1, time.monotonic())
            self._rounds.append(waiting)
        waiting.heard.append(one)

    def news(self) -> list[list[Heard]]:
        """What was heard, plan by plan, once it is all there."""
        found, now = [], time.monotonic()
        while self._rounds and (not self._rounds[0].is_open or now - self._rounds[0].began > PATIENCE_SECONDS):
            found.append(self._rounds.pop(0).heard)
        return [one for one in found if one]

    def launched(self, machine: Instance) -> None:
        if machine.claim in self.bought:
            return
        told = machine.labels
        one = Bought(
            machine.claim,
            told[labels.INSTANCE_TYPE],
            told[labels.ZONE],
            told[labels.CAPACITY_TYPE],
            round(float(told.get(nodes.PRICE, "0")) * NANO),
            self.pods_of(machine.claim),
            machine.missed,
        )
        self.bought[machine.claim] = one
        self.hear(one)


class HeardCloud(ChaosCloud):
    """A cloud whose orders are heard, and whose machines can be taken away."""

    def __init__(self, cloud: Cloud, witness: Witness, around: Surroundings) -> None:
        super().__init__(cloud, around=around)
        self._witness = witness
        #: Told of a machine that is taken away, before it is.
        self.on_kill: Callable[[str], None] = lambda provider_id: None

    async def launch(self, order: Order) -> Instance:
        try:
            machine = await super().launch(order)
        except NoCapacity as empty:
            name = order.claim.name
            self._witness.hear(GivenUp(name, self._witness.pods_of(name), empty.shortages))
            raise
        self._witness.launched(machine)
        return machine

    async def terminate(self, claim: NodeClaim) -> None:
        try:
            await super().terminate(claim)
        except NotFound:
            if claim.name in self._witness.bought:
                self._witness.returned.add(claim.name)
            raise

    def kill(self, provider_id: str) -> None:
        self.on_kill(provider_id)
        super().kill(provider_id)
