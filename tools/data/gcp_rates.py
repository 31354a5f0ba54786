"""What Google charges for a vCPU-hour and a GiB-hour, by family and region; and the zones of those regions.

The source has eight families. The others stay unpriced. f1 and g1 are charged by the machine, which has one
vCPU: their `cpu` rate is the whole price and they have no `ram` rate.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

from .output import Catalogue, Provenance, money
from .sources import Sources

LIBCLOUD = "libcloud/data/pricing.json"
FAMILIES = ("c2", "e2", "f1", "g1", "m1", "n1", "n2", "n2d")
CAPACITY = {"on_demand": "on-demand", "preemptible": "spot"}
USUAL_ZONES = ("a", "b", "c")
UNUSUAL_ZONES = {"us-east1": ("b", "c", "d"), "europe-west1": ("b", "c", "d"), "us-central1": ("a", "b", "c", "f")}


def write(catalogue: Catalogue, sources: Sources) -> None:
    content = json.loads(sources.libcloud.read(LIBCLOUD), parse_float=Decimal)
    date = datetime.fromtimestamp(content["updated"], UTC).date().isoformat()
    rows = []
    for family in FAMILIES:
        for resource, by_capacity in sorted(content["compute"]["gce_instances"][family].items()):
            for theirs, ours in CAPACITY.items():
                for region, entry in sorted(by_capacity.get(theirs, {}).items()):
                    if entry["price"] > 0:
                        rows.append(
                            {
                                "family": family,
                                "region": region,
                                "resource": resource,
                                "capacityType": ours,
                                "price": money(Decimal(entry["price"])),
                                "asOf": date,
                                "source": "bundled",
                            }
                        )
    cited = sources.libcloud.cite(LIBCLOUD)
    note = (
        "USD per vCPU-hour (cpu) or GiB-hour (ram). A rate of 0 in the source is unknown and has no row. The date is"
        " the whole source's; it has no region opened after mid-2020, nor us-east1 and us-west1, so these rates are"
        " probably older."
    )
    catalogue.write("gcp/rates.jsonl.gz", rows, Provenance(cited, date, sources.libcloud.license, note))
    regions = sorted({row["region"] for row in rows})
    zones = [
        {"region": region, "zones": [f"{region}-{letter}" for letter in UNUSUAL_ZONES.get(region, USUAL_ZONES)]}
        for region in regions
    ]
    note = "Regions of the rates; zone letters are a, b, c but for the three regions that differ."
    catalogue.write("gcp/zones.jsonl.gz", zones, Provenance(cited, date, sources.libcloud.license, note))
