"""Labels, annotations, finalizers, conditions and reasons, as Cluster API has them."""

from __future__ import annotations

from typing import Final

GROUP: Final = "cluster.x-k8s.io"
CLUSTER_NAME: Final = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE: Final = "cluster.x-k8s.io/control-plane"
SET_NAME: Final = "cluster.x-k8s.io/set-name"
POOL_NAME: Final = "cluster.x-k8s.io/pool-name"
CONTROL_PLANE_NAME: Final = "cluster.x-k8s.io/control-plane-name"
INTERRUPTIBLE: Final = "cluster.x-k8s.io/interruptible"

PAUSED_ANNOTATION: Final = "cluster.x-k8s.io/paused"
DELETE_MACHINE: Final = "cluster.x-k8s.io/delete-machine"
SKIP_REMEDIATION: Final = "cluster.x-k8s.io/skip-remediation"
REMEDIATE: Final = "cluster.x-k8s.io/remediate-machine"
NO_CREATE: Final = "cluster.x-k8s.io/disable-machine-create"
EXCLUDE_DRAINING: Final = "machine.cluster.x-k8s.io/exclude-node-draining"
EXCLUDE_DETACH: Final = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"
PRE_DRAIN: Final = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
PRE_TERMINATE: Final = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"
#: On a copy of a template: which one, and of what kind.
CLONED_FROM_NAME: Final = "cluster.x-k8s.io/cloned-from-name"
CLONED_FROM_KIND: Final = "cluster.x-k8s.io/cloned-from-groupkind"
MIN_SIZE: Final = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
MAX_SIZE: Final = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"

LABELS_FROM_MACHINE: Final = "cluster.x-k8s.io/labels-from-machine"
ANNOTATIONS_FROM_MACHINE: Final = "cluster.x-k8s.io/annotations-from-machine"
NODE_CLUSTER_NAMESPACE: Final = "cluster.x-k8s.io/cluster-namespace"
NODE_MACHINE: Final = "cluster.x-k8s.io/machine"
NODE_OWNER_KIND: Final = "cluster.x-k8s.io/owner-kind"
NODE_OWNER_NAME: Final = "cluster.x-k8s.io/owner-name"
UNINITIALIZED: Final = "node.cluster.x-k8s.io/uninitialized"
#: How often the cloud refused an infrastructure machine for want of capacity, and since when.
REFUSALS: Final = "dovetail.dev/launch-refusals"
#: That its instance was ordered, for which object, when, and whether the cloud took the order.
ORDERED: Final = "dovetail.dev/launch-ordered"
#: How many faults that pass kept it from being made, for which generation of it, and until when it is not tried again.
FAULTS: Final = "dovetail.dev/launch-faults"
#: What its own loop writes, and nobody else needs to know.
LAUNCH_NOTES: Final = (REFUSALS, ORDERED, FAULTS)
#: On a request for remediation: which health check made it.
HEALTH_CHECK: Final = "dovetail.dev/health-check"

MACHINE_FINALIZER: Final = "machine.cluster.x-k8s.io"
SET_FINALIZER: Final = "cluster.x-k8s.io/machineset"

READY: Final = "Ready"
AVAILABLE: Final = "Available"
UP_TO_DATE: Final = "UpToDate"
BOOTSTRAP_READY: Final = "BootstrapConfigReady"
INFRASTRUCTURE_READY: Final = "InfrastructureReady"
NODE_READY: Final = "NodeReady"
NODE_HEALTHY: Final = "NodeHealthy"
HEALTH_CHECK_SUCCEEDED: Final = "HealthCheckSucceeded"
OWNER_REMEDIATED: Final = "OwnerRemediated"
#: There only where a check has somebody else heal the machine.
EXTERNALLY_REMEDIATED: Final = "ExternallyRemediated"
DELETING: Final = "Deleting"
PAUSED: Final = "Paused"
CONTROL_PLANE_INITIALIZED: Final = "ControlPlaneInitialized"
#: Of infrastructure machines.
INSTANCE_READY: Final = "InstanceReady"
#: There, and False, only where an instance runs that nobody should have asked for.
PERMITTED: Final = "Permitted"
#: Of health checks.
REMEDIATION_ALLOWED: Final = "RemediationAllowed"
REMEDIATION_BACKOFF: Final = "RemediationBackoff"
#: There only where somebody else heals its machines; the second only while it is asked to.
EXTERNAL_TEMPLATE_AVAILABLE: Final = "ExternalRemediationTemplateAvailable"
EXTERNAL_REQUEST_AVAILABLE: Final = "ExternalRemediationRequestAvailable"
#: Of sets.
SCALING_UP: Final = "ScalingUp"
SCALING_DOWN: Final = "ScalingDown"
MACHINES_READY: Final = "MachinesReady"
MACHINES_UP_TO_DATE: Final = "MachinesUpToDate"
REMEDIATING: Final = "Remediating"
#: There, and False, only where machines are missing and cannot be made.
MACHINES_CREATED: Final = "MachinesCreated"

#: Why a machine failed for good: the contract's own words.
INVALID_CONFIGURATION: Final = "InvalidConfiguration"
INSUFFICIENT_RESOURCES: Final = "InsufficientResources"
CREATE_ERROR: Final = "CreateError"
UPDATE_ERROR: Final = "UpdateError"
