"""All loops, put together: what watches, what decides, what acts, and the one owner of every task.

    watches ─▶ stores ─▶ listeners ─▶ queues ─▶ core ─▶ hands ─▶ API server and cloud
                                                              │
                            watches ◀────────────────────────┘

Nothing is decided before every store has been filled once.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol, cast

from dovetail.api import scheduler_config
from dovetail.api.pod_stream import PodRecord
from dovetail.clouds.port import Cloud, hooks_of, keeper_of
from dovetail.controllers.act import Hands
from dovetail.controllers.batching import Batcher, Window
from dovetail.controllers.buffers import Buffers
from dovetail.controllers.claims import Claims
from dovetail.controllers.classes import Classes
from dovetail.controllers.cluster import Cluster, Scope
from dovetail.controllers.costs import Costs
from dovetail.controllers.disruption.assembly import assembled
from dovetail.controllers.disruption.loop import Beside
from dovetail.controllers.disruption.moves import Moves
from dovetail.controllers.draining import Evictions, Pods
from dovetail.controllers.dry_run import ReadOnly, TellingHands
from dovetail.controllers.gauges import Gauges
from dovetail.controllers.hooks import Hooks
from dovetail.controllers.interruption import Interruptions
from dovetail.controllers.layers import Layers
from dovetail.controllers.machines import Machines
from dovetail.controllers.measured import MeasuredCloud
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.node_gauges import NodeGauges
from dovetail.controllers.nominations import Nominations
from dovetail.controllers.placing import Places
from dovetail.controllers.pod_times import PodTimes
from dovetail.controllers.pools import Pools
from dovetail.controllers.protection import Protections
from dovetail.controllers.provisioning import Provisioner, Solve
from dovetail.controllers.server_time import ServerTime
from dovetail.controllers.settling import Settling
from dovetail.controllers.snapshots import Snapshots
from dovetail.controllers.solving import aside
from dovetail.controllers.static import Static
from dovetail.controllers.supervision import Failures
from dovetail.controllers.telling import Telling
from dovetail.controllers.tending import Tending
from dovetail.controllers.transitions import Transitions
from dovetail.controllers.upkeep import Upkeep
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.facts import Gates
from dovetail.core.disruption.validation import SETTLING_SECONDS
from dovetail.core.effects import Ref
from dovetail.core.instances import Instance
from dovetail.core.nodeclaims import NodeClaim, NodeObject
from dovetail.core.nodepools import NodeClassRef
from dovetail.core.pods import PodState
from dovetail.core.scheduling.problem import Options
from dovetail.kube import pod_store, watch
from dovetail.kube.client import Client
from dovetail.kube.clock import Clock
from dovetail.kube.decoding import Stored
from dovetail.kube.watch import Source

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choices:
    """What a user may choose."""

    window: Window = field(default_factory=Window)
    options: Options = field(default_factory=Options)
    spread: scheduler_config.Defaults = scheduler_config.NO_DEFAULTS
    overlays: bool = True
    buffers: bool = False
    static: bool = False
    #: What disruption may do besides; static pools are kept at their number with `static`.
    gates: Gates = field(default_factory=Gates)
    #: Repair as it was before it became a method with budgets.
    legacy_repair: bool = False
    #: For how long what saves money is kept before it is judged again.
    settling: float = SETTLING_SECONDS
    #: What all pools together may lose at once.
    disruption_budgets: tuple[Budget, ...] = ()
    region: str = ""
    #: Series for each node and each pod, which are many.
    observe: bool = True
    #: Decide and tell, but change nothing.
    dry_run: bool = False
    #: Take what was read at the start out of the collector's sight: for a process that does nothing else.
    freeze: bool = False


class Controller:
    """One process's worth of loops over one cluster and one cloud."""

    def __init__(
        self,
        client: Client,
        cloud: Cloud,
        telling: Telling,
        solve: Solve,
        choices: Choices | None = None,
        clock: Clock | None = None,
        beside: Beside = aside,
    ) -> None:
        chosen = choices or Choices()
        self.clock = clock or Clock()
        self.client = ReadOnly(client) if chosen.dry_run else client
        self.cloud = MeasuredCloud(cloud, telling.metrics, time.perf_counter)
        self.telling, self.choices = telling, chosen
        self._failed = Failures(telling.count).of
        by_owner = bool(chosen.spread.constraints)
        well_known = chosen.options.well_known
        scope = Scope(cloud.node_class_kinds, chosen.overlays, chosen.buffers, by_owner, well_known)
        self.cluster = Cluster(scope, ServerTime(self.clock.wall))
        self.now = self.cluster.time.now
        self.nominations = Nominations(2 * chosen.window.longest)
        self.moves = Moves()
        self.snapshots = Snapshots(self.cluster, self.nominations, chosen.spread, self.moves)
        self.catalogs = CatalogCache(cloud.market, region=chosen.region, stopwatch=time.perf_counter)
        self.batcher = Batcher(chosen.window)
        self.pods = Pods(self.cluster, self.snapshots, self.now)
        self._make_hands()
        self._make_keepers()
        self._make_planner(solve)
        heard = self.interruptions.heard
        self.tending = Tending(self.cluster, self.hands, keeper_of(cloud), heard, self._failed("upkeep"))
        self.disrupting = assembled(self, beside, self._failed)
        self.claims.also = self.disrupting.keeper.kept
        self.claims.opened = self._look_for_displaced
        self.claims.hooked = Hooks(hooks_of(cloud), self._failed("nodeclaim"))
        self.interruptions.taken_over = self.disrupting.taken_over
        self._declare(telling.metrics)

    def _make_hands(self) -> None:
        """What acts, and what it is told to by itself."""
        cluster, client, telling, now = self.cluster, self.client, self.telling, self.now
        self.machines = Machines(
            self.cloud, self.catalogs, lambda: {one.name: one for one in self.snapshots.pools()}, now=now
        )
        self.evictions = Evictions(client, cluster, self.pods, telling, self._failed("evict"), now)
        self.pools = Pools(
            cluster, self.snapshots, client, self.batcher.trigger, self._failed("nodepool"), now, telling.say
        )
        hands = TellingHands if self.choices.dry_run else Hands
        self.hands = hands(client, self.machines, _Ears(telling, self.evictions, self.pools), _Learned(self), now)

    def _make_keepers(self) -> None:
        """What keeps everything that was made true."""
        cluster, client, hands, now = self.cluster, self.client, self.hands, self.now
        replan = self.batcher.trigger
        self.settling = Settling(self.nominations, self.batcher.trigger_now)
        self.places = Places(client, self.nominations)
        self.claims = Claims(
            *(cluster, hands, self.cloud, self.pods),
            *(self.nominations, self.settling, self.places),
            *(replan, self._failed("nodeclaim"), now),
        )
        self.layers = Layers(cluster, self.snapshots, self.catalogs, client, replan, self._failed("catalog"), now)
        classes = self.cloud.node_classes
        self.classes = Classes(cluster, client, self._failed("nodeclass"), classes, self.telling.say)
        self.static = Static(cluster, hands, self.pods, self._failed("static"), now)
        self.upkeep = Upkeep(cluster, hands, self.cloud, self.pods, self._failed("upkeep"), now)
        self.interruptions = Interruptions(cluster, hands, self.catalogs, self._failed("interruption"), now)
        self.buffers = Buffers(cluster, self.snapshots, client, replan, self._failed("capacitybuffer"), now)
        self.times = PodTimes(self.telling.metrics, now)
        self.transitions = Transitions(cluster, self.telling, quiet=self.choices.dry_run)
        self.protections = Protections(cluster, self.telling, self._failed("pod"), now)
        self.costs = Costs(cluster, self.catalogs, self.telling.metrics, now)

    def _make_planner(self, solve: Solve) -> None:
        self.provisioner = Provisioner(
            self.cluster,
            self.snapshots,
            self.catalogs,
            self.nominations,
            self.places,
            self.hands,
            self.telling,
            solve,
            self.batcher,
            self.buffers,
            self._failed("provisioning"),
            self.choices.options,
            decided=self.times.decided,
            is_known=self.moves.is_target,
            now=self.now,
        )

    def _declare(self, metrics: Metrics) -> None:
        planner = self.provisioner
        Gauges(self.cluster, self.snapshots, lambda: planner.refused, lambda: planner.planning, self.now).declare(
            metrics
        )
        self.costs.declare()
        if self.choices.observe:
            NodeGauges(self.cluster, self.snapshots, self.now).declare(metrics)
            self.costs.declare_nodes()
            self.times.declare()

    async def run(self) -> None:
        """Until cancelled."""
        try:
            await self._run()
        finally:
            self.settling.close()
            if self.choices.freeze:
                gc.unfreeze()  # another term of this process reads everything anew, and this one's is to go

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(
                self.cluster.watch(cast(Source, self.client), watch.Options(clock=self.clock)), name="watches"
            )
            group.create_task(self.telling.run(), name="events")
            await self.cluster.synced()
            self._start()
            if self.choices.freeze:
                pod_store.freeze()
            for name, loop in (
                ("claims", self.claims.run()),
                ("evictions", self.evictions.run()),
                ("pools", self.pools.run()),
                ("provisioning", self.provisioner.run()),
                ("upkeep", self.upkeep.run()),
                ("tending", self.tending.run()),
                ("interruptions", self.interruptions.run()),
                ("layers", self.layers.run()),
                ("classes", self.classes.run()),
                ("buffers", self.buffers.run()),
                ("protections", self.protections.run()),
                ("disruption", self.disrupting.run()),
                *(("static", one.run()) for one in self._static()),
            ):
                group.create_task(loop, name=name)

    def _static(self) -> tuple[Static, ...]:
        return (self.static,) if self.choices.static else ()

    def _start(self) -> None:
        """Listen from now on, and look once at everything that is there."""
        one = self.cluster
        for kind, store in one.classes.items():
            for held in store:
                self._class_changed(kind, None, held)
            store.listen(partial(self._class_changed, kind))
        if not self.choices.dry_run:
            self.cloud.resume(held.value for held in one.claims)
        self.cloud.on_notice(self.interruptions.heard)
        listeners: tuple[_Listens, ...] = (
            *(self.layers, self.claims, self.pools, self.classes, self.buffers, self.transitions, self.protections),
            *self._static(),
            self.disrupting,
        )
        for part in listeners:
            part.listen()
        one.pods.listen(self._pod_changed)
        one.nodes.listen(self._node_changed)
        one.pods.listen(self.times.changed)
        for pod in one.pods:
            self.times.changed(None, pod)
        self.claims.remember(one.pods)
        for claim in one.claims:
            self.claims.look_at_claim(claim.value)
        for node in one.nodes:
            self.claims.look_at(node.value)
        for pool in one.pools:
            self.pools.look_at(pool.value.name)
        self.batcher.trigger()
        _log.info("in sync: %d nodes, %d claims, %d pods", len(one.nodes), len(one.claims), len(one.pods))

    def _class_changed(self, kind: Any, old: Any, new: Any) -> None:
        held = new or old
        ref = NodeClassRef(kind.group, kind.name, held.key[1])
        self.cloud.set_node_class(ref, new.value.wire if new is not None else None)

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        held = new or old
        waits = new is not None and new.node is None and self._still_waits(new)
        if held is not None:
            self.places.saw(held.key, new.rare.nominated if new is not None and waits else None)
        if new is None or not waits:
            if held is not None and (new is None or new.node is not None):
                self.places.settled(held.key)
            planned = None if held is None else self.nominations.get(held.key)
            if held is not None and self.nominations.drop(held.key):
                self.nominations.progressed(self.now())
                self.settling.stir()
            if new is not None and new.node is not None and (old is None or old.node is None):
                self._look_for_displaced(new.node, None if planned is None else planned.target)
            return
        if old is not None and old.uid == new.uid and old.rare.nominated and not new.rare.nominated:
            self.places.lost(new.key)
        known = self.nominations.get(new.key)
        if known is None or known.uid != new.uid:
            self.batcher.trigger(new.uid)
        elif known.until is not None:
            # Its machine is up, and the scheduler would rather say something of the pod than bind it.
            self.settling.stir()

    def _look_for_displaced(self, name: str, meant: str | None = None) -> None:
        """Somebody is on a node: if he was `meant` for another and took the room of a pod that was to go just there,
        that one is planned anew at once, for no other room is kept for it."""
        node = self.cluster.node(name) if len(self.nominations) else None
        if node is None:
            return
        targets = {name, *(claim.name for claim in self.cluster.claims_of(node.provider_id))}
        if meant in targets or not any(self.nominations.is_fixed(one) for one in targets):
            return
        if self.snapshots.is_overfull(node, targets):
            self.settling.displaced()

    def _node_changed(self, old: Stored[NodeObject] | None, new: Stored[NodeObject] | None) -> None:
        """Those who wait with the name of a node that goes have to be planned anew, whoever gave it to them."""
        going = new is None or new.value.is_deleting
        if going and old is not None and self.cluster.pods.nominated(old.value.name):
            self.batcher.trigger()

    def _still_waits(self, pod: PodRecord) -> bool:
        """Whether it is ours to plan: one that has the name of the node bought for it still is, and so is one that has
        the name of a node that is gone."""
        if pod.state is PodState.PENDING:
            return True
        if not pod.rare.nominated:
            return False
        known = self.nominations.get(pod.key)
        return (known is not None and known.uid == pod.uid) or not self.cluster.is_expected(pod.rare.nominated)


class _Listens(Protocol):
    def listen(self) -> None: ...


class _Ears:
    """Where the hands send what changes nothing in the cluster."""

    def __init__(self, telling: Telling, evictions: Evictions, pools: Pools) -> None:
        self.say, self.count, self.observe = telling.say, telling.count, telling.observe
        self.evict, self.health = evictions.add, pools.health


class _Learned:
    """What our own writes taught us."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def claim(self, answer: dict[str, Any]) -> None:
        self._controller.cluster.learn_claim(answer)

    def node(self, answer: dict[str, Any]) -> None:
        self._controller.cluster.learn_node(answer)

    def bought(self, claim: NodeClaim, instance: Instance) -> None:
        self._controller.cluster.purchases.add(claim, instance, self._controller.now())

    def pods_of(self, claim: str) -> Iterable[Ref]:
        one = self._controller
        refs = (one.cluster.pod_ref(nominated.pod) for nominated in one.nominations.on(claim))
        return [ref for ref in refs if ref is not None]
