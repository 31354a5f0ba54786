"""What Karpenter wants to find in a cluster: its definitions, and an account with the rights its own chart gives it.

The chart is a Helm template, and there is no Helm here. In the files that hold rights only names, labels and what users
add are templates, so the lines that are left once those are gone are plain YAML with every rule of the role.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from . import manifests
from .access import Admin, Rules
from .programs import NoControlPlane

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WHOSE: Final = "Karpenter"
_RIGHTS: Final = ("clusterrole.yaml", "clusterrole-kwok.yaml", "role.yaml")
_ROLES: Final = ("ClusterRole", "Role")


def install_definitions(admin: Admin, files: Path) -> None:
    for one in manifests.in_directory(files / "crds", _WHOSE):
        admin.apply(CRDS, one)


def rules(files: Path) -> Rules:
    """Everything its roles allow. Those of a namespace are given for all of them: there is one account for all."""
    found: list[dict[str, Any]] = []
    for path in manifests.files(files / "chart", _WHOSE):
        if path.name in _RIGHTS:
            plain = [line for line in path.read_text(encoding="utf-8").splitlines() if "{{" not in line]
            documents = manifests.documents("\n".join(plain))
            found += [rule for one in documents if one["kind"] in _ROLES for rule in one["rules"]]
    if not found:
        raise NoControlPlane(f"there are no rights in {files / 'chart'}")
    return found
