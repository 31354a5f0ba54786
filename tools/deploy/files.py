"""Every file that is made, by its path in the repository."""

from __future__ import annotations

from typing import Final

from dovetail import __version__
from dovetail.api.crds import every
from dovetail.api.crds.cluster_api import policy
from dovetail.api.install import handler, machine_rights, machines, objects
from dovetail.api.install.installation import NAMESPACE, Installation
from dovetail.api.install.permissions import CLOUDS
from dovetail.api.install.text import yaml_text

from . import chart, reference

_MADE: Final = "# Made by `make manifests`; change src/dovetail/api instead.\n"


def files() -> dict[str, str]:
    found = {"docs/reference/crds.md": reference.text(), "docs/reference/cluster-api.md": reference.cluster_api_text()}
    found |= _cluster_api()
    for definition in every.DEFINITIONS:
        text = _MADE + yaml_text([definition.manifest()])
        name = f"{definition.kind.group}_{definition.kind.plural}.yaml"
        found[f"deploy/crds/{name}"] = text
        found[f"deploy/chart/crds/{name}"] = text
    for cloud in CLOUDS:
        wanted = Installation(image=f"dovetail:{__version__}", cloud=cloud)
        found[f"deploy/manifests/{cloud}.yaml"] = _MADE + yaml_text(objects.objects(wanted))
    on_nodes = handler.HandlerInstallation(image=f"dovetail:{__version__}", namespace=NAMESPACE)
    found["deploy/manifests/handler.yaml"] = _MADE + yaml_text(handler.objects(on_nodes))
    for name, text in chart.files().items():
        found[f"deploy/chart/{name}"] = _MADE + text
    return found


def _cluster_api() -> dict[str, str]:
    """Apart from the rest, and in two parts: beside Cluster API only the first may be installed."""
    parts = {
        "infrastructure": [one for definitions in every.INFRASTRUCTURE.values() for one in definitions],
        "machines": list(every.MACHINES),
    }
    found = {
        f"deploy/cluster-api/{part}/{one.kind.group}_{one.kind.plural}.yaml": _MADE + yaml_text([one.manifest()])
        for part, definitions in parts.items()
        for one in definitions
    }
    for core in machine_rights.CORES:
        for cloud in machine_rights.CLOUDS:
            wanted = machines.MachinesInstallation(image=f"dovetail:{__version__}", cloud=cloud, core=core)
            found[f"deploy/cluster-api/{core}/{cloud}.yaml"] = _MADE + yaml_text(machines.objects(wanted))
    return found | {"deploy/cluster-api/policy.yaml": _MADE + yaml_text([policy.policy(), policy.binding()])}
