"""The termination handler in a cluster: a DaemonSet on every node that may be taken away, and the little it may do.

It uses the host's network: metadata servers of clouds answer a pod of its own network late, through others, or not at
all. So its port is the node's, and bound to loopback, where the kubelet probes it. It tolerates every taint, its own
among them, and is as critical as anything on the node: it is what runs while everything else leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dovetail.api.crds.schema import Json
from dovetail.api.install import confined
from dovetail.api.install.permissions import Permission
from dovetail.api.install.workload import Object
from dovetail.api.kinds import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CORE_EVENTS,
    DAEMON_SETS,
    NODES,
    PODS,
    SERVICE_ACCOUNTS,
    Kind,
)

NAME: Final = "dovetail-handler"
INTERRUPTIBLE: Final = "cluster.x-k8s.io/interruptible"
PORT: Final = 9810
_LABELS: Final[dict[str, Json]] = {"app.kubernetes.io/name": NAME}
_MACHINES: Final = f"{NAME}-machines"

#: All it may do. Roles cannot be tied to the node a pod runs on, so every right here is over all nodes and pods.
RIGHTS: Final = (
    Permission(NODES.group, (NODES.plural,), ("get", "patch")),
    Permission(NODES.group, (f"{NODES.plural}/status",), ("patch",)),
    Permission(PODS.group, (PODS.plural,), ("list", "delete")),
    Permission(PODS.group, (f"{PODS.plural}/eviction",), ("create",)),
    Permission(CORE_EVENTS.group, (CORE_EVENTS.plural,), ("create", "patch")),
)
#: What DELETE_MACHINE needs besides.
MACHINE_RIGHTS: Final = (Permission("cluster.x-k8s.io", ("machines",), ("delete",)),)


def _resources() -> dict[str, Json]:
    return {"requests": {"cpu": "5m", "memory": "48Mi"}, "limits": {"memory": "96Mi"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerInstallation:
    """One installation. Values are JSON, since a chart puts templates where a command puts numbers."""

    image: Json
    namespace: str
    log_level: Json = "info"
    delete_machine: Json = "false"
    resources: Json = field(default_factory=_resources)


def objects(one: HandlerInstallation, *, machines: bool = False) -> list[Object]:
    """In the order they are applied; `machines` adds the right to delete those."""
    return [service_account(one), *rights(one), *(machine_rights(one) if machines else ()), daemon_set(one)]


def service_account(one: HandlerInstallation) -> Object:
    return _head(SERVICE_ACCOUNTS, NAME, one.namespace)


def rights(one: HandlerInstallation) -> list[Object]:
    return _bound(NAME, RIGHTS, one)


def machine_rights(one: HandlerInstallation) -> list[Object]:
    return _bound(_MACHINES, MACHINE_RIGHTS, one)


def daemon_set(one: HandlerInstallation) -> Object:
    spec: Object = {
        "selector": {"matchLabels": _LABELS},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
        "template": {"metadata": {"labels": _LABELS}, "spec": _pod(one)},
    }
    return _head(DAEMON_SETS, NAME, one.namespace) | {"spec": spec}


def _pod(one: HandlerInstallation) -> Object:
    return {
        "serviceAccountName": NAME,
        "priorityClassName": "system-node-critical",
        "hostNetwork": True,
        "dnsPolicy": "Default",
        "nodeSelector": {INTERRUPTIBLE: "", "kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 10,
        "securityContext": confined.pod(owns_files=False),
        "containers": [_container(one)],
    }


def _container(one: HandlerInstallation) -> Object:
    return {
        "name": "handler",
        "image": one.image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["handler"],
        "env": _environment(one),
        "ports": [{"name": "http", "containerPort": PORT, "hostPort": PORT, "protocol": "TCP"}],
        # Unready where notices would not be seen; restarted only where it does not answer at all.
        "readinessProbe": _probe("/healthz", 10),
        "livenessProbe": _probe("/livez", 30),
        "resources": one.resources,
        "securityContext": confined.container(),
    }


def _probe(path: str, period_seconds: int) -> Object:
    asked: Object = {"path": path, "port": PORT, "host": "127.0.0.1", "scheme": "HTTP"}
    return {"httpGet": asked, "periodSeconds": period_seconds, "timeoutSeconds": 5}


def _environment(one: HandlerInstallation) -> list[Json]:
    known = (("NODE_NAME", "spec.nodeName"), ("POD_NAME", "metadata.name"), ("POD_NAMESPACE", "metadata.namespace"))
    found: list[Json] = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in known]
    chosen = {
        "METRICS_PORT": str(PORT),
        "LOG_LEVEL": one.log_level,
        "DELETE_MACHINE": one.delete_machine,
        # Nothing may be written, so there is no use in trying.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    found.extend({"name": name, "value": value} for name, value in chosen.items())
    return found


def _head(kind: Kind, name: str, namespace: str = "") -> Object:
    metadata: Object = {"name": name, **({"namespace": namespace} if namespace else {}), "labels": _LABELS}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}


def _bound(name: str, rules: tuple[Permission, ...], one: HandlerInstallation) -> list[Object]:
    listed: list[Json] = [rule.rule for rule in rules]
    subject: Object = {"kind": SERVICE_ACCOUNTS.name, "name": NAME, "namespace": one.namespace}
    reference: Object = {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.name, "name": name}
    return [
        _head(CLUSTER_ROLES, name) | {"rules": listed},
        _head(CLUSTER_ROLE_BINDINGS, name) | {"roleRef": reference, "subjects": [subject]},
    ]
