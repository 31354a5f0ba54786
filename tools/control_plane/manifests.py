"""Manifests of others, as they lie beside their programs: read by the C parser, for some of them are long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from .programs import NoControlPlane

Body = dict[str, Any]
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def in_directory(directory: Path, whose: str) -> list[Body]:
    """Every object of its files, in the order of their names."""
    return [one for path in files(directory, whose) for one in documents(path.read_text(encoding="utf-8"))]


def files(directory: Path, whose: str) -> list[Path]:
    found = sorted(directory.glob("*.yaml"))
    if not found:
        raise NoControlPlane(f"{whose}'s files are not beside its program: {directory} is missing or empty")
    return found


def documents(text: str) -> Iterator[Body]:
    """Those of a text that are objects; files also hold empty documents, and settings of generators."""
    found = yaml.load_all(text, Loader=_Loader)
    return (one for one in found if one and "kind" in one)
