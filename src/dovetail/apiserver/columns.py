"""The columns of built-in kinds: main ones as the real server prints them; wide ones for pods and nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver import columns_pods
from dovetail.apiserver.storage import Object, encode


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    cell: Callable[[Object, datetime], Any]
    type: str = "string"
    priority: int = 0
    description: str = ""
    format: str = ""


def age(text: str | None, now: datetime) -> str:
    """How long ago, as kubectl says it: 45s, 5m30s, 3h, 2d4h, 400d."""
    if not text:
        return "<unknown>"
    try:
        then = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)
    except ValueError:
        return "<invalid>"
    seconds = int((now - then).total_seconds())
    return columns_pods.duration(seconds)


def compact(value: Any) -> str:
    return encode(value).decode()


def at(*path: str, otherwise: Any = "") -> Callable[[Object, datetime], Any]:
    """A cell that shows one field."""

    def cell(obj: Object, now: datetime) -> Any:
        value: Any = obj
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        return otherwise if value is None else value

    return cell


def _labels(selector: dict[str, Any] | None) -> str:
    found = selector.get("matchLabels", selector) if selector else None
    return ",".join(f"{key}={value}" for key, value in sorted(found.items())) if found else "<none>"


def _count(name: str, *path: str) -> Column:
    return Column(name, at(*path, otherwise=0), "integer")


def _ready(obj: Object, now: datetime) -> str:
    return f"{(obj.get('status') or {}).get('readyReplicas', 0)}/{(obj.get('spec') or {}).get('replicas', 0)}"


def _completions(obj: Object, now: datetime) -> str:
    wanted = (obj.get("spec") or {}).get("completions")
    return f"{(obj.get('status') or {}).get('succeeded', 0)}/{wanted if wanted is not None else '1 of 1'}"


def _ports(obj: Object, now: datetime) -> str:
    ports = (obj.get("spec") or {}).get("ports") or ()
    return ",".join(f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in ports) or "<none>"


def _data(obj: Object, now: datetime) -> int:
    return len(obj.get("data") or {}) + len(obj.get("binaryData") or {})


def _event_age(obj: Object, now: datetime) -> str:
    last = obj.get("lastTimestamp") or obj.get("eventTime") or obj["metadata"].get("creationTimestamp")
    return age(last, now)


def _event_object(obj: Object, now: datetime) -> str:
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _job_status(obj: Object, now: datetime) -> str:
    for one in (obj.get("status") or {}).get("conditions") or ():
        if one.get("status") == "True" and one.get("type") in ("Complete", "Failed", "Suspended"):
            return str(one["type"])
    return "Running"


NAME: Final = Column("Name", at("metadata", "name"))
AGE: Final = Column("Age", lambda obj, now: age(obj["metadata"].get("creationTimestamp"), now))
PLAIN: Final = (NAME, Column("Created At", at("metadata", "creationTimestamp"), "date"))


def _wide(name: str, cell: Callable[[Object, datetime], Any]) -> Column:
    return Column(name, cell, priority=1)


BUILTIN: Final[Mapping[Kind, tuple[Column, ...]]] = {
    kinds.PODS: (
        NAME,
        Column("Ready", columns_pods.ready),
        Column("Status", columns_pods.status),
        Column("Restarts", columns_pods.restarts),
        AGE,
        _wide("IP", at("status", "podIP", otherwise="<none>")),
        _wide("Node", at("spec", "nodeName", otherwise="<none>")),
        _wide("Nominated Node", at("status", "nominatedNodeName", otherwise="<none>")),
        _wide("Readiness Gates", lambda obj, now: "<none>"),
    ),
    kinds.NODES: (
        NAME,
        Column("Status", columns_pods.node_status),
        Column("Roles", columns_pods.node_roles),
        AGE,
        Column("Version", at("status", "nodeInfo", "kubeletVersion")),
        _wide("Internal-IP", columns_pods.node_address),
        _wide("OS-Image", at("status", "nodeInfo", "osImage", otherwise="<unknown>")),
        _wide("Kernel-Version", at("status", "nodeInfo", "kernelVersion", otherwise="<unknown>")),
        _wide("Container-Runtime", at("status", "nodeInfo", "containerRuntimeVersion", otherwise="<unknown>")),
    ),
    kinds.NAMESPACES: (NAME, Column("Status", at("status", "phase")), AGE),
    kinds.DEPLOYMENTS: (
        NAME,
        Column("Ready", _ready),
        _count("Up-to-date", "status", "updatedReplicas"),
        _count("Available", "status", "availableReplicas"),
        AGE,
        _wide("Containers", columns_pods.container_names),
        _wide("Images", columns_pods.images),
        _wide("Selector", lambda obj, now: _labels(obj["spec"].get("selector"))),
    ),
    kinds.REPLICA_SETS: (
        NAME,
        _count("Desired", "spec", "replicas"),
        _count("Current", "status", "replicas"),
        _count("Ready", "status", "readyReplicas"),
        AGE,
    ),
    kinds.STATEFUL_SETS: (NAME, Column("Ready", _ready), AGE),
    kinds.DAEMON_SETS: (
        NAME,
        _count("Desired", "status", "desiredNumberScheduled"),
        _count("Current", "status", "currentNumberScheduled"),
        _count("Ready", "status", "numberReady"),
        _count("Up-to-date", "status", "updatedNumberScheduled"),
        _count("Available", "status", "numberAvailable"),
        Column("Node Selector", lambda obj, now: _labels(obj["spec"]["template"]["spec"].get("nodeSelector"))),
        AGE,
    ),
    kinds.JOBS: (NAME, Column("Status", _job_status), Column("Completions", _completions), AGE),
    kinds.SERVICES: (
        NAME,
        Column("Type", at("spec", "type")),
        Column("Cluster-IP", at("spec", "clusterIP", otherwise="<none>")),
        Column("External-IP", lambda obj, now: "<none>"),
        Column("Port(s)", _ports),
        AGE,
    ),
    kinds.CONFIG_MAPS: (NAME, Column("Data", _data, "integer"), AGE),
    kinds.SECRETS: (NAME, Column("Type", at("type")), Column("Data", _data, "integer"), AGE),
    kinds.SERVICE_ACCOUNTS: (NAME, AGE),
    kinds.LEASES: (NAME, Column("Holder", at("spec", "holderIdentity")), AGE),
    kinds.DISRUPTION_BUDGETS: (
        NAME,
        Column("Min Available", at("spec", "minAvailable", otherwise="N/A")),
        Column("Max Unavailable", at("spec", "maxUnavailable", otherwise="N/A")),
        _count("Allowed Disruptions", "status", "disruptionsAllowed"),
        AGE,
    ),
    kinds.PRIORITY_CLASSES: (
        NAME,
        Column("Value", at("value"), "integer"),
        Column("Global-Default", at("globalDefault", otherwise=False), "boolean"),
        AGE,
    ),
    kinds.STORAGE_CLASSES: (
        NAME,
        Column("Provisioner", at("provisioner")),
        Column("ReclaimPolicy", at("reclaimPolicy")),
        Column("VolumeBindingMode", at("volumeBindingMode")),
        AGE,
    ),
    kinds.PERSISTENT_VOLUME_CLAIMS: (
        NAME,
        Column("Status", at("status", "phase")),
        Column("Volume", at("spec", "volumeName")),
        Column("StorageClass", at("spec", "storageClassName")),
        AGE,
    ),
    **dict.fromkeys(
        (kinds.CORE_EVENTS, kinds.EVENTS),
        (
            Column("Last Seen", _event_age),
            Column("Type", at("type")),
            Column("Reason", at("reason")),
            Column("Object", _event_object),
            Column("Message", lambda obj, now: str(obj.get("message") or obj.get("note") or "").strip()),
            _wide("Name", at("metadata", "name")),
        ),
    ),
}
