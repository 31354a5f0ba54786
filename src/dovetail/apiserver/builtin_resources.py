"""The built-in kinds: how each is called on a command line, what can be asked of it, and what of it can be selected."""

from __future__ import annotations

from typing import Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver import event_versions
from dovetail.apiserver.resources import Registry, Resource

ENDPOINTS: Final = Kind("", "v1", "Endpoints", "endpoints", namespaced=True)
RESOURCE_QUOTAS: Final = Kind("", "v1", "ResourceQuota", "resourcequotas", namespaced=True)
CONTROLLER_REVISIONS: Final = Kind("apps", "v1", "ControllerRevision", "controllerrevisions", namespaced=True)
AUTOSCALERS: Final = Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", namespaced=True)
ENDPOINT_SLICES: Final = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", namespaced=True)
INGRESSES: Final = Kind("networking.k8s.io", "v1", "Ingress", "ingresses", namespaced=True)
INGRESS_CLASSES: Final = Kind("networking.k8s.io", "v1", "IngressClass", "ingressclasses")
NETWORK_POLICIES: Final = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", namespaced=True)
CSI_DRIVERS: Final = Kind("storage.k8s.io", "v1", "CSIDriver", "csidrivers")
CSI_CAPACITIES: Final = Kind("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", namespaced=True)
ADMISSION: Final = "admissionregistration.k8s.io"
VALIDATING_WEBHOOKS: Final = Kind(ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations")
MUTATING_WEBHOOKS: Final = Kind(ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations")
API_SERVICES: Final = Kind("apiregistration.k8s.io", "v1", "APIService", "apiservices")
FLOW_SCHEMAS: Final = Kind("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas")

_POD_FIELDS: Final = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
_EVENT_FIELDS: Final = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)

#: Kind; names for short; what else it serves; whether its generation counts; what can be selected.
_TABLE: Final[tuple[tuple[Kind, str, str, bool, tuple[str, ...]], ...]] = (
    (kinds.NAMESPACES, "ns", "status finalize", False, ("status.phase",)),
    (kinds.NODES, "no", "status", False, ("spec.unschedulable",)),
    (kinds.PODS, "po", "status binding eviction log ephemeralcontainers resize", True, _POD_FIELDS),
    (kinds.SERVICES, "svc", "status", False, ("spec.clusterIP", "spec.type")),
    (ENDPOINTS, "ep", "", False, ()),
    (kinds.CONFIG_MAPS, "cm", "", False, ()),
    (kinds.SECRETS, "", "", False, ("type",)),
    (kinds.SERVICE_ACCOUNTS, "sa", "token", False, ()),
    (kinds.LIMIT_RANGES, "limits", "", False, ()),
    (RESOURCE_QUOTAS, "quota", "status", False, ()),
    (kinds.POD_TEMPLATES, "", "", True, ()),
    (kinds.REPLICATION_CONTROLLERS, "rc", "status scale", True, ("status.replicas",)),
    (kinds.PERSISTENT_VOLUMES, "pv", "status", False, ()),
    (kinds.PERSISTENT_VOLUME_CLAIMS, "pvc", "status", False, ()),
    (kinds.CORE_EVENTS, "ev", "", False, _EVENT_FIELDS),
    (kinds.DEPLOYMENTS, "deploy", "status scale", True, ()),
    (kinds.REPLICA_SETS, "rs", "status scale", True, ("status.replicas",)),
    (kinds.STATEFUL_SETS, "sts", "status scale", True, ()),
    (kinds.DAEMON_SETS, "ds", "status", True, ()),
    (CONTROLLER_REVISIONS, "", "", False, ()),
    (kinds.JOBS, "", "status", True, ("status.successful",)),
    (kinds.CRON_JOBS, "cj", "status", True, ()),
    (AUTOSCALERS, "hpa", "status", False, ()),
    (kinds.DISRUPTION_BUDGETS, "pdb", "status", True, ()),
    (kinds.LEASES, "", "", False, ()),
    (ENDPOINT_SLICES, "", "", True, ()),
    (kinds.PRIORITY_CLASSES, "pc", "", True, ()),
    (kinds.RUNTIME_CLASSES, "", "", False, ()),
    (INGRESSES, "ing", "status", True, ()),
    (INGRESS_CLASSES, "", "", True, ()),
    (NETWORK_POLICIES, "netpol", "", True, ()),
    (kinds.STORAGE_CLASSES, "sc", "", False, ()),
    (kinds.CSI_NODES, "", "", False, ()),
    (CSI_DRIVERS, "", "", False, ()),
    (CSI_CAPACITIES, "", "", False, ()),
    (kinds.VOLUME_ATTACHMENTS, "", "status", False, ()),
    (kinds.CLUSTER_ROLES, "", "", False, ()),
    (kinds.CLUSTER_ROLE_BINDINGS, "", "", False, ()),
    (kinds.ROLES, "", "", False, ()),
    (kinds.ROLE_BINDINGS, "", "", False, ()),
    (VALIDATING_WEBHOOKS, "", "", True, ()),
    (MUTATING_WEBHOOKS, "", "", True, ()),
    (API_SERVICES, "", "status", False, ()),
    (FLOW_SCHEMAS, "", "status", True, ()),
    (kinds.CRDS, "crd crds", "status", True, ()),
)
_IN_ALL: Final = {
    "pods",
    "services",
    "replicationcontrollers",
    "deployments",
    "replicasets",
    "statefulsets",
    "daemonsets",
    "jobs",
    "cronjobs",
    "horizontalpodautoscalers",
}
#: A replacement of these must name the version it replaces.
_CONDITIONAL: Final = {"leases", "poddisruptionbudgets", "customresourcedefinitions", "apiservices", "ingresses"}


def add_all(registry: Registry) -> None:
    for kind, short, subresources, generation, fields in _TABLE:
        resource = Resource(
            kind=kind,
            stored=kind,
            singular=kind.name.lower(),
            short_names=tuple(short.split()),
            categories=("all",) if kind.plural in _IN_ALL else (),
            subresources=tuple(subresources.split()),
            fields={label: tuple(label.split(".")) for label in fields},
            generation=generation,
            unconditional=kind.plural not in _CONDITIONAL,
        )
        registry.add(resource)
    registry.add(_new_events())


def _new_events() -> Resource:
    """Events have two faces over one table; the newer one names its fields otherwise."""
    return Resource(
        kind=kinds.EVENTS,
        stored=kinds.CORE_EVENTS,
        singular="event",
        short_names=("ev",),
        fields={
            "reason": ("reason",),
            "type": ("type",),
            "reportingController": ("reportingComponent",),
            **{f"regarding.{name}": ("involvedObject", name) for name in ("kind", "namespace", "name", "uid")},
        },
        read=event_versions.newer,
        write=event_versions.older,
    )
