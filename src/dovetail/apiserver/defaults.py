"""What the server fills in, for each built-in kind; and the small decisions real admission makes with it.

Enough that a client reading an object back finds what it would find on a real server. A default never replaces what
is there, save where the real server insists.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver import defaults_pods, defaults_workloads, errors
from dovetail.apiserver.builtin_resources import AUTOSCALERS
from dovetail.apiserver.storage import Object

if TYPE_CHECKING:
    from dovetail.apiserver.objects import Objects

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_NODE_INFO: Final = (
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
)
Filler = Callable[["Objects", Object, Object | None], None]


def fill(objects: Objects, kind: Kind, new: Object, old: Object | None) -> None:
    """Fill in what a client may leave out."""
    if kind in FILLERS:
        FILLERS[kind](objects, new, old)


def admit(objects: Objects, kind: Kind, new: Object, old: Object | None) -> None:
    """What the server adds of its own accord: nobody asked for it, so nobody owns it."""
    if kind in ADMITTERS:
        ADMITTERS[kind](objects, new, old)


def section(obj: Object, name: str) -> dict[str, Any]:
    """A part of an object, made where it is missing."""
    found: dict[str, Any] | None = obj.get(name)
    if found is None:
        found = obj[name] = {}
    return found


def _namespace(objects: Objects, new: Object, old: Object | None) -> None:
    labels = section(new["metadata"], "labels")
    labels["kubernetes.io/metadata.name"] = new["metadata"].get("name", "")
    if old is None:
        new["status"] = {"phase": "Active"}


def _admitted_namespace(objects: Objects, new: Object, old: Object | None) -> None:
    if old is None:
        section(new, "spec").setdefault("finalizers", ["kubernetes"])


def _node(objects: Objects, new: Object, old: Object | None) -> None:
    section(new, "spec")
    status = section(new, "status")
    status.setdefault("daemonEndpoints", {"kubeletEndpoint": {"Port": 0}})
    status["nodeInfo"] = {**dict.fromkeys(_NODE_INFO, ""), **(status.get("nodeInfo") or {})}
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def _admitted_node(objects: Objects, new: Object, old: Object | None) -> None:
    """Nothing goes to a node before somebody has seen it ready and taken this taint away."""
    spec = section(new, "spec")
    if old is None and not any(taint.get("key") == _NOT_READY for taint in spec.get("taints") or ()):
        spec["taints"] = [*(spec.get("taints") or ()), {"key": _NOT_READY, "effect": "NoSchedule"}]


def _service(objects: Objects, new: Object, old: Object | None) -> None:
    spec = section(new, "spec")
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if old is None:
        new["status"] = {"loadBalancer": {}}


def _admitted_service(objects: Objects, new: Object, old: Object | None) -> None:
    spec = new["spec"]
    if spec["type"] == "ExternalName":
        return
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    if not spec.get("clusterIP"):
        before = (old or {}).get("spec", {}).get("clusterIP")
        spec["clusterIP"] = before or _free_address(objects)
    spec["clusterIPs"] = [spec["clusterIP"]]


def _free_address(objects: Objects) -> str:
    """An address of 10.96.0.0/16 no service has."""
    taken = {item.fields[0] for item in objects.storage.list(kinds.SERVICES)}
    for number in range(1, 65_535):
        address = f"10.96.{number // 256}.{number % 256}"
        if address not in taken:
            return address
    raise errors.internal("no cluster IP is left")


def _secret(objects: Objects, new: Object, old: Object | None) -> None:
    new.setdefault("type", "Opaque")
    plain = new.pop("stringData", None)
    for name, text in (plain or {}).items():
        section(new, "data")[name] = base64.b64encode(text.encode()).decode()
    for name, text in (new.get("data") or {}).items():
        try:
            base64.b64decode(text, validate=True)
        except ValueError:
            raise errors.bad_request(
                f'Secret in version "v1" cannot be handled as a Secret: illegal base64 data in {name!r}'
            ) from None


def _volume(objects: Objects, new: Object, old: Object | None) -> None:
    spec = section(new, "spec")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if old is None:
        new["status"] = {"phase": "Pending"}


def _claim(objects: Objects, new: Object, old: Object | None) -> None:
    spec = section(new, "spec")
    spec.setdefault("volumeMode", "Filesystem")
    if old is None:
        new["status"] = {"phase": "Pending"}


def _admitted_claim(objects: Objects, new: Object, old: Object | None) -> None:
    spec = new["spec"]
    if old is None and spec.get("storageClassName") is None and (name := _default_class(objects)):
        spec["storageClassName"] = name


def _default_class(objects: Objects) -> str:
    """The newest storage class marked as the default one, as the real server chooses."""
    marked = [
        one
        for one in objects.list(kinds.STORAGE_CLASSES)
        if (one["metadata"].get("annotations") or {}).get("storageclass.kubernetes.io/is-default-class") == "true"
    ]
    marked.sort(key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"]))
    return str(marked[-1]["metadata"]["name"]) if marked else ""


def _storage_class(objects: Objects, new: Object, old: Object | None) -> None:
    new.setdefault("reclaimPolicy", "Delete")
    new.setdefault("volumeBindingMode", "Immediate")


def _priority_class(objects: Objects, new: Object, old: Object | None) -> None:
    new.setdefault("preemptionPolicy", "PreemptLowerPriority")
    new.setdefault("value", 0)


def _autoscaler(objects: Objects, new: Object, old: Object | None) -> None:
    section(new, "spec").setdefault("minReplicas", 1)


def _budget(objects: Objects, new: Object, old: Object | None) -> None:
    if old is None:
        counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
        new["status"] = dict.fromkeys(counts, 0)


def _definition(objects: Objects, new: Object, old: Object | None) -> None:
    spec = section(new, "spec")
    names = section(spec, "names")
    if names.get("kind"):
        names.setdefault("listKind", f"{names['kind']}List")
        names.setdefault("singular", names["kind"].lower())
    spec.setdefault("conversion", {"strategy": "None"})


FILLERS: Final[Mapping[Kind, Filler]] = {
    kinds.NAMESPACES: _namespace,
    kinds.NODES: _node,
    kinds.PODS: defaults_pods.pod,
    kinds.SERVICES: _service,
    kinds.SECRETS: _secret,
    kinds.PERSISTENT_VOLUMES: _volume,
    kinds.PERSISTENT_VOLUME_CLAIMS: _claim,
    kinds.STORAGE_CLASSES: _storage_class,
    kinds.PRIORITY_CLASSES: _priority_class,
    AUTOSCALERS: _autoscaler,
    kinds.CRDS: _definition,
    kinds.DISRUPTION_BUDGETS: _budget,
    kinds.DEPLOYMENTS: defaults_workloads.deployment,
    kinds.REPLICA_SETS: defaults_workloads.replica_set,
    kinds.REPLICATION_CONTROLLERS: defaults_workloads.replica_set,
    kinds.STATEFUL_SETS: defaults_workloads.stateful_set,
    kinds.DAEMON_SETS: defaults_workloads.daemon_set,
    kinds.JOBS: defaults_workloads.job,
    kinds.CRON_JOBS: defaults_workloads.cron_job,
}
ADMITTERS: Final[Mapping[Kind, Filler]] = {
    kinds.NAMESPACES: _admitted_namespace,
    kinds.NODES: _admitted_node,
    kinds.PODS: defaults_pods.admitted,
    kinds.SERVICES: _admitted_service,
    kinds.PERSISTENT_VOLUME_CLAIMS: _admitted_claim,
    kinds.JOBS: defaults_workloads.admitted_job,
}
