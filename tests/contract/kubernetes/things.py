"""Small Kubernetes objects, as plain as the API accepts them."""

from __future__ import annotations

import itertools
from typing import Any

_numbers = itertools.count(1)


def fresh(stem: str) -> str:
    """A name no other test of this run uses."""
    return f"{stem}-{next(_numbers)}"


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data or {}}


def pod_spec(**fields: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    # A selector no node has keeps the scheduler's hands off until a test wants it to act.
    return {"containers": [container], "nodeSelector": {"contract/nowhere": "true"}, **fields}


def pod(name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(**spec)}


def template(labels: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": labels}, "spec": pod_spec(**spec)}


def deployment(name: str, replicas: int = 1, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template(labels, **spec)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": body}


def node(name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    room = {"cpu": "8", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "made by a test"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }


def disruption_budget(name: str, labels: dict[str, str], **spec: Any) -> dict[str, Any]:
    body = {"selector": {"matchLabels": labels}, **spec}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": body}


def crd(plural: str, kind: str, schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    """A definition in the group `contract.test`, with a status subresource unless told otherwise."""
    served = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        **version,
    }
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.contract.test"},
        "spec": {"group": "contract.test", "scope": "Namespaced", "names": names, "versions": [served]},
    }
