"""The manifests of scenarios/aws, with ids of an account in the place of their names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parents[3] / "scenarios" / "aws"
EXAMPLES = {"SUBNET": "subnet-0a1", "GROUP": "sg-0a1", "IMAGE": "ami-0a1", "RESERVATION": "cr-0a1"}


def written(ids: Mapping[str, str] = EXAMPLES) -> dict[str, dict[str, Any]]:
    """Every object, by its kind and name."""
    texts = [Template(path.read_text()).safe_substitute(ids) for path in sorted(FOLDER.glob("*.yaml"))]
    found = [one for text in texts for one in yaml.safe_load_all(text) if one]
    by_name = {f"{one['kind']}/{one['metadata']['name']}": one for one in found}
    assert len(by_name) == len(found), "two objects have one name"
    return by_name


NAMES = tuple(written())
CLASSES = tuple(name for name in NAMES if name.startswith("EC2NodeClass/"))
