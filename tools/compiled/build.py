"""Compile the modules that planning spends its time in, and lay a copy of the package around them.

Python takes a compiled module where one lies beside the source of the same name. Compiled ones therefore never lie in
`src`: there they would go on shadowing a source that has been changed since. They are kept by what they were made of.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = Path("src/dovetail")
ROOM: Final = PACKAGE / "core" / "scheduling"
#: The checker shares nothing with what it checks, not even a compiler. The last three make copies of their objects with
#: `copy`, which compiled ones refuse.
LEFT_OUT: Final = ("__init__.py", "check*.py", "compiled.py", "index.py", "topology.py")
KEPT: Final = ROOT / "build" / "compiled"


class CannotCompile(Exception):
    """What is missing, in a sentence."""


def modules() -> tuple[Path, ...]:
    """The sources to compile, relative to the root."""
    found = sorted((ROOT / ROOM).glob("*.py"))
    return tuple(one.relative_to(ROOT) for one in found if not any(map(one.match, LEFT_OUT)))


def tree(kept: Path = KEPT, chosen: Sequence[Path] | None = None) -> Path:
    """A directory to put in front of PYTHONPATH: the whole package as it is in `src` now, with what is compiled."""
    made = compiled(kept, chosen)
    place = kept / "tree"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / PACKAGE, place / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(made, place, ignore=shutil.ignore_patterns("build.log", ".done"), dirs_exist_ok=True)
    return place


def compiled(kept: Path = KEPT, chosen: Sequence[Path] | None = None) -> Path:
    """A directory with compiled modules only, laid out as packages are; what was compiled before is used again."""
    sources = modules() if chosen is None else tuple(chosen)
    place = kept / _digest(sources)
    if not (place / ".done").exists():
        _compile(sources, place)
    return place


def extensions(place: Path) -> list[Path]:
    """The compiled modules below a directory, relative to it."""
    return sorted(one.relative_to(place) for one in place.rglob(f"*{EXTENSION_SUFFIXES[0]}"))


def _digest(sources: Sequence[Path]) -> str:
    """Of everything the core is made of: the compiler looks into what a module imports."""
    found = hashlib.sha256(f"{sys.implementation.cache_tag} {version('mypy')} {sysconfig.get_platform()}".encode())
    found.update(" ".join(map(str, sources)).encode())
    for one in sorted((ROOT / PACKAGE / "core").rglob("*.py")):
        found.update(str(one.relative_to(ROOT)).encode() + b"\0" + one.read_bytes())
    return found.hexdigest()[:16]


def _compile(sources: Sequence[Path], place: Path) -> None:
    if shutil.which(os.environ.get("CC", "cc")) is None:
        raise CannotCompile("no C compiler was found (set CC=/path/to/one)")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    print(f"compiling {len(sources)} modules of the planner, a minute or so …", file=sys.stderr, flush=True)
    log = place / "build.log"
    with log.open("wb") as out:
        made = subprocess.run(
            [sys.executable, "-m", "tools.compiled.extensions", str(place.resolve()), *map(str, sources)],
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if made.returncode:
        raise CannotCompile(f"it did not compile; what the compiler said is in {log}")
    (place / ".done").touch()
