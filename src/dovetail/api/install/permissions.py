"""What dovetail may do in a cluster: the least that its loops need, in one place.

Rights over the whole cluster come in two roles: what every installation needs, and what its cloud adds (a simulated
cloud plays kubelet too, and so writes nodes and their leases). Leases are namespaced, so rights over them are roles in
the namespaces where they lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail.api.crds.schema import Json
from dovetail.api.kinds import (
    CAPACITY_BUFFERS,
    CLUSTERS,
    CORE_EVENTS,
    CSI_NODES,
    DAEMON_SETS,
    DEPLOYMENTS,
    DISRUPTION_BUDGETS,
    EC2_NODE_CLASSES,
    INFRA_CLUSTERS,
    INFRA_MACHINES,
    INFRA_TEMPLATES,
    INSTANCE_TYPES,
    KWOK_NODE_CLASSES,
    LEASES,
    LIMIT_RANGES,
    MACHINE_DEPLOYMENTS,
    MACHINE_SETS,
    MACHINES,
    NAMESPACES,
    NODE_CLAIMS,
    NODE_OVERLAYS,
    NODE_POOLS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_TEMPLATES,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    RUNTIME_CLASSES,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Kind,
)

#: The lease two replicas race for, under the name the peer uses, so that the two never act at once.
LEADER_LEASE: Final = "karpenter-leader-election"
#: Whose configs kubeadm's machines boot from.
BOOTSTRAP: Final = "bootstrap.cluster.x-k8s.io"
#: Where every node's heartbeat lies.
NODE_LEASES: Final = "kube-node-lease"

#: The service of the cluster's name server, in kube-system; CoreDNS has kept the name.
NAME_SERVER: Final = "kube-dns"

_READ: Final = ("get", "list", "watch")
#: Every write is a patch; only the lease of the leader is written whole.
_CHANGE: Final = ("patch",)


@dataclass(frozen=True, slots=True)
class Permission:
    """Some verbs on some resources of one group."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    @property
    def rule(self) -> dict[str, Json]:
        found: dict[str, Json] = {"apiGroups": [self.group], "resources": list(self.resources)}
        if self.names:
            found["resourceNames"] = list(self.names)
        return found | {"verbs": list(self.verbs)}


def _may(verbs: tuple[str, ...], *kinds: Kind, part: str = "") -> tuple[Permission, ...]:
    """One permission for each group among the kinds, in the order they are given."""
    groups: dict[str, list[str]] = {}
    for kind in kinds:
        groups.setdefault(kind.group, []).append(f"{kind.plural}/{part}" if part else kind.plural)
    return tuple(Permission(group, tuple(resources), verbs) for group, resources in groups.items())


EVERYWHERE: Final = (
    *_may(
        _READ,
        # what is planned, and what constrains it
        *(PODS, NODES, NAMESPACES, LIMIT_RANGES, POD_TEMPLATES),
        *(PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS),
        *(DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS),
        # which pods belong together, for default spread constraints
        *(SERVICES, REPLICATION_CONTROLLERS),
        *(DISRUPTION_BUDGETS, PRIORITY_CLASSES, RUNTIME_CLASSES),
        *(STORAGE_CLASSES, CSI_NODES, VOLUME_ATTACHMENTS),
        # what users say
        *(NODE_POOLS, NODE_CLAIMS, NODE_OVERLAYS, INSTANCE_TYPES, CAPACITY_BUFFERS),
    ),
    *_may(("create", "delete", *_CHANGE), NODE_CLAIMS),
    *_may(_CHANGE, NODE_POOLS),
    # what is made for a pool or a claim blocks its deletion, which some clusters ask a right for
    *_may(("update",), NODE_POOLS, NODE_CLAIMS, part="finalizers"),
    *_may(_CHANGE, NODE_CLAIMS, NODE_POOLS, NODE_OVERLAYS, INSTANCE_TYPES, CAPACITY_BUFFERS, part="status"),
    *_may(("delete", *_CHANGE), NODES),
    # which node a pod was planned onto, for the scheduler to try first
    *_may(_CHANGE, PODS, part="status"),
    # draining: evictions, and deletion where a node's grace period is over
    *_may(("delete",), PODS),
    # which pod goes first when its owner scales down (PodDeletionCostManagement)
    *_may(_CHANGE, PODS),
    *_may(("create",), PODS, part="eviction"),
    *_may(("create", "patch"), CORE_EVENTS),
)
OF_CLOUD: Final = {
    "kwok": (
        *_may((*_READ, *_CHANGE), KWOK_NODE_CLASSES),
        *_may(_CHANGE, KWOK_NODE_CLASSES, part="status"),
        # simulated machines join, and run pods, by our hand
        *_may(("create",), NODES),
        *_may(_CHANGE, NODES, part="status"),
    ),
    "aws": (
        *_may((*_READ, *_CHANGE), EC2_NODE_CLASSES),
        *_may(_CHANGE, EC2_NODE_CLASSES, part="status"),
        # nodes are told where the cluster's name server is
        Permission(SERVICES.group, (SERVICES.plural,), ("get",), (NAME_SERVER,)),
    ),
    "cluster-api": (
        # templates, whose machines use them, and where those stand
        *_may(_READ, *INFRA_TEMPLATES, *INFRA_CLUSTERS, CLUSTERS, MACHINE_SETS, MACHINE_DEPLOYMENTS),
        # one Machine for each claim, with a copy of its template and of what it boots from
        *_may(("get", "list", "create", "delete", *_CHANGE), MACHINES),
        *_may(("get", "create"), *INFRA_MACHINES),
        Permission(BOOTSTRAP, ("kubeadmconfigtemplates",), ("get",)),
        Permission(BOOTSTRAP, ("kubeadmconfigs",), ("get", "create")),
        # what is made for a Machine blocks its deletion, which some clusters ask a right for
        *_may(("update",), MACHINES, part="finalizers"),
    ),
}
#: In its own namespace. A right to create cannot be tied to a name.
OWN_NAMESPACE: Final = (
    Permission(LEASES.group, (LEASES.plural,), ("create",)),
    Permission(LEASES.group, (LEASES.plural,), ("get", "update"), (LEADER_LEASE,)),
)
OF_CLOUD_IN_NODE_LEASES: Final = {
    # the heartbeats of simulated machines
    "kwok": (Permission(LEASES.group, (LEASES.plural,), ("create", *_CHANGE)),),
    "aws": (),
    "cluster-api": (),
}
CLOUDS: Final = tuple(OF_CLOUD)
