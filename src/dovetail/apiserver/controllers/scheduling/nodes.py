"""Nodes as the scheduler sees them, and what is taken on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dovetail.api.fields import fields
from dovetail.api.taints import read_taints
from dovetail.apiserver.controllers.scheduling.shapes import PodShape
from dovetail.apiserver.storage import Object
from dovetail.core import labels, resources
from dovetail.core.errors import BadInput
from dovetail.core.pods import HostPort
from dovetail.core.resources import NOTHING, Resources
from dovetail.core.taints import Taint

PodKey = tuple[str, str]
_NO_PODS_LIMIT: Final = 110


@dataclass(slots=True)
class NodeInfo:
    """One node. `used` and `pods` change as pods come and go; the rest is replaced when the node changes."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    allocatable: Resources
    going: bool = False
    used: dict[str, int] = field(default_factory=dict)
    pods: dict[PodKey, PodShape] = field(default_factory=dict)

    def offers(self) -> tuple[object, ...]:
        """What of a node can make a difference to a pod that waits."""
        return self.labels, self.taints, self.unschedulable, self.allocatable, self.going

    def put(self, key: PodKey, pod: PodShape) -> None:
        self.pods[key] = pod
        for name, amount in pod.shape.requests.items():
            self.used[name] = self.used.get(name, 0) + amount

    def take(self, key: PodKey) -> None:
        pod = self.pods.pop(key)
        for name, amount in pod.shape.requests.items():
            self.used[name] -= amount

    def lacking(self, requests: Resources) -> list[str]:
        """Names of resources there is too little of."""
        room, used = self.allocatable, self.used
        return [name for name, amount in requests.items() if used.get(name, 0) + amount > room.of(name)]

    def clashes(self, ports: tuple[HostPort, ...]) -> bool:
        taken = [port for pod in self.pods.values() for port in pod.shape.ports] if ports else []
        return any(one.clashes(other) for one in ports for other in taken)

    def fullness(self, requests: Resources) -> float:
        """How full the node would be, by its fuller of cpu and memory on average."""
        total = 0.0
        for name in (resources.CPU, resources.MEMORY):
            room = self.allocatable.of(name)
            if room:
                total += (self.used.get(name, 0) + requests.of(name)) / room
        return total


def node_info(obj: Object) -> NodeInfo:
    """A node; what of it cannot be read counts as not there."""
    about, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    return NodeInfo(
        name=about["name"],
        labels={labels.canonical(key): value for key, value in (about.get("labels") or {}).items()},
        taints=_taints(spec),
        unschedulable=bool(spec.get("unschedulable")),
        allocatable=_amounts(status.get("allocatable") or status.get("capacity")),
        going="deletionTimestamp" in about,
    )


def _taints(spec: Mapping[str, object]) -> tuple[Taint, ...]:
    try:
        return read_taints(fields(spec, "spec"), "taints")
    except BadInput:
        return ()


def _amounts(wire: object) -> Resources:
    try:
        found = resources.parse(wire)
    except BadInput:
        return NOTHING
    return found if resources.PODS in found or not found else found.merged({resources.PODS: _NO_PODS_LIMIT})
