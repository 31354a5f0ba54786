"""On-demand prices, from the Pricing service (`spec/aws` §4).

Bare metal is asked for at the price of shared tenancy, which is what one pays; a peer takes the dedicated one, 6 to
10 % above it. Only where the service lists no other is that taken. GovCloud has no Pricing service, and an isolated
network does not reach it: there the prices that came with this program stay, and say how old they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.port import Unavailable
from dovetail.core.catalog.prices import Price, Source, SourceKind, parse_amount
from dovetail.core.errors import BadField, BadValue, Place

DETAIL: Final = "EC2 price list"
_MACHINES: Final = "Compute Instance"
_METAL: Final = "Compute Instance (bare metal)"
_FILTERS: Final = {
    "preInstalledSw": "NA",
    "operatingSystem": "Linux",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


class _Attributes(msgspec.Struct, rename="camel"):
    instance_type: str


class _Described(msgspec.Struct):
    attributes: _Attributes


class _Dimension(msgspec.Struct, rename="camel"):
    price_per_unit: dict[str, str] = {}


class _Term(msgspec.Struct, rename="camel"):
    price_dimensions: dict[str, _Dimension] = {}


class _Terms(msgspec.Struct):
    on_demand: dict[str, _Term] = msgspec.field(name="OnDemand", default_factory=dict)


class _Product(msgspec.Struct):
    product: _Described
    terms: _Terms


Found = tuple[dict[str, Price], tuple[BadField, ...]]


def why_not_asked(region: str, isolated: bool) -> str:
    """Why the Pricing service is not asked at all, "" if it is."""
    if isolated:
        return "the network is isolated, so the Pricing service is not asked"
    if region.startswith("us-gov-"):
        return "GovCloud has no Pricing service"
    return ""


async def ask(aws: Aws, region: str) -> tuple[str, ...]:
    """Every product that is a machine on demand, each as the service's JSON text."""
    machines = await _products(aws, region, _MACHINES, "Shared")
    if not machines:
        raise Unavailable("the Pricing service answered with no prices")
    metal = await _products(aws, region, _METAL, "Shared") or await _products(aws, region, _METAL, "Dedicated")
    return (*machines, *metal)


async def _products(aws: Aws, region: str, family: str, tenancy: str) -> tuple[str, ...]:
    wanted = {"regionCode": region, "serviceCode": "AmazonEC2", **_FILTERS, "productFamily": family, "tenancy": tenancy}
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
    return await aws.all(calls.GET_PRODUCTS, ServiceCode="AmazonEC2", Filters=filters)


def prices_of(products: Iterable[str], region: str, date: str) -> Found:
    """The price of each type, as of a date; products that cannot be read cost only themselves."""
    currency = "CNY" if region.startswith("cn-") else "USD"
    source = Source(SourceKind.LIVE, f"{DETAIL}, {region}", date, currency)
    decoder = msgspec.json.Decoder(_Product)
    found: dict[str, Price] = {}
    problems: list[BadField] = []
    for number, text in enumerate(products, 1):
        try:
            product = decoder.decode(text)
            amount = _amount(product, currency)
        except (msgspec.DecodeError, BadValue) as problem:
            problems.append(BadField(Place("GetProducts", f"product {number}"), str(problem)))
            continue
        if amount:
            found[product.product.attributes.instance_type] = Price(amount, source)
    return found, tuple(problems)


def _amount(product: _Product, currency: str) -> int:
    """Nanodollars an hour, 0 where no price in this currency is said."""
    for term in product.terms.on_demand.values():
        for dimension in term.price_dimensions.values():
            told = dimension.price_per_unit.get(currency)
            if told and (amount := parse_amount(told)):
                return amount
    return 0
