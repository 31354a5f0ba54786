"""Azure VM sizes in the shape of Microsoft.Compute/skus: the recorded ones as they were, the rest derived.

A recorded size keeps its capabilities, zones and restrictions. Regions it is priced in but was not recorded in
are added, and `derivedLocations` says so; a size with no recording at all says `derived`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import azure_derive, azure_fixtures, azure_names, go_text
from .output import Catalogue, Provenance
from .sources import Archive, Sources

RECORDED = ("southcentralus", "westcentralus")
FIXTURE = "pkg/fake/zz_generated.sku.{}.go"
LOCATIONS = "pkg/fake/locations.json"
WHERE = "Regions are those that price it, zones all that the region has"


def write(catalogue: Catalogue, sources: Sources, priced: Mapping[str, list[str]]) -> None:
    module = sources.karpenter_azure
    texts = [module.text(FIXTURE.format(region)) for region in RECORDED]
    zones = _zones(module)
    recorded = _merged([entry for text in texts for entry in azure_fixtures.entries(text)])
    families = _families(recorded)
    skus = {name: _spread(sku, priced.get(name, []), zones) for name, sku in recorded.items()}
    left_out = []
    for name in sorted(priced.keys() - recorded.keys()):
        if (found := azure_derive.derive(name)) is None:
            left_out.append(name)
            continue
        capabilities, rule, size = found
        skus[name] = {
            "name": name,
            "family": families.get(size.kin, azure_names.quota_family(size)),
            "size": name.removeprefix("Standard_"),
            "tier": "Standard",
            "resourceType": "virtualMachines",
            "locations": priced[name],
            "locationInfo": [{"location": region, "zones": zones.get(region, [])} for region in priced[name]],
            "capabilities": [{"name": key, "value": value} for key, value in capabilities.items()],
            "restrictions": [],
            "derived": f"{rule} {WHERE}.",
        }
    print(f"azure: {len(recorded)} recorded, {len(skus) - len(recorded)} derived, {len(left_out)} left out", flush=True)
    note = (
        f"Only {len(recorded)} sizes were recorded there. {len(skus) - len(recorded)} are derived: vCPUs from the name,"
        " memory, GPUs and features from tables written for tools/data, which no package backs and which were checked"
        f" only in part. {len(left_out)} priced sizes are left out for want of such a rule."
    )
    date = max(go_text.generated_on(text) for text in texts)
    source = module.cite(", ".join([*(FIXTURE.format(region) for region in RECORDED), LOCATIONS]))
    provenance = Provenance(source, date, module.license, note)
    catalogue.write("azure/skus.jsonl.gz", (skus[name] for name in sorted(skus)), provenance)


def _zones(module: Archive) -> dict[str, list[str]]:
    return {
        place["name"]: sorted(zone["logicalZone"] for zone in place.get("availabilityZoneMappings") or ())
        for place in json.loads(module.text(LOCATIONS))
    }


def _merged(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """One entry a name. The first region's capabilities stand; where, and what is restricted, add up."""
    skus: dict[str, dict[str, Any]] = {}
    for entry in entries:
        known = skus.setdefault(entry["name"], entry)
        if known is not entry:
            for field in ("locations", "locationInfo", "restrictions"):
                known[field] = known[field] + entry[field]
    return skus


def _families(recorded: Mapping[str, dict[str, Any]]) -> dict[tuple[str, str, str, int], str]:
    sizes = ((azure_names.parse(name), sku["family"]) for name, sku in recorded.items())
    return {size.kin: family for size, family in sizes if size is not None}


def _spread(sku: dict[str, Any], priced: list[str], zones: Mapping[str, list[str]]) -> dict[str, Any]:
    """Add the regions that price this size; they have no recording, so each gets all its region's zones."""
    added = [region for region in priced if region not in sku["locations"]]
    if not added:
        return sku
    return {
        **sku,
        "locations": sku["locations"] + added,
        "locationInfo": sku["locationInfo"]
        + [{"location": region, "zones": zones.get(region, [])} for region in added],
        "derivedLocations": f"All but the recorded {' and '.join(sku['locations'])}: {WHERE.lower()}.",
    }
