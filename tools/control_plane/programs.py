"""Which programs make a control plane, and where compiled ones are looked for.

DOVETAIL_CONTROL_PLANE   a directory with all of them; incomplete is an error, for somebody meant it
KUBEBUILDER_ASSETS       the same, but passed over when incomplete: other projects need fewer programs in it
the cache                what `build` made, or makes now if there is a Go

Cluster API's manager and Karpenter's kwok provider are made and kept apart: few tests need them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: The program of Cluster API's own controllers, by the name it has here.
MANAGER: Final = "cluster-api"
#: And that of Karpenter's controller for kwok nodes: what clusters we take over run, and what we are measured against.
PEER: Final = "karpenter"
KUBERNETES_VERSION: Final = "v1.36.3"

OVERRIDE: Final = "DOVETAIL_CONTROL_PLANE"
ASSETS: Final = "KUBEBUILDER_ASSETS"


class NoControlPlane(Exception):
    """There is no control plane to be had here; the text says why."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program: its package, and what the linker is told beside what it is always told."""

    name: str
    package: str
    link: tuple[str, ...] = ()


def _stamped() -> tuple[str, ...]:
    """The version upstream's own build stamps in; without it the server calls itself v0.0.0-master."""
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    stamps = {"gitVersion": KUBERNETES_VERSION, "gitMajor": major, "gitMinor": minor}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return tuple(f"-X {package}.{name}={value}" for package in packages for name, value in stamps.items())


PROGRAMS: Final = (
    Program("etcd", "go.etcd.io/etcd/server/v3"),
    Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", _stamped()),
    Program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", _stamped()),
    Program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", _stamped()),
    Program("kubectl", "k8s.io/kubernetes/cmd/kubectl", _stamped()),
    Program("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
)
MANAGERS: Final = (Program(MANAGER, "sigs.k8s.io/cluster-api/core"),)
PEERS: Final = (Program(PEER, "sigs.k8s.io/karpenter/kwok"),)
# kwok is asked for only where fake kubelets are wanted; a directory without it still makes a control plane.
NEEDED: Final = tuple(program.name for program in PROGRAMS if program.name != "kwok")


@dataclass(frozen=True, slots=True)
class Programs:
    """A directory of compiled programs."""

    directory: Path

    def path(self, name: str) -> Path:
        return self.directory / name

    @property
    def kwok_files(self) -> Path:
        return self.directory / "kwok.d"

    @property
    def cluster_api_files(self) -> Path:
        return self.directory / "cluster-api.d"

    @property
    def karpenter_files(self) -> Path:
        return self.directory / "karpenter.d"

    def missing(self) -> list[str]:
        return [name for name in NEEDED if not os.access(self.path(name), os.X_OK)]


def given(environment: Mapping[str, str]) -> Programs | None:
    """The directory somebody named, or None when nobody did."""
    if named := environment.get(OVERRIDE):
        programs = Programs(Path(named).absolute())
        if missing := programs.missing():
            raise NoControlPlane(f"{OVERRIDE}={named} lacks {', '.join(missing)}")
        return programs
    if assets := environment.get(ASSETS):
        programs = Programs(Path(assets).absolute())
        if not programs.missing():
            return programs
    return None
