"""A cluster with its controllers, driven by hand: a clock that moves when told, and `settle` after each change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.bootstrap import new_cluster
from dovetail.apiserver.controllers import Options, controllers_of
from dovetail.apiserver.writes import DELETE, Deletion, MergePatch

FAKE = {"kwok.x-k8s.io/node": "fake"}


class World:
    def __init__(self, options: Options | None = None) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.objects = new_cluster(lambda: self.time)
        self.running = controllers_of(self.objects, options or Options(fake_kubelet=True))
        self.running.attach()
        self.settle()

    def settle(self) -> None:
        self.running.settle()

    def wait(self, seconds: float) -> None:
        """Let time pass, stopping wherever something is due."""
        end = self.time + timedelta(seconds=seconds)
        while (due := self.running.next_due()) is not None and due <= end:
            self.time = max(self.time, due)
            self.settle()
        self.time = end
        self.settle()

    def create(self, kind: Kind, name: str, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
        made = {"metadata": {"name": name, **metadata}, **({"spec": spec} if spec is not None else {})}
        found = self.objects.create(kind, made, "default" if kind.namespaced else "")
        self.settle()
        return found

    def patch(self, kind: Kind, name: str, body: dict[str, Any], subresource: str = "") -> None:
        namespace = "default" if kind.namespaced else ""
        self.objects.patch(kind, name, MergePatch(body), namespace, subresource=subresource)
        self.settle()

    def delete(self, kind: Kind, name: str, how: Deletion = DELETE) -> None:
        self.objects.delete(kind, name, "default" if kind.namespaced else "", how)
        self.settle()

    def get(self, kind: Kind, name: str) -> dict[str, Any]:
        return self.objects.get(kind, name, "default" if kind.namespaced else "")

    def find(self, kind: Kind, name: str) -> dict[str, Any] | None:
        return self.objects.find(kind, name, "default" if kind.namespaced else "")

    def names(self, kind: Kind) -> list[str]:
        return [one["metadata"]["name"] for one in self.objects.list(kind, "default" if kind.namespaced else "")]

    def pods(self, labels: str = "") -> list[dict[str, Any]]:
        return self.objects.list(kinds.PODS, "default", labels=labels)

    def node(self, name: str, cpu: str = "4", **about: Any) -> None:
        """A fake node; labels, taints and the like may be given."""
        labels = {"kubernetes.io/hostname": name, **about.pop("labels", {})}
        spec = {key: about.pop(key) for key in ("taints", "unschedulable") if key in about}
        room = {"cpu": cpu, "memory": "16Gi", "pods": str(about.pop("pods", 110))}
        made = {"metadata": {"name": name, "labels": labels, "annotations": FAKE}, "spec": spec}
        self.objects.create(kinds.NODES, made)
        status = {"capacity": room, "allocatable": room}
        self.patch(kinds.NODES, name, {"status": status}, "status")

    def pod(self, name: str, cpu: str = "1", labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
        return self.create(kinds.PODS, name, pod_spec(cpu, **spec), labels=labels or {})

    def node_of(self, pod: str) -> str:
        return str(self.get(kinds.PODS, pod)["spec"].get("nodeName") or "")

    def why(self, pod: str) -> tuple[str, str]:
        """The reason and message of a pod that waits."""
        conditions = self.get(kinds.PODS, pod)["status"].get("conditions") or []
        one = next(one for one in conditions if one["type"] == "PodScheduled")
        return one.get("reason", ""), one.get("message", "")


def pod_spec(cpu: str = "1", **more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}], **more}


def workload(replicas: int, cpu: str = "100m", image: str = "i", **more: Any) -> dict[str, Any]:
    """The spec of a Deployment, ReplicaSet or StatefulSet."""
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod_spec(cpu)}
    template["spec"]["containers"][0]["image"] = image
    return {"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": template, **more}
