"""What a reader of listings may be told; every cloud takes the same options and uses those it understands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: The files that come with the package; data/README.md lists them.
BUNDLED: Final = Path(__file__).resolve().parent.parent / "data"


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How to read a listing.

    `windows` lets amd64 types run Windows as well; prices stay those of Linux, which is what the lists hold.
    `disk_bytes` is the size of the disk nodes boot from, where it is not the cloud's default. `root` is where the
    files are, for someone who keeps newer ones than the package does.
    """

    windows: bool = False
    disk_bytes: int | None = None
    root: Path = BUNDLED


DEFAULTS: Final = LoadOptions()
