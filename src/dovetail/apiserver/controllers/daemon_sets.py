"""DaemonSets: one pod on each node that suits.

A daemon's pod names its node by an affinity on the field `metadata.name` and goes through the scheduler as any other;
it tolerates what nodes in trouble are tainted with. Pods of an older template are replaced a few at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.controllers.controller import MANAGER, Key, Seen, is_going
from dovetail.apiserver.controllers.deployments import resolved, template_hash
from dovetail.apiserver.controllers.index import Index, PodRecord
from dovetail.apiserver.controllers.replica_sets import (
    counted_available,
    delete_pod,
    owner_keys,
    pod_from,
    write_status,
)
from dovetail.apiserver.controllers.scheduling.nodes import NodeInfo, node_info
from dovetail.apiserver.controllers.scheduling.shapes import PodShape, Reader
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Object
from dovetail.core.taints import Effect

_HASH: Final = "controller-revision-hash"
_GENERATION: Final = "pod-template-generation"
_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_ON_HOST_NETWORK: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")


class DaemonSets:
    hears: tuple[Kind, ...] | None = (kinds.DAEMON_SETS, kinds.PODS, kinds.NODES)

    def __init__(self, objects: Objects, index: Index) -> None:
        self._objects = objects
        self._index = index
        self._reader = Reader()
        self._nodes: dict[str, NodeInfo] = {}

    def heard(self, seen: Seen) -> Iterable[Key]:
        if seen.kind == kinds.DAEMON_SETS:
            return (seen.key,)
        if seen.kind == kinds.PODS:
            return owner_keys(seen, "DaemonSet")
        return self._heard_node(seen)

    def _heard_node(self, seen: Seen) -> Iterable[Key]:
        """Every daemon is asked about a node that came, went, or changed its labels or taints."""
        before = self._nodes.pop(seen.item.name, None)
        if not seen.gone:
            now = self._nodes[seen.item.name] = node_info(seen.obj)
            if before is not None and (before.labels, before.taints) == (now.labels, now.taints):
                return ()
        return self._objects.storage.table(kinds.DAEMON_SETS).keys()

    def look(self, key: Key) -> float | None:
        namespace, name = key
        found = self._objects.find(kinds.DAEMON_SETS, name, namespace)
        if found is None or is_going(found):
            return None
        template = _template(found)
        shape = self._reader.read(
            {"metadata": {"name": name, "namespace": namespace, **template["metadata"]}, "spec": template["spec"]}
        )
        wanted = {one.name for one in self._nodes.values() if _suits(shape, one)}
        current = template_hash(found["spec"]["template"])
        self._place(found, template, current, wanted)
        self._remove(found, wanted | {one.name for one in self._nodes.values() if _may_stay(shape, one)})
        self._replace_old(found, current, wanted)
        return self._report(found, current, wanted)

    def _by_node(self, found: Object) -> dict[str, list[PodRecord]]:
        placed: dict[str, list[PodRecord]] = {}
        for one in self._index.pods_of(found["metadata"]["uid"]):
            if not one.going:
                placed.setdefault(one.node or self._intended(one), []).append(one)
        return placed

    def _intended(self, pod: PodRecord) -> str:
        """The node a pod that waits for the scheduler was made for."""
        obj = self._objects.find(kinds.PODS, pod.name, pod.namespace) or {}
        names = self._reader.read(obj).names if obj else None
        return min(names) if names else ""

    def _place(self, found: Object, template: dict[str, Any], current: str, wanted: set[str]) -> None:
        placed = self._by_node(found)
        for node in sorted(wanted - placed.keys()):
            pod = pod_from({**found, "spec": {**found["spec"], "template": template}})
            pod["metadata"]["labels"] |= {_HASH: current, _GENERATION: str(found["metadata"].get("generation", 1))}
            pod["spec"] = {**pod["spec"], "affinity": _on_node(pod["spec"].get("affinity"), node)}
            self._objects.create(kinds.PODS, pod, found["metadata"]["namespace"], MANAGER)

    def _remove(self, found: Object, kept: set[str]) -> None:
        for node, pods in self._by_node(found).items():
            surplus = pods if node not in kept else [*pods[1:], *(one for one in pods[:1] if one.ended)]
            for one in surplus:
                delete_pod(self._objects, one)

    def _replace_old(self, found: Object, current: str, wanted: set[str]) -> None:
        strategy = found["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return
        share = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
        pods = [one for each in self._by_node(found).values() for one in each]
        missing = len(wanted) - sum(one.ready for one in pods)
        room = max(1, resolved(share, len(wanted), up=True)) - missing
        old = [one for one in pods if one.labels.get(_HASH) != current]
        for one in sorted(old, key=lambda each: (each.ready, each.node)):
            if one.ready and room <= 0:
                break
            room -= one.ready
            delete_pod(self._objects, one)

    def _report(self, found: Object, current: str, wanted: set[str]) -> float | None:
        pods = [one for one in self._index.pods_of(found["metadata"]["uid"]) if one.active and one.node]
        placed = [one for one in pods if one.node in wanted]
        available, again = counted_available(
            placed, float(found["spec"].get("minReadySeconds") or 0), self._objects.now()
        )
        status: dict[str, Any] = {
            "currentNumberScheduled": len({one.node for one in placed}),
            "numberMisscheduled": len({one.node for one in pods} - wanted),
            "desiredNumberScheduled": len(wanted),
            "numberReady": sum(one.ready for one in placed),
            "observedGeneration": found["metadata"].get("generation", 0),
        }
        more = {
            "updatedNumberScheduled": sum(one.labels.get(_HASH) == current for one in placed),
            "numberAvailable": available,
            "numberUnavailable": len(wanted) - available,
        }
        status.update({name: count for name, count in more.items() if count})
        write_status(self._objects, kinds.DAEMON_SETS, found, status)
        return again


def _template(found: Object) -> dict[str, Any]:
    """The template with what every daemon tolerates."""
    template = found["spec"]["template"]
    spec = dict(template["spec"])
    more = [*_TOLERATED, *([_ON_HOST_NETWORK] if spec.get("hostNetwork") else [])]
    added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in more]
    spec["tolerations"] = [
        *(spec.get("tolerations") or ()),
        *(one for one in added if one not in (spec.get("tolerations") or ())),
    ]
    return {**template, "metadata": template.get("metadata") or {}, "spec": spec}


def _may_stay(shape: PodShape, node: NodeInfo) -> bool:
    """Whether a daemon that runs on a node goes on: a taint that keeps new ones away does not send it off."""
    if shape.wrong_node(node.name, node.labels):
        return False
    return not any(one.effect is Effect.NO_EXECUTE for one in shape.untolerated(node.taints))


def _suits(shape: PodShape, node: NodeInfo) -> bool:
    """Whether a daemon belongs on a node: by labels, and unless a taint keeps it away."""
    if shape.wrong_node(node.name, node.labels):
        return False
    return not any(one.effect is not Effect.PREFER_NO_SCHEDULE for one in shape.untolerated(node.taints))


def _on_node(affinity: dict[str, Any] | None, name: str) -> dict[str, Any]:
    """An affinity with every term narrowed to one node, by name."""
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    node = dict((affinity or {}).get("nodeAffinity") or {})
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    node[required] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {**(affinity or {}), "nodeAffinity": node}
