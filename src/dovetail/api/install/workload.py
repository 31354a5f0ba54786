"""How dovetail runs: two replicas of which one acts, as an ordinary user that can write nothing but to the API."""

from __future__ import annotations

from typing import Final

from dovetail.api.crds.schema import Json
from dovetail.api.install import confined
from dovetail.api.install.installation import NAME, Installation
from dovetail.api.kinds import DEPLOYMENTS, DISRUPTION_BUDGETS, SERVICES, Kind

LABELS: Final[dict[str, Json]] = {"app.kubernetes.io/name": NAME}
_METRICS, _PROBES = "http-metrics", "http-probes"
Object = dict[str, Json]


def head(kind: Kind, name: str, namespace: str = "") -> Object:
    """What every object begins with."""
    metadata: Object = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata | {"labels": LABELS}}


def deployment(one: Installation) -> Object:
    template: Object = {"metadata": {"labels": LABELS}, "spec": _pod(one)}
    spec: Object = {
        "replicas": one.replicas,
        "revisionHistoryLimit": 10,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "selector": {"matchLabels": LABELS},
        "template": template,
    }
    return head(DEPLOYMENTS, NAME, one.namespace) | {"spec": spec}


def service(one: Installation) -> Object:
    """Where metrics are scraped."""
    port: Object = {"name": _METRICS, "port": one.metrics_port, "targetPort": _METRICS, "protocol": "TCP"}
    spec: Object = {"type": "ClusterIP", "selector": LABELS, "ports": [port]}
    return head(SERVICES, NAME, one.namespace) | {"spec": spec}


def disruption_budget(one: Installation) -> Object:
    spec: Object = {"maxUnavailable": 1, "selector": {"matchLabels": LABELS}}
    return head(DISRUPTION_BUDGETS, NAME, one.namespace) | {"spec": spec}


def _pod(one: Installation) -> Object:
    return {
        "serviceAccountName": NAME,
        "priorityClassName": one.priority_class,
        "securityContext": confined.pod(),
        "containers": [_container(one)],
        "nodeSelector": one.node_selector,
        "affinity": one.affinity,
        "tolerations": one.tolerations,
        "topologySpreadConstraints": one.topology_spread,
    }


def _container(one: Installation) -> Object:
    ports: list[Json] = [
        {"name": name, "containerPort": port, "protocol": "TCP"}
        for name, port in ((_METRICS, one.metrics_port), (_PROBES, one.probe_port))
    ]
    return {
        "name": "controller",
        "image": one.image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["run", "--cloud", one.cloud],
        "env": _environment(one),
        "envFrom": one.env_from,
        "ports": ports,
        "livenessProbe": _probe("/healthz", 30),
        "readinessProbe": _probe("/readyz", 5),
        "resources": one.resources,
        "securityContext": confined.container(),
    }


def _probe(path: str, delay_seconds: int) -> Object:
    """Generous, for a replica that waits for the lease is well too."""
    return {
        "httpGet": {"path": path, "port": _PROBES},
        "initialDelaySeconds": delay_seconds,
        "timeoutSeconds": 30,
    }


def _environment(one: Installation) -> list[Json]:
    """Settings under the names the peer's charts use, then what the pod knows of itself."""
    ports = {"METRICS_PORT": str(one.metrics_port), "HEALTH_PROBE_PORT": str(one.probe_port)}
    found: list[Json] = [{"name": name, "value": value} for name, value in {**ports, **one.settings}.items()]
    own: Object = {"fieldRef": {"fieldPath": "metadata.namespace"}}
    found.extend({"name": name, "valueFrom": own} for name in ("SYSTEM_NAMESPACE", "LEADER_ELECTION_NAMESPACE"))
    for name, resource, divisor in (("MEMORY_LIMIT", "limits.memory", "1"), ("CPU_REQUESTS", "requests.cpu", "1m")):
        source: Object = {"containerName": "controller", "divisor": divisor, "resource": resource}
        found.append({"name": name, "valueFrom": {"resourceFieldRef": source}})
    # Nothing may be written, so there is no use in trying.
    found.append({"name": "PYTHONDONTWRITEBYTECODE", "value": "1"})
    return found
