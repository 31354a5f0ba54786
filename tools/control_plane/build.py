"""Programs of the control plane, compiled once into a cache whose name is a hash of everything that decides the result.

The hash covers `go.mod` and `go.sum`, the Go version, the platform and the flags, so a change of any of them is another
directory and nothing is ever stale. A build goes into a directory of its own and is published by one rename; a file
lock makes a second process wait for the first and then find its work. Everything is made from one `go.mod`, so what the
programs share is compiled once. Cold, that is minutes; afterwards a look at three directories.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .programs import MANAGERS, PEERS, PROGRAMS, NoControlPlane, Program, Programs

SOURCES: Final = Path(__file__).resolve().parent / "go"
# Nobody debugs these programs, and the linker would throw away what the compiler writes for a debugger.
FLAGS: Final = ("-trimpath", "-buildvcs=false", "-mod=readonly", "-gcflags=all=-dwarf=false")
STRIPPED: Final = ("-s", "-w")
PROGRESS_SECONDS: Final = 20.0
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
    folder: str
    into: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is made together, and lies in one directory."""

    programs: tuple[Program, ...]
    taken: tuple[Taken, ...]


CONTROL_PLANE: Final = Recipe(
    PROGRAMS,
    (
        Taken("sigs.k8s.io/kwok", KWOK_CRDS, "kwok.d/crds"),
        *(Taken("sigs.k8s.io/kwok", folder, "kwok.d/stages") for folder in KWOK_STAGES),
    ),
)
MANAGER_RECIPE: Final = Recipe(
    MANAGERS,
    (
        Taken("sigs.k8s.io/cluster-api", CLUSTER_API_CRDS, "cluster-api.d/crds"),
        Taken("sigs.k8s.io/cluster-api", CLUSTER_API_RIGHTS, "cluster-api.d/rights"),
        Taken("sigs.k8s.io/cluster-api", CLUSTER_API_WEBHOOKS, "cluster-api.d/webhooks"),
    ),
)
PEER_RECIPE: Final = Recipe(
    PEERS,
    (
        *(Taken("sigs.k8s.io/karpenter", folder, "karpenter.d/crds") for folder in KARPENTER_CRDS),
        Taken("sigs.k8s.io/karpenter", KARPENTER_CHART, "karpenter.d/chart"),
    ),
)

Say = Callable[[str], None]


def say_on_stderr(line: str) -> None:
    print(f"control plane: {line}", file=sys.stderr, flush=True)


class Progress:
    """A line now and then on how far a build is. Go names a package when it begins to compile it, and passes over
    what its own cache has, so a build may end early."""

    def __init__(self, packages: list[str], say: Say) -> None:
        self._packages = frozenset(packages)
        self._say = say
        self._begun = 0
        self._began = self._said = time.monotonic()

    def names_package(self, line: str) -> bool:
        if line.strip() not in self._packages:
            return False
        self._begun += 1
        now = time.monotonic()
        if now - self._said >= PROGRESS_SECONDS:
            self._said = now
            self._say(f"{self._begun} of at most {len(self._packages)} packages, at {now - self._began:.0f} s")
        return True


@dataclass(frozen=True, slots=True)
class Go:
    """The Go on this machine, as far as it decides what comes out."""

    command: str
    version: str
    platform: str

    @classmethod
    def find(cls) -> Go:
        command = shutil.which("go")
        if command is None:
            raise NoControlPlane("no Go on PATH to compile it with")
        names = ("GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED")
        # Asked inside the module, so that a toolchain the module wants is the one that answers.
        asked = _go(command, "env", "-json", *names)
        if asked.returncode != 0:
            raise NoControlPlane(f"this Go cannot compile it: {asked.stderr.strip()}")
        env = json.loads(asked.stdout)
        return cls(command, env["GOVERSION"], f"{env['GOOS']}/{env['GOARCH']}/cgo={env['CGO_ENABLED']}")

    def run(self, *words: str) -> str:
        ran = _go(self.command, *words)
        if ran.returncode != 0:
            raise _failed(words, ran.stderr)
        return ran.stdout.strip()

    def build(self, programs: tuple[str, ...], into: Path, flags: tuple[str, ...], progress: Progress) -> None:
        """Compiles programs, by their packages, into a directory."""
        words = ("build", "-v", *flags, "-o", f"{into}/", *programs)
        with subprocess.Popen(
            [self.command, *words], cwd=SOURCES, env=_environment(), stderr=subprocess.PIPE, text=True
        ) as building:
            assert building.stderr is not None  # a pipe was asked for
            complaints = [line for line in building.stderr if not progress.names_package(line)]
        if building.returncode != 0:
            raise _failed(words, "".join(complaints))


def _go(command: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command, *words], cwd=SOURCES, env=_environment(), check=False, capture_output=True, text=True
    )


def _environment() -> dict[str, str]:
    # Karpenter asks for a newer Go than most machines have; the Go that is there fetches it like a module.
    # A compiler that collects its garbage less often takes a seventh less of a cold build.
    return {"GOGC": "400", **os.environ, "GOTOOLCHAIN": "auto"}


def _failed(words: tuple[str, ...], said: str) -> NoControlPlane:
    last = "\n".join(said.strip().splitlines()[-15:])
    return NoControlPlane(f"`go {' '.join(words[:2])} …` failed:\n{last}")


def cache_root() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "dovetail" / "control-plane"


def recipe_hash(go: Go, recipe: Recipe = CONTROL_PLANE) -> str:
    digest = hashlib.sha256()
    parts = [go.version, go.platform, *FLAGS, *(one.folder for one in recipe.taken)]
    parts += [f"{program.name} {program.package} {' '.join(program.link)}" for program in recipe.programs]
    parts += [(SOURCES / name).read_text(encoding="utf-8") for name in ("go.mod", "go.sum")]
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()[:16]


def build(recipe: Recipe = CONTROL_PLANE, say: Say = say_on_stderr, root: Path | None = None) -> Programs:
    """The compiled programs: from the cache, or made now."""
    go = Go.find()
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
    _compile(recipe.programs, go, partial, say)
    for one in recipe.taken:
        source = Path(go.run("list", "-m", "-f", "{{.Dir}}", one.module))
        _copy_manifests(source / one.folder, partial / one.into)
    partial.rename(target)
    say(f"ready after {time.monotonic() - began:.0f} s: {target}")


def _compile(programs: tuple[Program, ...], go: Go, into: Path, say: Say) -> None:
    """All of them in one build: while one is linked, the packages of the next are compiled."""
    packages = tuple(program.package for program in programs)
    names = ", ".join(program.name for program in programs)
    say(f"fetching the sources of {names}")
    progress = Progress(go.run("list", "-deps", *packages).splitlines(), say)
    go.build(packages, into, (*FLAGS, *(_linked(program) for program in programs)), progress)
    for program in programs:
        (into / left_as(program.package)).rename(into / program.name)


def _linked(program: Program) -> str:
    return f"-ldflags={program.package}={' '.join((*STRIPPED, *program.link))}"


def left_as(package: str) -> str:
    """The name Go gives a program: the last element of its path that is not a major version."""
    return re.sub(r"/v\d+$", "", package).rsplit("/", 1)[-1]


def _copy_manifests(source: Path, into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for manifest in sorted(source.glob("*.yaml")):
        if manifest.name != "kustomization.yaml":
            (into / manifest.name).write_bytes(manifest.read_bytes())
