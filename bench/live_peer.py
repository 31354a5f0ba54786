"""The peer's controller for kwok nodes: compiled from the published module that `peer_live/go.mod` pins.

Beside the program lie the definitions of its custom resources, out of the same module. Both are made once, into
`build/bench/peer-live`, and again only when the pins change. Without Go, or without the network the first build
needs, ours is measured alone.
"""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.peer import PEER_MODULE, digest
from bench.report import RESULTS, ROOT

SOURCES: Final = ROOT / "bench" / "peer_live"
PACKAGE: Final = f"{PEER_MODULE}/kwok"
FOLDER: Final = RESULTS / "peer-live"
PROGRAM: Final = FOLDER / "karpenter"
DEFINITIONS: Final = FOLDER / "crds"
_STAMP: Final = FOLDER / "sources"
_DEFINED_IN: Final = ("pkg/apis/crds", "kwok/apis/crds")


@functools.cache
def built() -> bool:
    """Whether the program is there, made from the pins as they are; builds it if not. Asked once a run."""
    wanted = digest(SOURCES)
    if PROGRAM.exists() and _STAMP.exists() and _STAMP.read_text(encoding="ascii").strip() == wanted:
        return True
    go = shutil.which("go")
    if go is None:
        print("The peer's column stays empty: building its controller needs Go, and none is on PATH.", file=sys.stderr)
        return False
    print("peer: building its controller (the first time takes minutes)", file=sys.stderr)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        link = ("-ldflags", "-s -w")
        _go(go, "build", "-trimpath", "-buildvcs=false", "-mod=readonly", *link, "-o", str(PROGRAM), PACKAGE)
        module = Path(_go(go, "list", "-m", "-f", "{{.Dir}}", PEER_MODULE))
    except subprocess.CalledProcessError as failed:
        reason = (failed.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"The peer's column stays empty: building its controller failed ({reason}).", file=sys.stderr)
        return False
    DEFINITIONS.mkdir()
    for folder in _DEFINED_IN:
        for manifest in sorted((module / folder).glob("*.yaml")):
            (DEFINITIONS / manifest.name).write_bytes(manifest.read_bytes())
    _STAMP.write_text(wanted + "\n", encoding="ascii")
    return True


def _go(go: str, *words: str) -> str:
    # The peer asks for a newer Go than most machines have.
    environment = {**os.environ, "GOTOOLCHAIN": "auto"}
    ran = subprocess.run([go, *words], cwd=SOURCES, env=environment, check=True, capture_output=True, text=True)
    return ran.stdout.strip()
