"""What machines stand on: the infrastructure of their cluster, and its control plane, as far as machines need them.

Nobody here makes networks. Machines go into the one that the infrastructure cluster describes, so it is ready as it is
written, unless its annotation says that somebody else looks after it: then that one says when. Where ours is the core,
machines join the very cluster we run in; so its control plane is up, and its infrastructure is as soon as the
infrastructure cluster says so, or at once where none is named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from dovetail.core.conditions import Condition, Conditions, Status
from dovetail.core.machines import names
from dovetail.core.machines.objects import Cluster, Meta, ObjectRef, put

#: On an infrastructure cluster: who makes it, and tells when it is made.
MANAGED_BY: Final = "cluster.x-k8s.io/managed-by"


@dataclass(frozen=True, slots=True)
class InfraCluster:
    """An AWSCluster, GCPCluster or AzureCluster."""

    meta: Meta
    kind: str
    provisioned: bool = False
    conditions: Conditions = ()


@dataclass(frozen=True, slots=True)
class Ground:
    """A Cluster, what it refers to, and everything its status says of itself."""

    cluster: Cluster
    infrastructure: ObjectRef | None = None
    conditions: Conditions = ()


def prepared(infra: InfraCluster, now: float) -> InfraCluster:
    """The infrastructure cluster as it should be; the same value where there is nothing to say."""
    meta = infra.meta
    if infra.provisioned or meta.is_paused or meta.deleting is not None or MANAGED_BY in meta.annotations:
        return infra
    ready = Condition(names.READY, Status.TRUE, "NothingToMake", "machines go into the network that is described here")
    return replace(infra, provisioned=True, conditions=put(infra.conditions, ready, now, meta.generation))


def risen(ground: Ground, infra: InfraCluster | None, now: float) -> Ground:
    """The Cluster as it should be where ours is the core."""
    cluster, meta = ground.cluster, ground.cluster.meta
    if cluster.stops(meta) or meta.deleting is not None:
        return ground
    held = put(ground.conditions, Condition(names.CONTROL_PLANE_INITIALIZED, Status.TRUE, "Initialized"), now, 0)
    stands = ground.infrastructure is None or (infra is not None and infra.provisioned)
    if stands:
        held = put(held, Condition(names.INFRASTRUCTURE_READY, Status.TRUE, "Ready"), now, 0)
    control_plane = cluster.control_plane if cluster.control_plane is not None else now
    infrastructure = cluster.infrastructure if cluster.infrastructure is not None or not stands else now
    known = replace(cluster, control_plane=control_plane, infrastructure=infrastructure)
    return replace(ground, cluster=known, conditions=held)
