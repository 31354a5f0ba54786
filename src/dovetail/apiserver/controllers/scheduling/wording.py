"""Why no node will do, as kube-scheduler says it, and the events it writes."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any, Final

from dovetail.api import kinds
from dovetail.apiserver.metadata import stamp
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import Write

UNSCHEDULABLE: Final = "node(s) were unschedulable"
TAINTED: Final = "node(s) had untolerated taint(s)"
WRONG_NODE: Final = "node(s) didn't match Pod's node affinity/selector"
NAMED_ANOTHER: Final = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS: Final = "Too many pods"
NO_NODES: Final = "no nodes available to schedule pods"
GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"
_SCHEDULER: Final = "default-scheduler"


class Refusals:
    """The complaints of one attempt, by node."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._reasons: Counter[str] = Counter()
        self._hopeless = 0
        self.everywhere = ""

    def add(self, reasons: list[str], *, hopeless: bool) -> None:
        """Count one node out; `hopeless` where taking other pods away would change nothing."""
        self._reasons.update(reasons)
        self._hopeless += hopeless

    def __str__(self) -> str:
        if not self._total:
            return NO_NODES
        start = f"0/{self._total} nodes are available:"
        if self.everywhere:
            return f"{start} {self.everywhere}. not found"
        what = ", ".join(sorted(f"{count} {why}" for why, count in self._reasons.items()))
        outlook = [
            (self._total - self._hopeless, "No preemption victims found for incoming pod"),
            (self._hopeless, "Preemption is not helpful for scheduling"),
        ]
        told = ", ".join(f"{count} {why}" for count, why in sorted(outlook, key=str) if count)
        return f"{start} {what}. no new claims to deallocate, preemption: {start} {told}."


def say(objects: Objects, pod: Object, kind: str, reason: str, message: str) -> None:
    """Write an event about a pod; the same said again only counts up."""
    about, now = pod["metadata"], stamp(objects.now())
    digest = hashlib.sha256(f"{about['uid']}{reason}{message}".encode()).hexdigest()[:16]
    name = f"{about['name']}.{digest}"
    before = objects.find(kinds.CORE_EVENTS, name, about["namespace"])
    if before is not None:
        changed = {**before, "count": before.get("count", 1) + 1, "lastTimestamp": now}
        objects.update(kinds.CORE_EVENTS, changed, write=Write("kube-scheduler"))
        return
    event: dict[str, Any] = {
        "metadata": {"name": name},
        "involvedObject": {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": about["namespace"],
            "name": about["name"],
            "uid": about["uid"],
            "resourceVersion": about["resourceVersion"],
        },
        "reason": reason,
        "message": message,
        "type": kind,
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "source": {"component": _SCHEDULER},
        "reportingComponent": _SCHEDULER,
        "reportingInstance": "",
    }
    objects.create(kinds.CORE_EVENTS, event, about["namespace"], Write("kube-scheduler"))
