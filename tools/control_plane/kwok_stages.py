"""What kwok's controller wants to find in the cluster: its Stage CRD, and the stages that play a kubelet's part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from .access import Admin
from .programs import NoControlPlane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STAGE_CRD = "stages.kwok.x-k8s.io"
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


def install_stages(admin: Admin, files: Path) -> None:
    for stage in manifests(files / "stages"):
        admin.apply(STAGES, stage)
