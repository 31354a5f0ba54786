"""Nodes that are not well: the taints that say so, the pods that leave because of them, the pods whose node is gone.

A node's Ready condition decides: False is `not-ready`, Unknown is `unreachable`, each as NoSchedule and NoExecute.
Who sets the condition is somebody else's business; a node without one keeps the taints it has. Nobody here watches
for heartbeats.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.fields import fields
from dovetail.api.kinds import Kind
from dovetail.api.taints import read_tolerations
from dovetail.apiserver.controllers.controller import MANAGER, Key, Seen, is_going, with_condition
from dovetail.apiserver.controllers.index import Index
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.metadata import stamp
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import DELETE_NOW, Deletion, MergePatch
from dovetail.core.errors import BadInput
from dovetail.core.taints import Effect, Taint

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
_OURS: Final = frozenset({NOT_READY, UNREACHABLE, UNSCHEDULABLE})
#: How long a pod may name a node that is not there before it is taken for lost.
ORPHAN_SECONDS: Final = 40.0


class NodeTaints:
    """Taints follow the Ready condition and `spec.unschedulable`."""

    hears: tuple[Kind, ...] | None = (kinds.NODES,)

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def heard(self, seen: Seen) -> Iterable[Key]:
        return () if seen.gone else ((seen.item.name,),)

    def look(self, key: Key) -> float | None:
        (name,) = key
        node = self._objects.find(kinds.NODES, name)
        if node is None or is_going(node):
            return None
        wanted = _wanted_taints(node)
        if wanted is None:
            return None
        before = (node.get("spec") or {}).get("taints") or []
        known = {(one["key"], one.get("effect")): one for one in before}
        now = stamp(self._objects.now())
        after = [one for one in before if one["key"] not in _OURS or (one["key"], one.get("effect")) in wanted]
        for each, effect in wanted:
            if (each, effect) not in known:
                after.append({"key": each, "effect": str(effect), "timeAdded": now})
        if after != before:
            patch = MergePatch({"spec": {"taints": after or None}})
            self._objects.patch(kinds.NODES, name, patch, write=MANAGER)
        return None


def _wanted_taints(node: Object) -> list[tuple[str, str]] | None:
    ready = next(
        (one for one in (node.get("status") or {}).get("conditions") or () if one.get("type") == "Ready"), None
    )
    found: list[tuple[str, str]] = []
    if (node.get("spec") or {}).get("unschedulable"):
        found.append((UNSCHEDULABLE, Effect.NO_SCHEDULE))
    if ready is None:
        kept = [one for one in (node.get("spec") or {}).get("taints") or () if one["key"] in (NOT_READY, UNREACHABLE)]
        return [*found, *((one["key"], one["effect"]) for one in kept)]
    if ready.get("status") != "True":
        key = NOT_READY if ready.get("status") == "False" else UNREACHABLE
        found += [(key, Effect.NO_SCHEDULE), (key, Effect.NO_EXECUTE)]
    return found


class TaintEvictions:
    """Pods leave a node whose NoExecute taints they do not tolerate, at once or when their patience ends."""

    hears: tuple[Kind, ...] | None = (kinds.NODES, kinds.PODS)

    def __init__(self, objects: Objects, index: Index) -> None:
        self._objects = objects
        self._index = index

    def heard(self, seen: Seen) -> Iterable[Key]:
        if seen.gone:
            return ()
        if seen.kind == kinds.NODES:
            if b'"NoExecute"' not in seen.item.data:
                return ()
            return [one.key for one in self._index.pods_on(seen.item.name)]
        record = self._index.pods.get((seen.item.namespace, seen.item.name))
        node = self._objects.storage.get(kinds.NODES, record.node) if record is not None and record.node else None
        return (seen.key,) if node is not None and b'"NoExecute"' in node.data else ()

    def look(self, key: Key) -> float | None:
        namespace, name = key
        record = self._index.pods.get((namespace, name))
        if record is None or not record.node or record.going:
            return None
        node = self._objects.find(kinds.NODES, record.node)
        taints = [
            one for one in ((node or {}).get("spec") or {}).get("taints") or () if one.get("effect") == "NoExecute"
        ]
        if not taints:
            return None
        pod = self._objects.get(kinds.PODS, name, namespace)
        patience = _patience(pod, taints, self._objects.now())
        if patience is None:
            return None
        if patience > 0:
            return patience
        self._evict(pod)
        return None

    def _evict(self, pod: Object) -> None:
        about = pod["metadata"]
        _say_disrupted(self._objects, pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
        _delete(self._objects, about["name"], about["namespace"], Deletion(uid=about["uid"]))


def _patience(pod: Object, taints: list[dict[str, Any]], now: datetime) -> float | None:
    """Seconds a pod may stay; None for ever."""
    spec = pod["spec"]
    try:
        tolerations = read_tolerations(fields(spec, "spec"), "tolerations")
    except BadInput:
        tolerations = ()
    raw = spec.get("tolerations") or ()
    shortest: float | None = None
    for wire in taints:
        taint = Taint(wire["key"], Effect.NO_EXECUTE, wire.get("value") or "")
        fitting = [raw[at] for at, one in enumerate(tolerations) if one.tolerates(taint)]
        if not fitting:
            return 0.0
        limits = [one["tolerationSeconds"] for one in fitting if one.get("tolerationSeconds") is not None]
        if not limits:
            continue
        begun = datetime.fromisoformat(wire["timeAdded"]) if wire.get("timeAdded") else now
        left = max(0.0, min(limits) - (now - begun).total_seconds())
        shortest = left if shortest is None else min(shortest, left)
    return shortest


class LostPods:
    """Pods whose node has been gone for a while go too: nobody is left to end them."""

    hears: tuple[Kind, ...] | None = (kinds.NODES, kinds.PODS)

    def __init__(self, objects: Objects, index: Index, seconds: float = ORPHAN_SECONDS) -> None:
        self._objects = objects
        self._index = index
        self._seconds = seconds
        self._missed: dict[str, datetime] = {}

    def heard(self, seen: Seen) -> Iterable[Key]:
        if seen.kind == kinds.NODES:
            if seen.gone:
                return ((seen.item.name,),)
            self._missed.pop(seen.item.name, None)
            return ()
        record = self._index.pods.get((seen.item.namespace, seen.item.name))
        lost = record is not None and record.node and self._objects.storage.get(kinds.NODES, record.node) is None
        return ((record.node,),) if record is not None and lost else ()

    def look(self, key: Key) -> float | None:
        (node,) = key
        pods = self._index.pods_on(node)
        if not pods or self._objects.find(kinds.NODES, node) is not None:
            self._missed.pop(node, None)
            return None
        now = self._objects.now()
        left = self._seconds - (now - self._missed.setdefault(node, now)).total_seconds()
        if left > 0:
            return left
        for one in pods:
            pod = self._objects.find(kinds.PODS, one.name, one.namespace)
            if pod is not None:
                if not one.ended:
                    _say_disrupted(self._objects, pod, "DeletionByPodGC", "PodGC: node no longer exists", "Failed")
                _delete(self._objects, one.name, one.namespace, DELETE_NOW)
        return None


def _say_disrupted(objects: Objects, pod: Object, reason: str, message: str, phase: str = "") -> None:
    """The condition that tells a pod's controller that the pod itself was not at fault."""
    said = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
    status = pod.setdefault("status", {})
    status["conditions"] = with_condition(status.get("conditions"), said, stamp(objects.now()))
    if phase:
        status["phase"] = phase
    objects.update(kinds.PODS, pod, subresource="status", write=MANAGER)


def _delete(objects: Objects, name: str, namespace: str, how: Deletion) -> None:
    try:
        objects.delete(kinds.PODS, name, namespace, how)
    except ApiError as refusal:
        if refusal.code not in (404, 409):
            raise
