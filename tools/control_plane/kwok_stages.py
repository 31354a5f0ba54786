"""What kwok's controller wants to find in the cluster: its Stage CRD, and the stages that play a kubelet's part."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from .access import Admin
from .programs import NoControlPlane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STAGE_CRD = "stages.kwok.x-k8s.io"
NODE_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
STAGES = "/apis/kwok.x-k8s.io/v1alpha1/stages"


def manifests(directory: Path) -> list[dict[str, Any]]:
    if not directory.is_dir():
        raise NoControlPlane(f"kwok's files are not beside the programs: {directory} is missing")
    texts = [path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.yaml"))]
    return [document for text in texts for document in yaml.safe_load_all(text) if document]


def install_crd(admin: Admin, files: Path) -> None:
    for crd in manifests(files / "crds"):
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
    for stage in manifests(files / "stages"):
        admin.apply(STAGES, stage)
