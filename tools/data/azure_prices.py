"""Azure on-demand prices, a file per region. The source has no spot prices, so there are none here."""

from __future__ import annotations

from . import go_text
from .output import Catalogue, Provenance, money
from .sources import Sources

TABLE = "pkg/providers/pricing/zz_generated.pricing.go"


def write(catalogue: Catalogue, sources: Sources) -> dict[str, list[str]]:
    """Write every region; return SKU → the regions that price it."""
    module = sources.karpenter_azure
    text = module.text(TABLE)
    date = go_text.generated_on(text)
    note = "On-demand Linux. Dedicated hosts and other names that are not VM sizes are left out."
    regions: dict[str, list[str]] = {}
    for region, prices in sorted(go_text.price_tables(text, go_text.AZURE_REGION).items()):
        rows = []
        for name, price in sorted(prices.items()):
            if is_vm_size(name):
                regions.setdefault(name, []).append(region)
                rows.append(
                    {
                        "instanceType": name,
                        "capacityType": "on-demand",
                        "price": money(price),
                        "currency": "USD",
                        "source": "bundled",
                        "asOf": date,
                    }
                )
        provenance = Provenance(module.cite(TABLE), date, module.license, note)
        catalogue.write(f"azure/prices/{region}.jsonl.gz", rows, provenance)
    return regions


def is_vm_size(name: str) -> bool:
    """`Dsv3_Type3` is a dedicated host; `SQLG7_NVME` a managed database's machine."""
    return name.startswith("Standard_") and not name.startswith("Standard_SQL")
