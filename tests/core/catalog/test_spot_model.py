"""The modelled spot market has the spread of the real one, and is the same wherever it is asked."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from dovetail.core.catalog.spot_model import modelled_spot

AWS = Path(__file__).resolve().parents[3] / "src" / "dovetail" / "data" / "aws"
NANO = 10**9

Offering = tuple[int, str, str]


@pytest.fixture(scope="module")
def offerings() -> list[Offering]:
    """Every (on-demand nanodollars, type, zone) of us-east-1."""
    with gzip.open(AWS / "prices" / "us-east-1.jsonl.gz", "rt") as lines:
        prices = {row["instanceType"]: int(Decimal(row["price"]) * NANO) for row in map(json.loads, lines)}
    with gzip.open(AWS / "zones" / "us-east-1.jsonl.gz", "rt") as lines:
        zones = [json.loads(line) for line in lines]
    return [(prices[name], name, zone["ZoneName"]) for zone in zones for name in zone["InstanceTypes"]]


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[round(part * (len(values) - 1))]


@pytest.mark.parametrize(("part", "discount"), [(0.1, 51), (0.5, 68), (0.9, 86)])
def test_discounts_are_spread_like_the_real_market(offerings: list[Offering], part: float, discount: float) -> None:
    found = [100 * (1 - modelled_spot(*offering) / offering[0]) for offering in offerings]
    assert len(found) > 6400
    assert quantile(found, part) == pytest.approx(discount, abs=1.5)


@pytest.mark.parametrize(("part", "ratio", "within"), [(0.5, 1.20, 0.08), (0.9, 2.13, 0.2)])
def test_zones_of_a_type_differ_like_the_real_market(
    offerings: list[Offering], part: float, ratio: float, within: float
) -> None:
    prices = defaultdict(list)
    for offering in offerings:
        prices[offering[1]].append(modelled_spot(*offering))
    spreads = [max(seen) / min(seen) for seen in prices.values() if len(seen) > 1]
    assert quantile(spreads, part) == pytest.approx(ratio, abs=within)


def test_a_spot_price_is_above_zero_and_below_on_demand(offerings: list[Offering]) -> None:
    assert all(0 < modelled_spot(*offering) < offering[0] for offering in offerings)
    assert modelled_spot(2, "t4g.nano", "us-east-1a") == 1


def test_a_price_nothing_can_undercut_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        modelled_spot(1, "t4g.nano", "us-east-1a")


def test_prices_never_change() -> None:
    """These are pinned: a change of the model moves every demo and benchmark, and should be meant."""
    found = [
        modelled_spot(96_000_000, "m5.large", "us-east-1a"),
        modelled_spot(96_000_000, "m5.large", "us-east-1b"),
        modelled_spot(55_040_000_000, "p5.48xlarge", "us-east-1c"),
    ]
    assert found == [22_222_368, 19_608_096, 11_265_917_440]


def test_a_type_twice_as_dear_has_spot_twice_as_dear() -> None:
    once, twice = (modelled_spot(price, "m5.large", "us-east-1a") for price in (96_000_000, 192_000_000))
    assert twice - 2 * once in (0, 1)
