"""Azure's listing of one region from the bundled files."""

from __future__ import annotations

from typing import Final

from dovetail.clouds import bundled
from dovetail.clouds.azure.parse import Answers, listing_of
from dovetail.clouds.azure.wire import Sku
from dovetail.clouds.options import LoadOptions
from dovetail.clouds.pricelist import PriceRow, price_list
from dovetail.core.catalog.listing import Listing

DEFAULT_REGION: Final = "eastus"
_SKUS: Final = "azure/skus.jsonl.gz"


def regions(options: LoadOptions) -> tuple[str, ...]:
    return bundled.names_in("azure/prices", options.root)


def load(region: str, options: LoadOptions) -> Listing:
    root, path = options.root, f"azure/prices/{region}.jsonl.gz"
    skus, bad_skus = bundled.read_rows(_SKUS, Sku, root)
    rows, bad_rows = bundled.read_rows(path, PriceRow, root)
    prices, bad_prices = price_list(rows, path, f"Azure retail prices, {region}")
    origin = bundled.manifest(root).get(_SKUS)
    answers = Answers(
        region=region,
        skus=skus,
        prices=prices,
        source=f"Microsoft.Compute/skus, bundled{' ' + origin.source_date if origin else ''}",
        problems=(*bad_skus, *bad_rows, *bad_prices),
    )
    return listing_of(answers, options)
