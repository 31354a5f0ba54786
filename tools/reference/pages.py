"""Which part of which page is made by whom."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from . import aws, flags, lint, metrics, reasons
from .marks import Maker, filled

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGES: Final[Mapping[str, Mapping[str, Maker]]] = {
    "cli.md": flags.PARTS,
    "controller.md": {"metrics": metrics.of_controller},
    "handler.md": {"metrics": metrics.of_handler},
    "iam.md": {"rights": aws.rights},
    "ec2nodeclass.md": {"fields": aws.fields},
    "lint.md": {"flags of lint": flags.LINT, "rules": lint.rules},
    "reasons.md": reasons.PARTS,
}


def made(name: str, text: str) -> str:
    """A page with its tables as they should be."""
    return filled(text, PAGES[name])
