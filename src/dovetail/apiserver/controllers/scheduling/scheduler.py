"""The scheduler: pending pods in order of priority, each to the node it suits best.

It keeps what it needs of nodes and pods as they change. A pod that fits nowhere is put aside with the reason, and
comes up again when something happened that could help: a node came or changed, a pod went, or, for pods that look for
others, a pod came. What failed once fails again until then, so equal pods are asked about once. Nothing is preempted.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver import subresources
from dovetail.apiserver.controllers.controller import Key, Seen, with_condition
from dovetail.apiserver.controllers.index import Index
from dovetail.apiserver.controllers.scheduling import wording
from dovetail.apiserver.controllers.scheduling.claims import Claims
from dovetail.apiserver.controllers.scheduling.cluster import Cluster
from dovetail.apiserver.controllers.scheduling.fit import choose
from dovetail.apiserver.controllers.scheduling.nodes import PodKey
from dovetail.apiserver.controllers.scheduling.shapes import PodShape
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.metadata import stamp
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import Write

_NAME: Final = "default-scheduler"
_WRITE: Final = Write("kube-scheduler")
_UNSCHEDULABLE: Final = "Unschedulable"
#: Pods taken in one turn, so that other controllers and requests get theirs in between.
_TURN: Final = 32
_EVERYTHING: Final[Key] = ("pending",)
_STORAGE: Final = (kinds.PERSISTENT_VOLUME_CLAIMS, kinds.PERSISTENT_VOLUMES, kinds.STORAGE_CLASSES)
Rank = tuple[int, str, str, str]


@dataclass(frozen=True, slots=True)
class Pending:
    shape: PodShape
    rank: Rank


class Scheduler:
    hears: tuple[Kind, ...] | None = (kinds.PODS, kinds.NODES, *_STORAGE)

    def __init__(self, objects: Objects, index: Index) -> None:
        self._objects = objects
        self._index = index
        self._cluster = Cluster(self._namespace_labels)
        self._pending: dict[PodKey, Pending] = {}
        self._active: list[tuple[Rank, PodKey]] = []
        self._parked: set[PodKey] = set()
        self._hopeless: dict[int, tuple[PodShape, str]] = {}

    def _namespace_labels(self, namespace: str) -> Mapping[str, str]:
        found = self._objects.storage.get(kinds.NAMESPACES, namespace)
        return found.labels if found is not None else {}

    # --- hearing ---------------------------------------------------------------------------------------------------

    def heard(self, seen: Seen) -> Iterable[Key]:
        if seen.kind == kinds.NODES:
            helps = self._cluster.node_changed(seen)
        elif seen.kind == kinds.PODS:
            helps = self._pod_changed(seen)
        else:
            helps = any(self._pending[key].shape.claims for key in self._parked)
        if helps:
            self._wake(lambda one: True)
        return (_EVERYTHING,) if self._active else ()

    def _pod_changed(self, seen: Seen) -> bool:
        """Take a pod's change in; says whether room came free."""
        key = (seen.item.namespace, seen.item.name)
        record = self._index.pods.get(key)
        over = record is None or record.ended
        if record is None or over or record.node:
            self._pending.pop(key, None)
            self._parked.discard(key)
        if record is None or over or not record.node:
            freed = self._cluster.remove_pod(key)
            if not over:
                self._wait(key, seen)
            return freed
        if self._cluster.put_pod(record, seen):
            self._wake(lambda one: one.depends_on_pods)
        return False

    def _wait(self, key: PodKey, seen: Seen) -> None:
        """A pod without a node: queue it, unless it is not ours or nothing about it changed."""
        pod = seen.obj
        mine = pod["spec"].get("schedulerName", _NAME) == _NAME and "deletionTimestamp" not in pod["metadata"]
        if not mine:
            self._pending.pop(key, None)
            self._parked.discard(key)
            return
        known = key in self._pending
        if known and seen.old is not None and seen.old["spec"] == pod["spec"]:
            return
        shape = self._cluster.reader.read(pod)
        rank = (-int(pod["spec"].get("priority") or 0), pod["metadata"]["creationTimestamp"], *key)
        self._pending[key] = Pending(shape, rank)
        self._parked.discard(key)
        heapq.heappush(self._active, (rank, key))

    def _wake(self, which: Callable[[PodShape], bool]) -> None:
        """Pods put aside come up again: all of them, or those that look for other pods."""
        woken = [key for key in self._parked if which(self._pending[key].shape)]
        self._hopeless = {number: one for number, one in self._hopeless.items() if not which(one[0])}
        for key in woken:
            self._parked.discard(key)
            heapq.heappush(self._active, (self._pending[key].rank, key))

    # --- looking ---------------------------------------------------------------------------------------------------

    def look(self, key: Key) -> float | None:
        """Take the next few pods."""
        for _ in range(_TURN):
            if not self._active:
                return None
            rank, pod = heapq.heappop(self._active)
            waiting = self._pending.get(pod)
            if waiting is not None and waiting.rank == rank and pod not in self._parked:
                self._attempt(pod, waiting.shape)
        return 0.0 if self._active else None

    def _attempt(self, key: PodKey, shape: PodShape) -> None:
        namespace, name = key
        self._parked.add(key)
        known = self._hopeless.get(id(shape))
        if known is not None:
            self._refuse(key, known[1])
            return
        pod = self._objects.find(kinds.PODS, name, namespace)
        if pod is None:
            return
        if pod["spec"].get("schedulingGates"):
            self._say(pod, "SchedulingGated", wording.GATED)
            return
        claims = Claims(self._objects, namespace, shape)
        node, refusals = choose(shape, self._cluster, claims)
        if node is None:
            message = str(refusals)
            if not shape.claims and not shape.depends_on_pods:
                self._hopeless[id(shape)] = shape, message
            self._refuse(key, message)
            return
        claims.bind(node)
        self._bind(pod, node.name)

    def _bind(self, pod: Object, node: str) -> None:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        try:
            subresources.bind(self._objects, name, namespace, {"target": {"name": node}}, _WRITE)
        except ApiError as refusal:
            if refusal.code not in (404, 409):
                raise
            return
        wording.say(self._objects, pod, "Normal", "Scheduled", f"Successfully assigned {namespace}/{name} to {node}")

    def _refuse(self, key: PodKey, message: str) -> None:
        pod = self._objects.find(kinds.PODS, key[1], key[0])
        if pod is not None and self._say(pod, _UNSCHEDULABLE, message):
            wording.say(self._objects, pod, "Warning", "FailedScheduling", message)

    def _say(self, pod: Object, reason: str, message: str) -> bool:
        """Write why a pod waits; says whether that is news."""
        said: dict[str, object] = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason,
            "message": message,
            "lastProbeTime": None,
        }
        if reason == _UNSCHEDULABLE and "generation" in pod["metadata"]:
            said["observedGeneration"] = pod["metadata"]["generation"]
        before = (pod.get("status") or {}).get("conditions")
        if any(said.items() <= one.items() for one in before or ()):
            return False
        after = with_condition(before, said, stamp(self._objects.now()))
        changed = {**pod, "status": {**(pod.get("status") or {}), "conditions": after}}
        self._objects.update(kinds.PODS, changed, subresource="status", write=_WRITE)
        return True
