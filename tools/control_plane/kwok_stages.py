"""What kwok's controller wants to find in the cluster: its Stage CRD, and the stages that play a kubelet's part."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from . import manifests
from .access import Admin

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STAGE_CRD = "stages.kwok.x-k8s.io"
NODE_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
STAGES = "/apis/kwok.x-k8s.io/v1alpha1/stages"


def install_crd(admin: Admin, files: Path) -> None:
    for crd in manifests.in_directory(files / "crds", "kwok"):
        if crd["metadata"]["name"] == STAGE_CRD:
            admin.apply(CRDS, crd)


def crd_served(admin: Admin) -> bool:
    return admin.healthy(STAGES)


def free_nodes(admin: Admin) -> None:
    """A kwok that was ended holds its Nodes until their leases run out, and the next one looks on meanwhile."""
    admin.request("DELETE", NODE_LEASES)


def holds_nodes(admin: Admin, node_labels: str) -> bool:
    """Whether somebody plays kubelet for every such Node. A pod deleted before that is forgotten: it stays until its
    Node goes, and minutes longer."""
    wanted = admin.request("GET", f"/api/v1/nodes?labelSelector={quote(node_labels)}")["items"]
    held = {one["metadata"]["name"] for one in admin.request("GET", NODE_LEASES)["items"]}
    return all(one["metadata"]["name"] in held for one in wanted if "deletionTimestamp" not in one["metadata"])


def install_stages(admin: Admin, files: Path) -> None:
    for stage in manifests.in_directory(files / "stages", "kwok"):
        admin.apply(STAGES, stage)
