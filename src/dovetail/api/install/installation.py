"""What may differ from one installation to the next, with the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dovetail.api.crds.schema import Json

NAME: Final = "dovetail"
#: Always there and never deleted, so that a dry run against an untouched cluster has a namespace to put things in.
NAMESPACE: Final = "kube-system"
METRICS_PORT: Final = 8080
PROBE_PORT: Final = 8081
_PODS: Final[dict[str, Json]] = {"matchLabels": {"app.kubernetes.io/name": NAME}}

#: Gates by the name the environment knows; the same defaults the program has.
GATES: Final[Mapping[str, bool]] = {
    "InstanceTypeCaching": True,
    "CapacityBuffer": False,
    "NodeOverlay": True,
    "NodeRepair": False,
    "ReservedCapacity": True,
    "SpotToSpotConsolidation": False,
    "StaticCapacity": False,
    "TerminateFirstDrift": False,
    "TerminateFirstRepair": False,
    "PodDeletionCostManagement": False,
}


def _resources() -> dict[str, Json]:
    return {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}


def _affinity() -> dict[str, Json]:
    """Never on a node it could take away: whoever drains the only node it runs on stops half way."""
    term: dict[str, Json] = {"matchExpressions": [{"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _spread() -> list[Json]:
    """The two replicas on two nodes; in two zones where there are zones."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": _PODS,
        },
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": _PODS,
        },
    ]


def _linux() -> dict[str, Json]:
    return {"kubernetes.io/os": "linux"}


def _tolerations() -> list[Json]:
    return [{"key": "CriticalAddonsOnly", "operator": "Exists"}]


def _no_entries() -> list[Json]:
    return []


def _no_annotations() -> dict[str, Json]:
    return {}


def _settings() -> dict[str, str]:
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in GATES.items())
    return {
        "LOG_LEVEL": "info",
        "FEATURE_GATES": gates,
        "BATCH_IDLE_DURATION": "1s",
        "BATCH_MAX_DURATION": "10s",
        "PREFERENCE_POLICY": "Respect",
        "MIN_VALUES_POLICY": "Strict",
        "SCHEDULER_CONFIG": "",
        "INSTANCE_TYPES_FILE_PATH": "",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """One installation. Values are JSON, since a chart puts templates where a command puts numbers."""

    image: Json
    cloud: str
    namespace: str = NAMESPACE
    replicas: Json = 2
    account_annotations: Json = field(default_factory=_no_annotations)
    resources: Json = field(default_factory=_resources)
    priority_class: Json = "system-cluster-critical"
    node_selector: Json = field(default_factory=_linux)
    affinity: Json = field(default_factory=_affinity)
    tolerations: Json = field(default_factory=_tolerations)
    topology_spread: Json = field(default_factory=_spread)
    metrics_port: Json = METRICS_PORT
    probe_port: Json = PROBE_PORT
    #: Settings by the name of their environment variable; ports, namespaces and limits come by themselves.
    settings: Mapping[str, str] = field(default_factory=_settings)
    #: ConfigMaps and Secrets with further settings.
    env_from: Json = field(default_factory=_no_entries)
