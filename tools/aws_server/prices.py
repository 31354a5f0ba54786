"""Prices: the history of spot prices, and the Pricing service, which moto has not got."""

from __future__ import annotations

import json
from typing import Any, Final

from tools.aws_server.graft import Actions, Answer, dry_run, page
from tools.aws_server.wire import instant
from tools.aws_server.world import WORLD

_LARGEST_PAGE: Final = 2000
_PRODUCTS_PAGE: Final = 100


def _history(response: Any) -> Answer:
    dry_run(response)
    types = set(response._get_param("InstanceTypes", []) or [])
    zone = response._get_param("AvailabilityZone")
    found = [
        {
            "InstanceType": name,
            "AvailabilityZone": where,
            "SpotPrice": f"{price:.6f}",
            "ProductDescription": "Linux/UNIX",
            "Timestamp": instant(WORLD.now),
        }
        for (name, where), price in sorted(WORLD.spot.items())
        if (not types or name in types) and zone in (None, where)
    ]
    here, more = page(response, found, _LARGEST_PAGE)
    return {"SpotPriceHistory": here, "NextToken": more or ""}


def products(request: Answer) -> Answer:
    """GetProducts, as far as the price of a Linux machine on demand goes."""
    wanted = {one["Field"]: one["Value"] for one in request.get("Filters", [])}
    metal = "bare metal" in wanted.get("productFamily", "")
    found = [name for name in sorted(WORLD.on_demand) if (".metal" in name) == metal]
    if "instanceType" in wanted:
        found = [name for name in found if name == wanted["instanceType"]]
    start, size = int(request.get("NextToken") or 0), min(int(request.get("MaxResults") or 100), _PRODUCTS_PAGE)
    answer: Answer = {
        "FormatVersion": "aws_v1",
        "PriceList": [_product(name, wanted) for name in found[start : start + size]],
    }
    if start + size < len(found):
        answer["NextToken"] = str(start + size)
    return answer


def _product(name: str, wanted: dict[str, str]) -> str:
    region = wanted.get("regionCode", "us-east-1")
    currency = "CNY" if region.startswith("cn-") else "USD"
    dimension = {"unit": "Hrs", "pricePerUnit": {currency: f"{WORLD.on_demand[name]:.10f}"}}
    attributes = {"instanceType": name, "regionCode": region, **{key: wanted[key] for key in wanted}}
    terms = {"OnDemand": {f"{name}.JRTCKXETXF": {"priceDimensions": {f"{name}.JRTCKXETXF.6YS6EN2CT7": dimension}}}}
    return json.dumps({"product": {"productFamily": "Compute Instance", "attributes": attributes}, "terms": terms})


ACTIONS: Final[Actions] = {"DescribeSpotPriceHistory": _history}
