"""The most somebody will pay, as text: floats have no place in an API (R16, R23, R28).

AWS takes a decimal number of dollars an hour, and nothing at all means the on-demand price. Azure takes the same, or -1
for the on-demand price, and 0 for nobody. GCP has one price and asks nobody.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from dovetail.core.errors import BadValue
from dovetail.core.machines.infra_objects import Wanted

_DECIMAL: Final = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)
_SIGNED: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
#: Beyond this nobody sells anything; a longer number is a mistake in typing, and a slow one to reckon with.
_LONGEST: Final = 32
ON_DEMAND: Final = Decimal(-1)


def max_price(wanted: Wanted) -> Decimal | None:
    """The bound, None where there is none; a bound that cannot be is a `BadValue` that says what to write."""
    written = wanted.max_price
    if written == "":
        return None
    if wanted.cloud == "gcp":
        raise BadValue("maxPrice cannot be given: GCP has one price for machines that may be taken away; leave it out")
    if wanted.cloud == "azure":
        return _azure(written)
    return _aws(written)


def _aws(written: str) -> Decimal:
    if len(written) > _LONGEST or _DECIMAL.fullmatch(written) is None:
        raise BadValue(f"maxPrice {written[:40]!r} is not a decimal number of dollars an hour, such as 0.05")
    price = Decimal(written)
    if price == 0:
        raise BadValue("maxPrice 0 buys nothing; leave it out to pay up to the on-demand price")
    return price


def _azure(written: str) -> Decimal | None:
    if len(written) > _LONGEST or _SIGNED.fullmatch(written) is None:
        raise BadValue(f"maxPrice {written[:40]!r} is not a number; write dollars an hour, such as 0.04, or -1")
    price = Decimal(written)
    if price == ON_DEMAND:
        return None
    if price <= 0:
        raise BadValue(f"maxPrice {written} buys nothing; write more than 0, or -1 for the on-demand price")
    return price
