"""The order of work: fetch four archives, then write every data file and the manifest.

The same archives give byte-identical files, so a second run changes nothing and a diff of the
manifest shows what a newer source brought.
"""

from __future__ import annotations

from pathlib import Path

from . import aws_network, aws_prices, aws_types, aws_zones, azure_prices, azure_skus, gcp_rates, gcp_types
from .output import Catalogue
from .sources import fetch_all

REPOSITORY = Path(__file__).resolve().parents[2]


def main() -> None:
    sources = fetch_all(REPOSITORY / "build" / "data-sources")
    catalogue = Catalogue(REPOSITORY / "src" / "dovetail" / "data")
    types = aws_types.write(catalogue, sources)
    zones = aws_zones.write(catalogue, sources)
    aws_network.write(catalogue, sources)
    aws_prices.write(catalogue, sources, types, zones)
    azure_regions = azure_prices.write(catalogue, sources)
    azure_skus.write(catalogue, sources, azure_regions)
    gcp_types.write(catalogue)
    gcp_rates.write(catalogue, sources)
    catalogue.finish()


if __name__ == "__main__":
    main()
