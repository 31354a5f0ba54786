"""The parts of disruption, put together over what the rest of the controller has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dovetail.api import kinds
from dovetail.clouds.port import RepairPolicy as CloudPolicy
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.disruption import changes, second_look
from dovetail.controllers.disruption.carrying import Carrier
from dovetail.controllers.disruption.conditions import Keeper
from dovetail.controllers.disruption.deletion_costs import DeletionCosts
from dovetail.controllers.disruption.gauges import DisruptionGauges
from dovetail.controllers.disruption.interrupted import TakenOver
from dovetail.controllers.disruption.loop import Beside, Disruption
from dovetail.controllers.disruption.marks import Marks
from dovetail.controllers.disruption.reboots import Reboots
from dovetail.controllers.disruption.said import Said
from dovetail.controllers.disruption.telling import Teller
from dovetail.controllers.disruption.worlds import Worlds
from dovetail.controllers.supervision import Failed
from dovetail.core.conditions import Status
from dovetail.core.disruption import expiring
from dovetail.core.disruption.repair_policies import NO_REPAIRS, Action, RepairPolicies, RepairPolicy, checked
from dovetail.core.errors import BadValue, shown

if TYPE_CHECKING:
    from dovetail.controllers.controller import Controller

_SEEN = (kinds.NODE_CLAIMS, kinds.NODES, kinds.NODE_POOLS, kinds.PODS, kinds.DISRUPTION_BUDGETS)


@dataclass(slots=True)
class Disrupting:
    """Everything that acts on disruption."""

    said: Said
    worlds: Worlds
    keeper: Keeper
    carrier: Carrier
    loop: Disruption
    #: What is done about machines the cloud will take away.
    taken_over: TakenOver
    #: Only where deletion costs are ours to write.
    costs: DeletionCosts | None = None

    def listen(self) -> None:
        cluster = self.worlds.cluster
        cluster.pods.listen(self.said.changed)
        self.keeper.listen()
        self.carrier.listen()
        changes.listen(cluster, self.loop.trigger)
        self.loop.trigger()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.carrier.run(), name="commands")
            group.create_task(self.loop.run(), name="passes")
            if self.costs is not None:
                group.create_task(self.costs.run(), name="deletion costs")


def assembled(one: Controller, beside: Beside, failed: Callable[[str], Failed]) -> Disrupting:
    """Over one controller, whose other parts are there already."""
    parts = _Parts(one, failed)
    loop = parts.loop(beside)
    parts.connect(loop)
    DisruptionGauges(parts.teller).declare(one.telling.metrics)
    return Disrupting(
        parts.said, parts.worlds, parts.keeper, parts.carrier, loop, TakenOver(loop), parts.deletion_costs(loop)
    )


class _Parts:
    """What decides and what acts, in the order in which they need one another."""

    def __init__(self, one: Controller, failed: Callable[[str], Failed]) -> None:
        self._one, self._failed = one, failed
        cluster, now = one.cluster, one.now
        self.gates = replace(one.choices.gates, static_capacity=one.choices.static)
        self.repairs = repairs_of(one.cloud.repair_policies) if self.gates.node_repair else NO_REPAIRS
        if one.choices.legacy_repair:
            self.gates = replace(self.gates, node_repair=False)
        self.marks = Marks()
        self.said = Said(cluster, one.snapshots, one.buffers)
        self.teller = Teller(one.telling, _uids(cluster), _claim_uids(cluster), now)
        self.reboots = Reboots(one.hands, one.cloud, one.pods, now)
        self.worlds = self._worlds()
        self.keeper = self._keeper()
        self.carrier = self._carrier()

    def _worlds(self) -> Worlds:
        """What is decided from."""
        one = self._one
        found = Worlds(
            *(one.cluster, one.snapshots, one.buffers, one.nominations, one.moves, self.said),
            *(one.provisioner.problem, self.gates, self.repairs, one.choices.disruption_budgets, one.now),
        )
        found.reboots, found.as_said = self.reboots.times, one.claims.pod_events.known
        return found

    def _keeper(self) -> Keeper:
        """What keeps claims telling the truth about themselves."""
        one = self._one
        found = Keeper(
            *(one.cluster, one.snapshots, one.catalogs, self.worlds, self.marks, one.hands, one.cloud, self.reboots),
            *(one.claims.look_at_claim, self._failed("nodeclaim"), one.now),
        )
        found.legacy = self.repairs if one.choices.legacy_repair else NO_REPAIRS
        found.known = one.claims.pod_events.known
        return found

    def _carrier(self) -> Carrier:
        """What carries commands out."""
        one = self._one
        found = Carrier(
            *(one.cluster, one.hands, self.marks, one.moves, self.teller, self.reboots),
            *(one.claims.look_at_claim, self._failed("command"), one.now),
        )
        found.objection = lambda command, node: second_look.objection(command, node, one.cluster, one.now())
        return found

    def loop(self, beside: Beside) -> Disruption:
        """What says when to decide."""
        cluster, chosen = self._one.cluster, self._one.choices
        return Disruption(
            *(self.worlds, self.carrier, self.teller, beside),
            lambda: all(cluster.sees(kind) for kind in _SEEN),
            *(self._failed("disruption"), self._one.now, chosen.dry_run, chosen.settling),
        )

    def connect(self, loop: Disruption) -> None:
        """Who is told by whom, once everybody is there."""
        self._one.claims.patience = expiring.PATIENCE if self.gates.staggered_expiry else 0.0
        self.carrier.ended, self.carrier.came_up = loop.trigger, loop.memory.came_up
        loop.expected = self._expect
        if self._one.choices.dry_run:
            # Nothing is written, so nobody hears of it by a watch.
            self.keeper.stirred, self.worlds.as_said = loop.trigger, self.keeper.as_said

    def _expect(self, claims: frozenset[str]) -> None:
        for name in self.marks.expect(claims):
            claim = self._one.cluster.claim(name)
            if claim is not None:
                self._one.claims.look_at_claim(claim)

    def deletion_costs(self, loop: Disruption) -> DeletionCosts | None:
        """Only where they are ours to write."""
        if not self.gates.writes_deletion_cost:
            return None
        one = self._one
        costs = DeletionCosts(one.cluster, one.client, loop, one.telling, self._failed("pod"))
        costs.declare(one.telling.metrics)
        return costs


def _uids(cluster: Cluster) -> Callable[[str], str]:
    def uid_of(pool: str) -> str:
        record = cluster.pool(pool)
        return "" if record is None else record.meta.uid

    return uid_of


def _claim_uids(cluster: Cluster) -> Callable[[str], str]:
    def uid_of(name: str) -> str:
        claim = cluster.claim(name)
        return "" if claim is None else claim.meta.uid

    return uid_of


def repairs_of(policies: tuple[CloudPolicy, ...]) -> RepairPolicies:
    """The cloud's policies, checked as a whole: a set that makes no sense is refused before anything is repaired."""
    return checked(_policy(one) for one in policies)


def _policy(one: CloudPolicy) -> RepairPolicy:
    try:
        status, action = Status(one.status), Action(one.action)
    except ValueError as bad:
        raise BadValue(f"repair policies: {one.condition}: {shown(str(bad))}") from None
    return RepairPolicy(
        one.condition, status, one.toleration_seconds, one.reason_regex, one.grace_seconds, one.priority, action
    )
