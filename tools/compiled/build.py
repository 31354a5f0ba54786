"""Compile the modules that planning spends its time in, and lay a copy of the package beside their sources.

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
from importlib.metadata import version
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = Path("src/dovetail")
#: The values everything is made of, and the rooms that are asked thousands of times a second.
ROOMS: Final = ("core/scheduling",)
#: The checker shares nothing with what it checks, not even a compiler; and compiled objects cannot be copied by `copy`.
LEFT_OUT: Final = ("__init__.py", "check*.py", "compiled.py", "index.py", "nodetable.py", "topology.py")
KEPT: Final = ROOT / "build" / "compiled"


class CannotCompile(Exception):
    """What is missing, in a sentence."""


def modules(root: Path = ROOT) -> tuple[Path, ...]:
    """The sources to compile, relative to the root."""
    found = (one for room in ROOMS for one in sorted((root / PACKAGE / room).glob("*.py")))
    return tuple(one.relative_to(root) for one in found if not any(map(one.match, LEFT_OUT)))


def tree(kept: Path = KEPT) -> Path:
    """A directory with the whole package, its core compiled; what was compiled before is used again."""
    place = kept / _digest()
    if not (place / ".done").exists():
        _compile(place)
    # Everything else is as it is in `src` now.
    shutil.copytree(
        ROOT / PACKAGE, place / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
    )
    return place


def _digest() -> str:
    found = hashlib.sha256(f"{sys.implementation.cache_tag} {version('mypy')} {sysconfig.get_platform()}".encode())
    for one in modules():
        found.update(str(one).encode() + b"\0" + (ROOT / one).read_bytes())
    return found.hexdigest()[:16]


def _compile(place: Path) -> None:
    if shutil.which(os.environ.get("CC", "cc")) is None:
        raise CannotCompile("no C compiler was found (set CC=/path/to/one)")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    print(f"compiling {len(modules())} modules of the core, a minute or two …", file=sys.stderr, flush=True)
    log = place / "build.log"
    with log.open("wb") as out:
        made = subprocess.run(
            [sys.executable, "-m", "tools.compiled.extensions", str(place)],
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if made.returncode:
        raise CannotCompile(f"the core did not compile; what was said is in {log}")
    (place / ".done").touch()
