"""Provisioning: pods that wait are planned together, and what is missing is ordered.

    a pod waits ─▶ batch ─▶ snapshot ─▶ solve ─▶ claims written down, pods nominated ─▶ machines.launch takes over

Nothing is planned while a claim nobody here remembers is still being launched: what it will be, and whom it was for, is
not known yet.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from dovetail.clouds.port import CloudError
from dovetail.controllers import placing
from dovetail.controllers.act import Hands
from dovetail.controllers.batching import Batcher
from dovetail.controllers.buffers import Buffers, is_virtual
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.nominations import Nominations
from dovetail.controllers.placing import Places
from dovetail.controllers.snapshots import Snapshots
from dovetail.controllers.supervision import Later, Rest, keep_on
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.layers import Catalog
from dovetail.core.effects import Count, Create, Observe, Ref, Say
from dovetail.core.lifecycle import hashes, ordering, pools
from dovetail.core.lifecycle.ordering import Template, Wanted
from dovetail.core.lifecycle.pools import PoolRecord
from dovetail.core.nodepools import NodePool
from dovetail.core.pods import Pod
from dovetail.core.scheduling.problem import Claim, Options, Placed, Plan, Problem, Refused, barren
from dovetail.core.snapshot import Snapshot
from dovetail.kube.errors import KubeError
from dovetail.kube.store import Key

#: The event on a pool whose requirements leave nothing to buy.
NOTHING_LEFT: Final = "NoCompatibleInstanceTypes"
_log: Final = logging.getLogger(__name__)
#: So many claims are written at once; the API server's own fairness does the rest.
CONCURRENT_CREATES: Final = 50
#: Planning that has to wait looks again this often; usually an event comes first.
RETRY_SECONDS: Final = 1.0
#: And pods that nobody could take are looked at again this often.
REFUSED_SECONDS: Final = 10.0


class Solve(Protocol):
    """Planning, here or in another process."""

    async def __call__(self, problem: Problem) -> Plan: ...


class Ears(Protocol):
    def say(self, event: Say) -> None: ...
    def count(self, one: Count) -> None: ...
    def observe(self, one: Observe) -> None: ...


@dataclass(frozen=True, slots=True)
class Planning:
    """A plan in the making: the how-manieth, of how many pods, since when by the loop's clock."""

    number: int
    pods: int
    began: float


@dataclass(slots=True)
class Provisioner:
    """Decides what to buy."""

    cluster: Cluster
    snapshots: Snapshots
    catalogs: CatalogCache
    nominations: Nominations
    places: Places
    hands: Hands
    ears: Ears
    solve: Solve
    batcher: Batcher
    buffers: Buffers
    failed: Callable[[Hashable, Exception], None]
    options: Options = field(default_factory=Options)
    #: Told of every pod that was decided about.
    decided: Callable[[Iterable[Key]], None] = lambda pods: None
    #: Whether somebody else knows whom a claim is for.
    is_known: Callable[[str], bool] = lambda claim: False
    now: Callable[[], float] = time.time
    #: How many pods the last plan could not place.
    refused: int = 0
    planning: Planning | None = None
    _plans: int = 0
    _waiting: bool = False
    _timer: asyncio.TimerHandle | None = None
    #: The pods that are to go just where the plan that is carried out has them.
    _fixed: frozenset[str] = frozenset()
    #: The pods that the scheduler did not bind where they were planned to go.
    _overlooked: set[Key] = field(default_factory=set)

    async def run(self) -> None:
        """Plan every batch until cancelled."""
        await self.cluster.synced()
        await keep_on(self._turn, partial(self.failed, "plan"), Rest(RETRY_SECONDS, REFUSED_SECONDS))

    async def _turn(self) -> float:
        """One batch; what could not be planned to the end is a batch again."""
        await self.batcher.batch()
        done = False
        try:
            done = await self.once()
        finally:
            if not done:
                self.batcher.trigger()
        if done and (self._waiting or len(self.nominations)):
            self._later()
        return 0.0 if done else RETRY_SECONDS

    def _later(self) -> None:
        """Pods that were refused are planned again from time to time: prices move, shortages end. So are those the
        scheduler does not bind, of which it need not say a word."""
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(REFUSED_SECONDS, self.batcher.trigger)

    async def once(self) -> bool:
        """Plan what waits now; False if it has to be tried again."""
        if self._unknown_launches():
            return False
        # Not bound where they were planned to go, in all the time there was for it.
        lapsed = self.nominations.lapsed(self.now())
        self.places.take_back(lapsed)
        self._overlooked |= {one.pod for one in lapsed}
        self._waiting, self.refused = False, 0
        snapshot = self.snapshots.take().with_pods(*self.buffers.pods())
        if not snapshot.pending and not any(one.leaving for one in snapshot.nodes):
            return True
        plan = await self._planned(snapshot)
        carried_out = await self._carry_out(plan)
        await self.buffers.planned(plan)
        return carried_out

    async def _planned(self, snapshot: Snapshot) -> Plan:
        self._plans += 1
        began = time.perf_counter()
        self.planning = Planning(self._plans, len(snapshot.pending), asyncio.get_running_loop().time())
        try:
            problem = self.problem(snapshot)
            plan = await self.solve(problem)
        finally:
            self.planning = None
        took = {"controller": "provisioner"}
        self.ears.observe(Observe("scheduler_scheduling_duration_seconds", time.perf_counter() - began, took))
        for pool in barren(problem):
            self._tell_barren(pool)
        return plan

    def problem(self, snapshot: Snapshot) -> Problem:
        return Problem(snapshot, self.catalogs_of(snapshot.pools), self.options)

    def catalogs_of(self, every: Iterable[NodePool]) -> dict[str, Catalog]:
        """What each pool may buy; one whose cloud does not say buys nothing, and the others go on.

        One that is not ready buys nothing either, but what it has can be judged, and given up.
        """
        now, found = self.now(), {}
        for one in every:
            if one.problem is None:
                try:
                    found[one.name] = self.catalogs.catalog(one, now)
                except CloudError as failed:
                    if one.ready:
                        self.failed(f"catalog of NodePool {one.name}", failed)
        return found

    def _unknown_launches(self) -> bool:
        return any(
            not one.value.provider_id
            and self.cluster.purchases.of(one.value) is None
            and not one.value.is_deleting
            and self.cluster.manages(one.value)
            and not self.nominations.is_target(one.value.name)
            and not self.is_known(one.value.name)
            for one in self.cluster.claims
        )

    # ---- carrying out

    async def _carry_out(self, plan: Plan) -> bool:
        until = self.now() + self.nominations.window
        self._fixed = placing.fixed(plan.claims)
        again = self._turned_away(plan.placed)
        for placed in plan.placed:
            self._nominate(placed.node.name, placed.pods, until if placed.node.ready else None)
            self._told(placed)
        known = (self.nominations.get(key) for key in again)
        self.places.wake(one for one in known if one is not None)
        self._overlooked.clear()
        for refused in plan.refused:
            self._not_where_they_were(refused.pods)
            self._tell_refused(refused)
        self._waiting = bool(plan.refused)
        self._decide(plan)
        there = sum(len(one.pods) for one in plan.placed)
        if there:
            _log.info("%d pods fit nodes that are there or coming", there)
        if plan.claims:
            pods = sum(len(one.pods) for one in plan.claims)
            _log.info("ordering %d nodes for %d pods; %d pods have to wait", len(plan.claims), pods, self.refused)
        gate = asyncio.Semaphore(CONCURRENT_CREATES)
        with self.places.ordering():
            results = await asyncio.gather(*(self._order(gate, one) for one in plan.claims))
        return all(results)

    def _decide(self, plan: Plan) -> None:
        groups: tuple[Placed | Claim | Refused, ...] = (*plan.placed, *plan.claims, *plan.refused)
        real = [(pod.namespace, pod.name) for one in groups for pod in one.pods if not is_virtual(pod)]
        self.decided(real)
        self.refused = sum(not is_virtual(pod) for one in plan.refused for pod in one.pods)

    def _turned_away(self, every: tuple[Placed, ...]) -> list[Key]:
        """Pods that go to a node that is open and were planned before, the most important first."""
        pods = (pod for placed in every if placed.node.ready for pod in placed.pods if not is_virtual(pod))
        again = [
            (-pod.shape.priority, key)
            for pod in pods
            if (key := (pod.namespace, pod.name)) in self._overlooked or self.nominations.get(key) is not None
        ]
        return [key for _, key in sorted(again)]

    def _nominate(self, target: str, pods: tuple[Pod, ...], until: float | None) -> None:
        real = [((pod.namespace, pod.name), pod.uid) for pod in pods if not is_virtual(pod)]
        self._not_where_they_were(pods, target)
        self.nominations.nominate(real, target, until, self._fixed)

    def _not_where_they_were(self, pods: tuple[Pod, ...], target: str = "") -> None:
        """Pods that were planned elsewhere before, and found no room there, keep none from others."""
        before = (self.nominations.get((pod.namespace, pod.name)) for pod in pods if not is_virtual(pod))
        lost = [one for one in before if one is not None and one.target != target]
        for one in lost:
            self.nominations.drop(one.pod)
        self.places.take_back(lost)

    async def _order(self, gate: asyncio.Semaphore, planned: Claim) -> bool:
        record = self.cluster.pool(planned.pool.name)
        if record is None or record.meta.deleting is not None:
            return False
        over = pools.exceeded(record, self.cluster.held(record.name))
        if over:
            self._failed(record, over)
            return False
        async with gate:
            try:
                answer = await self.hands.create(create_of(record, planned, self.cluster.scope.well_known))
            except KubeError as failed:
                self._failed(record, str(failed))
                return False
            except Later:
                return False
        name = self._written(planned, answer)
        relaxed = "true" if planned.min_values_relaxed else "false"
        created = {"reason": "provisioned", "nodepool": record.name, "min_values_relaxed": relaxed}
        self.ears.count(Count("nodeclaims_created_total", created))
        for pod in planned.pods:
            self._nominated(pod, f"Pod should schedule on: nodeclaim/{name}")
        return True

    def _written(self, planned: Claim, answer: dict[str, Any] | None) -> str:
        """Remember who goes there before anybody hears that it is there. Where nothing is written, the pods are still
        spoken for: they are told of once."""
        if answer is None:
            self._nominate(planned.name, planned.pods, None)
            return planned.name
        name = str(answer["metadata"]["name"])
        self._nominate(name, planned.pods, None)
        if self._fixed:
            self.places.expect(name)
        self.cluster.learn_claim(answer, new=True)
        return name

    def _failed(self, record: PoolRecord, why: str) -> None:
        about = Ref("NodePool", record.name, record.meta.uid)
        self.ears.say(Say(about, "FailedCreate", f"Creating a NodeClaim failed: {why}", warning=True))

    def _tell_barren(self, pool: NodePool) -> None:
        record = self.cluster.pool(pool.name)
        about = Ref("NodePool", pool.name, "" if record is None else record.meta.uid)
        said = "NodePool requirements filtered out all compatible available instance types"
        self.ears.say(Say(about, NOTHING_LEFT, said, warning=True, dedupe=(pool.name,), quiet_seconds=60.0))

    def _told(self, placed: Placed) -> None:
        for pod in placed.pods:
            self._nominated(pod, f"Pod should schedule on: node/{placed.node.name}")

    def _nominated(self, pod: Pod, message: str) -> None:
        if is_virtual(pod):
            return
        self.ears.say(Say(_ref(pod), "Nominated", message, dedupe=(pod.uid,)))

    def _tell_refused(self, refused: Refused) -> None:
        message = f"Failed to schedule pod, {refused.reason}"
        if refused.nearest_miss:
            message = f"{message}; nearest: {refused.nearest_miss}"
        for pod in refused.pods:
            if is_virtual(pod):
                continue
            said = Say(_ref(pod), "FailedScheduling", message, warning=True, dedupe=(pod.uid,), quiet_seconds=300.0)
            self.ears.say(said)


def _ref(pod: Pod) -> Ref:
    return Ref("Pod", pod.name, pod.uid, pod.namespace)


def create_of(record: PoolRecord, planned: Claim, well_known: frozenset[str]) -> Create:
    wanted = Wanted(
        planned.requirements,
        planned.requests,
        planned.min_values_relaxed,
        any(one.price_overlaid for one in planned.types),
        any(one.capacity_overlaid for one in planned.types),
    )
    claim = ordering.ordered(template_of(record, well_known), wanted, "")
    return Create(claim, f"{record.name}-", tuple(one.name for one in planned.types))


def template_of(record: PoolRecord, well_known: frozenset[str]) -> Template:
    return Template(
        record.pool,
        record.meta.uid,
        hashes.pool_hash(record.template),
        record.annotations,
        record.grace,
        record.expire_after,
        well_known,
    )
