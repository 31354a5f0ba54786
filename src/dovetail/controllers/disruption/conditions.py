"""What a claim says of itself: whether it has drifted, may be consolidated, and is being given up.

All of it is written by whoever looks at claims anyway (`controllers.claims`), one claim at a time, so that no two
writers get into each other's way. A claim is looked at when it, its Node, its pool or the catalog changes, and when a
time has come: the end of consolidateAfter, or the next question to the cloud.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dovetail.clouds.port import Cloud, CloudError
from dovetail.controllers.act import Hands
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.disruption.marks import Marks
from dovetail.controllers.disruption.reboots import Reboots
from dovetail.controllers.disruption.worlds import Worlds
from dovetail.controllers.snapshots import Snapshots
from dovetail.core import conditions
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.layers import Catalog
from dovetail.core.disruption import drift_checks, legacy_repair
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.repair_policies import NO_REPAIRS, RepairPolicies
from dovetail.core.effects import Delete, Effect, SaveClaim, SaveNode, Step, soonest
from dovetail.core.nodeclaims import LAUNCHED, READY, REBOOTING, NodeClaim, NodeObject
from dovetail.core.nodepools import NodePool
from dovetail.kube.decoding import Stored

#: What the cloud said of a machine is believed for so long.
BELIEVED_SECONDS: Final = drift_checks.AGAIN_SECONDS


@dataclass(slots=True)
class Keeper:
    """Brings claims up to date. `look` has a claim looked at soon."""

    cluster: Cluster
    snapshots: Snapshots
    catalogs: CatalogCache
    worlds: Worlds
    marks: Marks
    hands: Hands
    cloud: Cloud
    reboots: Reboots
    look: Callable[[NodeClaim], None]
    failed: Callable[[str, Exception], None]
    now: Callable[[], float] = time.time
    #: Policies of the older repair, which looks at one Node at a time; none where nodes are repaired as a method.
    legacy: RepairPolicies = NO_REPAIRS
    #: The claim with what is known of it and not written yet.
    known: Callable[[NodeClaim], NodeClaim] = lambda claim: claim
    #: Told when something is about to be written.
    stirred: Callable[[], None] = lambda: None
    _ended: set[str] = field(default_factory=set)
    #: By claim: when the cloud was asked, and what it said.
    _asked: dict[str, tuple[float, str]] = field(default_factory=dict)

    def listen(self) -> None:
        self.cluster.pools.listen(self._pool_changed)
        self.cluster.claims.listen(self._claim_changed)
        for store in self.cluster.classes.values():
            store.listen(self._class_changed)

    def _pool_changed(self, old: Any, new: Any) -> None:
        if new is None or (old is not None and _said(old.value) == _said(new.value)):
            return
        for claim in tuple(self.cluster.claims_of_pool(new.value.name)):
            self.look(claim)

    def _class_changed(self, old: Any, new: Any) -> None:
        """The cloud may think otherwise of every machine of the class."""
        name = (new or old).key[1]
        for held in tuple(self.cluster.claims):
            if held.value.node_class.name == name:
                self._asked.pop(held.value.name, None)
                self.look(held.value)

    def _claim_changed(self, old: Stored[NodeClaim] | None, new: Stored[NodeClaim] | None) -> None:
        if new is None and old is not None:
            self._asked.pop(old.value.name, None)
            self.reboots.forget(old.value)
            self._ended.discard(old.value.meta.uid)
            self.marks.forget(old.value.name)

    # ---- one claim

    async def kept(self, claim: NodeClaim, nodes: tuple[NodeObject, ...]) -> float | None:
        """Write what has changed about a claim that is not being deleted; returns when to look again."""
        if claim.is_true(REBOOTING):
            return await self.reboots.advance(claim, next(iter(nodes), None))
        cloud = await self._drifted(claim)
        # The answer took a while: what was written meanwhile is looked at when it comes.
        step = self._step(claim, nodes, cloud)
        if step.effects:
            self.stirred()
        again = soonest(step.again, await self.hands.perform(step))
        return soonest(again, await self._repaired(claim, nodes)) if not step.effects else again

    async def _repaired(self, claim: NodeClaim, nodes: tuple[NodeObject, ...]) -> float | None:
        """The older repair."""
        again: float | None = None
        for node in nodes:
            if claim.meta.uid in self._ended or not self.legacy.is_unhealthy(node.conditions):
                continue
            around = legacy_repair.neighbours(self.legacy, claim, (one.value for one in self.cluster.nodes))
            step = legacy_repair.repaired(self.legacy, claim, node, around, self.now())
            if any(isinstance(one, Delete) for one in step.effects):
                self._ended.add(claim.meta.uid)  # it may be looked at again before its end is seen
            again = soonest(again, await self.hands.perform(step))
        return again

    def as_said(self, claim: NodeClaim) -> NodeClaim:
        """The claim as it would be if this were written down."""
        if claim.is_deleting:
            return claim
        effects = self._step(claim, (), self._asked.get(claim.name, (0.0, ""))[1]).effects
        return next((one.after for one in effects if isinstance(one, SaveClaim)), self.known(claim))

    def _step(self, claim: NodeClaim, nodes: tuple[NodeObject, ...], cloud: str) -> Step:
        now = self.now()
        pool = self._pool(claim)
        policy = None if pool is None else self.worlds.policy(pool)
        step = Step()
        after = claim
        if pool is not None and policy is not None:
            step = drift_checks.judged(self.known(claim), policy, self._catalog(pool, policy), cloud, now)
            after = next((one.after for one in step.effects if isinstance(one, SaveClaim)), claim)
        after = _ordered(self.marks.claim(after, now))
        effects: list[Effect] = []
        for node in nodes:
            shall_be = self.marks.node(claim, node)
            if shall_be is not node:
                effects.append(SaveNode(node, shall_be))
        if after.conditions != claim.conditions:
            effects.append(SaveClaim(claim, after, locked=True))
        noted = self.marks.noted(after)
        if noted is not after:
            effects.append(SaveClaim(after, noted))
        return Step(tuple(effects), step.again)

    def _pool(self, claim: NodeClaim) -> NodePool | None:
        return next((one for one in self.snapshots.pools() if one.name == claim.pool), None)

    def _catalog(self, pool: NodePool, policy: PoolPolicy) -> Catalog | None:
        """What the pool can buy; None where nobody can say, and then no type is missed in it."""
        if policy.deleting:
            return None
        try:
            return self.catalogs.catalog(pool, self.now())
        except CloudError:
            return None

    async def _drifted(self, claim: NodeClaim) -> str:
        """What the cloud says of the machine, asked from time to time."""
        if not claim.is_true(LAUNCHED) or not claim.provider_id:
            return ""
        at, said = self._asked.get(claim.name, (None, ""))
        now = self.now()
        if at is not None and 0 <= now - at < BELIEVED_SECONDS:
            return said
        try:
            said = await self.cloud.drifted(claim)
        except CloudError as failed:
            # Asked again with the next look; nothing is decided from not knowing.
            self.failed(claim.name, failed)
        self._asked[claim.name] = (now, said)
        return said


def _said(record: Any) -> tuple[object, ...]:
    """What of a pool its claims are judged by."""
    return (record.meta.generation, record.meta.deleting, record.problem, record.meta.annotations)


def _ordered(claim: NodeClaim) -> NodeClaim:
    """The root condition stands last, wherever another was added."""
    root = conditions.found(claim.conditions, READY)
    if root is None or claim.conditions[-1] is root:
        return claim
    return replace(claim, conditions=(*conditions.without(claim.conditions, READY), root))
