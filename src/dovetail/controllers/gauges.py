"""What the cluster as a whole looks like in numbers, worked out when somebody asks (§5.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.api.live import classes
from dovetail.api.pod_stream import PodRecord
from dovetail.controllers import transitions
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.metrics import Metrics, Sample
from dovetail.controllers.node_gauges import shown
from dovetail.controllers.provisioning import Planning
from dovetail.controllers.snapshots import Snapshots
from dovetail.core import labels
from dovetail.core.conditions import Conditions
from dovetail.core.lifecycle import pools as pool_rules
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.pods import PodState
from dovetail.core.resources import NOTHING, Resources

_CONDITIONS: Final = ("name", "namespace", "type", "status", "reason")
_IGNORED: Final = PodState.WAITING


@dataclass(slots=True)
class Gauges:
    cluster: Cluster
    snapshots: Snapshots
    #: How many pods the last plan could not place.
    refused: Callable[[], int]
    #: What is being planned at this moment.
    planning: Callable[[], Planning | None]
    now: Callable[[], float]
    _unsynced_since: float | None = field(default=None)

    def declare(self, metrics: Metrics) -> None:
        gauge = metrics.gauge
        by_pool = ("resource_type", "nodepool")
        gauge("nodepools_usage", "What the nodes of a pool have together.", self._usage, *by_pool)
        gauge("nodepools_limit", "What the nodes of a pool may have together.", self._limit, *by_pool)
        gauge("cluster_utilization_percent", "How much of what there is was asked for.", self._used, "resource_type")
        gauge("cluster_state_node_count", "Nodes that are known.", lambda: _one(len(self.cluster.nodes)))
        gauge("cluster_state_synced", "Whether everything there is has been seen.", lambda: _one(self._is_synced()))
        gauge(
            "cluster_state_unsynced_time_seconds", "For how long not everything there is has been seen.", self._unsynced
        )
        gauge("scheduler_unschedulable_pods_count", "Pods nobody could take.", self._refused, "controller")
        gauge("scheduler_ignored_pods_count", "Pods that are not to be planned.", self._ignored)
        solving = ("controller", "scheduling_id")
        gauge("scheduler_queue_depth", "Pods that are being planned.", self._depth, *solving)
        gauge(
            "scheduler_unfinished_work_seconds", "For how long a plan has been in the making.", self._at_work, *solving
        )
        zones = ("controller", "zone")
        gauge("scheduler_pending_pods_by_effective_zone_count", "Pods that wait, by zone.", self._zones, *zones)
        for kind in transitions.KINDS:
            self._declare_conditions(metrics, kind)

    def _declare_conditions(self, metrics: Metrics, kind: str) -> None:
        name = f"operator_{kind}_status_condition"
        about = f"Conditions of each {kind}"
        metrics.gauge(f"{name}_count", f"{about}.", lambda: self._conditions(kind, aged=False), *_CONDITIONS, prefix="")
        aged = f"{name}_current_status_seconds"
        metrics.gauge(
            aged, f"{about}: for how long.", lambda: self._conditions(kind, aged=True), *_CONDITIONS, prefix=""
        )
        leaving = f"operator_{kind}_termination_current_time_seconds"
        metrics.gauge(
            leaving, f"For how long each {kind} goes.", lambda: self._going(kind), "name", "namespace", prefix=""
        )

    # ---- pools

    def _usage(self) -> Iterator[Sample]:
        for held in tuple(self.cluster.pools):
            record = pool_rules.counted(held.value, self.cluster.held(held.value.name))
            yield from _amounts(record.resources, record.name)

    def _limit(self) -> Iterator[Sample]:
        for held in tuple(self.cluster.pools):
            yield from _amounts(held.value.pool.limits or NOTHING, held.value.name)

    # ---- the whole

    def _used(self) -> Iterator[Sample]:
        there, asked = NOTHING, NOTHING
        for held in tuple(self.cluster.nodes):
            there = there + held.value.allocatable
        for pod in tuple(self.cluster.pods):
            if pod.node and pod.phase == "Running":
                asked = asked + self.snapshots.shape_of(pod).requests
        for name, amount in there.items():
            if amount > 0:
                yield {"resource_type": name}, 100.0 * asked.of(name) / amount

    def _is_synced(self) -> bool:
        """All is seen, and no claim is without a machine that somebody is buying."""
        claims = (one.value for one in tuple(self.cluster.claims))
        return self.cluster.is_synced and not any(_is_unlaunched(one) for one in claims)

    def _unsynced(self) -> Iterator[Sample]:
        now = asyncio.get_running_loop().time()
        if self._is_synced():
            self._unsynced_since = None
        elif self._unsynced_since is None:
            self._unsynced_since = now
        yield {}, 0.0 if self._unsynced_since is None else now - self._unsynced_since

    def _refused(self) -> Iterator[Sample]:
        yield {"controller": "provisioner"}, float(self.refused())

    def _depth(self) -> Iterator[Sample]:
        now = self.planning()
        if now is not None:
            yield {"controller": "provisioner", "scheduling_id": str(now.number)}, float(now.pods)

    def _at_work(self) -> Iterator[Sample]:
        now = self.planning()
        if now is not None:
            began = asyncio.get_running_loop().time() - now.began
            yield {"controller": "provisioner", "scheduling_id": str(now.number)}, max(0.0, began)

    def _ignored(self) -> Iterator[Sample]:
        yield {}, float(sum(one.node is None and one.state is _IGNORED for one in tuple(self.cluster.pods)))

    def _zones(self) -> Iterator[Sample]:
        counts: dict[str, int] = {}
        for pod in tuple(self.cluster.pods):
            if pod.state is PodState.PENDING:
                zone = self._zone(pod)
                counts[zone] = counts.get(zone, 0) + 1
        for zone, count in counts.items():
            yield {"controller": "provisioner", "zone": zone}, float(count)

    def _zone(self, pod: PodRecord) -> str:
        """The only zone a pod can go to; "" where there are several."""
        wanted = self.snapshots.shape_of(pod).selector.get(labels.ZONE)
        only = wanted is not None and not wanted.complement and len(wanted.values) == 1
        return next(iter(wanted.values)) if wanted is not None and only else ""

    # ---- conditions

    def _objects(self, kind: str) -> Iterator[tuple[str, str, float | None, Conditions]]:
        one = self.cluster
        if kind == "capacitybuffer":
            for buffer in tuple(one.buffers or ()):
                yield buffer.key[1], buffer.key[0], buffer.value.meta.deleting, buffer.value.told.conditions
            return
        if transitions.KINDS[kind] in one.classes:
            for held in tuple(one.classes[transitions.KINDS[kind]]):
                record = classes.read(held.value.wire)
                yield held.key[1], "", record.meta.deleting, record.conditions
            return
        stores: dict[str, Any] = {"nodeclaim": one.claims, "nodepool": one.pools, "node": one.nodes}
        for held in tuple(stores.get(kind, ())):
            yield held.key[1], "", held.value.meta.deleting, held.value.conditions

    def _conditions(self, kind: str, aged: bool) -> Iterator[Sample]:
        now = self.now()
        for name, namespace, _, held in self._objects(kind):
            for one in held:
                told = {"type": one.type, "status": str(one.status), "reason": one.reason}
                value = max(0.0, now - one.since) if aged else 1.0
                yield {"name": name, "namespace": namespace, **told}, value

    def _going(self, kind: str) -> Iterator[Sample]:
        now = self.now()
        for name, namespace, deleting, _ in self._objects(kind):
            if deleting is not None:
                yield {"name": name, "namespace": namespace}, max(0.0, now - deleting)


def _one(value: float) -> Iterator[Sample]:
    yield {}, float(value)


def _is_unlaunched(claim: NodeClaim) -> bool:
    return not claim.provider_id and not claim.is_deleting


def _amounts(amounts: Resources, pool: str) -> Iterator[Sample]:
    for name, amount in amounts.items():
        yield {"resource_type": name, "nodepool": pool}, shown(name, amount)
