"""Clusters and infrastructure clusters → core values, and what changed of them → the patch of a status."""

from __future__ import annotations

from typing import Any

from dovetail.api.cluster_api import reading
from dovetail.api.fields import Fields
from dovetail.api.kinds import Kind
from dovetail.api.live.meta import condition_body
from dovetail.core.machines.grounds import Ground, InfraCluster

Body = dict[str, Any]


def infra_cluster(kind: Kind, whole: Fields) -> InfraCluster:
    status = whole.map("status")
    provisioned = status.map("initialization").flag("provisioned") and status.flag("ready")
    return InfraCluster(reading.meta(whole), kind.name, provisioned, reading.conditions(status))


def ground(whole: Fields) -> Ground:
    found = reading.reference(whole.map("spec"), "infrastructureRef")
    return Ground(reading.cluster(whole), found, reading.conditions(whole.map("status")))


def infra_status(after: InfraCluster) -> Body:
    told = [condition_body(one) for one in after.conditions]
    return {"ready": after.provisioned, "initialization": {"provisioned": after.provisioned}, "conditions": told}


def cluster_status(after: Ground) -> Body:
    begun: Body = {"controlPlaneInitialized": after.cluster.control_plane is not None}
    if after.cluster.infrastructure is not None:
        begun["infrastructureProvisioned"] = True
    return {"initialization": begun, "conditions": [condition_body(one) for one in after.conditions]}
