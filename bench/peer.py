"""The peer's side: a small Go program in `peer/` that asks sigs.k8s.io/karpenter the same questions.

It is built once into `build/bench/peer` and again only when its sources change. Without Go, or without the network the
first build needs, every benchmark still runs: the peer's column stays empty and one sentence says why.
"""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from bench.report import RESULTS, ROOT

SOURCES = ROOT / "bench" / "peer"
BINARY = RESULTS / "peer"
STAMP = RESULTS / "peer.sources"
PEER_MODULE = "sigs.k8s.io/karpenter"


class PeerFailed(Exception):
    """The peer program was built, ran, and did not finish: a mistake of ours, or a catalogue it cannot read."""


def run(subcommand: str, *args: str) -> dict[str, float]:
    """The peer's figures by row name; empty when there is no peer to ask. `.get(row)` suits a Row's column."""
    if not built():
        return {}
    command = [str(BINARY), subcommand, *args]
    print(f"peer: {subcommand} {' '.join(args)}", file=sys.stderr)
    answer = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)  # stderr: its progress
    if answer.returncode != 0:
        raise PeerFailed(f"peer {subcommand} ended with {answer.returncode}; its reason is printed above")
    return parse(answer.stdout.splitlines())


def parse(lines: Iterable[str]) -> dict[str, float]:
    """One JSON object a line: {"row": …, "unit": …, "value": …}."""
    figures: dict[str, float] = {}
    for line in filter(str.strip, lines):
        try:
            entry = json.loads(line)
            name, value = str(entry["row"]), float(entry["value"])
        except (ValueError, KeyError, TypeError) as error:
            raise PeerFailed(f"the peer printed a line that is not a row: {line!r}") from error
        if name in figures:
            raise PeerFailed(f"the peer printed the row {name!r} twice")
        figures[name] = value
    return figures


@functools.cache
def built() -> bool:
    """Whether the binary is there and made from the sources as they are; builds it if not. Asked once a run."""
    wanted = digest(SOURCES)
    if BINARY.exists() and STAMP.exists() and STAMP.read_text(encoding="ascii").strip() == wanted:
        return True
    go = shutil.which("go")
    if go is None:
        print("The peer's column stays empty: building the peer needs Go, and none is on PATH.", file=sys.stderr)
        return False
    print("peer: building (the first time takes minutes)", file=sys.stderr)
    RESULTS.mkdir(parents=True, exist_ok=True)
    STAMP.unlink(missing_ok=True)
    build = subprocess.run(
        [go, "build", "-trimpath", "-buildvcs=false", "-o", str(BINARY), "."],
        cwd=SOURCES,
        env={**os.environ, "GOTOOLCHAIN": "auto"},  # the peer asks for a newer Go than most machines have
        check=False,
        stderr=subprocess.PIPE,
        text=True,
    )
    if build.returncode != 0:
        reason = (build.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"The peer's column stays empty: building the peer failed ({reason}).", file=sys.stderr)
        return False
    STAMP.write_text(wanted + "\n", encoding="ascii")
    return True


def digest(sources: Path) -> str:
    """Of names and contents, so that neither a touched file nor a fresh checkout builds again."""
    sha = hashlib.sha256()
    for path in sorted((*sources.glob("*.go"), *sources.glob("go.*"))):
        content = path.read_bytes()
        sha.update(f"{path.name} {len(content)}\n".encode())
        sha.update(content)
    return sha.hexdigest()


def version() -> str:
    """Which peer it is, as its go.mod pins it: `sigs.k8s.io/karpenter v1.15.0`."""
    text = (SOURCES / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"{re.escape(PEER_MODULE)} (v\S+)", text)
    assert found is not None, "go.mod does not name the peer"
    return f"{PEER_MODULE} {found.group(1)}"
