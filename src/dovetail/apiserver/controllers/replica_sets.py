"""ReplicaSets: as many pods as asked for, made from one template."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.controllers.controller import MANAGER, Key, Seen, controller_reference, is_going
from dovetail.apiserver.controllers.index import Index, PodRecord
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import Deletion

_NAME: Final = "ReplicaSet"


class ReplicaSets:
    hears: tuple[Kind, ...] | None = (kinds.REPLICA_SETS, kinds.PODS)

    def __init__(self, objects: Objects, index: Index) -> None:
        self._objects = objects
        self._index = index

    def heard(self, seen: Seen) -> Iterable[Key]:
        return (seen.key,) if seen.kind == kinds.REPLICA_SETS else owner_keys(seen, _NAME)

    def look(self, key: Key) -> float | None:
        namespace, name = key
        found = self._objects.find(kinds.REPLICA_SETS, name, namespace)
        if found is None or is_going(found):
            return None
        uid = found["metadata"]["uid"]
        self._scale(found, [one for one in self._index.owned_by(uid) if one.active])
        return self._report(found, self._index.owned_by(uid))

    def _scale(self, found: Object, pods: list[PodRecord]) -> None:
        wanted = found["spec"].get("replicas", 1)
        for _ in range(wanted - len(pods)):
            self._objects.create(kinds.PODS, pod_from(found), found["metadata"]["namespace"], MANAGER)
        if len(pods) > wanted:
            for one in sorted(pods, key=_worth)[: len(pods) - wanted]:
                delete_pod(self._objects, one)

    def _report(self, found: Object, every: Collection[PodRecord]) -> float | None:
        pods = [one for one in every if one.active]
        wait = float(found["spec"].get("minReadySeconds") or 0)
        available, again = counted_available(pods, wait, self._objects.now())
        labels = (found["spec"]["template"].get("metadata") or {}).get("labels") or {}
        counts = {
            "replicas": len(pods),
            "fullyLabeledReplicas": sum(labels.items() <= one.labels.items() for one in pods),
            "readyReplicas": sum(one.ready for one in pods),
            "availableReplicas": available,
            "observedGeneration": found["metadata"].get("generation", 0),
        }
        status = {name: count for name, count in counts.items() if count or name == "replicas"}
        status["terminatingReplicas"] = sum(one.going and not one.ended for one in every)
        write_status(self._objects, kinds.REPLICA_SETS, found, status)
        return again


def owner_keys(seen: Seen, kind: str) -> list[Key]:
    """The controllers of this kind that an object belongs to, now or before."""
    return sorted((seen.item.namespace, name) for one, name in seen.controllers if one == kind)


def pod_from(owner: Object, name: str = "") -> Object:
    """A pod as an owner's template describes it."""
    template = owner["spec"]["template"]
    about = template.get("metadata") or {}
    metadata: dict[str, Any] = {"name": name} if name else {"generateName": f"{owner['metadata']['name']}-"}
    metadata["labels"] = dict(about.get("labels") or {})
    metadata["ownerReferences"] = [controller_reference(owner)]
    for part in ("annotations", "finalizers"):
        if about.get(part):
            metadata[part] = about[part]
    return {"metadata": metadata, "spec": dict(template["spec"])}


def delete_pod(objects: Objects, pod: PodRecord) -> None:
    """Delete a pod that may be gone already."""
    try:
        objects.delete(kinds.PODS, pod.name, pod.namespace, Deletion(uid=pod.uid))
    except ApiError as refusal:
        if refusal.code not in (404, 409):
            raise


def _worth(pod: PodRecord) -> tuple[bool, bool, bool, list[int], str]:
    """What goes first: pods without a node, then pending ones, then unready ones, then the youngest."""
    youngest_first = [-ord(one) for one in pod.created]
    return bool(pod.node), pod.phase == "Running", pod.ready, youngest_first, pod.name


def counted_available(pods: list[PodRecord], wait: float, now: datetime) -> tuple[int, float | None]:
    """How many pods have been ready long enough, and when the next will have been."""
    available, again = 0, None
    for one in pods:
        if not one.ready:
            continue
        left = wait - (now - datetime.fromisoformat(one.ready_since)).total_seconds() if wait else 0.0
        if left <= 0:
            available += 1
        else:
            again = left if again is None else min(again, left)
    return available, again


def write_status(objects: Objects, kind: Kind, found: Object, status: dict[str, Any]) -> None:
    """Write a status if it says anything new."""
    if (found.get("status") or {}) != status:
        objects.update(kind, {**found, "status": status}, subresource="status", write=MANAGER)
