"""Objects for live scenarios: everything boring has a default."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
CLASS = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
LINUX = (
    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
)


def node_class(name: str = "default", **spec: Any) -> Object:
    return _object("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass", name, spec)


def pool(name: str = "general", *, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    """A NodePool; what names a field of its template's spec goes there. Nothing is consolidated unless it says so."""
    inner = {key: spec.pop(key) for key in tuple(spec) if key in _TEMPLATE}
    template = {"nodeClassRef": CLASS, "requirements": [*LINUX], "expireAfter": "Never", **inner}
    about = {"labels": labels} if labels else {}
    spec = {"disruption": {"consolidateAfter": "Never"}, **spec}
    return _object("karpenter.sh/v1", "NodePool", name, {"template": {"metadata": about, "spec": template}, **spec})


_TEMPLATE = frozenset(
    {"requirements", "taints", "startupTaints", "terminationGracePeriod", "expireAfter", "nodeClassRef"}
)


def claim(name: str = "mine", **spec: Any) -> Object:
    """A NodeClaim that somebody wrote by hand."""
    wanted = [*LINUX, {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}]
    return _object("karpenter.sh/v1", "NodeClaim", name, {"nodeClassRef": CLASS, "requirements": wanted, **spec})


def deployment(name: str = "web", replicas: int = 1, *, notes: dict[str, str] | None = None, **changed: Any) -> Object:
    labels = {"app": name}
    about: Object = {"labels": labels, **({"annotations": notes} if notes else {})}
    body = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": about, "spec": pod_spec(**changed)},
    }
    return _object("apps/v1", "Deployment", name, body, "default")


def daemon_set(name: str = "agent", **changed: Any) -> Object:
    labels = {"app": name}
    body = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod_spec(**changed)},
    }
    return _object("apps/v1", "DaemonSet", name, body, "default")


def pod(name: str, *, notes: dict[str, str] | None = None, **changed: Any) -> Object:
    one = _object("v1", "Pod", name, pod_spec(**changed), "default")
    one["metadata"]["annotations"] = notes or {}
    return one


def pod_spec(cpu: str = "1", memory: str = "1Gi", **changed: Any) -> Object:
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    container = {"name": "main", "image": "app:1", "resources": {"requests": requests}}
    return {"containers": [container], "terminationGracePeriodSeconds": 30, **changed}


def budget(name: str = "web", **spec: Any) -> Object:
    body = {"selector": {"matchLabels": {"app": name}}, **spec}
    return _object("policy/v1", "PodDisruptionBudget", name, body, "default")


def _object(api: str, kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    about: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": about, "spec": spec}
