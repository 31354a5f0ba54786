"""A kubelet that only pretends, for nodes that say so (`kwok.x-k8s.io/node: fake`).

A node of this kind is ready at once. A pod bound to it runs and is ready at once, a Job's pod succeeds, and a pod
that is deleted has ended when its node hears of it. Nothing is started. Only tests and demonstrations ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.controllers.controller import Key, Seen, with_condition
from dovetail.apiserver.controllers.index import Index
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.metadata import stamp
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import Deletion, Write

ANNOTATION: Final = "kwok.x-k8s.io/node"
_WRITE: Final = Write("kubelet")
_NODE: Final = "node"
_POD: Final = "pod"


class FakeKubelet:
    hears: tuple[Kind, ...] | None = (kinds.NODES, kinds.PODS)

    def __init__(self, objects: Objects, index: Index) -> None:
        self._objects = objects
        self._index = index
        self._nodes: set[str] = set()
        self._addresses = 0

    def heard(self, seen: Seen) -> Iterable[Key]:
        name = seen.item.name
        if seen.kind == kinds.PODS:
            record = self._index.pods.get((seen.item.namespace, name))
            if not seen.gone and record is not None and record.node in self._nodes:
                yield _POD, seen.item.namespace, name
            return
        fake = not seen.gone and (seen.obj["metadata"].get("annotations") or {}).get(ANNOTATION) == "fake"
        if not fake:
            self._nodes.discard(name)
            return
        yield _NODE, name
        if name not in self._nodes:
            self._nodes.add(name)
            for one in self._index.pods_on(name):
                yield _POD, one.namespace, one.name

    def look(self, key: Key) -> float | None:
        if key[0] == _NODE:
            self._register(key[1])
            return None
        _, namespace, name = key
        pod = self._objects.find(kinds.PODS, name, namespace)
        if pod is None or pod["spec"].get("nodeName") not in self._nodes:
            return None
        if "deletionTimestamp" in pod["metadata"]:
            self._end(pod)
        elif (pod.get("status") or {}).get("phase") == "Pending":
            self._start(pod)
        return None

    def _register(self, name: str) -> None:
        node = self._objects.find(kinds.NODES, name)
        if node is None:
            return
        status = node.setdefault("status", {})
        if any(one.get("type") == "Ready" for one in status.get("conditions") or ()):
            return
        said = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
        }
        now = stamp(self._objects.now())
        status["conditions"] = with_condition(status.get("conditions"), {**said, "lastHeartbeatTime": now}, now)
        if "capacity" in status:
            status.setdefault("allocatable", status["capacity"])
        self._objects.update(kinds.NODES, node, subresource="status", write=_WRITE)

    def _start(self, pod: Object) -> None:
        now = stamp(self._objects.now())
        owners = pod["metadata"].get("ownerReferences") or ()
        ends = pod["spec"].get("restartPolicy") != "Always" and any(one.get("kind") == "Job" for one in owners)
        status = dict(pod.get("status") or {})
        conditions = status.get("conditions")
        ready = "False" if ends else "True"
        for kind, said in (("Initialized", "True"), ("Ready", ready), ("ContainersReady", ready)):
            why = {"reason": "PodCompleted"} if ends and kind != "Initialized" else {}
            conditions = with_condition(conditions, {"type": kind, "status": said, **why}, now)
        self._addresses += 1
        address = f"10.{64 + self._addresses // 65536 % 64}.{self._addresses // 256 % 256}.{self._addresses % 256}"
        status.update(
            phase="Succeeded" if ends else "Running",
            conditions=conditions,
            startTime=now,
            hostIP="10.0.0.1",
            podIP=address,
            podIPs=[{"ip": address}],
            containerStatuses=[_container(one, ends, now) for one in pod["spec"].get("containers") or ()],
        )
        self._objects.update(kinds.PODS, {**pod, "status": status}, subresource="status", write=_WRITE)

    def _end(self, pod: Object) -> None:
        about = pod["metadata"]
        if about.get("finalizers") and not about.get("deletionGracePeriodSeconds"):
            return
        try:
            how = Deletion(grace=0, uid=about["uid"])
            self._objects.delete(kinds.PODS, about["name"], about["namespace"], how)
        except ApiError as refusal:
            if refusal.code not in (404, 409):
                raise


def _container(one: dict[str, Any], ends: bool, now: str) -> dict[str, Any]:
    ended = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}
    return {
        "name": one["name"],
        "image": one.get("image", ""),
        "imageID": "",
        "ready": not ends,
        "started": not ends,
        "restartCount": 0,
        "state": ended if ends else {"running": {"startedAt": now}},
    }
