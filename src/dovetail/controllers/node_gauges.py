"""What nodes and pods look like in numbers, worked out when somebody asks (§5.3).

Asking walks over copies of what is held, one sample at a time, so that whoever prints them may pause in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.api.pod_forms import Form
from dovetail.api.pod_stream import PodRecord
from dovetail.controllers.cluster import Cluster
from dovetail.controllers.metrics import Metrics, Sample
from dovetail.controllers.snapshots import Snapshots
from dovetail.core import labels, resources
from dovetail.core.errors import BadInput
from dovetail.core.nodeclaims import NodeObject
from dovetail.core.resources import CPU, NOTHING, Resources

#: Label keys and what they are called in metrics: what stands behind the slash, in snake case.
KNOWN: Final = {key: key.rpartition("/")[2].replace("-", "_") for key in sorted(labels.WELL_KNOWN) if "/" in key}
_NODE: Final = (*KNOWN.values(), "node_name", "phase", "managed")
POD: Final = (
    *("name", "namespace", "owner", "node", "scheduled", "nodepool", "zone", "arch", "capacity_type"),
    *("instance_type", "phase", "ready", "managed"),
)
_DAEMON: Final = "DaemonSet"
_DONE: Final = ("Succeeded", "Failed")


def shown(name: str, amount: int) -> float:
    """cpu in cores, everything else in its own unit."""
    return amount / 1000 if name == CPU else float(amount)


@dataclass(slots=True)
class NodeGauges:
    cluster: Cluster
    snapshots: Snapshots
    now: Callable[[], float]
    _limits: dict[int, tuple[Form, Resources]] = field(default_factory=dict)

    def declare(self, metrics: Metrics) -> None:
        """Series for each node and pod; left out where DISABLE_CLUSTER_STATE_OBSERVABILITY says so."""
        by_resource = (*_NODE, "resource_type")
        gauges: tuple[tuple[str, str, Callable[[NodeObject], Resources]], ...] = (
            ("nodes_allocatable", "What pods may have of each node.", lambda node: node.allocatable),
            ("nodes_system_overhead", "What each node keeps for itself.", _overhead),
            ("nodes_total_pod_requests", "What pods asked for.", lambda node: self._requests(node, daemons=False)),
            ("nodes_total_daemon_requests", "What daemons asked for.", lambda node: self._requests(node, daemons=True)),
            ("nodes_total_pod_limits", "What pods are limited to.", lambda node: self._bounds(node, daemons=False)),
            (
                "nodes_total_daemon_limits",
                "What daemons are limited to.",
                lambda node: self._bounds(node, daemons=True),
            ),
        )
        for name, about, amounts in gauges:
            metrics.gauge(name, about, _collector(self._by_node, amounts), *by_resource)
        metrics.gauge("nodes_current_lifetime_seconds", "How old each node is.", self._ages, *_NODE)
        metrics.gauge("pods_state", "Each pod, where it is and how it is.", self._pods, *POD)

    # ---- nodes

    def _by_node(self, amounts: Callable[[NodeObject], Resources]) -> Iterator[Sample]:
        for held in tuple(self.cluster.nodes):
            common = self._labels(held.value)
            for name, amount in amounts(held.value).items():
                yield {**common, "resource_type": name}, shown(name, amount)

    def _labels(self, node: NodeObject) -> dict[str, str]:
        found = {name: node.meta.labels.get(key, "") for key, name in KNOWN.items()}
        phase = "Deleting" if node.is_deleting else "Running"
        managed = "true" if self.cluster.claims_of(node.provider_id) else "false"
        return {**found, "node_name": node.name, "phase": phase, "managed": managed}

    def _ages(self) -> Iterator[Sample]:
        now = self.now()
        for held in tuple(self.cluster.nodes):
            yield self._labels(held.value), max(0.0, now - held.value.meta.created)

    def _running(self, node: NodeObject, daemons: bool) -> Iterator[PodRecord]:
        for pod in self.cluster.pods.on_node(node.name):
            if (pod.owner.kind == _DAEMON) == daemons and pod.phase not in _DONE:
                yield pod

    def _requests(self, node: NodeObject, daemons: bool) -> Resources:
        total = NOTHING
        for pod in self._running(node, daemons):
            total = total + self.snapshots.shape_of(pod).requests
        return total

    def _bounds(self, node: NodeObject, daemons: bool) -> Resources:
        total = NOTHING
        for pod in self._running(node, daemons):
            total = total + self._limits_of(pod.form)
        return total

    def _limits_of(self, form: Form) -> Resources:
        """Equal pods are one form, whose limits are added up once."""
        known = self._limits.get(id(form))
        if known is not None and known[0] is form:
            return known[1]
        if len(self._limits) > len(self.cluster.pods.reader.forms) + 1024:
            self._limits.clear()
        total = NOTHING
        held = form.draft(self.cluster.drafts).spec.get("containers")
        for one in held if isinstance(held, list) else ():
            total = total + _limits(one)
        self._limits[id(form)] = (form, total)
        return total

    # ---- pods

    def _pods(self) -> Iterator[Sample]:
        nodes = {held.value.name: held.value for held in tuple(self.cluster.nodes)}
        for pod in tuple(self.cluster.pods):
            yield self._pod(pod, nodes.get(pod.node or "")), 1.0

    def _pod(self, pod: PodRecord, node: NodeObject | None) -> Mapping[str, str]:
        of_node = node.meta.labels if node is not None else {}
        managed = node is not None and bool(self.cluster.claims_of(node.provider_id))
        return {
            "name": pod.name,
            "namespace": pod.namespace,
            "owner": pod.owner.name,
            "node": pod.node or "",
            "scheduled": "true" if pod.node else "false",
            "nodepool": of_node.get(labels.NODEPOOL, ""),
            "zone": of_node.get(labels.ZONE, ""),
            "arch": of_node.get(labels.ARCH, ""),
            "capacity_type": of_node.get(labels.CAPACITY_TYPE, ""),
            "instance_type": of_node.get(labels.INSTANCE_TYPE, ""),
            "phase": pod.phase,
            "ready": "true" if pod.ready and not pod.unready else "false",
            "managed": "true" if managed else "false",
        }


def _collector(
    over: Callable[[Callable[[NodeObject], Resources]], Iterator[Sample]], amounts: Callable[[NodeObject], Resources]
) -> Callable[[], Iterator[Sample]]:
    return lambda: over(amounts)


def _overhead(node: NodeObject) -> Resources:
    return node.capacity - node.allocatable


def _limits(container: Any) -> Resources:
    given = (container.get("resources") or {}).get("limits") if isinstance(container, Mapping) else None
    try:
        return resources.parse(given, "limits")
    except BadInput:
        return NOTHING
