"""What was said of things that only a person can judge: lines of a name, a tab and a sentence, in files beside the
tools that find them."""

from __future__ import annotations

from pathlib import Path


def read(file: Path) -> dict[str, str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines if line and not line.startswith("#"))
