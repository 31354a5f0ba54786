"""Every file that is made, by its path in the repository."""

from __future__ import annotations

from typing import Final

from dovetail import __version__
from dovetail.api.crds import every
from dovetail.api.install import objects
from dovetail.api.install.installation import Installation
from dovetail.api.install.permissions import CLOUDS
from dovetail.api.install.text import yaml_text

from . import chart, reference

_MADE: Final = "# Made by `make manifests`; change src/dovetail/api instead.\n"


def files() -> dict[str, str]:
    found = {"docs/reference/crds.md": reference.text()}
    for definition in every.DEFINITIONS:
        text = _MADE + yaml_text([definition.manifest()])
        name = f"{definition.kind.group}_{definition.kind.plural}.yaml"
        found[f"deploy/crds/{name}"] = text
        found[f"deploy/chart/crds/{name}"] = text
    for cloud in CLOUDS:
        wanted = Installation(image=f"dovetail:{__version__}", cloud=cloud)
        found[f"deploy/manifests/{cloud}.yaml"] = _MADE + yaml_text(objects.objects(wanted))
    for name, text in chart.files().items():
        found[f"deploy/chart/{name}"] = _MADE + text
    return found
