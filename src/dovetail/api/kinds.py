"""Kinds of Kubernetes objects: how each is called, where it is served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind in one version. `group` is empty for the oldest kinds."""

    group: str
    version: str
    name: str
    plural: str
    namespaced: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, name: str = "", namespace: str = "", subresource: str = "") -> str:
        """Where one object is served, or, without a name, all of a namespace or of the cluster."""
        within = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return "/".join(part for part in (f"{self.root}{within}/{self.plural}", name, subresource) if part)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


PODS: Final = Kind("", "v1", "Pod", "pods", namespaced=True)
NODES: Final = Kind("", "v1", "Node", "nodes")
NAMESPACES: Final = Kind("", "v1", "Namespace", "namespaces")
SERVICES: Final = Kind("", "v1", "Service", "services", namespaced=True)
CONFIG_MAPS: Final = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
SECRETS: Final = Kind("", "v1", "Secret", "secrets", namespaced=True)
SERVICE_ACCOUNTS: Final = Kind("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
LIMIT_RANGES: Final = Kind("", "v1", "LimitRange", "limitranges", namespaced=True)
POD_TEMPLATES: Final = Kind("", "v1", "PodTemplate", "podtemplates", namespaced=True)
REPLICATION_CONTROLLERS: Final = Kind("", "v1", "ReplicationController", "replicationcontrollers", namespaced=True)
PERSISTENT_VOLUMES: Final = Kind("", "v1", "PersistentVolume", "persistentvolumes")
PERSISTENT_VOLUME_CLAIMS: Final = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
CORE_EVENTS: Final = Kind("", "v1", "Event", "events", namespaced=True)
EVENTS: Final = Kind("events.k8s.io", "v1", "Event", "events", namespaced=True)
DEPLOYMENTS: Final = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
REPLICA_SETS: Final = Kind("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)
STATEFUL_SETS: Final = Kind("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
DAEMON_SETS: Final = Kind("apps", "v1", "DaemonSet", "daemonsets", namespaced=True)
JOBS: Final = Kind("batch", "v1", "Job", "jobs", namespaced=True)
CRON_JOBS: Final = Kind("batch", "v1", "CronJob", "cronjobs", namespaced=True)
DISRUPTION_BUDGETS: Final = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)
LEASES: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
PRIORITY_CLASSES: Final = Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses")
RUNTIME_CLASSES: Final = Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses")
STORAGE_CLASSES: Final = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses")
CSI_NODES: Final = Kind("storage.k8s.io", "v1", "CSINode", "csinodes")
VOLUME_ATTACHMENTS: Final = Kind("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments")
CLUSTER_ROLES: Final = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles")
CLUSTER_ROLE_BINDINGS: Final = Kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings")
ROLES: Final = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles", namespaced=True)
ROLE_BINDINGS: Final = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", namespaced=True)
CRDS: Final = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
ADMISSION_POLICIES: Final = Kind(
    "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies"
)
ADMISSION_POLICY_BINDINGS: Final = Kind(
    "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"
)

NODE_POOLS: Final = Kind("karpenter.sh", "v1", "NodePool", "nodepools")
NODE_CLAIMS: Final = Kind("karpenter.sh", "v1", "NodeClaim", "nodeclaims")
NODE_OVERLAYS: Final = Kind("karpenter.sh", "v1alpha1", "NodeOverlay", "nodeoverlays")
INSTANCE_TYPES: Final = Kind("karpenter.sh", "v1alpha1", "InstanceType", "instancetypes")
KWOK_NODE_CLASSES: Final = Kind("karpenter.kwok.sh", "v1alpha1", "KWOKNodeClass", "kwoknodeclasses")
EC2_NODE_CLASSES: Final = Kind("karpenter.k8s.aws", "v1", "EC2NodeClass", "ec2nodeclasses")
CAPACITY_BUFFERS: Final = Kind("autoscaling.x-k8s.io", "v1beta1", "CapacityBuffer", "capacitybuffers", namespaced=True)

_CORE: Final = "cluster.x-k8s.io"
_INFRASTRUCTURE: Final = "infrastructure.cluster.x-k8s.io"
CLUSTERS: Final = Kind(_CORE, "v1beta2", "Cluster", "clusters", namespaced=True)
MACHINES: Final = Kind(_CORE, "v1beta2", "Machine", "machines", namespaced=True)
MACHINE_SETS: Final = Kind(_CORE, "v1beta2", "MachineSet", "machinesets", namespaced=True)
MACHINE_DEPLOYMENTS: Final = Kind(_CORE, "v1beta2", "MachineDeployment", "machinedeployments", namespaced=True)
HEALTH_CHECKS: Final = Kind(_CORE, "v1beta2", "MachineHealthCheck", "machinehealthchecks", namespaced=True)
AWS_MACHINES: Final = Kind(_INFRASTRUCTURE, "v1beta2", "AWSMachine", "awsmachines", namespaced=True)
AWS_TEMPLATES: Final = Kind(_INFRASTRUCTURE, "v1beta2", "AWSMachineTemplate", "awsmachinetemplates", namespaced=True)
AWS_CLUSTERS: Final = Kind(_INFRASTRUCTURE, "v1beta2", "AWSCluster", "awsclusters", namespaced=True)
GCP_MACHINES: Final = Kind(_INFRASTRUCTURE, "v1beta1", "GCPMachine", "gcpmachines", namespaced=True)
GCP_TEMPLATES: Final = Kind(_INFRASTRUCTURE, "v1beta1", "GCPMachineTemplate", "gcpmachinetemplates", namespaced=True)
GCP_CLUSTERS: Final = Kind(_INFRASTRUCTURE, "v1beta1", "GCPCluster", "gcpclusters", namespaced=True)
AZURE_MACHINES: Final = Kind(_INFRASTRUCTURE, "v1beta1", "AzureMachine", "azuremachines", namespaced=True)
AZURE_TEMPLATES: Final = Kind(
    _INFRASTRUCTURE, "v1beta1", "AzureMachineTemplate", "azuremachinetemplates", namespaced=True
)
AZURE_CLUSTERS: Final = Kind(_INFRASTRUCTURE, "v1beta1", "AzureCluster", "azureclusters", namespaced=True)
INFRA_MACHINES: Final = (AWS_MACHINES, GCP_MACHINES, AZURE_MACHINES)
INFRA_TEMPLATES: Final = (AWS_TEMPLATES, GCP_TEMPLATES, AZURE_TEMPLATES)
INFRA_CLUSTERS: Final = (AWS_CLUSTERS, GCP_CLUSTERS, AZURE_CLUSTERS)
CONTROL_PLANES: Final = Kind(
    "controlplane.cluster.x-k8s.io", "v1beta2", "KubeadmControlPlane", "kubeadmcontrolplanes", namespaced=True
)
