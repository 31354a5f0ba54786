"""The parts of disruption, put together over what the rest of the controller has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
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


Failed = Callable[[Hashable, Exception], None]


def assembled(one: Controller, beside: Beside, failed: Callable[[str], Failed]) -> Disrupting:
    """Over one controller, whose other parts are there already."""
    cluster, now, chosen, look = one.cluster, one.now, one.choices, one.claims.look_at_claim
    said = Said(cluster, one.snapshots, one.buffers)
    gates = replace(chosen.gates, static_capacity=chosen.static)
    repairs = repairs_of(one.cloud.repair_policies) if gates.node_repair else NO_REPAIRS
    if chosen.legacy_repair:
        gates = replace(gates, node_repair=False)
    worlds = Worlds(
        cluster,
        one.snapshots,
        one.buffers,
        one.nominations,
        one.moves,
        said,
        one.provisioner.problem,
        gates,
        repairs,
        chosen.disruption_budgets,
        now,
    )
    marks, teller, reboots = (
        Marks(),
        Teller(one.telling, _uids(cluster), now),
        Reboots(one.hands, one.cloud, one.pods, now),
    )
    worlds.reboots = reboots.times
    keeper = Keeper(
        cluster,
        one.snapshots,
        one.catalogs,
        worlds,
        marks,
        one.hands,
        one.cloud,
        reboots,
        look,
        failed("nodeclaim"),
        now,
    )
    carrier = Carrier(cluster, one.hands, marks, one.moves, teller, reboots, look, failed("command"), now)
    loop = Disruption(
        worlds,
        carrier,
        teller,
        beside,
        lambda: all(cluster.sees(kind) for kind in _SEEN),
        failed("disruption"),
        now,
        chosen.dry_run,
        chosen.settling,
    )
    one.claims.patience = expiring.PATIENCE if gates.staggered_expiry else 0.0
    keeper.legacy = repairs if chosen.legacy_repair else NO_REPAIRS
    carrier.ended, carrier.came_up = loop.trigger, loop.memory.came_up
    carrier.objection = lambda command, node: second_look.objection(command, node, cluster, now())
    if chosen.dry_run:
        # Nothing is written, so nobody hears of it by a watch.
        keeper.stirred, worlds.as_said = loop.trigger, keeper.as_said
    DisruptionGauges(teller).declare(one.telling.metrics)
    costs = None
    if gates.writes_deletion_cost:
        costs = DeletionCosts(cluster, one.client, loop, one.telling, failed("pod"))
        costs.declare(one.telling.metrics)
    return Disrupting(said, worlds, keeper, carrier, loop, TakenOver(loop), costs)


def _uids(cluster: Cluster) -> Callable[[str], str]:
    def uid_of(pool: str) -> str:
        record = cluster.pool(pool)
        return "" if record is None else record.meta.uid

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
