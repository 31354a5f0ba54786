"""Programs of the control plane, compiled once into a cache whose name is a hash of everything that decides the result.

The hash covers the `go.mod`/`go.sum` pairs, the Go version, the platform and the flags, so a change of any of them is
another directory and nothing is ever stale. A build goes into a directory of its own and is published by one rename;
a file lock makes a second process wait for the first and then find its work. Cold, on two cores, the control plane
takes some seven minutes and Cluster API's manager and Karpenter two more each; afterwards it is a look at three
directories.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .programs import (
    CLUSTER_API,
    KARPENTER,
    KUBERNETES,
    KWOK,
    MANAGERS,
    PEERS,
    PROGRAMS,
    NoControlPlane,
    Program,
    Programs,
)

HERE: Final = Path(__file__).resolve().parent
MODULES: Final = {name: HERE / name for name in (KUBERNETES, KWOK, CLUSTER_API, KARPENTER)}
FLAGS: Final = ("-trimpath", "-buildvcs=false", "-mod=readonly")
# Where kwok's module keeps what its controller needs in the cluster.
KWOK_CRDS: Final = "kustomize/crd/bases"
KWOK_STAGES: Final = (
    "kustomize/stage/node/fast",
    "kustomize/stage/node/heartbeat-with-lease",
    "kustomize/stage/pod/fast",
)
# And Cluster API's: its definitions, the rights of its manager, and which webhooks it serves.
CLUSTER_API_CRDS: Final = "core/config/crd/bases"
CLUSTER_API_RIGHTS: Final = "core/config/rbac"
CLUSTER_API_WEBHOOKS: Final = "core/config/webhook"
# And Karpenter's: its definitions, those of its kwok provider, and the chart that says what it may do.
KARPENTER_CRDS: Final = ("pkg/apis/crds", "kwok/apis/crds")
KARPENTER_CHART: Final = "kwok/charts/templates"


@dataclass(frozen=True, slots=True)
class Taken:
    """Manifests of a Go module that go along with the programs."""

    module: str
    source: str
    folder: str
    into: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is made together, and lies in one directory."""

    modules: tuple[str, ...]
    programs: tuple[Program, ...]
    taken: tuple[Taken, ...]


CONTROL_PLANE: Final = Recipe(
    (KUBERNETES, KWOK),
    PROGRAMS,
    (
        Taken(KWOK, "sigs.k8s.io/kwok", KWOK_CRDS, "kwok.d/crds"),
        *(Taken(KWOK, "sigs.k8s.io/kwok", folder, "kwok.d/stages") for folder in KWOK_STAGES),
    ),
)
MANAGER_RECIPE: Final = Recipe(
    (CLUSTER_API,),
    MANAGERS,
    (
        Taken(CLUSTER_API, "sigs.k8s.io/cluster-api", CLUSTER_API_CRDS, "cluster-api.d/crds"),
        Taken(CLUSTER_API, "sigs.k8s.io/cluster-api", CLUSTER_API_RIGHTS, "cluster-api.d/rights"),
        Taken(CLUSTER_API, "sigs.k8s.io/cluster-api", CLUSTER_API_WEBHOOKS, "cluster-api.d/webhooks"),
    ),
)
PEER_RECIPE: Final = Recipe(
    (KARPENTER,),
    PEERS,
    (
        *(Taken(KARPENTER, "sigs.k8s.io/karpenter", folder, "karpenter.d/crds") for folder in KARPENTER_CRDS),
        Taken(KARPENTER, "sigs.k8s.io/karpenter", KARPENTER_CHART, "karpenter.d/chart"),
    ),
)

Say = Callable[[str], None]


def say_on_stderr(line: str) -> None:
    print(f"control plane: {line}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Go:
    """The Go on this machine, as far as it decides what comes out."""

    command: str
    version: str
    platform: str

    @classmethod
    def find(cls, module: str = KUBERNETES) -> Go:
        command = shutil.which("go")
        if command is None:
            raise NoControlPlane("no Go on PATH to compile it with")
        names = ("GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED")
        # Asked inside the module, so that a toolchain the module wants is the one that answers.
        asked = _go(command, module, "env", "-json", *names)
        if asked.returncode != 0:
            raise NoControlPlane(f"this Go cannot compile it: {asked.stderr.strip()}")
        env = json.loads(asked.stdout)
        return cls(command, env["GOVERSION"], f"{env['GOOS']}/{env['GOARCH']}/cgo={env['CGO_ENABLED']}")

    def run(self, module: str, *words: str) -> str:
        ran = _go(self.command, module, *words)
        if ran.returncode != 0:
            last = "\n".join(ran.stderr.strip().splitlines()[-15:])
            raise NoControlPlane(f"`go {' '.join(words[:2])} …` failed in {MODULES[module].name}:\n{last}")
        return ran.stdout.strip()


def _go(command: str, module: str, *words: str) -> subprocess.CompletedProcess[str]:
    # Karpenter asks for a newer Go than most machines have; the Go that is there fetches it like a module.
    # A compiler that collects its garbage less often takes a seventh less of a cold build.
    environment = {"GOGC": "400", **os.environ, "GOTOOLCHAIN": "auto"}
    return subprocess.run(
        [command, *words], cwd=MODULES[module], env=environment, check=False, capture_output=True, text=True
    )


def cache_root() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "dovetail" / "control-plane"


def recipe_hash(go: Go, recipe: Recipe = CONTROL_PLANE) -> str:
    digest = hashlib.sha256()
    parts = [go.version, go.platform, *FLAGS, *(one.folder for one in recipe.taken)]
    parts += [f"{program.name} {program.package} {' '.join(program.link)}" for program in recipe.programs]
    for module in sorted(recipe.modules):
        parts += [(MODULES[module] / name).read_text(encoding="utf-8") for name in ("go.mod", "go.sum")]
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()[:16]


def build(recipe: Recipe = CONTROL_PLANE, say: Say = say_on_stderr, root: Path | None = None) -> Programs:
    """The compiled programs: from the cache, or made now."""
    go = Go.find(recipe.modules[0])
    root = root or cache_root()
    target = root / recipe_hash(go, recipe)
    if target.is_dir():
        return Programs(target)
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / f"{target.name}.lock", say):
        if not target.is_dir():
            _build_into(target, recipe, go, say)
    return Programs(target)


@contextmanager
def _locked(path: Path, say: Say) -> Iterator[None]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is building it; waiting")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_into(target: Path, recipe: Recipe, go: Go, say: Say) -> None:
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # an interrupted build's; the lock says nobody is at it
    partial.mkdir()
    say(f"compiling with {go.version} into {target} (minutes when nothing is cached)")
    began = time.monotonic()
    for module in recipe.modules:
        go.run(module, "mod", "download")
    for number, program in enumerate(recipe.programs, 1):
        say(f"[{number}/{len(recipe.programs)}] {program.name}, at {time.monotonic() - began:.0f} s")
        _compile(program, go, partial)
    for one in recipe.taken:
        source = Path(go.run(one.module, "list", "-m", "-f", "{{.Dir}}", one.source))
        _copy_manifests(source / one.folder, partial / one.into)
    partial.rename(target)
    say(f"ready after {time.monotonic() - began:.0f} s: {target}")


def _compile(program: Program, go: Go, into: Path) -> None:
    link = " ".join(("-s", "-w", *program.link))
    go.run(program.module, "build", *FLAGS, "-ldflags", link, "-o", str(into / program.name), program.package)


def _copy_manifests(source: Path, into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for manifest in sorted(source.glob("*.yaml")):
        if manifest.name != "kustomization.yaml":
            (into / manifest.name).write_bytes(manifest.read_bytes())
