"""From what is watched to what disruption decides from: a `World`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isinf

from dovetail.api.disruption import pools as pool_reader
from dovetail.controllers.buffers import Buffers
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.disruption.memory import Memory
from dovetail.controllers.disruption.moves import Moves
from dovetail.controllers.disruption.said import Said
from dovetail.controllers.nominations import Nominations
from dovetail.controllers.snapshots import Snapshots
from dovetail.core.catalog.layers import Catalog
from dovetail.core.disruption import drift_checks, expiring, rebooting, waking
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.facts import Gates, Machine, World
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.repair_policies import NO_REPAIRS, RepairPolicies, next_due
from dovetail.core.lifecycle.pools import PoolRecord
from dovetail.core.nodeclaims import CONSOLIDATABLE, NodeClaim
from dovetail.core.nodepools import NodePool
from dovetail.core.scheduling.problem import Problem
from dovetail.core.snapshot import Snapshot


@dataclass(slots=True)
class Worlds:
    """Gathers worlds. `problem` is what provisioning makes of a snapshot."""

    cluster: Cluster
    snapshots: Snapshots
    buffers: Buffers
    nominations: Nominations
    moves: Moves
    said: Said
    problem: Callable[[Snapshot], Problem]
    gates: Gates = field(default_factory=Gates)
    repairs: RepairPolicies = NO_REPAIRS
    cluster_budgets: tuple[Budget, ...] = ()
    now: Callable[[], float] = time.time
    #: When a claim's machine was rebooted lately.
    reboots: Callable[[NodeClaim], tuple[float, ...]] = lambda claim: ()
    #: The claim with what it ought to say of itself, as far as that is not written down.
    as_said: Callable[[NodeClaim], NodeClaim] = lambda claim: claim
    #: When the first node of the last world may be consolidated whose claim says so all along: that its time began
    #: anew when a pod came or went is not written yet, so that nothing will tell of its end.
    opens: float = inf
    _catalogs: tuple[Catalog, ...] = ()
    _policies: dict[str, tuple[PoolRecord, NodePool, PoolPolicy]] = field(default_factory=dict)

    def take(self, running: Iterable[Command] = (), memory: Memory | None = None) -> World:
        """The cluster now. `running` are the commands whose nodes are spoken for."""
        now, known = self.now(), memory or Memory()
        problem = self.problem(self.snapshots.take().with_pods(*self.buffers.pods()))
        pools = self.policies()
        self.opens = inf
        machines = {one.name: one for one in self._machines(pools, now)}
        return World(
            problem=problem,
            machines=machines,
            pools=pools,
            now=now,
            pods=self.said.facts(),
            running=tuple(running),
            gates=self.gates,
            history=known.history,
            repairs=self.repairs,
            cluster=self.cluster_budgets,
            market=known.looked(problem.catalogs, now),
            attempts=known.attempts,
            regrets=known.counted(machines.values(), pools, now),
        )

    # ---- machines

    def _machines(self, pools: Mapping[str, PoolPolicy], now: float) -> Iterator[Machine]:
        for held in self.cluster.claims:
            if self.cluster.manages(held.value):
                yield self._machine(self.cluster.purchases.known(held.value), pools.get(held.value.pool or ""), now)

    def _machine(self, claim: NodeClaim, policy: PoolPolicy | None, now: float) -> Machine:
        node = next(iter(self.cluster.nodes_of(claim.provider_id)), None)
        name = claim.name if node is None else node.name
        expected = self._is_expected(name, now) or (name != claim.name and self._is_expected(claim.name, now))
        said = self.as_said(claim)
        if said is not claim and policy is not None and not policy.is_static:
            said = drift_checks.as_settled(said, policy, now)
            if claim.is_true(CONSOLIDATABLE) and not said.is_true(CONSOLIDATABLE):
                opens = drift_checks.consolidatable_at(said, policy)
                self.opens = min(self.opens, inf if opens is None else opens)
        return Machine(
            name, said, node, nominated=expected, reboots=self.reboots(claim), rebooted=rebooting.ended(claim)
        )

    def _is_expected(self, name: str, now: float) -> bool:
        """Whether somebody counts on its room: a pod that waits, or one that is on its way from a node that goes."""
        return self.moves.is_target(name) or self.nominations.is_expected(name, now)

    # ---- pools

    def policies(self) -> dict[str, PoolPolicy]:
        """Every pool that can be used; a static one only where static pools are kept at their number."""
        found = {pool.name: self.policy(pool) for pool in self.snapshots.pools()}
        return {name: one for name, one in found.items() if one is not None}

    def policy(self, pool: NodePool) -> PoolPolicy | None:
        record = self.cluster.pool(pool.name)
        if record is None or record.problem or (pool.replicas is not None and not self.gates.static_capacity):
            return None
        known = self._policies.get(pool.name)
        if known is None or known[0] is not record or known[1] is not pool:
            known = self._policies[pool.name] = (record, pool, pool_reader.of_record(record, pool).policy)
        return known[2]

    # ---- what turns without anybody telling

    def prices(self) -> tuple[int, ...]:
        """Which catalogs there are: another one than before has other prices, or other things to buy."""
        found = self.problem(Snapshot(pools=self.snapshots.pools())).catalogs
        # Kept, so that no other catalog can come to have the identity of one of these.
        self._catalogs = tuple(found.values())
        return tuple(id(one) for one in self._catalogs)


def next_change(world: World) -> float | None:
    """In how many seconds a world will be judged otherwise though nothing happens to it; None for never."""
    now = world.now
    times = [one.until for one in world.history.moves]
    # Windows and budgets that open or close, waves that were looked at for long enough, spot that is trusted again.
    wake = waking.next_wake(world)
    times += [] if wake is None else [wake]
    # Pods that say the same share what they say, so there is little to look at.
    said = {id(one): one for one in world.pods.values()}.values()
    times += (one.held_until for one in said if one.held_until is not None and not isinf(one.held_until))
    waits = [one - now for one in times if one > now]
    for machine in world.machines.values():
        waits += _due(machine, world)
    return min(waits, default=None)


def _due(machine: Machine, world: World) -> Iterator[float]:
    if world.gates.node_repair and world.repairs.policies and machine.node is not None:
        since = max(machine.node.meta.created, machine.rebooted or 0.0)
        wait = next_due(world.repairs, machine.node.conditions, since, world.now)
        if wait is not None:
            yield wait
    if world.gates.staggered_expiry and machine.claim is not None:
        for moment in (expiring.expires(machine.claim), expiring.overdue(machine.claim)):
            if moment is not None and moment > world.now:
                yield moment - world.now
