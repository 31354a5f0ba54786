"""The bill of materials as CycloneDX 1.6: packages by purl, bundled facts by the package they were taken from.

The same wheel gives the same bill: the serial number is made from the wheel's own sum, and no time of day is in it.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tools.sbom.licences import UNKNOWN
from tools.sbom.needed import ROOT, Package, Project, direct

MANIFEST = ROOT / "src/dovetail/data/manifest.json"


def purl(name: str, version: str) -> str:
    kind = "golang" if "/" in name else "pypi"
    return f"pkg:{kind}/{name}@{version}"


def bill(of: Project, packages: Iterable[Package], licences: Mapping[str, str], wheel: Path) -> dict[str, Any]:
    packages = list(packages)
    versions = {one.name: one.version for one in packages}
    sum_of_wheel = hashlib.sha256(wheel.read_bytes()).hexdigest()
    top = purl(of.name, of.version)
    needs = {top: direct(of)} | {purl(one.name, one.version): list(one.needs) for one in packages}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{top}#{sum_of_wheel}')}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": top,
                "name": of.name,
                "version": of.version,
                "description": of.description,
                "licenses": _licences(of.licence),
                "purl": top,
                "hashes": [{"alg": "SHA-256", "content": sum_of_wheel}],
                "properties": [{"name": "dovetail:file", "value": wheel.name}],
            },
        },
        "components": [*(_package(one, licences[one.name]) for one in packages), *_bundled()],
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(purl(name, versions[name]) for name in names)}
            for ref, names in sorted(needs.items())
        ],
    }


def _package(one: Package, licence: str) -> dict[str, Any]:
    ref = purl(one.name, one.version)
    return {
        "type": "library",
        "bom-ref": ref,
        "name": one.name,
        "version": one.version,
        "scope": "optional" if one.extras else "required",
        "licenses": _licences(licence),
        "purl": ref,
        **({"properties": [{"name": "dovetail:extra", "value": name} for name in one.extras]} if one.extras else {}),
    }


def _bundled() -> list[dict[str, Any]]:
    """Packages whose facts are in the bundled catalogue; none of their code is."""
    rows = json.loads(MANIFEST.read_text(encoding="utf-8"))["files"]
    sources = {(*row["source"].partition(":")[0].split(" "), row["license"]) for row in rows if ": " in row["source"]}
    return [
        {
            "type": "data",
            "bom-ref": f"data:{purl(name, version)}",
            "name": name,
            "version": version,
            "description": "names, sizes, limits and prices of machine types; dovetail/data/manifest.json says which",
            "licenses": _licences(licence),
            "purl": purl(name, version),
        }
        for name, version, licence in sorted(sources)
    ]


def _licences(licence: str) -> list[dict[str, Any]]:
    if licence == UNKNOWN:
        return []
    if " AND " in licence or " OR " in licence:
        return [{"expression": licence}]
    # SPDX names have no spaces; what has one is a name that a package gave itself.
    return [{"license": {"name" if " " in licence else "id": licence}}]
