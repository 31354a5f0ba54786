"""`dovetail machines` in a cluster: an account with its rights, two replicas of which one acts, a port for metrics.

One installation is of one cloud. Those of several clouds have different names and leases, and stand side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dovetail.api.crds import every
from dovetail.api.crds.cluster_api import policy
from dovetail.api.crds.schema import Json
from dovetail.api.install import confined, machine_rights
from dovetail.api.install.installation import METRICS_PORT, NAMESPACE, PROBE_PORT
from dovetail.api.install.permissions import NODE_LEASES, Permission
from dovetail.api.install.workload import Object
from dovetail.api.kinds import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    DEPLOYMENTS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SERVICES,
    Kind,
)

INTERRUPTIBLE: Final = "cluster.x-k8s.io/interruptible"
_METRICS, _PROBES = "http-metrics", "http-probes"


def _resources() -> dict[str, Json]:
    return {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}


def _no_annotations() -> dict[str, Json]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesInstallation:
    """One installation. `core` is own or upstream: whose definitions and rights go along."""

    image: Json
    cloud: str
    core: str = machine_rights.OWN
    namespace: str = NAMESPACE
    replicas: Json = 2
    #: Clouds tie their own identities to an account by these.
    account_annotations: Json = field(default_factory=_no_annotations)
    resources: Json = field(default_factory=_resources)

    @property
    def name(self) -> str:
        """Of everything in it, its lease among them."""
        return f"dovetail-machines-{self.cloud}"


def definitions(one: MachinesInstallation) -> list[Object]:
    """The cloud's kinds and the policy over them; the core's kinds only where Cluster API has not its own."""
    clouds = every.INFRASTRUCTURE if one.cloud == "sim" else {one.cloud: every.INFRASTRUCTURE[one.cloud]}
    wanted = [each for found in clouds.values() for each in found]
    if one.core == machine_rights.OWN:
        wanted += every.MACHINES
    return [*(each.manifest() for each in wanted), policy.policy(), policy.binding()]


def objects(one: MachinesInstallation) -> list[Object]:
    """All but the definitions, in the order they are applied."""
    return [service_account(one), *rights(one), service(one), deployment(one)]


def service_account(one: MachinesInstallation) -> Object:
    account = _head(one, SERVICE_ACCOUNTS, one.namespace)
    assert isinstance(account["metadata"], dict)
    account["metadata"]["annotations"] = one.account_annotations
    return account


def rights(one: MachinesInstallation) -> list[Object]:
    return [
        *_bound(one, CLUSTER_ROLES, "", machine_rights.everywhere(one.cloud, one.core)),
        *_bound(one, ROLES, one.namespace, machine_rights.own_namespace(one.name)),
        *_bound(one, ROLES, NODE_LEASES, machine_rights.node_leases(one.cloud)),
    ]


def service(one: MachinesInstallation) -> Object:
    """Where metrics are scraped."""
    port: Object = {"name": _METRICS, "port": METRICS_PORT, "targetPort": _METRICS, "protocol": "TCP"}
    return _head(one, SERVICES, one.namespace) | {"spec": {"selector": _labels(one), "ports": [port]}}


def deployment(one: MachinesInstallation) -> Object:
    spec: Object = {
        "replicas": one.replicas,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "selector": {"matchLabels": _labels(one)},
        "template": {"metadata": {"labels": _labels(one)}, "spec": _pod(one)},
    }
    return _head(one, DEPLOYMENTS, one.namespace) | {"spec": spec}


def _pod(one: MachinesInstallation) -> Object:
    return {
        "serviceAccountName": one.name,
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "affinity": _affinity(one),
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
        "securityContext": confined.pod(),
        "containers": [_container(one)],
    }


def _affinity(one: MachinesInstallation) -> Object:
    """Never on a node that may be taken away, and the two replicas on two nodes if possible."""
    term: Object = {"matchExpressions": [{"key": INTERRUPTIBLE, "operator": "DoesNotExist"}]}
    apart: Object = {"labelSelector": {"matchLabels": _labels(one)}, "topologyKey": "kubernetes.io/hostname"}
    preferred: list[Json] = [{"weight": 100, "podAffinityTerm": apart}]
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred},
    }


def _container(one: MachinesInstallation) -> Object:
    ports: list[Json] = [
        {"name": name, "containerPort": port, "protocol": "TCP"}
        for name, port in ((_METRICS, METRICS_PORT), (_PROBES, PROBE_PORT))
    ]
    return {
        "name": "machines",
        "image": one.image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["machines", "--cloud", one.cloud, "--core", one.core],
        "env": _environment(),
        "ports": ports,
        "livenessProbe": _probe("/healthz", 30),
        "readinessProbe": _probe("/readyz", 5),
        "resources": one.resources,
        "securityContext": confined.container(),
    }


def _probe(path: str, delay_seconds: int) -> Object:
    return {"httpGet": {"path": path, "port": _PROBES}, "initialDelaySeconds": delay_seconds, "timeoutSeconds": 30}


def _environment() -> list[Json]:
    chosen = {"METRICS_PORT": str(METRICS_PORT), "HEALTH_PROBE_PORT": str(PROBE_PORT), "LOG_LEVEL": "info"}
    found: list[Json] = [{"name": name, "value": value} for name, value in chosen.items()]
    own: Object = {"fieldRef": {"fieldPath": "metadata.namespace"}}
    found.append({"name": "LEADER_ELECTION_NAMESPACE", "valueFrom": own})
    # Nothing may be written, so there is no use in trying.
    found.append({"name": "PYTHONDONTWRITEBYTECODE", "value": "1"})
    return found


def _labels(one: MachinesInstallation) -> dict[str, Json]:
    return {"app.kubernetes.io/name": one.name}


def _head(one: MachinesInstallation, kind: Kind, namespace: str = "") -> Object:
    place: Object = {"namespace": namespace} if namespace else {}
    metadata: Object = {"name": one.name, **place, "labels": _labels(one)}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}


def _bound(one: MachinesInstallation, role: Kind, place: str, rules: tuple[Permission, ...]) -> list[Object]:
    """A role with these rights and its binding, over the cluster or in one place; nothing where there are none."""
    if not rules:
        return []
    listed: list[Json] = [rule.rule for rule in rules]
    subject: Object = {"kind": SERVICE_ACCOUNTS.name, "name": one.name, "namespace": one.namespace}
    reference: Object = {"apiGroup": role.group, "kind": role.name, "name": one.name}
    binding = CLUSTER_ROLE_BINDINGS if role is CLUSTER_ROLES else ROLE_BINDINGS
    return [
        _head(one, role, place) | {"rules": listed},
        _head(one, binding, place) | {"roleRef": reference, "subjects": [subject]},
    ]
