"""Programs of the control plane, compiled once into a cache whose name is a hash of everything that decides the result.

The hash covers both `go.mod`/`go.sum` pairs, the Go version, the platform and the flags, so a change of any of them is
another directory and nothing is ever stale. A build goes into a directory of its own and is published by one rename;
a file lock makes a second process wait for the first and then find its work. Cold, on two cores, it takes some seven
minutes; afterwards it is a look at a directory.
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

from .programs import KUBERNETES, KWOK, PROGRAMS, NoControlPlane, Program, Programs

HERE: Final = Path(__file__).resolve().parent
MODULES: Final = {KUBERNETES: HERE / "kubernetes", KWOK: HERE / "kwok"}
FLAGS: Final = ("-trimpath", "-buildvcs=false", "-mod=readonly")
# Where kwok's module keeps what its controller needs in the cluster.
KWOK_CRDS: Final = "kustomize/crd/bases"
KWOK_STAGES: Final = (
    "kustomize/stage/node/fast",
    "kustomize/stage/node/heartbeat-with-lease",
    "kustomize/stage/pod/fast",
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
    def find(cls) -> Go:
        command = shutil.which("go")
        if command is None:
            raise NoControlPlane("no Go on PATH to compile it with")
        names = ("GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED")
        # Asked inside the module, so that a toolchain the module wants is the one that answers.
        asked = subprocess.run(
            [command, "env", "-json", *names], cwd=MODULES[KUBERNETES], check=False, capture_output=True, text=True
        )
        if asked.returncode != 0:
            raise NoControlPlane(f"this Go cannot compile it: {asked.stderr.strip()}")
        env = json.loads(asked.stdout)
        return cls(command, env["GOVERSION"], f"{env['GOOS']}/{env['GOARCH']}/cgo={env['CGO_ENABLED']}")

    def run(self, module: str, *words: str) -> str:
        ran = subprocess.run([self.command, *words], cwd=MODULES[module], check=False, capture_output=True, text=True)
        if ran.returncode != 0:
            last = "\n".join(ran.stderr.strip().splitlines()[-15:])
            raise NoControlPlane(f"`go {' '.join(words[:2])} …` failed in {MODULES[module].name}:\n{last}")
        return ran.stdout.strip()


def cache_root() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "dovetail" / "control-plane"


def recipe_hash(go: Go) -> str:
    digest = hashlib.sha256()
    parts = [go.version, go.platform, *FLAGS, KWOK_CRDS, *KWOK_STAGES]
    parts += [f"{program.name} {program.package} {' '.join(program.link)}" for program in PROGRAMS]
    for module in sorted(MODULES):
        parts += [(MODULES[module] / name).read_text(encoding="utf-8") for name in ("go.mod", "go.sum")]
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()[:16]


def build(say: Say = say_on_stderr, root: Path | None = None) -> Programs:
    """The compiled programs: from the cache, or made now."""
    go = Go.find()
    root = root or cache_root()
    target = root / recipe_hash(go)
    if target.is_dir():
        return Programs(target)
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / f"{target.name}.lock", say):
        if not target.is_dir():
            _build_into(target, go, say)
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


def _build_into(target: Path, go: Go, say: Say) -> None:
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # an interrupted build's; the lock says nobody is at it
    partial.mkdir()
    say(f"compiling with {go.version} into {target} (about seven minutes on two cores when nothing is cached)")
    began = time.monotonic()
    for module in MODULES:
        go.run(module, "mod", "download")
    for number, program in enumerate(PROGRAMS, 1):
        say(f"[{number}/{len(PROGRAMS)}] {program.name}, at {time.monotonic() - began:.0f} s")
        _compile(program, go, partial)
    _take_kwok_files(go, partial / "kwok.d")
    partial.rename(target)
    say(f"ready after {time.monotonic() - began:.0f} s: {target}")


def _compile(program: Program, go: Go, into: Path) -> None:
    link = " ".join(("-s", "-w", *program.link))
    go.run(program.module, "build", *FLAGS, "-ldflags", link, "-o", str(into / program.name), program.package)


def _take_kwok_files(go: Go, into: Path) -> None:
    module = Path(go.run(KWOK, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"))
    _copy_manifests(module / KWOK_CRDS, into / "crds")
    for folder in KWOK_STAGES:
        _copy_manifests(module / folder, into / "stages")


def _copy_manifests(source: Path, into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for manifest in sorted(source.glob("*.yaml")):
        if manifest.name != "kustomization.yaml":
            (into / manifest.name).write_bytes(manifest.read_bytes())
