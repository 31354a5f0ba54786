"""Kubernetes objects for tests, as files hold them: everything boring is left out."""

from __future__ import annotations

import json
from typing import Any

from dovetail.api.world import World, read_world
from dovetail.core.pods import Pod, Shape

Json = dict[str, Any]
NODE_CLASS = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}


def named(name: str, namespace: str | None = None, **more: Any) -> Json:
    return {"name": name, **({"namespace": namespace} if namespace else {}), **more}


def thing(kind: str, version: str, metadata: Json, **more: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def container(requests: Json | None = None, limits: Json | None = None, name: str = "main", **more: Any) -> Json:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value is not None}
    return {"name": name, "resources": resources, **more}


def pod(
    name: str = "web", *containers: Json, about: Json | None = None, status: Json | None = None, **spec: Any
) -> Json:
    held = list(containers) or [container({"cpu": "1"})]
    wire = thing("Pod", "v1", {"name": name, **(about or {})}, spec={"containers": held, **spec})
    return wire if status is None else {**wire, "status": status}


def workload(
    kind: str, name: str = "web", *, namespace: str = "default", template: Json | None = None, **spec: Any
) -> Json:
    labels = {"app": name}
    held = {"metadata": {"labels": labels}, "spec": {"containers": [container({"cpu": "1"})], **(template or {})}}
    version = {"Job": "batch/v1", "CronJob": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
    if kind == "CronJob":
        return thing(kind, version, named(name, namespace), spec={"jobTemplate": {"spec": {"template": held, **spec}}})
    selector = {} if kind == "Job" else {"selector": labels if version == "v1" else {"matchLabels": labels}}
    return thing(kind, version, named(name, namespace), spec={"template": held, **selector, **spec})


def pool(name: str = "general", *, spec: Json | None = None, status: Json | None = None, **node: Any) -> Json:
    held = {"nodeClassRef": NODE_CLASS, "requirements": [], **node}
    wire = thing("NodePool", "karpenter.sh/v1", {"name": name}, spec={"template": {"spec": held}, **(spec or {})})
    return wire if status is None else {**wire, "status": status}


def node(
    name: str = "node-1", labels: Json | None = None, cpu: str = "4", about: Json | None = None, **spec: Any
) -> Json:
    room = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    metadata = {"name": name, "labels": labels or {}, **(about or {})}
    return thing("Node", "v1", metadata, spec=spec, status={"capacity": room, "allocatable": room})


def claim(name: str = "data", namespace: str = "default", *, about: Json | None = None, **spec: Any) -> Json:
    status = spec.pop("status", {})
    metadata = {"name": name, "namespace": namespace, **(about or {})}
    return thing("PersistentVolumeClaim", "v1", metadata, spec=spec, status=status)


def bound_claim(name: str = "data", volume: str = "vol") -> Json:
    return claim(name, about={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, volumeName=volume)


def volume(name: str = "vol", *terms: list[Json], **spec: Any) -> Json:
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": one} for one in terms]}}}
    spec = {"csi": {"driver": "ebs.csi.aws.com"}, **spec}
    return thing("PersistentVolume", "v1", {"name": name}, spec={**(affinity if terms else {}), **spec})


def storage_class(
    name: str = "fast", *, mode: str | None = "WaitForFirstConsumer", about: Json | None = None, **more: Any
) -> Json:
    more = {"provisioner": "ebs.csi.aws.com", **({"volumeBindingMode": mode} if mode else {}), **more}
    return thing("StorageClass", "storage.k8s.io/v1", {"name": name, **(about or {})}, **more)


def mounting(*claims: str) -> list[Json]:
    return [{"name": f"v{at}", "persistentVolumeClaim": {"claimName": one}} for at, one in enumerate(claims)]


def expression(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def node_affinity(*terms: list[Json]) -> Json:
    held = {"nodeSelectorTerms": [{"matchExpressions": one} for one in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": held}}


def world_of(*objects: Json) -> World:
    """The world of some objects, written as a List."""
    return read_world([("w.json", json.dumps({"kind": "List", "apiVersion": "v1", "items": list(objects)}))])


def only_pod(*objects: Json) -> Pod:
    found = world_of(*objects)
    assert not found.problems
    (one,) = found.snapshot.pods
    return one


def shape_of(*objects: Json) -> Shape:
    return only_pod(*objects).shape


def problem_of(*objects: Json) -> str:
    problem = shape_of(*objects).problem
    assert problem is not None
    return problem
