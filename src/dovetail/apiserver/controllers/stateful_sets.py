"""StatefulSets: pods with names, claims of their own, and an order among them.

In order: a pod is made when all before it are ready, and the last goes first. In parallel nobody waits. An update
replaces pods from the last down to the partition, one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.controllers.controller import MANAGER, Key, Seen, is_going
from dovetail.apiserver.controllers.deployments import template_hash
from dovetail.apiserver.controllers.index import Index, PodRecord
from dovetail.apiserver.controllers.replica_sets import (
    counted_available,
    delete_pod,
    owner_keys,
    pod_from,
    write_status,
)
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Object

_HASH: Final = "controller-revision-hash"
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"
_ORDINAL: Final = re.compile(r"-(\d+)$")


class StatefulSets:
    hears: tuple[Kind, ...] | None = (kinds.STATEFUL_SETS, kinds.PODS)

    def __init__(self, objects: Objects, index: Index) -> None:
        self._objects = objects
        self._index = index

    def heard(self, seen: Seen) -> Iterable[Key]:
        return (seen.key,) if seen.kind == kinds.STATEFUL_SETS else owner_keys(seen, "StatefulSet")

    def look(self, key: Key) -> float | None:
        namespace, name = key
        found = self._objects.find(kinds.STATEFUL_SETS, name, namespace)
        if found is None or is_going(found):
            return None
        current = f"{name}-{template_hash(found['spec']['template'])}"
        pods = {_ordinal(one): one for one in self._index.pods_of(found["metadata"]["uid"])}
        wanted = self._wanted(found)
        waits = found["spec"].get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        if self._make(found, pods, wanted, current, waits) and self._take(pods, wanted, waits):
            self._update(found, pods, wanted, current)
        return self._report(found, current)

    def _wanted(self, found: Object) -> list[int]:
        start = (found["spec"].get("ordinals") or {}).get("start", 0)
        return list(range(start, start + found["spec"].get("replicas", 1)))

    def _make(self, found: Object, pods: dict[int, PodRecord], wanted: list[int], current: str, waits: bool) -> bool:
        """Make what is missing; says whether all that is wanted is there and, in order, ready."""
        complete = True
        for ordinal in wanted:
            pod = pods.get(ordinal)
            if pod is not None and pod.ended and not pod.going:
                delete_pod(self._objects, pod)
            if pod is None:
                self._objects.create(
                    kinds.PODS, self._pod(found, ordinal, current), found["metadata"]["namespace"], MANAGER
                )
            if pod is None or not pod.ready:
                complete = False
                if waits:
                    return False
        return complete or not waits

    def _take(self, pods: dict[int, PodRecord], wanted: list[int], waits: bool) -> bool:
        """Take what is too much, the last first; says whether nothing of it is left."""
        surplus = sorted(pods.keys() - set(wanted), reverse=True)
        for ordinal in surplus[:1] if waits else surplus:
            if not pods[ordinal].going:
                delete_pod(self._objects, pods[ordinal])
        return not surplus

    def _update(self, found: Object, pods: dict[int, PodRecord], wanted: list[int], current: str) -> None:
        strategy = found["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return
        partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        for ordinal in sorted((one for one in wanted if one >= partition), reverse=True):
            pod = pods.get(ordinal)
            if pod is None or pod.going:
                return
            if pod.labels.get(_HASH) != current:
                delete_pod(self._objects, pod)
                return
            if not pod.ready:
                return

    def _pod(self, found: Object, ordinal: int, current: str) -> Object:
        name = f"{found['metadata']['name']}-{ordinal}"
        pod = pod_from(found, name)
        pod["metadata"]["generateName"] = f"{found['metadata']['name']}-"
        pod["metadata"]["labels"] |= {_HASH: current, _POD_NAME: name, _POD_INDEX: str(ordinal)}
        spec: dict[str, Any] = {**pod["spec"], "hostname": name}
        if found["spec"].get("serviceName"):
            spec["subdomain"] = found["spec"]["serviceName"]
        claims = {one["metadata"]["name"]: f"{one['metadata']['name']}-{name}" for one in _claims(found)}
        if claims:
            kept = [one for one in spec.get("volumes") or () if one["name"] not in claims]
            made = [{"name": one, "persistentVolumeClaim": {"claimName": claim}} for one, claim in claims.items()]
            spec["volumes"] = [*kept, *made]
            self._make_claims(found, claims)
        return {**pod, "spec": spec}

    def _make_claims(self, found: Object, claims: dict[str, str]) -> None:
        namespace = found["metadata"]["namespace"]
        for template in _claims(found):
            name = claims[template["metadata"]["name"]]
            if self._objects.find(kinds.PERSISTENT_VOLUME_CLAIMS, name, namespace) is None:
                labels = {
                    **(template["metadata"].get("labels") or {}),
                    **(found["spec"]["selector"].get("matchLabels") or {}),
                }
                claim = {"metadata": {"name": name, "labels": labels}, "spec": template["spec"]}
                self._objects.create(kinds.PERSISTENT_VOLUME_CLAIMS, claim, namespace, MANAGER)

    def _report(self, found: Object, current: str) -> float | None:
        pods = [one for one in self._index.pods_of(found["metadata"]["uid"]) if one.active]
        available, again = counted_available(
            pods, float(found["spec"].get("minReadySeconds") or 0), self._objects.now()
        )
        updated = sum(one.labels.get(_HASH) == current for one in pods)
        before = found.get("status") or {}
        done = updated == len(pods) == found["spec"].get("replicas", 1)
        status: dict[str, Any] = {
            "observedGeneration": found["metadata"].get("generation", 0),
            "replicas": len(pods),
            "availableReplicas": available,
            "collisionCount": 0,
            "updateRevision": current,
            "currentRevision": current if done else before.get("currentRevision", current),
        }
        more = {"readyReplicas": sum(one.ready for one in pods), "updatedReplicas": updated}
        more["currentReplicas"] = sum(one.labels.get(_HASH) == status["currentRevision"] for one in pods)
        status.update({name: count for name, count in more.items() if count})
        write_status(self._objects, kinds.STATEFUL_SETS, found, status)
        return again


def _ordinal(pod: PodRecord) -> int:
    found = _ORDINAL.search(pod.name)
    return int(found[1]) if found else -1


def _claims(found: Object) -> list[dict[str, Any]]:
    return list(found["spec"].get("volumeClaimTemplates") or ())
